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

from raglift.errors import ConfigurationError
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


@dataclass(frozen=True)
class DifferenceComponents:
    """How much the difference of two systems varies between queries, and how much repeated runs add to that."""

    between_queries: float
    """The variance of the queries' true differences; 0 where the estimate is below 0."""
    within_queries: float
    """What differences from run to run add to the variance of a query's difference, with as many runs as there were."""
    queries: int
    """How many queries have a difference."""

    @property
    def share_within(self) -> float:
        """The share of the variance of a query's difference that is from run to run; 0 where there is no variance."""
        total = self.between_queries + self.within_queries
        return self.within_queries / total if total else 0.0

    def standard_error(self, queries: int | None = None, runs: float = 1.0) -> float:
        """Return the standard error that the mean difference would have.

        It is √((σ²_between + σ²_runs / m) / n), with m times as many runs of each query as there were.

        Args:
            queries: how many queries, n; by default as many as there are.
            runs: m; infinity for what no number of runs gets below.

        Raises:
            ConfigurationError: queries that are not an integer of 1 or more, or runs that are not a positive number.
        """
        n = self.queries if queries is None else checked_integer("queries", queries, least=1)
        if not runs > 0:
            raise ConfigurationError(f"runs: found {runs!r}; expected a number greater than 0: 2 for twice as many")
        return math.sqrt((self.between_queries + self.within_queries / runs) / n)


def difference_components(first: ArrayLike, second: ArrayLike) -> DifferenceComponents | None:
    """Estimate how much of the variance of a paired difference comes from running each query only so often.

    With queries q run r_q and s_q times by the two systems, the difference of a query's means has the variance
    σ²_between + σ²_1 / r_q + σ²_2 / s_q. The variances σ²_1 and σ²_2 of single runs are those of `variance_components`;
    σ²_between is the variance of the differences less the mean of the other two terms, and at least 0.

    Args:
        first: a row per run and a column per query, of one system; NaN where a query was not run so often.
        second: the same queries, of the other. A system that ran no query twice adds nothing that could be told.

    Returns:
        None where fewer than two queries have a difference, or neither system ran any query twice.

    Raises:
        ConfigurationError: other numbers of queries.
    """
    tables = [numbers(name, values, dimensions=2) for name, values in (("first", first), ("second", second))]
    if tables[0].shape[1] != tables[1].shape[1]:
        raise ConfigurationError(
            f"difference_components: found {tables[0].shape[1]} and {tables[1].shape[1]} queries; expected the same"
        )
    runs = [np.count_nonzero(~np.isnan(table), axis=0) for table in tables]
    paired = (runs[0] > 0) & (runs[1] > 0)
    parts = [variance_components(table[:, paired]) for table in tables]
    queries = int(np.count_nonzero(paired))
    if queries < 2 or not any(parts):
        return None
    means = [np.nansum(table[:, paired], axis=0) / count[paired] for table, count in zip(tables, runs, strict=True)]
    added = sum(
        (part.within_queries / count[paired] for part, count in zip(parts, runs, strict=True) if part is not None),
        np.zeros(queries),
    )
    within = float(added.mean())
    between = float(np.var(means[0] - means[1], ddof=1)) - within
    return DifferenceComponents(max(0.0, between), within, queries)
