"""Everything that is said about one paired difference: mean, interval, p-value, wins, effect size, detectable size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.significance.arguments import checked_fraction, numbers
from raglift.significance.intervals import DIFFERENCE_METHOD, difference_interval
from raglift.significance.permutation import TIED, SignFlipTest, sign_flip_test
from raglift.significance.power import detectable_difference

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["FEW_QUERIES", "PairedDifference", "paired_difference", "paired_differences"]

FEW_QUERIES = 30
"""With fewer queries than this, intervals and tests say little, and a report should warn."""


@dataclass(frozen=True)
class PairedDifference:
    """How two systems differ on the same queries; where more is better, positive favours the one subtracted from."""

    n: int
    """How many queries have a difference."""
    mean: float
    """Their mean, in the metric's unit; NaN without queries."""
    low: float
    """The lower bound of the mean's confidence interval; NaN with fewer than 2 queries, or if all differ alike."""
    high: float
    """The upper bound."""
    p: float
    """Two-sided p-value of no difference, above 0; 1 where there is nothing to test."""
    wins: int
    """Queries with a difference above 1e-9."""
    ties: int
    """Queries with a difference within 1e-9 of 0."""
    losses: int
    """Queries with a difference below −1e-9."""
    effect_size: float
    """Paired Cohen's d: mean / standard deviation (n − 1). If all are equal: 0 if they are 0, else NaN (no scale)."""
    detectable: float
    """The smallest true mean difference that n such queries would show at p < 0.05 with a power of 0.8."""
    confidence: float
    """How often such intervals hold the true mean, as 0.95."""
    test: str
    """The name of the test behind p."""
    interval: str
    """The name of the method behind low and high."""
    seed: int
    """What drew the random signs."""


def paired_difference(
    differences: ArrayLike, *, seed: int, confidence: float = 0.95, resamples: int = 10_000
) -> PairedDifference:
    """Describe the differences between two systems on the same queries.

    Args:
        differences: one number per query, as NDCG after minus before; NaN where a query has none, which is left out.
        seed: draws the signs of the permutation test: an integer of at least 0.
        confidence: how often such intervals hold the true mean.
        resamples: how many assignments of signs are drawn where there are too many to try all.

    Raises:
        ConfigurationError: an argument outside its range, or differences that are not finite numbers.
    """
    column = numbers("differences", differences, dimensions=1)[:, np.newaxis]
    return paired_differences(column, seed=seed, confidence=confidence, resamples=resamples)[0]


def paired_differences(
    matrix: ArrayLike, *, seed: int, confidence: float = 0.95, resamples: int = 10_000
) -> list[PairedDifference]:
    """Describe each column of differences, as `paired_difference` does it for that column alone.

    Args:
        matrix: queries × columns, as metrics, systems or both; NaN where a query has no difference.
        seed: draws the signs of the permutation tests, the same for all columns: an integer of at least 0.
        confidence: how often such intervals hold the true mean.
        resamples: how many assignments of signs are drawn where there are too many to try all.

    Raises:
        ConfigurationError: an argument outside its range, or differences that are not finite numbers.
    """
    confidence = checked_fraction("confidence", confidence)
    values = numbers("matrix", matrix, dimensions=2)
    tests = sign_flip_test(values, seed=seed, resamples=resamples)
    return [_described(values[:, column], test, confidence, int(seed)) for column, test in enumerate(tests)]


def _described(column: NDArray[np.float64], test: SignFlipTest, confidence: float, seed: int) -> PairedDifference:
    found = column[~np.isnan(column)]
    found[np.abs(found) <= TIED] = 0.0  # a copy: masks never give a view
    n, wins, losses = len(found), int((found > 0.0).sum()), int((found < 0.0).sum())
    mean = float(found.mean()) if n else math.nan
    deviation = _standard_deviation(found)
    low, high = difference_interval(found, confidence=confidence)
    return PairedDifference(
        n=n,
        mean=mean,
        low=low,
        high=high,
        p=test.p,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        effect_size=_effect_size(mean, deviation),
        detectable=detectable_difference(deviation, n),
        confidence=confidence,
        test=test.name,
        interval=DIFFERENCE_METHOD,
        seed=seed,
    )


def _standard_deviation(found: NDArray[np.float64]) -> float:
    """Return the standard deviation of the queries, exactly 0 where all are equal but for rounding."""
    if len(found) < 2:
        return math.nan
    if np.ptp(found) <= TIED:
        return 0.0
    return float(found.std(ddof=1))


def _effect_size(mean: float, deviation: float) -> float:
    if deviation == 0.0:
        return 0.0 if mean == 0.0 else math.nan
    return mean / deviation
