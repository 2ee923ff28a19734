"""Which pair is judged next, with which probability, and what the judged ones say: on arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.stats.confidence_sequences import SequentialDraws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_SMOOTHING = 5.0
"""So many pairs with the expected value are added to those of each group."""
_USUAL = 0.3
"""The expected value where nothing is known."""
_LEAST_VARIANCE = 0.05
"""What is predicted with certainty is drawn all the same: a probability is never 0, and predictions can be wrong."""


@dataclass(frozen=True, eq=False)
class Design:
    """The pairs that a figure is a weighted sum over, and what is expected of them.

    A pair is drawn with a probability in proportion to |weight| · √(p (1 − p)), where p is the value expected of its
    group, from 0 to 1: in proportion to how much the figure varies by what is not known of it. p is learned from what
    is judged; what was judged before the draw decides over its probability, never the draw itself.
    """

    weights: NDArray[np.float64]
    """What a value of 1 of each pair that can be drawn adds to the figure; none is 0."""
    groups: NDArray[np.int64]
    """Which pairs are expected to have the same value on average."""
    prior: NDArray[np.float64]
    """For each group, the value that is expected of it before anything is judged; NaN where that is not known."""
    judged_before: NDArray[np.float64]
    """For each group, how many pairs were judged before …"""
    values_before: NDArray[np.float64]
    """… and the sum of their values."""
    known: float
    """What was judged before adds to the figure."""

    def __len__(self) -> int:
        return len(self.weights)

    def start(self) -> State:
        """Return what is known before the first draw."""
        left = np.ones(len(self), dtype=np.bool_)
        return State(self, left, self.known, self.judged_before.copy(), self.values_before.copy())


@dataclass(eq=False)
class State:
    """What is known at a time."""

    design: Design
    left: NDArray[np.bool_]
    """Which pairs were not drawn yet."""
    known: float
    """What those that were judged add to the figure."""
    judged: NDArray[np.float64]
    values: NDArray[np.float64]

    def predictions(self) -> NDArray[np.float64]:
        """Return the value expected of each pair, from 0 to 1."""
        everything, judged = float(self.values.sum()), float(self.judged.sum())
        overall = (everything + _SMOOTHING * _USUAL) / (judged + _SMOOTHING)
        prior = np.where(np.isnan(self.design.prior), overall, self.design.prior)
        of_group = (self.values + _SMOOTHING * prior) / (self.judged + _SMOOTHING)
        return np.asarray(of_group[self.design.groups], dtype=np.float64)

    def probabilities(self, predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return with which probability each pair is drawn next; 0 for what was drawn."""
        sizes = np.where(self.left, np.abs(self.design.weights) * _deviation(predictions), 0.0)
        return np.asarray(sizes / sizes.sum(), dtype=np.float64)

    def reach(self, chance: NDArray[np.float64]) -> float:
        """Return how much one pair can count at most if it is drawn with its probability: the largest |weight| / p."""
        return float((np.abs(self.design.weights[self.left]) / chance[self.left]).max())

    def take(self, pair: int, value: float) -> None:
        """Note the value of the pair that was drawn."""
        self.left[pair] = False
        self.known += float(self.design.weights[pair]) * value
        group = self.design.groups[pair]
        self.judged[group] += 1.0
        self.values[group] += value

    def bounds(self) -> tuple[float, float]:
        """Return the least and the most that the figure can be."""
        weights = self.design.weights[self.left]
        return self.known + float(np.minimum(weights, 0.0).sum()), self.known + float(np.maximum(weights, 0.0).sum())


@dataclass(frozen=True, eq=False)
class Judged:
    """What the judged pairs say of the figure."""

    estimate: float
    """Unbiased at every number of draws that is fixed beforehand: the mean of the draws' estimates, each weighted by
    the variance that was expected of it. Before the first draw, what is predicted."""
    draws: SequentialDraws
    state: State
    spread: float
    """The standard deviation that is expected of the next draw's estimate."""


class Draw(NamedTuple):
    """A pair that was drawn."""

    pair: int
    """Its number."""
    chance: float
    """With which probability, of those that were left then."""
    reach: float
    """The largest |weight| / probability of all pairs that could have been drawn then."""


def judged(design: Design, draws: Sequence[Draw], values: Sequence[float]) -> Judged:
    """Return what the pairs that were drawn say, in the order of the draws.

    Args:
        design: the pairs.
        draws: what was drawn.
        values: of each, from 0 to 1.
    """
    state = design.start()
    rows: list[tuple[float, float, float, float, float]] = []
    bounds = [state.bounds()]
    squares, expected_squares = 1.0, 1.0  # how much more the draws differ than expected
    weighted, total = 0.0, 0.0
    for (pair, chance, reach), value in zip(draws, values, strict=True):
        predicted = state.predictions()
        variance = _variance(state, predicted)
        # holds whatever is predicted now: the probabilities are those of the time of the draw
        farthest = reach * float(np.maximum(predicted, 1.0 - predicted)[state.left].max())
        deviation = float(design.weights[pair] * (value - predicted[pair]) / chance)
        expected = state.known + float((design.weights * predicted)[state.left].sum())
        spread = float(np.sqrt(variance * squares / expected_squares))
        rows.append((expected, deviation, -farthest, farthest, spread))
        weighted += (expected + deviation) / max(variance, 1e-300)
        total += 1.0 / max(variance, 1e-300)
        squares += deviation**2 / max(variance, 1e-300)
        expected_squares += 1.0
        state.take(pair, value)
        bounds.append(state.bounds())
    predicted = state.predictions()
    now = state.known + float((design.weights * predicted)[state.left].sum())
    variance = _variance(state, predicted) if state.left.any() else 0.0
    expectations, deviations, lowest, highest, spreads = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    least, most = np.array(bounds, dtype=np.float64).T
    is_done = not state.left.any()
    estimate = now if is_done or not total else weighted / total
    estimate = float(min(max(estimate, least[-1]), most[-1]))
    return Judged(
        estimate,
        SequentialDraws(expectations, deviations, lowest, highest, spreads, least, most),
        state,
        float(np.sqrt(variance * squares / expected_squares)),
    )


def _variance(state: State, predicted: NDArray[np.float64]) -> float:
    """Return the expected variance of the next draw's estimate: (Σ |weight| · √(p (1 − p)))² of what is left."""
    return float((np.abs(state.design.weights[state.left]) @ _deviation(predicted[state.left])) ** 2)


def _deviation(predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.maximum(predicted * (1.0 - predicted), _LEAST_VARIANCE)), dtype=np.float64)
