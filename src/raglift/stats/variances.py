"""Variance between queries, and between runs of the same query.

The values of a metric, run by run, are taken as μ + a_q + e_qr: queries differ by a_q, and runs of one query by e_qr.
The two variances are estimated by the method of moments, that is, the random-effects analysis of variance of a one-way
layout, which need not be balanced (Searle, Casella and McCulloch, Variance Components, 1992, section 3.6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.stats.intervals import checked_integer, numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class VarianceComponents:
    """How much queries differ, and how much runs of one query do."""

    between_queries: float
    """The variance of the queries' true means; 0 where the estimate is below 0."""
    within_queries: float
    """The variance of single runs around the true mean of their query."""
    queries: int
    """How many queries have values."""
    runs: int
    """How many values there are."""

    @property
    def share_within(self) -> float:
        """The share of a single run's variance that comes from run to run; 0 where there is no variance at all."""
        total = self.between_queries + self.within_queries
        return self.within_queries / total if total else 0.0

    def standard_error(self, queries: int | None = None, repetitions: int | None = None) -> float:
        """Return the standard error that a mean over queries would have.

        It is √((σ²_between + σ²_within / r) / n): more runs of the same queries make only the second part smaller.

        Args:
            queries: how many queries, n; by default as many as there are.
            repetitions: how often each is run, r; by default as often as they were on average.

        Raises:
            ConfigurationError: not an integer of 1 or more.
        """
        n = self.queries if queries is None else checked_integer("queries", queries, least=1)
        r = self.runs / self.queries if repetitions is None else checked_integer("repetitions", repetitions, least=1)
        return math.sqrt((self.between_queries + self.within_queries / r) / n)


def variance_components(values: ArrayLike) -> VarianceComponents | None:
    """Estimate the variance between queries and within them.

    Args:
        values: a row per run and a column per query; NaN where a query was not run so often.

    Returns:
        None where fewer than two queries have values, or no query has two.
    """
    table = numbers("values", values, dimensions=2)
    runs = np.count_nonzero(~np.isnan(table), axis=0)
    table, runs = table[:, runs > 0], runs[runs > 0]
    queries, total = len(runs), int(runs.sum())
    if queries < 2 or total == queries:
        return None
    means = np.nansum(table, axis=0) / runs
    overall = float(np.nansum(table)) / total
    within = float(np.nansum((table - means) ** 2)) / (total - queries)
    between = float((runs * (means - overall) ** 2).sum()) / (queries - 1)
    usual_runs = (total - float((runs**2).sum()) / total) / (queries - 1)
    return VarianceComponents(max(0.0, (between - within) / usual_runs), within, queries, total)
