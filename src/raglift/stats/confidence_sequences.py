"""Confidence sequences for a sum over units that are drawn one after the other, by betting.

An interval that is looked at after every draw, until it says what one hopes for, holds the true value less often than
it claims. A confidence sequence is a sequence of intervals of which all hold it at once with the given confidence, so
one may look as often as one likes and stop whenever one likes.

For each candidate m of the sum a gambler bets, draw by draw, that the sum is not m. If it is m the bets are fair, and
their capital exceeds 1/α at any time with probability α at most (Ville 1939). The candidates at which it never did are
the confidence sequence: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2023. For
units that are drawn without replacement, each with a probability of its own and with a prediction as control variate:
Shekhar, Xu, Lipton, Liang and Ramdas, "Risk-limiting financial audits via weighted sampling without replacement", 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import Interval, checked_fraction

if TYPE_CHECKING:
    from numpy.typing import NDArray


_STAKES = np.geomspace(0.05, 1.0, 6)
"""What is bet each time, as a multiple of 1 / the expected standard deviation. The capital starts divided among these
and, with each, among both directions: which is best depends on a difference that is not known."""
_MOST = 0.75
"""The share of the capital that a bet may lose at most."""
_GRID = 1001


@dataclass(frozen=True, eq=False)
class SequentialDraws:
    """What was drawn one after the other; one number a draw. What is known before a draw must not depend on it."""

    expected: NDArray[np.float64]
    """Before the draw: the sum over what was known, and the predicted one over the rest."""
    deviation: NDArray[np.float64]
    """Of the drawn unit: its value minus the prediction, divided by its probability."""
    lowest: NDArray[np.float64]
    """The least that the deviation could have been, over all units that could be drawn."""
    highest: NDArray[np.float64]
    """The most that it could have been."""
    spread: NDArray[np.float64]
    """Which standard deviation was expected of it; any positive number is valid, the true one is best."""
    least: NDArray[np.float64]
    """The least that the sum could be before the draw, and after the last: one number more than draws."""
    most: NDArray[np.float64]
    """The most that it could be; likewise."""

    def __post_init__(self) -> None:
        lengths = {len(self.expected), len(self.deviation), len(self.lowest), len(self.highest), len(self.spread)}
        lengths |= {len(self.least) - 1, len(self.most) - 1}
        if len(lengths) > 1:
            raise ConfigurationError(
                f"sequential draws: found arrays of {sorted(lengths)} draws; expected one number a draw, and one more "
                "of least and most"
            )

    def __len__(self) -> int:
        return len(self.expected)


def log_capital(draws: SequentialDraws, candidates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the capital after each draw of who bets against each candidate, which starts at 1.

    Infinite from where a candidate is impossible, as what is known already is more or leaves too little.

    Args:
        draws: what was drawn.
        candidates: of the sum.

    Returns:
        Shape (draws + 1, candidates); the first row is before any draw.
    """
    stakes = np.concatenate((_STAKES, -_STAKES))[:, np.newaxis]
    capital = np.full((len(stakes), len(candidates)), -math.log(len(stakes)))
    found = np.zeros((len(draws) + 1, len(candidates)))
    for number in range(len(draws)):
        mean = candidates - draws.expected[number]
        above = np.maximum(draws.highest[number] - mean, 1e-300)
        below = np.maximum(mean - draws.lowest[number], 1e-300)
        with np.errstate(over="ignore"):
            bets = np.clip(stakes / max(draws.spread[number], 1e-300), -_MOST / above, _MOST / below)
        gain = bets * (draws.deviation[number] - mean)
        capital += np.log1p(np.maximum(gain, -_MOST))  # a candidate that is impossible is dealt with below
        top = capital.max(axis=0)
        found[number + 1] = top + np.log(np.exp(capital - top).sum(axis=0))
    tolerance = 1e-9 * max(1.0, float(np.abs(candidates).max(initial=0.0)))
    impossible = (candidates < draws.least[:, np.newaxis] - tolerance) | (
        candidates > draws.most[:, np.newaxis] + tolerance
    )
    found[impossible] = np.inf
    return found


def confidence_sequence(draws: SequentialDraws, *, confidence: float = 0.95) -> tuple[Interval, ...]:
    """Return an interval before the first draw and after each: all hold the sum at once with the given confidence.

    Each lies within the one before. Once everything was drawn, it is the sum itself.

    Args:
        draws: what was drawn.
        confidence: how often all of the intervals hold the sum.

    Raises:
        ConfigurationError: a confidence that is not between 0 and 1.
    """
    limit = -math.log(1.0 - checked_fraction("confidence", confidence))
    low, high = float(draws.least[0]), float(draws.most[0])
    candidates = np.linspace(low, high, _GRID)
    step = (high - low) / (_GRID - 1)
    rejected = np.maximum.accumulate(log_capital(draws, candidates), axis=0) >= limit
    found: list[Interval] = []
    for number, row in enumerate(rejected):
        kept = candidates[~row]
        least, most = float(draws.least[number]), float(draws.most[number])
        if len(kept):  # what lies between a candidate that is rejected and one that is not may be the sum
            least, most = max(least, float(kept[0]) - step), min(most, float(kept[-1]) + step)
        if found:
            least, most = max(least, found[-1].low), min(most, found[-1].high)
        found.append(Interval(least, max(least, most)))
    return tuple(found)


def anytime_p_value(draws: SequentialDraws, candidate: float) -> float:
    """Return a p-value for the sum being a candidate, valid whenever one looks: 1 / the largest capital so far.

    Args:
        draws: what was drawn.
        candidate: of the sum, as 0 for a difference.
    """
    most = float(log_capital(draws, np.array([candidate]))[:, 0].max())
    return math.exp(-max(most, 0.0))


def draws_needed(evidence: float, distance: float, spread: float, *, left: int, confidence: float = 0.95) -> int | None:
    """Return how many further draws are likely needed to reject a candidate; None where all that are left may not do.

    The logarithm of the capital is expected to grow by distance² / (2 spread²) a draw, and the spread to shrink in
    proportion to what is left.

    Args:
        evidence: the logarithm of the capital against the candidate now.
        distance: of the candidate from the sum, as far as is known.
        spread: the standard deviation of a draw's estimate of the sum now.
        left: how many units are left.
        confidence: of the sequence.
    """
    missing = max(-math.log(1.0 - confidence) - evidence, 0.0)
    if not missing or not left:
        return 0
    if not distance:
        return None
    found = missing * 2.0 * (spread / distance) ** 2
    needed = math.ceil(found / (1.0 + found / left)) if math.isfinite(found) else left
    return needed if needed < left else None
