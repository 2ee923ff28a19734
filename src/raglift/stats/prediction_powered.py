"""Totals and means corrected by a sample of true values, after prediction-powered inference.

There are N units (pairs of query and hit, or queries). A cheap annotator gave each a value; the true values are known
of a sample that was drawn with known probabilities. A sum over all units is then estimated without the annotator's
bias, and with a shorter interval than the sample alone gives, the more so the better the annotator is.

The estimator is PPI++ (Angelopoulos, Duchi and Zrnic, "PPI++: Efficient prediction-powered inference", 2023; the
method: Angelopoulos et al., "Prediction-powered inference", Science 2023), written for a finite population: the
difference estimator of survey sampling with tuned coefficients (Särndal, Swensson and Wretman, Model Assisted Survey
Sampling, 1992, chapter 6). With auxiliary values a_i, of which the annotator's values x_i are one, and inclusion
probabilities π_i:

    T̂ = Σ over all units of a_i·b + Σ over sampled units of (y_i − a_i·b) / π_i      the second sum is the rectifier

b minimizes the estimated variance of T̂. Its component for x is the power tuning λ of PPI++. The other auxiliary value
is the weight with which a unit enters the sum, c_i: where y_i = c_i · grade, both together predict a grade as γ + λ ·
the annotator's. With equal weights the rectifier is a weighted mean times N, as Hájek's estimator is; with equal
probabilities too, the plain mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import CONFIDENCE, Interval, checked_fraction, numbers, t_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


FEWEST_SAMPLED = 20
"""With fewer sampled units no interval is given: the variance of so few is too uncertain."""
_NORMAL_KURTOSIS = 3.0
_NEGLIGIBLE = 1e-9
"""A part of a squared length; what is shorter counts as nothing."""
_MOST_LEVERAGE = 0.9
"""Beyond it a unit's own error cannot be seen in its residual."""
_MOST_WIDER = 1.05
"""An annotator that makes an interval wider by more is left out."""


@dataclass(frozen=True)
class CorrectedTotal:
    """A sum over units, estimated from a sample of true values with or without an annotator's."""

    estimate: float
    """Of the sum; NaN if it could not be estimated."""
    interval: Interval
    """For the sum; both ends are NaN with fewer sampled units than are needed."""
    standard_error: float
    """The square root of the estimated variance; 0 where the sample is all there is."""
    freedom: float
    """The degrees of freedom of the interval; infinite where the sample is all there is."""
    tuning: float
    """λ, the weight of the annotator's values: 0 where they do not help, 1 where their errors do not depend on them."""
    sampled: int
    """How many units were sampled."""
    units: int
    """How many units there are."""

    @property
    def width(self) -> float:
        """The width of the interval."""
        return self.interval.high - self.interval.low

    def sampled_for(self, share: float) -> int:
        """Return how many sampled units would make the interval this share as wide as it is.

        The variance of a sample of n of N units, drawn without replacement, goes with 1 / n − 1 / N, so

            n' = 1 / (1 / N + share² · (1 / n − 1 / N)),

        n / share² if N is much larger. It assumes that the residuals of further units are like those of the sampled
        ones, and neglects that quantile and widening fall with n, by up to a tenth of the width. What clusters differ
        by does not fall with n.
        """
        whole = 1.0 / self.units
        return math.ceil(1.0 / (whole + share**2 * (1.0 / self.sampled - whole)) - _NEGLIGIBLE)


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of units, such as the pairs of a query, that stand for a population of such groups."""

    of_unit: NDArray[np.int64]
    """The number of the cluster of each unit, from 0."""
    count: int
    """How many clusters there are; one without a unit counts with a sum of 0."""


def corrected_total(
    values: ArrayLike,
    sampled: ArrayLike,
    probability: ArrayLike,
    *,
    predictions: ArrayLike | None,
    weights: ArrayLike,
    clusters: Clusters | None = None,
    confidence: float = CONFIDENCE,
) -> CorrectedTotal:
    """Estimate a sum over units from the true values of a sample, and an annotator's values of all.

    The variance is design based: it comes from which units were drawn, so it needs no assumption about the annotator,
    and is 0 if all were. With e_i the residual and h_i the leverage of a sampled unit in the fit of b,

        V = (1 + max(κ − 3, 0) / n) Σ v_i,   v_i = (1 − π_i) / π_i² · (e_i / (1 − h_i))²,   κ = n Σ v_i² / (Σ v_i)²

    where 1 − π_i is the finite-population correction, and e_i / (1 − h_i) is the residual of the fit without the unit:
    the cross-fitting of b (MacKinnon and White 1985, HC3). κ, the kurtosis of what the n sampled units contribute, is
    large where few of them make up the variance, as where the annotator is seldom wrong, or weights differ much. V is
    then uncertain, and widened; the interval is Student's with Satterthwaite's 2n / (κ − 1) degrees of freedom, at most
    n minus the fitted coefficients.

    An annotator that does not help costs width, for the coefficient that is fitted. Therefore λ is 0 where the interval
    would be more than 5% wider with it, and where the annotator made no error in the sample, which does not show that
    it makes none elsewhere.

    With clusters (queries), the sum is taken to be the mean over clusters drawn from a population of clusters, and the
    interval is for the mean over that population. The variance is that of the clusters' estimated means, which holds
    both what clusters differ by and the error of sampling in each; the degrees of freedom are Satterthwaite's.

    Args:
        values: the true value of each sampled unit, as it enters the sum.
        sampled: the number of each sampled unit among all units, from 0, each at most once.
        probability: with which each sampled unit was to be in the sample: above 0, at most 1.
        predictions: the annotator's value of each unit, as it would enter the sum; None for the sample alone.
        weights: what each unit's values were multiplied by, as 1 / (k · queries) of Precision; it is used as an
            auxiliary value too, so that a sample with more units of one weight than there should be is put right.
        clusters: of which cluster each unit is; None where the units are all that the statement is about.
        confidence: how often such intervals hold the true sum.

    Raises:
        ConfigurationError: arrays that do not fit each other, or values out of range.
    """
    confidence = checked_fraction("confidence", confidence)
    sample = _Sample(*_checked_sample(values, sampled, probability, len(np.asarray(weights))), clusters, confidence)
    base = _auxiliary(weights)
    alone = _drawn_at_once(sample, base)
    return (
        alone.total
        if predictions is None
        else _unless_wider(_drawn_at_once(sample, _with_predictions(base, predictions)), alone)
    )


def _drawn_at_once(sample: _Sample, known: _Known) -> _Estimated:
    true, places, chance = sample.values, sample.places, sample.chance
    root = np.sqrt(1.0 - chance) / chance
    rows = known.columns[places] * root[:, np.newaxis]
    fit, leverage, rank = _least_squares(rows, true * root)
    residual = true - known.columns[places] @ fit
    enlarged = residual / (1.0 - leverage)
    estimate = float((known.columns @ fit).sum() + (residual / chance).sum())
    sampling, freedom = _variance((root * enlarged) ** 2, int(np.count_nonzero(chance < 1.0)) - rank)
    if np.all(chance >= 1.0):
        freedom = math.inf
    variance = sampling
    if sample.clusters is not None:
        noisy = known.columns @ fit
        noisy[places] += enlarged / chance
        variance, freedom = _over_clusters(noisy, sample.clusters, sampling, freedom)
    tuning = known.tuning(fit)
    found = _result(estimate, variance, freedom, tuning, len(true), len(known.columns), sample.confidence)
    return _Estimated(found, sampling)


def _unless_wider(both: _Estimated, alone: _Estimated) -> CorrectedTotal:
    """Return the estimate with an annotator's values, unless its interval is more than 5% wider than without.

    To take the shorter one of two intervals that differ by chance would make it too short. An annotator without any
    error in the sample is not known to make none: then the sample alone tells.
    """
    is_perfect = both.sampling <= _NEGLIGIBLE**2 * alone.sampling and both.total.sampled < both.total.units
    is_wider = both.total.width > _MOST_WIDER * alone.total.width
    return alone.total if is_perfect or is_wider else both.total


class _Sample(NamedTuple):
    """What was drawn, and what is asked of it."""

    values: NDArray[np.float64]
    places: NDArray[np.int64]
    chance: NDArray[np.float64]
    clusters: Clusters | None
    confidence: float


class _Estimated(NamedTuple):
    """A total, and the part of its variance that comes from sampling units."""

    total: CorrectedTotal
    sampling: float


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known of all units: a row each."""

    columns: NDArray[np.float64]
    has_predictions: bool = False
    """Whether the last column holds the annotator's values."""

    def tuning(self, fit: NDArray[np.float64]) -> float:
        return float(fit[-1]) if self.has_predictions else 0.0


def _auxiliary(weights: ArrayLike) -> _Known:
    return _Known(numbers("weights", weights, dimensions=1)[:, np.newaxis])


def _with_predictions(base: _Known, predictions: ArrayLike) -> _Known:
    found = numbers("predictions", predictions, dimensions=1)
    if len(found) != len(base.columns) or np.isnan(found).any():
        raise ConfigurationError(
            f"predictions: found {np.count_nonzero(~np.isnan(found)):,} numbers; expected one for each of the "
            f"{len(base.columns):,} units"
        )
    return _Known(np.column_stack((base.columns, found)), has_predictions=True)


def _checked_sample(
    values: ArrayLike, sampled: ArrayLike, probability: ArrayLike, units: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    true, chance = numbers("values", values, dimensions=1), numbers("probability", probability, dimensions=1)
    places = np.asarray(sampled, dtype=np.int64).reshape(-1)
    if not len(true) == len(places) == len(chance) or np.isnan(true).any():
        raise ConfigurationError(
            f"corrected total: found {len(true):,} values, {len(places):,} sampled units and {len(chance):,} "
            "probabilities; expected one number of each for every sampled unit"
        )
    if len(places) and (places.min() < 0 or places.max() >= units or len(np.unique(places)) < len(places)):
        raise ConfigurationError(
            f"sampled: found units from {places.min()} to {places.max()}, {len(np.unique(places)):,} distinct of "
            f"{len(places):,}; expected each at most once, from 0 to {units - 1:,}"
        )
    wrong = ~((chance > 0.0) & (chance <= 1.0))
    if wrong.any():
        raise ConfigurationError(
            f"probability: found {chance[wrong][0]:g}; expected the chance with which each unit was drawn, above 0 and "
            "at most 1"
        )
    return true, places, chance


def _least_squares(
    columns: NDArray[np.float64], target: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return the coefficients, the leverage of each row, and how many coefficients could be fitted.

    Columns are taken from the first on: one that those before it explain gets the coefficient 0.
    """
    size = (columns**2).sum(axis=0)  # what is left of it by rounding is nothing
    independent: list[int] = []
    basis: list[NDArray[np.float64]] = []
    for place in range(columns.shape[1]):
        rest = columns[:, place].copy()
        for _ in range(2):  # a second time for what rounding leaves
            for direction in basis:
                rest -= (direction @ rest) * direction
        length = float(rest @ rest)
        if length > _NEGLIGIBLE * float(size[place]) and len(target) > len(independent):
            basis.append(rest / math.sqrt(length))
            independent.append(place)
    fit = np.zeros(columns.shape[1])
    leverage = np.zeros(len(target))
    if independent:
        fit[independent] = np.linalg.lstsq(columns[:, independent], target, rcond=None)[0]
        leverage = np.minimum(np.sum(np.square(basis), axis=0), _MOST_LEVERAGE)
    return fit, leverage, len(independent)


def _variance(parts: NDArray[np.float64], most: int) -> tuple[float, float]:
    """Return a variance that is a sum of squares, widened where few make it up, and its degrees of freedom."""
    total, squares, n = float(parts.sum()), float((parts**2).sum()), len(parts)
    if not squares > 0.0:
        return total, float(most)
    kurtosis = n * squares / total**2
    freedom = 2.0 * n / max(kurtosis - 1.0, _NEGLIGIBLE)
    return total * (1.0 + max(kurtosis - _NORMAL_KURTOSIS, 0.0) / n), min(float(most), freedom)


def _over_clusters(
    values: NDArray[np.float64], clusters: Clusters, variance: float, freedom: float
) -> tuple[float, float]:
    """Return the variance of the mean over a population of clusters, and its degrees of freedom."""
    count = clusters.count
    if count < 2:
        return math.nan, math.nan
    means = np.bincount(clusters.of_unit, weights=values, minlength=count) * count
    both = max(float(means.var(ddof=1)) / count, variance)
    parts = ((variance, freedom), (both - variance, float(count - 1)))
    below = sum(part**2 / free for part, free in parts if part > 0.0 and free > 0.0)
    return both, both**2 / below if below > 0.0 else math.inf


def _result(
    estimate: float, variance: float, freedom: float, tuning: float, sampled: int, units: int, confidence: float
) -> CorrectedTotal:
    error = math.sqrt(variance) if variance >= 0.0 else math.nan
    interval = Interval(math.nan, math.nan)
    if sampled == units and error == 0.0:
        interval = Interval(estimate, estimate)
    elif (sampled >= FEWEST_SAMPLED or sampled == units) and freedom > 0.0 and not math.isnan(error):
        quantile = t_quantile(min(freedom, 1e9), 0.5 + confidence / 2.0)
        interval = Interval(estimate - quantile * error, estimate + quantile * error)
    return CorrectedTotal(estimate, interval, error, freedom, tuning, sampled, units)
