"""Match tables as they would be if further hits were relevant, each as a fact of its own."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from raglift.matching.matches import Direction, FactTable, Matches, MatchTable, PassageTable, Satisfactions

if TYPE_CHECKING:
    from numpy.typing import NDArray


def with_facts(
    match_table: MatchTable, query: NDArray[np.int64], rank: NDArray[np.int64], grade: int = 1
) -> MatchTable:
    """Return a match table with further facts, each of one passage that one hit matches.

    So what recall and ideal rankings are measured by grows with them: a fact that nobody finds counts too.

    Args:
        match_table: what matched.
        query: for each new fact, whose it is: the number of a query with labels.
        rank: the rank of the hit that satisfies it; 0 where no hit does.
        grade: of all of them.
    """
    facts, passages = match_table.facts, match_table.passages
    known, new = len(facts.query), len(query)
    # facts are sorted by query, and passages by fact: where each old and new one goes
    by_query = np.argsort(np.concatenate((facts.query, query)), kind="stable")
    fact_place = np.empty(known + new, dtype=np.int64)
    fact_place[by_query] = np.arange(known + new)
    fact_of_passage = np.concatenate((np.repeat(np.arange(known), facts.passages), known + np.arange(new)))
    by_fact = np.argsort(fact_place[fact_of_passage], kind="stable")
    passage_place = np.empty(len(by_fact), dtype=np.int64)
    passage_place[by_fact] = np.arange(len(by_fact))
    counts = np.concatenate((facts.passages, np.ones(new, dtype=np.int64)))[by_query]
    nothing = (None,) * new
    ids = passages.ids if passages.ids is not None else (None,) * len(passages.texts)
    found = rank > 0
    added = _Added(fact_place[known:][found], query[found], rank[found], grade)
    return replace(
        match_table,
        facts=FactTable(
            np.concatenate((facts.query, query))[by_query],
            np.concatenate((facts.ideal_grade, np.full(new, grade, dtype=np.int64)))[by_query],
            counts,
        ),
        passages=PassageTable(
            first=np.cumsum(counts) - counts,
            texts=_ordered((*passages.texts, *nothing), by_fact),
            places=_ordered((*passages.places, *nothing), by_fact),
            grades=np.concatenate((passages.grades, np.full(new, grade, dtype=np.int64)))[by_fact],
            same_as=passage_place[
                np.concatenate((passages.same_as, len(passages.texts) + np.arange(new, dtype=np.int64)))
            ][by_fact],
            ids=_ordered((*ids, *(f"supposed {number}" for number in range(new))), by_fact),
        ),
        matches=added.to_matches(match_table.matches, fact_place),
        overlaps=added.to_matches(match_table.overlaps, fact_place),
        satisfied=added.to_satisfactions(match_table.satisfied, fact_place),
    )


_T = TypeVar("_T")


def _ordered(values: tuple[_T, ...], order: NDArray[np.int64]) -> tuple[_T, ...]:
    if len(order) < _SEVERAL:
        return values
    chosen: tuple[_T, ...] = itemgetter(*order.tolist())(values)
    return chosen


_SEVERAL = 2
"""Of fewer, there is no order, and `itemgetter` returns no tuple."""


class _Added:
    """The new facts that a hit satisfies."""

    def __init__(self, fact: NDArray[np.int64], query: NDArray[np.int64], rank: NDArray[np.int64], grade: int) -> None:
        self._fact, self._query, self._rank = fact, query, rank
        self._grade = np.full(len(fact), grade, dtype=np.int64)

    def to_matches(self, old: Matches, fact_place: NDArray[np.int64]) -> Matches:
        """Return the pairs of hit and passage with the new ones, by query, then rank."""
        zeros = np.zeros(len(self._fact), dtype=np.int64)
        direction = np.full(len(zeros), Direction.SAME_ID, dtype=np.int8)
        new = Matches(
            self._query, self._rank, self._fact, zeros, self._grade, direction, zeros, zeros, zeros, zeros,
            zeros > 0, zeros == 0,
        )  # fmt: skip
        old = replace(old, fact=fact_place[old.fact])
        columns = {name: np.concatenate((getattr(old, name), getattr(new, name))) for name in vars(old)}
        together = Matches(**columns)
        return together.take(np.lexsort((together.rank, together.query)))

    def to_satisfactions(self, old: Satisfactions, fact_place: NDArray[np.int64]) -> Satisfactions:
        """Return when facts are satisfied, the new ones too, by fact, then rank."""
        fact = np.concatenate((fact_place[old.fact], self._fact))
        rank = np.concatenate((old.rank, self._rank))
        grade = np.concatenate((old.grade, self._grade))
        passage = np.concatenate((old.passage, np.zeros(len(self._fact), dtype=np.int64)))
        order = np.lexsort((rank, fact))
        return Satisfactions(fact[order], rank[order], grade[order], passage[order])
