"""Thresholds with a guarantee: above which score to answer, so that errors are rare with a stated confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import Interval, checked_fraction, checked_integer, numbers, special

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]

_CONVERGED = 1e-12


def _scores(name: str, values: ArrayLike) -> Numbers:
    """Return scores with −∞ for queries without hits."""
    return np.nan_to_num(numbers(name, values, dimensions=1), nan=-np.inf)


def error_rate_bound(errors: int, queries: int, *, delta: float) -> float:
    """Return the upper confidence bound of an error rate (Clopper and Pearson 1934, one-sided).

    Args:
        errors: how many of the queries went wrong.
        queries: how many there were.
        delta: how often the bound may be below the true rate, at most.

    Returns:
        From 0 to 1: the rate at which so few errors have a probability of delta.

    Raises:
        ConfigurationError: an argument outside its range.
    """
    errors, queries = checked_integer("errors", errors, least=0), checked_integer("queries", queries, least=1)
    if errors > queries:
        raise ConfigurationError(f"errors: found {errors:,}; expected at most {queries:,}, the number of queries")
    delta = checked_fraction("delta", delta)
    return 1.0 if errors == queries else float(special().betaincinv(errors + 1, queries - errors, 1.0 - delta))


def error_rate_interval(errors: int, queries: int, *, confidence: float = 0.95) -> Interval:
    """Return the exact interval of an error rate (Clopper and Pearson 1934); NaN where there are no queries.

    Args:
        errors: how many of the queries went wrong.
        queries: how many there were.
        confidence: how often it holds the true rate, at least.

    Raises:
        ConfigurationError: an argument outside its range.
    """
    if checked_integer("queries", queries, least=0) == 0:
        return Interval(math.nan, math.nan)
    tail = (1.0 - checked_fraction("confidence", confidence)) / 2.0
    high = error_rate_bound(errors, queries, delta=tail)
    return Interval(1.0 - error_rate_bound(queries - errors, queries, delta=tail), high)


def smallest_certifiable_rate(queries: int, *, delta: float) -> float:
    """Return the smallest error rate that so many queries can certify: 1 − δ^(1/n), by no error at all.

    Args:
        queries: how many there are.
        delta: how often the certificate may be wrong.

    Raises:
        ConfigurationError: an argument outside its range.
    """
    return error_rate_bound(0, checked_integer("queries", queries, least=1), delta=delta)


def fewest_queries(rate: float, *, delta: float) -> int:
    """Return how many queries it takes to certify an error rate: log δ / log(1 − rate), rounded up.

    Args:
        rate: the error rate, above 0 and below 1.
        delta: how often the certificate may be wrong.

    Raises:
        ConfigurationError: an argument outside its range.
    """
    rate, delta = checked_fraction("rate", rate), checked_fraction("delta", delta)
    return math.ceil(math.log(delta) / math.log1p(-rate) - _CONVERGED)


def threshold_for_rate(scores: ArrayLike, *, rate: float, delta: float) -> float:
    """Return the lowest threshold at which few queries that should not be answered are, with confidence.

    A query is answered if its score is at least the threshold. The share of such queries that is answered falls as the
    threshold rises, so that with a probability of at least 1 − delta over the queries, it is at most `rate` at the
    lowest threshold whose upper bound, and that of all above it, is (risk-controlling prediction sets: Bates,
    Angelopoulos, Lei, Malik and Jordan, 2021, with the exact bound of Clopper and Pearson).

    Args:
        scores: of queries that should not be answered; NaN of one without hits, which never is.
        rate: the share of them that may be answered.
        delta: how often the promise may fail.

    Returns:
        A number just above the score of one of the queries; −∞ where all may be answered.

    Raises:
        ConfigurationError: an argument outside its range, or a rate that so few queries cannot certify.
    """
    known = np.sort(_scores("scores", scores))[::-1]
    rate, delta = checked_fraction("rate", rate), checked_fraction("delta", delta)
    least = smallest_certifiable_rate(len(known), delta=delta) if len(known) else 1.0
    if rate < least:
        raise ConfigurationError(
            f"rate: found {rate:g}; expected at least {least:.3f}, the smallest that {len(known):,} queries certify at "
            f"delta {delta:g}; or {fewest_queries(rate, delta=delta):,} queries"
        )
    # the probability of so few errors among the queries at a rate that is too high
    tails = np.asarray(special().bdtr(np.arange(len(known), dtype=float), len(known), rate))
    allowed = int(np.count_nonzero(tails <= delta)) - 1
    first_refused = float(known[allowed])
    return first_refused if first_refused == -math.inf else float(np.nextafter(first_refused, math.inf))


# How well scores tell two kinds of queries apart.


@dataclass(frozen=True)
class Separation:
    """How well a score tells two groups apart: the area under the ROC curve."""

    auroc: float
    """The probability that one of the first group has a higher score than one of the second, ties counted half."""
    interval: Interval
    """Of that, by the score method of Newcombe (2006)."""
    first: int
    """How many the first group has."""
    second: int
    """How many the second has."""


def separation(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> Separation:
    """Return the area under the ROC curve, the Mann–Whitney statistic U / (m n), with an interval.

    The interval has all values θ with |θ̂ − θ| ≤ z √V(θ), where V is the variance of Hanley and McNeil (1982) as
    Newcombe's method 5 has it ("Confidence intervals for an effect size measure based on the Mann–Whitney statistic",
    2006): θ (1 − θ) [1 + N ((1 − θ) / (2 − θ) + θ / (1 + θ))] / (m n) with N = (m + n) / 2 − 1. It has a width where
    the groups do not overlap, too.

    Args:
        first: the scores that should be high; NaN of a query without hits, which is below all others.
        second: those that should be low.
        confidence: of the interval.

    Raises:
        ConfigurationError: a group without scores, or an argument outside its range.
    """
    high, low = _scores("first", first), np.sort(_scores("second", second))
    if not len(high) or not len(low):
        raise ConfigurationError(f"found {len(high):,} and {len(low):,} scores; expected one of each group at least")
    below = np.searchsorted(low, high, side="left") + np.searchsorted(low, high, side="right")
    auroc = float(below.sum() / (2 * len(high) * len(low)))
    z = float(special().ndtri((1.0 + checked_fraction("confidence", confidence)) / 2.0))
    bounds = (_limit(auroc, 0.0, len(high), len(low), z), _limit(auroc, 1.0, len(high), len(low), z))
    return Separation(auroc, Interval(*bounds), len(high), len(low))


def _limit(auroc: float, end: float, first: int, second: int, z: float) -> float:
    """Return where |θ̂ − θ| = z √V(θ) between the estimate and an end of the scale, by bisection."""
    larger = (first + second) / 2 - 1

    def is_inside(area: float) -> bool:
        spread = area * (1.0 - area) * (1.0 + larger * ((1.0 - area) / (2.0 - area) + area / (1.0 + area)))
        return abs(auroc - area) <= z * math.sqrt(spread / (first * second))

    inside, outside = auroc, end
    while abs(inside - outside) > _CONVERGED:
        middle = (inside + outside) / 2.0
        inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
    return inside
