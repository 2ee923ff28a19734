"""Simultaneous confidence intervals and adjusted p-values for several mean contrasts of the same queries."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.stats.intervals import TIED, t_quantile, transformed, transformed_back
from raglift.stats.skewness import STRONG, log_wealth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

# Each contrast is a weighted sum of cells, taken query by query: n differences of mean x̄, standard deviation s and
# skewness g. As in `difference_interval`, s is widened by √(1 + 1/m), and of the skewness the part m / (m + 10) is
# believed, where m = (Σ d²)² / Σ d⁴ is the effective number of differences; but all of it where it is strong and
# against the mean, as of many small wins beside a few large losses. t = x̄ √n / s is made symmetric by Hall's monotone
# cubic, of Hall, "On the removal of skewness by transformation", 1992:
#
#     u(t) = t + h t² / 3 + h² t³ / 27 + h / 6        with h = g / √n
#
# of which Johnson's correction is the first order. u is compared with the largest |z| of all contrasts of the family,
# where z has the multivariate t distribution with n − 1 degrees of freedom and the correlations found (Hothorn, Bretz
# and Westfall, "Simultaneous inference in general parametric models", 2008). It is drawn by multiplying the residuals
# of all cells by one normal number a query, so the contrasts keep their dependence, whatever it is (Chernozhukov,
# Chetverikov and Kato, "Gaussian approximations and multiplier bootstrap for maxima", 2013). The same quantile gives
# the intervals, so an interval is beyond 0 where its p-value is below 1 − confidence.

METHOD = (
    "studentized means with Hall's skewness correction against the largest of the family (multivariate t, drawn with "
    "normal multipliers)"
)
"""How intervals and p-values are computed, as a report states it."""

_SKEWNESS_OF = 10
"""With this many differences half of the skewness found is believed, as in `difference_interval`."""
_BLOCK = 4_000_000
"""How many numbers are held at a time: 32 MB."""


def resample(values: Numbers, *, seed: int, resamples: int) -> Numbers:
    """Return how far the sums of all cells are from what is expected in repetitions of the experiment.

    One normal multiplier is drawn for each query, the same for all cells, and one scale for each repetition.

    Args:
        values: queries × cells, without gaps; two queries or more.
        seed: of the multipliers.
        resamples: how many repetitions.

    Returns:
        Repetitions × cells.
    """
    n, cells = values.shape
    centred = values - values.mean(axis=0)
    generator = np.random.default_rng(seed)
    scale = np.sqrt(generator.chisquare(n - 1, size=resamples) / (n - 1))
    sums = np.empty((resamples, cells))
    at_a_time = max(1, _BLOCK // n)
    for start in range(0, resamples, at_a_time):
        drawn = generator.standard_normal((min(at_a_time, resamples - start), n))
        sums[start : start + len(drawn)] = drawn @ centred
    found: Numbers = sums / scale[:, np.newaxis]
    return found


@dataclass(frozen=True, eq=False)
class Contrasted:
    """The mean of each contrast, and how far it may be off."""

    weights: Numbers
    """Contrasts × cells."""
    n: int
    """How many queries."""
    mean: Numbers
    """The mean of each contrast."""
    deviation: Numbers
    """The standard deviation between queries; 0 where the contrast is the same for all."""
    error: Numbers
    """The standard error of the mean, widened for few differences; NaN where the deviation is 0."""
    above: Numbers
    """h for means above 0: the part of the skewness that is believed, divided by √n."""
    below: Numbers
    """h for means below 0."""
    earned: Numbers
    """What a bet on the mean earns, as a logarithm; infinite where the sample shows how large differences against the
    mean are (`log_wealth`)."""

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which contrasts differ between queries, so that they can be tested."""
        return self.deviation > 0.0

    @property
    def statistic(self) -> Numbers:
        """The studentized means, made symmetric; NaN where a contrast is the same for all queries."""
        return transformed(self.mean / self.error, np.where(self.mean > 0.0, self.above, self.below))

    def too_skewed(self, confidence: float, events: int) -> NDArray[np.bool_]:
        """Return which means decide nothing: differences the other way, too rare to be here, could outweigh them.

        So it is if large differences may be hidden, and if a bet on the mean stays below events / (1 − confidence),
        which it passes with a probability of (1 − confidence) / events if the true mean is 0 (`log_wealth`).

        Args:
            confidence: that no such thing is overlooked, …
            events: … among so many.
        """
        found: NDArray[np.bool_] = self.earned < math.log(events / (1.0 - confidence))
        return found

    def bounds(self, critical: float) -> tuple[Numbers, Numbers]:
        """Return the means at which the statistic would be the critical value, above and below 0."""
        lower = self.mean - self.error * transformed_back(critical, self.above)
        upper = self.mean - self.error * transformed_back(-critical, self.below)
        return np.minimum(lower, self.mean), np.maximum(upper, self.mean)


def contrasted(values: Numbers, weights: Numbers, bound: float) -> Contrasted:
    """Return the contrasts of the cells, query by query, described.

    Args:
        values: queries × cells, without gaps.
        weights: contrasts × cells.
        bound: the largest that a contrast can be on one query.
    """
    n, count = len(values), len(weights)
    mean, deviation, skewness, effective, earned = (np.zeros(count) for _ in range(5))
    for block in _blocks(count, n):
        found = values @ weights[block].T
        found[np.abs(found) <= TIED] = 0.0
        mean[block] = found.mean(axis=0)
        apart = found - mean[block]
        spread = np.ptp(found, axis=0) > TIED * np.maximum(np.abs(found).max(axis=0), 1.0)
        deviation[block] = np.where(spread, np.sqrt((apart**2).sum(axis=0) / max(n - 1, 1)), 0.0)
        some = np.where(spread, deviation[block], 1.0)
        skewness[block] = np.where(spread, ((apart / some) ** 3).mean(axis=0), 0.0)
        unit = np.maximum(np.abs(found).max(axis=0), np.finfo(np.float64).tiny)
        squares = (found / unit) ** 2
        earned[block] = log_wealth(found, bound)
        effective[block] = squares.sum(axis=0) ** 2 / np.maximum((squares**2).sum(axis=0), 1e-300)
    effective = np.maximum(effective, 1.0)
    wider = np.sqrt(1.0 + 1.0 / effective)
    error = np.where(deviation > 0.0, deviation * wider / math.sqrt(n), np.nan)
    part, scale = effective / (effective + _SKEWNESS_OF), 1.0 / (wider * math.sqrt(n))
    strong = np.abs(skewness) > STRONG * math.sqrt(6.0 / n)
    above = np.where(strong & (skewness < 0.0), 1.0, part) * skewness * scale
    below = np.where(strong & (skewness > 0.0), 1.0, part) * skewness * scale
    return Contrasted(weights, n, mean, deviation, error, above, below, earned)


def largest(found: Contrasted, drawn: Numbers) -> Numbers:
    """Return, for each repetition, the largest |z| of the contrasts; 0 if none differs between queries."""
    top = np.zeros(len(drawn))
    norms = found.deviation[found.known] * math.sqrt(max(found.n - 1, 1))
    weights = found.weights[found.known] / norms[:, np.newaxis]
    for block in _blocks(len(weights), len(drawn)):
        z = drawn @ weights[block].T
        np.maximum(top, np.maximum(z.max(axis=1), -z.min(axis=1)), out=top)
    return top


def critical_value(found: Contrasted, top: Numbers, confidence: float) -> float:
    """Return what the largest |z| stays below with the given probability."""
    if found.known.sum() == 1:
        return t_quantile(found.n - 1, 0.5 + confidence / 2.0)
    return float(np.quantile(top, confidence, method="higher"))


def adjusted_p(found: Contrasted, top: Numbers) -> Numbers:
    """Return how often the largest |z| of the family gets as far from 0 as each statistic.

    A contrast that is the same for all queries has no standard error: its p-value is 1 if it is 0, and else what the
    sign-flip test gives, times the number of contrasts.
    """
    known, count = found.known, len(found.mean)
    constant = np.minimum(1.0, count * 2.0 ** (1.0 - found.n))
    p = np.where(np.abs(found.mean) > TIED, constant, 1.0)
    far = np.abs(found.statistic[known])
    if known.sum() == 1:
        p[known] = 2.0 * importlib.import_module("scipy.special").stdtr(found.n - 1, -far)
    else:
        beyond = len(top) - np.searchsorted(np.sort(top), far, side="left")
        p[known] = (beyond + 1) / (len(top) + 1)
    return p


def _blocks(count: int, each: int) -> Iterator[slice]:
    at_a_time = max(1, _BLOCK // max(each, 1))
    for start in range(0, count, at_a_time):
        yield slice(start, start + at_a_time)
