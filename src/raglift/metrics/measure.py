"""Measures, their settings, and what most of them are computed from."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.matching.matches import FirstSatisfactions, HitPositions, Matches, MatchTable
    from raglift.metrics.profiles.hits import Function
    from raglift.types.metric import Metric


# The settings of a measure: one of several choices, or a number in a range.


@dataclass(frozen=True)
class Choice:
    """A setting that is one of some words, as `gain=exponential`."""

    name: str
    """How it is written before the equals sign."""
    values: tuple[str, ...]
    """The words; the first is the default."""

    def __str__(self) -> str:
        return f"{self.name}={'|'.join(self.values)}"

    def accepts(self, text: str) -> bool:
        """Return whether a text is one of the words."""
        return text in self.values

    def of(self, metric: Metric) -> str:
        """Return the value that a metric has."""
        return metric.parameter(self.name, self.values[0])


@dataclass(frozen=True)
class Number:
    """A setting that is a number in a range, as `p=0.95`."""

    name: str
    """How it is written before the equals sign."""
    low: float
    """The least it may be."""
    high: float
    """The most it may be."""
    default: float | None = None
    """What it is unless given; None if the measure finds it out from the labels."""
    is_open: bool = False
    """Whether the ends of the range are outside of it."""
    is_whole: bool = False
    """Whether only whole numbers will do."""

    def __str__(self) -> str:
        kind = "a whole number" if self.is_whole else "a number"
        span = f"above {self.low:g} and below {self.high:g}" if self.is_open else f"from {self.low:g} to {self.high:g}"
        unless = "" if self.default is None else f" ({self.default:g} unless given)"
        return f"{self.name}={kind} {span}{unless}"

    def accepts(self, text: str) -> bool:
        """Return whether a text is a number in the range."""
        try:
            number = float(text)
        except ValueError:
            return False
        if not math.isfinite(number) or (self.is_whole and not number.is_integer()):
            return False
        return self.low < number < self.high if self.is_open else self.low <= number <= self.high

    def of(self, metric: Metric) -> float | None:
        """Return the value that a metric has; None if neither it nor the measure says one."""
        value = metric.parameter(self.name, "")
        return float(value) if value else self.default


# First satisfaction of each fact, from which most metrics are computed.


def first_satisfactions(match_table: MatchTable) -> FirstSatisfactions:
    """Return, for each satisfied fact, the first rank and the grade there; found once for all metrics."""
    return match_table.first


def relevant_hits(match_table: MatchTable, k: int | None) -> tuple[NDArray[np.int64], ...]:
    """Return query, rank and highest matched grade of each relevant hit among the first k, by query, then rank."""
    matches = match_table.matches
    within = matches.rank <= depth(k)
    return one_row_a_hit(matches.query[within], matches.rank[within], matches.grade[within])


def irrelevant_hits(match_table: MatchTable, k: int | None) -> HitPositions:
    """Return the hits among the first k that were judged irrelevant and match nothing; an id that comes again is none.

    What is in the pool but was not judged, as a grade below 0 says, is not among them.
    """
    found = match_table.irrelevant
    others = (match_table.matches, match_table.pooled, match_table.repeats)
    return found.take((found.rank <= depth(k)) & ~np.isin(_keys(match_table, found), _all_keys(match_table, others)))


def unjudged_hits(match_table: MatchTable, k: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return query and rank of each hit among the first k that were not judged."""
    hits = np.minimum(match_table.hits, depth(k))
    query = np.repeat(np.arange(match_table.queries), hits)
    rank = np.arange(len(query)) - (np.cumsum(hits) - hits)[query] + 1
    irrelevant, pooled = match_table.irrelevant, match_table.pooled
    judged = ~np.isin(_keys(match_table, irrelevant), _keys(match_table, pooled))
    known = _all_keys(match_table, (match_table.matches, irrelevant.take(judged)))
    rest = ~np.isin(query * _span(match_table) + rank, known)
    return query[rest], rank[rest]


def count_before(match_table: MatchTable, places: HitPositions, hits: HitPositions) -> NDArray[np.int64]:
    """Return for each of some hits how many of the positions are above it in its ranking."""
    keys = _keys(match_table, places)
    first = np.searchsorted(keys, hits.query * _span(match_table))
    return np.asarray(np.searchsorted(keys, _keys(match_table, hits)) - first, dtype=np.int64)


def _span(match_table: MatchTable) -> int:
    return int(match_table.hits.max(initial=0)) + 1


def _keys(match_table: MatchTable, places: HitPositions | Matches) -> NDArray[np.int64]:
    """Return a number for each position, which no other position has, ascending as query and rank are."""
    return np.asarray(places.query * _span(match_table) + places.rank, dtype=np.int64)


def _all_keys(match_table: MatchTable, places: Sequence[HitPositions | Matches]) -> NDArray[np.int64]:
    return np.concatenate([_keys(match_table, each) for each in places])


def one_row_a_hit(
    query: NDArray[np.int64], rank: NDArray[np.int64], grade: NDArray[np.int64]
) -> tuple[NDArray[np.int64], ...]:
    """Return query, rank and the highest of the grades of each hit, by query, then rank."""
    order = np.lexsort((-grade, rank, query))
    query, rank, grade = query[order], rank[order], grade[order]
    best = np.ones(len(query), dtype=bool)
    best[1:] = (query[1:] != query[:-1]) | (rank[1:] != rank[:-1])
    return query[best], rank[best], grade[best]


def count_by_query(query: NDArray[np.int64], match_table: MatchTable) -> NDArray[np.float64]:
    """Return how many rows each query has."""
    return np.bincount(query, minlength=match_table.queries).astype(np.float64)


def sum_by(place: NDArray[np.int64], terms: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Return the sum of the terms at each position, as floats also when there are none."""
    sums: NDArray[np.float64] = np.bincount(place, weights=terms, minlength=length).astype(np.float64)
    return sums


def per_query(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide, with 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def depth(k: int | None) -> int:
    """Return k as a number that ranks can be compared with."""
    return np.iinfo(np.int64).max if k is None else k


# A measure: its name, definition, reference, and the function that computes it.


@dataclass(frozen=True)
class Measure:
    """A family of metrics that differ in depth and settings alone."""

    name: str
    """In metric texts: `ndcg`."""
    title: str
    """In tables, for one query: `NDCG`."""
    formula: str
    """The definition in one line; the function's docstring says more."""
    compute: Function
    """Values for all queries."""
    source: str = ""
    """The paper, or the tool, that the definition is from."""
    mean_title: str = ""
    """In tables, for the mean over queries, where it has a name of its own: `MRR`."""
    needs_k: bool = False
    """Whether it divides by k: it means nothing without one, nor at a token budget."""
    takes_k: bool = True
    """Whether it can be taken at a depth; one that cannot is the same at every depth."""
    needs_budget: bool = False
    """Whether it is taken at a budget of tokens alone, and reads up to it itself: it is given the whole ranking."""
    is_cost: bool = False
    """Whether it is what a prompt costs, in tokens: not between 0 and 1, and no better for being more."""
    is_earned: bool = True
    """Whether it grows from 0 with the hits; else it is the labels' or the index's own."""
    is_neutral: bool = False
    """Whether more of it is neither better nor worse by itself: it has no wins and no losses."""
    is_bounded: bool = True
    """Whether it lies between 0 and 1."""
    is_by_call: bool = False
    """Whether it is of sessions: its k counts the hits of each call, and it looks at all calls."""
    is_conditional: bool = False
    """Whether it says nothing of some queries, which its mean then leaves out, also where they failed."""
    needs_chunks: bool = False
    """Whether all chunks of the index must be known."""
    needs_text: bool = False
    """Whether it looks at the texts of hits and passages; ids are not enough."""
    needs_irrelevant: bool = False
    """Whether the labels must say of something that it is irrelevant."""
    parameters: tuple[Choice | Number, ...] = ()
    """The settings it takes."""
    aliases: tuple[str, ...] = ()
    """Other names by which it is read."""
    origin: str = ""
    """Where a user's own comes from, as `my_rag.metrics:early`; empty for raglift's."""
    is_installed: bool = True
    """Whether it can be computed here; a saved run may show values of one that cannot."""

    @property
    def depths(self) -> tuple[str, ...]:
        """At what it can be taken: `k`, `tokens`, `calls`, and `all` for the whole ranking."""
        if not self.takes_k:
            return ("all",)
        if self.needs_budget:
            return ("tokens",)
        return ("k",) if self.needs_k else ("k", "tokens", "calls", "all")

    @property
    def example(self) -> str:
        """How it is written at a depth: `ndcg@10`, `recall_area@tokens(2000)`."""
        return self.name if not self.takes_k else f"{self.name}@{'tokens(2000)' if self.needs_budget else 10}"

    def mean_of(self, values: NDArray[np.float64]) -> float:
        """Return the mean of the values that are there; NaN if there is none."""
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if len(counted) else float("nan")

    @property
    def description(self) -> str:
        """The definition in full: the docstring of the function."""
        return inspect.getdoc(self.compute) or self.formula
