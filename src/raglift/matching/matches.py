"""The match table, which metrics are computed from: one stage, all queries, as flat arrays.

Rows are sorted by query, then rank. A rank is 1 for the first hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.text.tokens import TokenCounts
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.types.metric import Calls, Tokens


class Direction:
    """How a hit matched a passage; the values of `Matches.direction`."""

    CHUNK_CONTAINS_PASSAGE = 0
    PASSAGE_CONTAINS_CHUNK = 1
    SAME_ID = 2
    OVERLAP = 3
    NAMES = ("chunk contains passage", "passage contains chunk", "same id", "chunk overlaps passage")


@dataclass(frozen=True, eq=False)
class FactTable:
    """The facts of all queries, in dataset order: one entry per fact."""

    query: NDArray[np.int64]
    """Which query needs it, ascending."""
    ideal_grade: NDArray[np.int64]
    """The highest grade among its passages."""
    passages: NDArray[np.int64]
    """How many alternatives it has."""

    def first_of_query(self, query: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row of the first fact of each of some queries."""
        return np.searchsorted(self.query, query).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PassageTable:
    """The passages of all facts, fact after fact: one entry per passage."""

    first: NDArray[np.int64]
    """For each fact, the row of its first alternative."""
    texts: tuple[str | None, ...]
    """The words; None for a chunk-id label."""
    places: tuple[tuple[str, int] | None, ...]
    """The document and the offset of the first character, where they are known."""
    grades: NDArray[np.int64]
    """How good each is as evidence."""
    same_as: NDArray[np.int64]
    """The row of the first passage of the same query that is the same label: the same chunk id, or the same text at the
    same location. For most it is their own row."""
    ids: tuple[str | None, ...] | None = None
    """The chunk id of a chunk-id label, None for another; None altogether where each passage is another chunk."""

    def rows(self, fact: NDArray[np.int64], passage: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of alternatives of facts."""
        return np.asarray(self.first[fact] + passage, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Matches:
    """Which hit matched, or covers a part of, which passage: one row per pair."""

    query: NDArray[np.int64]
    rank: NDArray[np.int64]
    fact: NDArray[np.int64]
    """A row of the fact table."""
    passage: NDArray[np.int64]
    """Which alternative of the fact."""
    grade: NDArray[np.int64]
    """The passage's grade."""
    direction: NDArray[np.int8]
    """One of the values of `Direction`."""
    start: NDArray[np.int64]
    """The covered part, in characters of the passage's own text: first covered, …"""
    end: NDArray[np.int64]
    """… and one past the last; both 0 for a chunk-id label."""
    normalized_start: NDArray[np.int64]
    """The covered part in characters of the passage's normalized text, which is what coverage counts: first covered,
    …"""
    normalized_end: NDArray[np.int64]
    """… and one past the last; both 0 for a chunk-id label."""
    repeated: NDArray[np.bool_]
    """Whether an earlier hit of the same ranking has the same id."""
    relevant: NDArray[np.bool_]
    """Whether the pair makes the hit relevant; where it does not, the hit only covers a part."""

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Matches:
        """Return some of the rows."""
        return Matches(*(getattr(self, column.name)[rows] for column in fields(self)))


@dataclass(frozen=True, eq=False)
class Satisfactions:
    """At which rank a fact is satisfied, and with what grade: one row each time its grade gets better."""

    fact: NDArray[np.int64]
    """A row of the fact table; sorted by fact, then rank."""
    rank: NDArray[np.int64]
    grade: NDArray[np.int64]
    """Rising within a fact."""
    passage: NDArray[np.int64]
    """The alternative of the fact that is matched there; of several with that grade, the first."""

    def take(self, rows: NDArray[np.bool_]) -> Satisfactions:
        """Return some of the rows."""
        return Satisfactions(*(getattr(self, column.name)[rows] for column in fields(self)))


@dataclass(frozen=True, eq=False)
class FirstSatisfactions:
    """The facts that are satisfied at all, sorted by query, then rank, then higher grade first."""

    fact: NDArray[np.int64]
    query: NDArray[np.int64]
    rank: NDArray[np.int64]
    grade: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HitPositions:
    """The positions of some of the hits: one row per hit."""

    query: NDArray[np.int64]
    rank: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int]]) -> HitPositions:
        """Return pairs of query and rank as columns."""
        table = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1])

    def take(self, rows: NDArray[np.bool_]) -> HitPositions:
        """Return some of the rows."""
        return HitPositions(self.query[rows], self.rank[rows])


@dataclass(frozen=True, eq=False)
class CallTable:
    """The searches of all sessions: one row per call, by query, then in the order in which they were made."""

    query: NDArray[np.int64]
    """Whose each call is, ascending."""
    hits: NDArray[np.int64]
    """How many hits each returned; a ranking has them one call after the other."""

    @property
    def number(self) -> NDArray[np.int64]:
        """The number of each call in its session; 1 is the first."""
        return np.asarray(np.arange(len(self.query)) - np.searchsorted(self.query, self.query) + 1, dtype=np.int64)

    @property
    def before(self) -> NDArray[np.int64]:
        """How many hits the earlier calls of the same session returned."""
        sums = np.concatenate(([0], np.cumsum(self.hits)))
        return np.asarray(sums[:-1] - sums[np.searchsorted(self.query, self.query)], dtype=np.int64)

    def rows(self, query: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the call that returned each of some hits, as a row of this table."""
        ends = np.cumsum(self.hits)
        first = np.searchsorted(self.query, query)
        before = np.concatenate(([0], ends))[first]
        return np.searchsorted(ends, before + rank).astype(np.int64)

    def cut(self, lengths: NDArray[np.int64]) -> CallTable:
        """Return the calls with the hits that are left of them where each ranking is cut at a length."""
        return CallTable(self.query, np.clip(lengths[self.query] - self.before, 0, self.hits))


@dataclass(frozen=True, eq=False)
class SpanUpperBound:
    """The metric values if exactly the chunks that overlap a passage were retrieved: one entry per query."""

    covered: NDArray[np.int64]
    """Characters of its passages that these chunks cover, each once."""
    passages: NDArray[np.int64]
    """Characters of its passages, each once."""
    chunks: NDArray[np.int64]
    """Characters of these chunks, each character of the source once."""


@dataclass(frozen=True, eq=False)
class MatchTable:
    """Everything a metric may look at, for one stage and all queries."""

    queries: int
    """How many queries there are, those without labels included."""
    hits: NDArray[np.int64]
    """How many hits each query's ranking has."""
    rankings: Sequence[Ranking]
    """The matched rankings, one per query."""
    facts: FactTable
    passages: PassageTable
    matches: Matches
    """The pairs that make a hit relevant."""
    overlaps: Matches
    """All pairs in which a hit covers any part of a passage; those of `matches` are among them."""
    satisfied: Satisfactions
    irrelevant: HitPositions = field(default_factory=lambda: HitPositions.of(()))
    """The hits that are, or lie inside, passages judged irrelevant, whatever else they match."""
    pooled: HitPositions = field(default_factory=lambda: HitPositions.of(()))
    """The hits that the labels name without a judgment, by a grade below 0: in the pool, as in a sampled one.
    They are among the irrelevant ones too, as ir_measures counts them as judged."""
    judged_irrelevant: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """How many labels of each query say that something is irrelevant; empty if none of any query does."""
    repeats: HitPositions = field(default_factory=lambda: HitPositions.of(()))
    """The hits whose id an earlier hit of the same ranking has; those of labelled queries at least."""
    by_text_alone: int = 0
    """Matches of passages anchored to a document with hits whose document is not known."""
    reach: SpanUpperBound | None = None
    """What the chunks of the index allow, where they are known."""
    sessions: CallTable | None = None
    """Of sessions, which call returned which hits; None where each query was asked once."""
    context: MatchTable | None = None
    """Of sessions, the matches of what reached the prompt of the answer, where that is known of any query."""
    context_known: NDArray[np.bool_] | None = None
    """Of which queries it is known; None where of none."""
    rule: MatchRule | None = None
    """What counts as a match; None where one hit is enough for a fact."""
    query_ids: Sequence[str] = ()
    """The ids of the queries, where they are known."""
    counter: TokenCounts = field(default_factory=TokenCounts)
    """Counts tokens; the stages of an evaluation share one."""
    characters_per_token: float | None = None
    """What makes characters of a budget of tokens; None for the mean of the labelled passages."""
    whole: MatchTable | None = None
    """The whole rankings, if these are only prefixes."""
    prefixes: dict[Tokens | Calls, MatchTable] = field(default_factory=dict, init=False)
    """The cached matches at the requested token budgets and numbers of calls."""
    positions: dict[MatchRule, NDArray[np.float64]] = field(default_factory=dict, init=False)
    """The cached positions of facts (`raglift.matching.reading`), by rule."""

    @property
    def calls(self) -> CallTable:
        """The calls of each query: where it was asked once, that is its only one."""
        if self.sessions is not None:
            return self.sessions
        return CallTable(np.arange(self.queries, dtype=np.int64), self.hits)

    def cut(self, lengths: NDArray[np.int64]) -> MatchTable:
        """Return the matches of the first hits of each ranking, with the given number for each query."""
        found, overlaps, satisfied = self.matches, self.overlaps, self.satisfied
        irrelevant, pooled, repeats = self.irrelevant, self.pooled, self.repeats
        early = satisfied.rank <= lengths[self.facts.query[satisfied.fact]]
        return replace(
            self,
            hits=np.minimum(self.hits, lengths),
            rankings=[Ranking(ranking.hits[:n]) for ranking, n in zip(self.rankings, lengths.tolist(), strict=True)],
            matches=found.take(found.rank <= lengths[found.query]),
            overlaps=overlaps.take(overlaps.rank <= lengths[overlaps.query]),
            satisfied=satisfied.take(early),
            irrelevant=irrelevant.take(irrelevant.rank <= lengths[irrelevant.query]),
            pooled=pooled.take(pooled.rank <= lengths[pooled.query]),
            repeats=repeats.take(repeats.rank <= lengths[repeats.query]),
            sessions=None if self.sessions is None else self.sessions.cut(lengths),
            whole=self.whole or self,
        )

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """The tokens of each hit, query after query, in the order of rank; counted when first asked for."""
        return self.counter.of([hit.chunk.text for ranking in self.rankings for hit in ranking.hits])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The characters of each hit, query after query, in the order of rank; counted when first asked for."""
        return np.array([len(hit.chunk.text) for ranking in self.rankings for hit in ranking.hits], dtype=np.int64)

    @cached_property
    def first(self) -> FirstSatisfactions:
        """When each satisfied fact is first satisfied, and with what grade; most metrics start from it."""
        satisfied = self.satisfied
        first = np.ones(len(satisfied.fact), dtype=bool)
        first[1:] = satisfied.fact[1:] != satisfied.fact[:-1]
        fact, rank, grade = satisfied.fact[first], satisfied.rank[first], satisfied.grade[first]
        query = self.facts.query[fact]
        order = np.lexsort((-grade, rank, query))
        return FirstSatisfactions(fact[order], query[order], rank[order], grade[order])


def satisfactions_of(facts: FactTable, matches: Matches) -> Satisfactions:
    """Return when each fact is satisfied where one match is enough: at its first match, and at each better one."""
    order = np.lexsort((matches.passage, -matches.grade, matches.rank, matches.fact))
    fact, rank, grade = matches.fact[order], matches.rank[order], matches.grade[order]
    # A running maximum within each fact: lift each fact above all grades of the facts before it.
    lift = fact * (int(facts.ideal_grade.max(initial=0)) + 1)
    best = np.maximum.accumulate(grade + lift) if len(grade) else grade
    better = np.ones(len(fact), dtype=bool)
    better[1:] = best[1:] > best[:-1]
    return Satisfactions(fact[better], rank[better], grade[better], matches.passage[order][better])
