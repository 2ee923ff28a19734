"""Confidence intervals for means: of paired differences, and of one system's values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.errors import ConfigurationError
from raglift.significance.arguments import checked_fraction, numbers
from raglift.significance.distributions import normal_quantile, t_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DIFFERENCE_METHOD", "Interval", "difference_interval", "mean_interval"]

DIFFERENCE_METHOD = "t interval with half a win and half a loss added"
"""The name of the method of `difference_interval`."""


class Interval(NamedTuple):
    """A confidence interval; both bounds are NaN where there are too few values for one."""

    low: float
    """The lower bound."""
    high: float
    """The upper bound."""


_UNKNOWN = Interval(math.nan, math.nan)


def difference_interval(differences: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """Return an interval for the mean of paired differences.

    Args:
        differences: one number per query; NaN is left out.
        confidence: how often such intervals hold the true mean.

    Raises:
        ConfigurationError: a confidence that is not between 0 and 1, or differences that are not numbers.
    """
    confidence = checked_fraction("confidence", confidence)
    found = numbers("differences", differences, dimensions=1)
    found = found[~np.isnan(found)]
    n, changed = len(found), int(np.count_nonzero(found))
    if n < 2:
        return _UNKNOWN
    mean, squares = float(found.mean()), float((found**2).sum())
    if changed:
        squares *= 1.0 + 1.0 / changed
    centre = mean * n / (n + 1)
    variance = max(squares / (n + 1) - centre**2, 0.0) * (n + 1) / n
    half = t_quantile(n - 1, 0.5 + confidence / 2) * math.sqrt(variance / (n + 1))
    return Interval(centre - half, centre + half)


def mean_interval(
    values: ArrayLike, *, confidence: float = 0.95, bounds: tuple[float, float] | None = (0.0, 1.0)
) -> Interval:
    """Return an interval for one system's mean.

    Args:
        values: one number per query; NaN is left out.
        confidence: how often such intervals hold the true mean.
        bounds: the least and the largest value that the metric can have; None for a metric without bounds.

    Raises:
        ConfigurationError: a confidence that is not between 0 and 1, or values that are not numbers or out of bounds.
    """
    confidence = checked_fraction("confidence", confidence)
    found = numbers("values", values, dimensions=1)
    found = found[~np.isnan(found)]
    n = len(found)
    if n == 0 or (n == 1 and bounds is None):
        return _UNKNOWN
    tail = 0.5 + confidence / 2
    if bounds is None:
        mean = float(found.mean())
        half = t_quantile(n - 1, tail) * float(found.std(ddof=1)) / math.sqrt(n)
        return Interval(mean - half, mean + half)
    low, high = bounds
    if not low < high or found.min() < low or found.max() > high:
        raise ConfigurationError(f"values: found {found.min():g} to {found.max():g}; expected {low:g} to {high:g}")
    return _wilson((found - low) / (high - low), normal_quantile(tail), low, high)


def _wilson(shares: NDArray[np.float64], z: float, low: float, high: float) -> Interval:
    n, share = len(shares), float(shares.mean())
    largest = share * (1.0 - share)
    ratio = float(shares.var()) / largest if largest > 0.0 else 1.0
    weight = z**2 * min(ratio, 1.0) / n
    centre = (share + weight / 2.0) / (1.0 + weight)
    half = math.sqrt(weight * largest + weight**2 / 4.0) / (1.0 + weight)
    ends = [low + (high - low) * min(max(end, 0.0), 1.0) for end in (centre - half, centre + half)]
    return Interval(ends[0], ends[1])
