"""The rank correlation of two orders of the same things, for many orders at once, and its interval over queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.stats.intervals import Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def correlation_interval(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval | None:
    """Return the percentile interval of Kendall's tau-b of the means over queries; whole queries are drawn again.

    Args:
        first: a row a thing, and a column a query.
        second: likewise.
        confidence: how often intervals hold the true value, with many queries; with fewer than 30 they are too narrow.
        seed: of the resamples.

    Returns:
        None with fewer than 2 queries, or where it is not defined in more than one resample of twenty.
    """
    queries = first.shape[1]
    if queries < 2:
        return None
    times = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=RESAMPLES)
    found = kendall_tau(times @ first.T / queries, times @ second.T / queries)
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
