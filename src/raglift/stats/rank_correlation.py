"""Rank correlations of two orders of the same things, for many orders at once, and their intervals over queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.stats.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Correlation = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


RESAMPLES = 2000
"""How often queries are drawn again for an interval."""
_MOST_UNDEFINED = 0.05
_TIED = 1e-12


def kendall_tau(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Kendall's tau-b of each pair of rows: pairs in the same order minus pairs in opposite ones, as a share.

    Kendall, "The treatment of ties in ranking problems", 1945. Range [−1, 1]; NaN where all values of a row are tied.

    Args:
        first: a row an order, and a column a thing.
        second: likewise, in the same columns.
    """
    one, other = _signs(first), _signs(second)
    both = np.sqrt((one != 0).sum(axis=1) * (other != 0).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((one * other).sum(axis=1) / np.where(both > 0, both, np.nan))


def tau_ap(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the AP correlation of each row of the second with that of the first: swaps at the top weigh more.

    With N things in descending order of the second, and C(i) of those above rank i that the first puts above too:

        tau_ap = 2 / (N − 1) · Σ over ranks i from 2 to N of C(i) / (i − 1) − 1

    Yilmaz, Aslam and Robertson, "A new rank correlation coefficient for information retrieval", 2008. Range [−1, 1];
    NaN where values of a row are tied, for which it is not defined.

    Args:
        first: the reference, a row an order, and a column a thing.
        second: what is compared with it, in the same columns.
    """
    things = first.shape[1]
    order = np.argsort(-second, axis=1, kind="stable")
    reference = np.take_along_axis(first, order, axis=1)
    above = np.triu(np.ones((things, things)), 1)
    right = ((reference[:, :, np.newaxis] > reference[:, np.newaxis, :] + _TIED) * above).sum(axis=1)[:, 1:]
    found = 2.0 * (right / np.arange(1, things)).mean(axis=1) - 1.0
    tied = (_signs(first) == 0).any(axis=1) | (_signs(second) == 0).any(axis=1)
    return np.where(tied, np.nan, found)


def correlation_interval(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    correlation: Correlation,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """Return the percentile interval of the correlation of the means over queries; whole queries are drawn again.

    Args:
        first: a row a thing, and a column a query.
        second: likewise.
        correlation: `kendall_tau` or `tau_ap`.
        confidence: how often intervals hold the true value, with many queries; with fewer than 30 they are too narrow.
        seed: of the resamples.

    Returns:
        None with fewer than 2 queries, or where it is not defined in more than one resample of twenty.
    """
    queries = first.shape[1]
    if queries < 2:
        return None
    times = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=RESAMPLES)
    found = correlation(times @ first.T / queries, times @ second.T / queries)
    known = found[~np.isnan(found)]
    if len(known) < (1.0 - _MOST_UNDEFINED) * RESAMPLES:
        return None
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(known, [tail, 1.0 - tail]).tolist()
    return Interval(low, high)


def _signs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return which of each two things is larger in each row: 1, −1, or 0 for neither."""
    one, other = np.triu_indices(values.shape[1], 1)
    difference = values[:, one] - values[:, other]
    return np.where(np.abs(difference) <= _TIED, 0.0, np.sign(difference))
