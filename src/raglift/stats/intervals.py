"""Confidence intervals, the quantiles they need, and the checks of what statistics are given."""

from __future__ import annotations

import importlib
import math
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raglift.errors import ConfigurationError
from raglift.utilities.limits import LARGEST_SCORE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


# Validation of the inputs of statistics, shared so that all functions raise the same errors.


TIED = 1e-9
"""Differences up to this far from 0 are ties: what summing in another order leaves is not a difference."""

CONFIDENCE = 0.95
"""How often an interval holds the true value, where nothing else is asked for."""


def checked_integer(name: str, value: object, *, least: int) -> int:
    """Return an integer that is at least `least`."""
    try:
        found = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        found = None
    if found is None or isinstance(value, bool) or found < least:
        raise ConfigurationError(f"{name}: found {value!r}; expected an integer of at least {least}")
    return found


def checked_fraction(name: str, value: float) -> float:
    """Return a number strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0.0 < value < 1.0:
        raise ConfigurationError(f"{name}: found {value!r}; expected a number between 0 and 1, as 0.95")
    return float(value)


def numbers(name: str, values: ArrayLike, *, dimensions: int) -> NDArray[np.float64]:
    """Return values as an array of floats; NaN means that there is no value."""
    shape = "one number per query" if dimensions == 1 else "one row per query and one column per comparison"
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{name}: found {type(values).__name__} ({error}); expected {shape}") from error
    if found.ndim != dimensions:
        raise ConfigurationError(f"{name}: found {found.ndim} dimensions; expected {dimensions}: {shape}")
    large = int((np.abs(found) > LARGEST_SCORE).sum())
    if large:
        raise ConfigurationError(
            f"{name}: found {large} values that are infinite or larger than {LARGEST_SCORE:g}; "
            "expected finite numbers, or NaN where a query has no value"
        )
    return found


# Quantiles and tails of the distributions in use; scipy is imported when the first is asked for.


def normal_quantile(share: float) -> float:
    """Return below what a standard normal variable is with the given probability."""
    return float(special().ndtri(share))


def t_quantile(freedom: float, share: float) -> float:
    """Return below what Student's t with so many degrees of freedom is with the given probability."""
    return float(special().stdtrit(freedom, share))


def t_beyond(freedom: float, limit: float) -> float:
    """Return how often Student's t with so many degrees of freedom is farther from 0 than a limit."""
    return 2.0 * float(special().stdtr(freedom, -limit))


def special() -> Any:
    """Return SciPy's special functions."""
    return importlib.import_module("scipy.special")


# Hall's transformation of a t statistic, which makes it nearly Student's where differences are skewed.


def transformed(t: ArrayLike, step: ArrayLike) -> NDArray[np.float64]:
    """Return Hall's transformation of t statistics, where `step` is the skewness of the differences / √n."""
    t, step = np.asarray(t, dtype=np.float64), np.asarray(step, dtype=np.float64)
    found: NDArray[np.float64] = t + step * t**2 / 3.0 + step**2 * t**3 / 27.0 + step / 6.0
    return found


def transformed_back(h: ArrayLike, step: ArrayLike) -> NDArray[np.float64]:
    """Return the t statistics that Hall's transformation makes h of."""
    steps = np.asarray(step, dtype=np.float64)
    shifted = np.asarray(h, dtype=np.float64) - steps / 6.0
    is_felt = np.abs(steps) >= _LEAST_STEP
    some = np.where(is_felt, steps, 1.0)
    return np.where(is_felt, 3.0 / some * (np.cbrt(1.0 + some * shifted) - 1.0), shifted)


_LEAST_STEP = 1e-6


# Confidence intervals for means: of paired differences, and of one system's values. Both are closed forms: nothing is
# drawn, so they need no seed and give the same bounds everywhere. Differences of retrieval metrics are hard on
# intervals. Most are 0, and the few others are nearly all wins. The t interval is then too narrow, as its standard
# deviation rests on a handful of queries, and badly centred, as the mean of so few is skewed. `difference_interval`
# corrects both; with many differences, neither correction is felt. Where differences are skewed, its end on the side
# of the large ones is that of Hall's transformed t, which Johnson's correction does not reach.
# `benchmarks/interval_coverage.py` compares it with other intervals over some fifty populations;
# docs/concepts/statistics/methods.md has some of its coverage at 60 and 120 queries, and of each tail if 8 differences
# of each sign are expected.
# With fewer than 4 differences, nothing that was tried covers.


DIFFERENCE_METHOD = "t interval with the skewness corrections of Johnson and Hall, widened for few differences"
"""The name of the method of `difference_interval`, as a report states it."""

_SKEWNESS_OF = 10
"""With this many differences half of the skewness found is believed: what a handful shows is mostly chance."""


_UNSEEN_SKEWNESS = 2.0
"""Where the skewness of a sample rests on one query, there is so much more of it: it shows less than there is."""


_FARTHEST = 1.75
"""How many half widths of the t interval the end of Hall's transformed t may be from the mean: with few differences it
would be many times as far."""


class Interval(NamedTuple):
    """A confidence interval; both bounds are NaN if the values cannot tell."""

    low: float
    """The lower bound."""
    high: float
    """The upper bound."""


_UNKNOWN = Interval(math.nan, math.nan)


def difference_interval(differences: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """Return an interval for the mean of paired differences.

    With n queries of mean x̄, standard deviation s and skewness g, t the quantile with n − 1 degrees of freedom, and
    m = (Σ d²)² / Σ d⁴ the effective number of differences (where all that are not 0 are equally large: their count):

        centre     x̄ + m / (m + 10) · g s (1 + 2 t²) / 6n      Johnson, "Modified t tests and confidence intervals for
                                                               asymmetrical populations", 1978
        half width t s / √n · √(1 + 1/m)                       as if one more of the m differences had been seen

    and, where they are farther from x̄, the ends of the interval of Hall's transformed t ("On the removal of skewness by
    transformation", 1992), with the quantile t √(1 + 1/m) and the skewness g (1 + 2 r): r is the part of Σ |d − x̄|³
    that is the largest one's, and where the skewness rests on one query, a sample shows less of it than there is.

        x̄ − s / √n · T⁻¹(± t √(1 + 1/m))       T⁻¹ undoes T(t) = t + g t² / 3√n + g² t³ / 27n + g / 6√n

    but no farther than 1.75 of the half width above.

    Changing the sign or the unit of all differences does the same to the interval. It always holds x̄, and is not held
    to the metric's bounds.

    Args:
        differences: one number per query; NaN is left out.
        confidence: how often such intervals hold the true mean.

    Returns:
        The interval; NaN with fewer than 2 queries, or if all differences are the same (all ties, above all): such
        queries do not say how far others might be from them, and [0, 0] would claim that none ever is.

    Raises:
        ConfigurationError: a confidence that is not between 0 and 1, or differences that are not finite numbers.
    """
    confidence = checked_fraction("confidence", confidence)
    found = numbers("differences", differences, dimensions=1)
    found = found[~np.isnan(found)]
    n = len(found)
    unit = float(np.abs(found).max(initial=0.0))
    if n < 2 or np.ptp(found) <= 1e-12 * unit:
        return _UNKNOWN
    found = found / unit  # fourth powers neither overflow nor vanish
    mean, deviation = float(found.mean()), float(found.std(ddof=1))
    cubes = (found - mean) ** 3
    skewness = float(cubes.mean()) / deviation**3
    effective = float((found**2).sum()) ** 2 / float((found**4).sum())
    t = t_quantile(n - 1, 0.5 + confidence / 2.0)
    believed = effective / (effective + _SKEWNESS_OF)
    centre = mean + believed * skewness * deviation * (1.0 + 2.0 * t**2) / (6.0 * n)
    limit, error = t * math.sqrt(1.0 + 1.0 / effective), deviation / math.sqrt(n)
    half = limit * error
    sizes = np.abs(cubes)
    likely = skewness * (1.0 + _UNSEEN_SKEWNESS * float(sizes.max() / sizes.sum()))
    step = likely / math.sqrt(n)
    low = mean - min(error * float(transformed_back(limit, step)), _FARTHEST * half)
    high = mean - max(error * float(transformed_back(-limit, step)), -_FARTHEST * half)
    return Interval(unit * min(centre - half, low, mean), unit * max(centre + half, high, mean))


def mean_interval(
    values: ArrayLike, *, confidence: float = 0.95, bounds: tuple[float, float] | None = (0.0, 1.0)
) -> Interval:
    """Return an interval for one system's mean.

    With bounds it is Wilson's score interval, for n / φ queries: φ is the variance found, as a part of the largest one
    that values with this mean could have. For a metric that is 0 or 1, as HitRate, φ is 1, and it is Wilson's own
    ("Probable inference", 1927): it never leaves the bounds, and is never empty, even if every query is a hit. If all
    values are the same, φ is taken as 1. Without bounds it is the t interval.

    Args:
        values: one number per query; NaN is left out.
        confidence: how often such intervals hold the true mean.
        bounds: the least and the largest value that the metric can have; None for a metric without bounds, as DCG.

    Returns:
        The interval; NaN without values, and without bounds also for 1 value or if all are the same.

    Raises:
        ConfigurationError: a confidence that is not between 0 and 1, or values that are not finite numbers or are out
            of bounds.
    """
    confidence = checked_fraction("confidence", confidence)
    found = numbers("values", values, dimensions=1)
    found = found[~np.isnan(found)]
    if not len(found):
        return _UNKNOWN
    if bounds is None:
        return _by_t(found, confidence)
    low, high = bounds
    least, largest = float(found.min()), float(found.max())
    if not low < high or not low - 1e-9 <= least <= largest <= high + 1e-9:
        raise ConfigurationError(
            f"values: found {least:g} to {largest:g} with bounds ({low:g}, {high:g}); expected values within bounds, "
            "or bounds=None for a metric without any"
        )
    lower, upper = _by_wilson(np.clip((found - low) / (high - low), 0.0, 1.0), confidence)
    return Interval(low + (high - low) * lower, low + (high - low) * upper)


def _by_t(found: NDArray[np.float64], confidence: float) -> Interval:
    n = len(found)
    if n < 2 or np.ptp(found) <= 1e-12 * float(np.abs(found).max()):
        return _UNKNOWN
    half = t_quantile(n - 1, 0.5 + confidence / 2.0) * float(found.std(ddof=1)) / math.sqrt(n)
    mean = float(found.mean())
    return Interval(mean - half, mean + half)


def _by_wilson(shares: NDArray[np.float64], confidence: float) -> Interval:
    """Return Wilson's interval for the mean of numbers from 0 to 1."""
    mean = float(shares.mean())
    possible = mean * (1.0 - mean)
    same = np.ptp(shares) <= 1e-12
    spread = 1.0 if same or possible <= 0.0 else min(float(shares.var()) / possible, 1.0)
    weight = normal_quantile(0.5 + confidence / 2.0) ** 2 * spread / len(shares)
    centre = (mean + weight / 2.0) / (1.0 + weight)
    half = math.sqrt(weight * possible + weight**2 / 4.0) / (1.0 + weight)
    return Interval(min(max(centre - half, 0.0), mean), max(min(centre + half, 1.0), mean))
