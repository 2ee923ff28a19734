"""Skewed differences: a t test that holds for them, and samples that are too skewed to decide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from raglift.stats.intervals import TIED, t_beyond, transformed

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The sign-flip test assumes that without an effect differences are symmetric around 0. Many small wins against a few
# large losses are not: a sample that happens to hold too few of the losses has a mean above 0 and few signs to turn.
# Two things are done about it. If a sample is strongly skewed against its mean, Hall's transformed t is tested as well.
# And if a sample has at most one loss that is not small beside its wins, no test of its values can help, since the
# large losses are not among them: it is too skewed to decide, unless a bet on its mean earns so much that losses of any
# size are ruled out (Waudby-Smith and Ramdas). benchmarks/type_one_error.py measures both;
# docs/concepts/statistics/methods.md has a part of its table.


HALL_TEST = "t test of the mean with Hall's transformation for skewness, two-sided"
"""The name of the test of `hall_p`, as a report states it."""

STRONG = 2.5
"""From how many standard errors on, of what normal differences show by chance, a skewness is strong."""
_LARGE = 0.5
"""A loss of at least so many average wins shows how large losses are; smaller ones do not."""
_MOST_LARGE = 1
"""With so many large losses or fewer, a sample may lack the others."""
DECISIVE = 0.5
"""From average wins of so much of the bound on, losses that outweigh them are so many that sign flips hold."""


def skewness_of(differences: NDArray[np.float64]) -> float:
    """Return the skewness Σ(d − d̄)³ / n / σ³ of differences; NaN for fewer than 2, or if all are the same.

    Sums are exact (`math.fsum`), so that it does not depend on the order of the queries.
    """
    n = len(differences)
    unit = float(np.abs(differences).max(initial=0.0))
    if n < 2 or np.ptp(differences) <= 1e-12 * unit:
        return math.nan
    scaled = differences / unit
    away = scaled - math.fsum(scaled) / n
    variance, third = math.fsum(away * away) / n, math.fsum(away * away * away) / n
    return third / (variance * math.sqrt(variance))


def is_strongly_skewed(skewness: float, n: int) -> bool:
    """Whether a skewness is larger than chance makes it: beyond 2.5 √(6 / n), 2.5 standard errors where it is 0."""
    return abs(skewness) > STRONG * math.sqrt(6.0 / n)


def hall_p(differences: NDArray[np.float64]) -> float | None:
    """Return the two-sided p-value of Hall's transformed t; None where differences are not strongly skewed against it.

    With t = d̄ √n / s and skewness g,

        h = t + g t² / (3 √n) + g² t³ / (27 n) + g / (6 √n)

    has nearly Student's t distribution with n − 1 degrees of freedom where t, for skewed differences, has not. It is
    monotone in t. Hall, "On the removal of skewness by transformation", 1992.

    It is made where the skewness is strong (`is_strongly_skewed`) and opposite to the mean: few large losses against a
    mean above 0, or few large wins against one below. Elsewhere h is farther from 0 than t, and the sign-flip test
    holds without it.
    """
    n, skewness = len(differences), skewness_of(differences)
    total = math.fsum(differences)
    if math.isnan(skewness) or skewness * total >= 0.0 or not is_strongly_skewed(skewness, n):
        return None
    mean = total / n
    away = differences - mean
    deviation = math.sqrt(math.fsum(away * away) / (n - 1))
    return t_beyond(n - 1, abs(float(transformed(mean / deviation * math.sqrt(n), skewness / math.sqrt(n)))))


def log_wealth(differences: NDArray[np.float64], bound: float, decisive: float = math.inf) -> NDArray[np.float64]:
    """Return what a bet on the mean of each column earns, as a logarithm; infinite if the column needs no bet.

    A column needs one if large differences against its mean may be too rare to be in the sample: at most one is as
    large as half of the average difference along the mean, and that average is below `decisive` of the bound. Then a
    capital of 1 is bet as a whole, query by query: a difference d multiplies it by 1 + d / bound, small ones against
    the mean included, so that one as large as the bound would take it all. If the true mean is 0 or below, the capital
    passes 1 / alpha with a probability of at most alpha (Ville's inequality), however rare and large the differences
    against the mean are. What stays below that decides nothing. The one large difference that may be there is left out,
    for which the inequality does not hold strictly; benchmarks/type_one_error.py measures what is left.

    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024, section 4.

    Args:
        differences: queries × columns, without gaps.
        bound: how large a difference can be; 1 for a metric between 0 and 1.
        decisive: `DECISIVE` for sign-flip tests. Tests by t need a bet for large wins too.
    """
    along = differences * np.where(differences.sum(axis=0) < 0.0, -1.0, 1.0)
    average = np.maximum(along, 0.0).sum(axis=0) / np.maximum((along > 0.0).sum(axis=0), 1)
    large = along <= np.minimum(-_LARGE * average + TIED, -TIED)
    earned = np.log1p(np.where(large, 0.0, along) / bound).sum(axis=0)
    is_open = (large.sum(axis=0) <= _MOST_LARGE) & (average < decisive * bound - TIED)
    wealth: NDArray[np.float64] = np.where(is_open, earned, np.inf)
    return wealth
