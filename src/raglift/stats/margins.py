"""Which systems are shown to be at most a margin worse than every other: lower bounds of paired differences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import TIED, checked_fraction, normal_quantile, numbers, t_quantile, transformed_back
from raglift.stats.skewness import STRONG
from raglift.utilities.limits import LARGEST_SCORE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MARGIN = 0.03
"""How far below another mean a system may truly be that counts as equally good."""
NON_INFERIORITY_METHOD = (
    "one-sided t bounds of paired differences to every other system, with Hall's correction for skewness and a bound "
    "on losses too rare to be seen, Bonferroni over the systems that could be chosen"
)
"""The name of the method, as a report states it."""
_POWER = 0.8
_FEWEST = 2


@dataclass(frozen=True, eq=False)
class NonInferiority:
    """Which systems are shown to be within a margin of every other."""

    best: int
    """The system with the highest mean, of equal ones the first."""
    lower: NDArray[np.float64]
    """For the best and each cheaper system whose mean is within the margin of it, the least of the lower bounds of its
    differences to the others; NaN for all that could not be chosen."""
    shown: NDArray[np.bool_]
    """Which of these bounds are above −margin."""
    queries_needed: int | None
    """About how many queries would show it of the best in 80 of 100 cases, if it and the other that it is compared with
    least clearly were equally good; None where it is shown, and where no number follows from the queries."""


def non_inferiority(
    values: ArrayLike,
    cheaper: ArrayLike,
    *,
    margin: float = MARGIN,
    confidence: float = 0.95,
    bound: float | None = None,
) -> NonInferiority:
    """Return which systems are shown to be at most `margin` worse than every other.

    The system with the highest mean could be chosen, and those that are cheaper than it and have a mean within the
    margin of its. Of each the lower bounds of its differences to all others are computed (`lower_bounds`), and the
    least of them counts: a system that is within the margin of every other is within the margin of the best, whichever
    that is, without a correction (Berger, "Multiparameter hypothesis testing and acceptance sampling", 1982). As any of
    the cheaper systems could be chosen, each bound holds with a probability of 1 − (1 − confidence) / their number;
    that of the highest mean with the number of systems within the margin, any of which could have had it.

    Args:
        values: queries × systems, more is better, without gaps.
        cheaper: systems × systems: whether the one of the row costs less than the one of the column.
        margin: how far below another true mean counts as equally good.
        confidence: how often no bound is above the true difference, at least.
        bound: how large a difference can be, as 1 for metrics between 0 and 1; None where there is no bound.

    Raises:
        ConfigurationError: an argument outside its range, values that are not numbers, or no system.
    """
    alpha = 1.0 - checked_fraction("confidence", confidence)
    margin = checked_margin(margin)
    table = numbers("values", values, dimensions=2)
    if not table.size or np.isnan(table).any():
        raise ConfigurationError(f"values: found {table.shape} with gaps or without values; expected queries × systems")
    means = table.mean(axis=0)
    best = int(means.argmax())
    near = means >= means[best] - margin
    candidates = np.flatnonzero(near & np.asarray(cheaper, dtype=np.bool_)[:, best])
    lower = np.full(len(means), np.nan)
    for system in candidates.tolist():
        lower[system] = _least(table, system, alpha / len(candidates), bound)
    level = alpha / np.count_nonzero(near)
    lower[best] = _least(table, best, level, bound)
    shown = lower > -margin
    needed = None if shown[best] else _queries_needed(table, best, margin, level, bound)
    return NonInferiority(best, lower, shown, needed)


def checked_margin(margin: float) -> float:
    """Return a margin."""
    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0.0 <= margin <= LARGEST_SCORE:
        raise ConfigurationError(
            f"margin: found {margin!r}; expected a number from 0 to {LARGEST_SCORE:g}, as {MARGIN:g}"
        )
    return float(margin)


def lower_bounds(differences: NDArray[np.float64], alpha: float, bound: float | None) -> NDArray[np.float64]:
    """Return what the true mean of each column is above, but for a probability of alpha.

    It is the lesser of two bounds. One is that of the t test, d̄ − t s / √n, where strongly skewed differences (few
    large losses) are corrected by Hall's transformation of t (1992). The other, of differences that cannot be larger
    than `bound`, allows for losses that are too rare to be in the sample: one that n queries miss with a probability of
    alpha is on a share of 1 − alpha^(1/n) of all queries (Clopper and Pearson, 1934), so that the mean could be lower
    by as much times `bound`.

    Args:
        differences: queries × comparisons.
        alpha: how often the bound may be above the true mean.
        bound: how large a difference can be; None where there is no bound.
    """
    n = len(differences)
    means, widths = differences.mean(axis=0), _t_widths(differences, alpha)
    if bound is None:  # differences that are all the same do not say how far others are from them
        return np.where(widths > 0.0, means - widths, -np.inf)
    found: NDArray[np.float64] = means - np.maximum(widths, bound * _missed(n, alpha))
    return found


def _t_widths(differences: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Return by how much the bound of the t test is below each mean; infinite for fewer than 2 queries."""
    n, count = differences.shape
    if n < _FEWEST:
        return np.full(count, np.inf)
    centred = differences - differences.mean(axis=0)
    deviation = np.sqrt((centred**2).sum(axis=0) / (n - 1))
    some = np.where(deviation > TIED, deviation, 1.0)
    skewness = ((centred / some) ** 3).mean(axis=0)
    step = np.where(skewness < -STRONG * math.sqrt(6.0 / n), skewness / math.sqrt(n), 0.0)
    critical = t_quantile(n - 1, 1.0 - alpha)
    found: NDArray[np.float64] = deviation / math.sqrt(n) * np.maximum(transformed_back(critical, step), critical)
    return found


def _missed(n: int, alpha: float) -> float:
    """Return on which share of all queries something is that n queries miss with a probability of alpha."""
    return -math.expm1(math.log(alpha) / n)


def _leads(table: NDArray[np.float64], system: int) -> NDArray[np.float64]:
    """Return the differences of one system to the others."""
    return np.delete(table[:, [system]] - table, system, axis=1)


def _least(table: NDArray[np.float64], system: int, alpha: float, bound: float | None) -> float:
    return float(lower_bounds(_leads(table, system), alpha, bound).min(initial=np.inf))


def _queries_needed(
    table: NDArray[np.float64], system: int, margin: float, alpha: float, bound: float | None
) -> int | None:
    """Return how many queries show a difference of 0 to be above −margin in 80 of 100 cases, to two digits."""
    n, leads = len(table), _leads(table, system)
    if n < _FEWEST or margin <= TIED:
        return None
    place = int(lower_bounds(leads, alpha, bound).argmin())
    width = float(_t_widths(leads[:, [place]], alpha)[0])
    needed = n * (width * (1.0 + normal_quantile(_POWER) / t_quantile(n - 1, 1.0 - alpha)) / margin) ** 2
    if not 0.0 < width < math.inf and bound is None:
        return None
    if bound is not None and margin < bound:
        needed = max(needed, math.log(alpha) / math.log1p(-margin / bound))
    digits = 10 ** max(math.floor(math.log10(max(needed, 1.0))) - 1, 0)
    return int(max(n + 1, math.ceil(needed / digits) * digits))
