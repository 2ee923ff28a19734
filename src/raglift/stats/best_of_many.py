"""Which of several systems may be the best: multiple comparisons with the best, by sign flips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import TIED, checked_fraction, checked_integer, numbers, transformed
from raglift.stats.skewness import log_wealth

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


BEST_METHOD = "multiple comparisons with the best (Hsu 1984), by sign flips of whole questions"
"""The name of the method, as a report states it."""
_SAME = 1e-12
"""What rounding may do to a standardized sum."""
_FEWEST = 2
_BLOCK = 2_000_000
"""How many signs are held as numbers at a time: 16 MB."""


@dataclass(frozen=True, eq=False)
class BestOfMany:
    """Which systems may be the one with the highest true mean."""

    may_be_best: NDArray[np.bool_]
    """For each system, False where some other is better by more than chance."""
    p: NDArray[np.float64]
    """For each system, the p-value of its being the best: that of its largest standardized lag behind any other."""
    queries: int
    """How many queries had a value of every system."""


def best_of_many(
    values: ArrayLike, *, seed: int, confidence: float = 0.95, resamples: int = 10_000, bound: float | None = None
) -> BestOfMany:
    """Return which systems may be the best, so that the one that truly is is left out in at most 1 − confidence.

    For each system the hypothesis is tested that its true mean is at least that of every other. The statistic is the
    largest over the others of Σ d / √(Σ d²), d being the other minus it, query by query; its distribution is that under
    turning the signs of all differences of a query together, so that it heeds how the systems hang together. Only one
    of these hypotheses is about the true best, so no further correction is needed, and it does not matter that the best
    of the sample was chosen by the same queries (Hsu, "Constrained simultaneous confidence intervals for multiple
    comparisons with the best", 1984; the resampled maximum is that of Westfall and Young, 1993).

    Sign flips assume symmetry. Where d is skewed against its mean (many small wins, few large losses), its statistic is
    lowered by Hall's transformation of t (1992). Where at most one loss of the other system is as large as half of its
    average win, its large losses may be too rare to be in the sample: then it counts as better only if a bet on its
    wins, which a loss as large as `bound` would take whole, earns enough (Waudby-Smith and Ramdas, 2024).

    Args:
        values: queries × systems, more is better; queries with NaN are left out.
        seed: an integer of at least 0.
        confidence: how often the true best is among those returned, at least.
        resamples: how many assignments of signs are drawn.
        bound: how large a difference can be, as 1 for metrics between 0 and 1; None where there is no bound.
    """
    seed, resamples = checked_integer("seed", seed, least=0), checked_integer("resamples", resamples, least=1)
    alpha = 1.0 - checked_fraction("confidence", confidence)
    table = numbers("values", values, dimensions=2)
    if table.shape[1] == 0:
        raise ConfigurationError("values: found no system; expected at least one")
    table = table[~np.isnan(table).any(axis=1)]
    rows, systems = table.shape
    p = np.ones(systems)
    if rows < _FEWEST or systems == 1:
        return BestOfMany(p > alpha, p, rows)
    flipped = _flipped(table, seed, resamples)
    for system in range(systems):
        lags = table - table[:, [system]]
        lags[np.abs(lags) <= TIED] = 0.0
        scale = np.sqrt((lags**2).sum(axis=0))
        rivals = np.flatnonzero(scale > 0.0)
        if not len(rivals):
            continue
        lags, scale = lags[:, rivals], scale[rivals]
        observed = _lowered_for_skewness(lags, lags.sum(axis=0) / scale)
        if bound is not None:
            observed[log_wealth(lags, bound) < np.log((systems - 1) / alpha)] = -np.inf
        drawn = ((flipped[:, rivals] - flipped[:, [system]]) / scale).max(axis=1)
        p[system] = (np.count_nonzero(drawn >= observed.max() - _SAME) + 1) / (resamples + 1)
    return BestOfMany(p > alpha, p, rows)


def _flipped(table: NDArray[np.float64], seed: int, resamples: int) -> NDArray[np.float64]:
    """Return the sums of the values of each system under random signs of the queries: resamples × systems."""
    signs = np.random.default_rng(seed).integers(0, 2, size=(resamples, len(table)), dtype=np.int8)
    at_a_time = max(1, _BLOCK // len(table))
    blocks = [signs[start : start + at_a_time] * 2.0 - 1.0 for start in range(0, resamples, at_a_time)]
    return np.concatenate([block @ table for block in blocks])


def _lowered_for_skewness(lags: NDArray[np.float64], observed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ d / √(Σ d²) of each column, lowered where Hall's transformation makes the t statistic smaller."""
    n = len(lags)
    away = lags - lags.mean(axis=0)
    deviation = away.std(axis=0)
    constant = deviation <= TIED
    deviation[constant] = 1.0
    step = np.where(constant, 0.0, ((away / deviation) ** 3).mean(axis=0)) / np.sqrt(n)
    with np.errstate(divide="ignore"):  # a column without variation has an infinite t
        t = observed * np.sqrt((n - 1) / np.maximum(n - observed**2, 1e-12))
    h = transformed(t, step)
    lowered: NDArray[np.float64] = np.minimum(observed, h * np.sqrt(n / (n - 1 + h**2)))
    return lowered
