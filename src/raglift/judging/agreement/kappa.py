"""How far two judges agree beyond chance: Cohen's kappa, plain and weighted, with intervals over queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["RESAMPLES", "Coefficient", "Counts", "kappa", "raw_agreement", "relevant_or_not"]

RESAMPLES = 2000
"""How often queries are drawn again for an interval."""
_MOST_UNDEFINED = 0.05
_BLOCK = 2_000_000
_SAME = 1e-12


@dataclass(frozen=True)
class Coefficient:
    """A measure of agreement, or why there is none."""

    value: float | None
    """At most 1, which is full agreement; of a kappa, 0 is what chance would give."""
    low: float | None = None
    """The lower bound of its interval; None where none can be told."""
    high: float | None = None
    """The upper bound."""
    why: str = ""
    """Why there is no value, or no interval."""


class Counts:
    """How often two judges gave which grades, query by query.

    Args:
        matrices: shape (queries, grades, grades): of each query, the pairs by the first judge's grade and the second's.
        seed: of the resamples.
        confidence: how often intervals hold the true value.
    """

    def __init__(self, matrices: NDArray[np.int64], seed: int, confidence: float) -> None:
        self.matrices, self.confidence = matrices, confidence
        self.total: NDArray[np.int64] = matrices.sum(axis=0)
        self._drawn = _resampled(matrices, seed) if len(matrices) > 1 else np.zeros((0, *matrices.shape[1:]))

    def coefficient(self, of: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Coefficient:
        """Return a measure with its percentile interval: whole queries are drawn again, as pairs of one are alike.

        Args:
            of: takes matrices of shape (n, grades, grades) to n values, NaN where it is not defined.
        """
        if not self.total.sum():
            return Coefficient(None, why="no pair that both judged")
        value = float(of(self.total[np.newaxis].astype(np.float64))[0])
        if np.isnan(value):
            return Coefficient(None, why="both gave every pair one grade: chance alone would agree")
        if not len(self._drawn):
            return Coefficient(value, why="no interval: the pairs are of one query")
        values = of(self._drawn)
        undefined = float(np.isnan(values).mean())
        known = values[~np.isnan(values)]
        if undefined > _MOST_UNDEFINED:
            return Coefficient(value, why=f"no interval: not defined in {undefined:.0%} of the resamples")
        if known.max() - known.min() < _SAME:
            return Coefficient(value, why="no interval: the judges agree as often in every query")
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(known, [tail, 1 - tail]).tolist()
        return Coefficient(value, low, high)


def _resampled(matrices: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return the sums of as many queries, drawn with replacement, as there are: one matrix a resample."""
    generator = np.random.default_rng(seed)
    queries, grades, _ = matrices.shape
    flat = matrices.reshape(queries, -1).astype(np.float64)
    block = max(1, _BLOCK // queries)
    sums = []
    for begin in range(0, RESAMPLES, block):
        times = generator.multinomial(queries, np.full(queries, 1 / queries), size=min(block, RESAMPLES - begin))
        sums.append(times.astype(np.float64) @ flat)
    return np.concatenate(sums).reshape(RESAMPLES, grades, grades)


def kappa(matrices: NDArray[np.float64], values: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """Return Cohen's kappa of each matrix: 1 − Σ w·observed / Σ w·expected.

    Expected is what two judges would do who give their grades as often, without looking (Cohen 1960, "A coefficient of
    agreement for nominal scales"; weighted: 1968). NaN where they could not disagree.

    Args:
        matrices: shape (n, grades, grades).
        values: the grades as numbers, for weights of their squared distance; by default any two differ alike.
    """
    if values is None:
        weights = 1.0 - np.eye(matrices.shape[1])
    else:
        weights = (values[:, np.newaxis] - values[np.newaxis, :]).astype(np.float64) ** 2
    first, second, pairs = matrices.sum(axis=2), matrices.sum(axis=1), matrices.sum(axis=(1, 2))
    expected = (weights * first[:, :, np.newaxis] * second[:, np.newaxis, :]).sum(axis=(1, 2))
    observed = (weights * matrices).sum(axis=(1, 2)) * pairs
    with np.errstate(invalid="ignore", divide="ignore"):
        found: NDArray[np.float64] = np.where(expected > 0, 1.0 - observed / expected, np.nan)
    return found


def raw_agreement(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of pairs on which both gave the same grade."""
    pairs = matrices.sum(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = np.trace(matrices, axis1=1, axis2=2) / pairs
    return found


def relevant_or_not(
    matrices: NDArray[np.float64], first: NDArray[np.bool_], second: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return matrices of two grades: relevant or not.

    Args:
        matrices: shape (n, grades, grades).
        first: which grades of the first judge are relevant.
        second: which of the second.
    """
    rows, columns = (np.stack([~relevant, relevant]).astype(np.float64) for relevant in (first, second))
    return rows @ matrices @ columns.T
