"""Skewed differences: a t test that holds for them, and samples that are too skewed to decide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from raglift.stats.intervals import t_beyond, transformed

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The sign-flip test assumes that without an effect differences are symmetric around 0. Many small wins against a few
# large losses are not: a sample that happens to hold too few of the losses has a mean above 0 and few signs to turn.
# Two things are done about it. Where a sample is strongly skewed against its mean, the test of Hall's transformed t
# is made as well. And where a sample holds next to none of the large losses, no test of its values can help, since
# they are not in it: it is told to be too skewed to decide, by a bet against a mean of 0 that counts how large losses
# could be (Waudby-Smith and Ramdas). benchmarks/type_one_error.py measures both; docs/concepts/statistics.md has the
# table.


HALL_TEST = "t test of the mean with Hall's transformation for skewness, two-sided"
"""The name of the test of `hall_p`, as a report states it."""

STRONG = 2.5
"""From how many standard errors on, of what normal differences show by chance, a skewness is strong."""
OPPOSITE = 1
"""With so many differences against the mean or fewer, a sample does not show how large they can be."""
_LARGER = 4.0
"""How many times as large as those seen, on average, opposite ones must be able to be. Against wins of a quarter of the
bound or more, losses that outweigh them are a fifth of what differs or more, and a sample holds some."""


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


def may_be_outweighed(differences: NDArray[np.float64], bound: float, alpha: float) -> bool:
    """Whether opposite differences that are too rare to be in the sample could outweigh those that are in it.

    Only where at most one difference is opposite to the mean, as otherwise the sample itself shows how large they are,
    and where they can be more than four times as large as the others are on average. Let all of a capital of 1 be bet,
    query by query, on a mean above 0: a difference d multiplies it by 1 + d / bound, so that a loss as large as the
    bound takes it all. If the mean is 0 or below, it passes 1 / alpha with a probability of at most alpha (Ville's
    inequality), whatever losses there are and however rare. Where the wins of the sample (or its losses, for a mean
    below 0) do not take it so far, they prove nothing about the mean.

    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024, section 4.

    Args:
        differences: one number per query.
        bound: how large a difference can be; 1 for a metric between 0 and 1.
        alpha: the level of the test.
    """
    along = differences if math.fsum(differences) >= 0.0 else -differences
    seen = along[along > 0.0] / bound
    if not len(seen) or int((along < 0.0).sum()) > OPPOSITE or math.fsum(seen) * _LARGER >= len(seen):
        return False
    return math.fsum(np.log1p(seen)) < math.log(1.0 / alpha)
