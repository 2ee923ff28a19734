"""What a user's own metric sees of one query: plain values, one ranking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.satisfied import depth, relevant_hits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.matching import Judgements
    from raglift.records import Hit

__all__ = ["QueryRanking", "query_rankings"]


@dataclass(frozen=True)
class QueryRanking:
    """One query's ranking, cut at the depth at which the metric is taken, and what matched of it."""

    query_id: str
    """The id of the query."""
    k: int | None
    """The depth at which the metric is taken; None for the whole ranking, and for what fits into a token budget."""
    grades: tuple[int, ...]
    """For each hit, best first, the highest grade among the passages that it matches; 0 where it matches none."""
    ranks: tuple[int | None, ...]
    """For each fact, the rank at which it is first satisfied, from 1; None where these hits do not satisfy it."""
    ideal_grades: tuple[int, ...]
    """For each fact, the highest grade among its passages."""
    highest_grade: int
    """The highest grade that any label of the dataset has."""
    hits: tuple[Hit, ...] = field(default=(), repr=False)
    """The hits with their texts and scores; empty where ids alone were scored, which `needs_text` refuses."""

    @property
    def relevant(self) -> tuple[bool, ...]:
        """For each hit, whether it matches some passage of a fact."""
        return tuple(grade > 0 for grade in self.grades)

    @property
    def facts(self) -> int:
        """How many facts the query needs."""
        return len(self.ranks)

    @property
    def found(self) -> int:
        """How many of these are satisfied."""
        return sum(rank is not None for rank in self.ranks)


def query_rankings(judgements: Judgements, k: int | None) -> Iterator[tuple[int, QueryRanking]]:
    """Yield the number of each query that has facts and hits, with its ranking."""
    queries = np.arange(judgements.queries + 1)
    query, rank, grade = relevant_hits(judgements, k)
    rows = np.searchsorted(query, queries).tolist()
    facts = np.searchsorted(judgements.facts.query, queries).tolist()
    first = judgements.first
    satisfied = np.zeros(len(judgements.facts.query), dtype=np.int64)
    satisfied[first.fact] = np.where(first.rank <= depth(k), first.rank, 0)
    ranks, ideal = satisfied.tolist(), judgements.facts.ideal_grade.tolist()
    lengths = np.minimum(judgements.hits, depth(k)).tolist()
    highest = judgements.highest_grade
    for number, length in enumerate(lengths):
        own = slice(facts[number], facts[number + 1])
        if not length or own.start == own.stop:
            continue
        grades = [0] * length
        for row in range(rows[number], rows[number + 1]):
            grades[rank[row] - 1] = int(grade[row])
        yield (
            number,
            QueryRanking(
                query_id=judgements.query_ids[number] if judgements.query_ids else str(number),
                k=k,
                grades=tuple(grades),
                ranks=tuple(place or None for place in ranks[own]),
                ideal_grades=tuple(ideal[own]),
                highest_grade=highest,
                hits=tuple(judgements.rankings[number].hits[:length]) if judgements.rankings else (),
            ),
        )
