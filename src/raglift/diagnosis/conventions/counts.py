"""What can be counted of one query's ranking: hits, ids, facts and passages, down to a metric's depth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.budgets import prefix_lengths
from raglift.metrics.profiles import DEFAULT

if TYPE_CHECKING:
    from raglift.matching import Judgements
    from raglift.records import Metric

__all__ = ["Counts"]


@dataclass(frozen=True, eq=False)
class Counts:
    """One query's ranking, cut at a metric's depth."""

    judged: Judgements
    """What the stage matched, of all queries."""
    query: int
    """The number of the query."""
    metric: Metric
    """Whose depth cuts the ranking."""
    profile: str = DEFAULT.name
    """By whose rule it was judged."""

    @cached_property
    def ids(self) -> list[str]:
        """The ids of the hits."""
        hits = self.judged.rankings[self.query].hits
        length = self.metric.k
        if self.metric.budget is not None:
            length = int(prefix_lengths(self.judged, self.metric.budget)[self.query])
        return [hit.chunk.id for hit in hits[:length]]

    @cached_property
    def relevant_ranks(self) -> list[int]:
        """The ranks of the hits that match any passage."""
        matches = self.judged.matches
        of_query = np.unique(matches.rank[matches.query == self.query])
        return [int(rank) for rank in of_query if rank <= len(self.ids)]

    @property
    def relevant_ids(self) -> set[str]:
        """The distinct ids among the relevant hits."""
        return {self.ids[rank - 1] for rank in self.relevant_ranks}

    @cached_property
    def fact_rows(self) -> list[int]:
        """The rows of the query's facts in the fact table."""
        rows: list[int] = np.flatnonzero(self.judged.facts.query == self.query).tolist()
        return rows

    @property
    def passages(self) -> int:
        """How many passages its facts have."""
        return int(self.judged.facts.passages[self.fact_rows].sum())

    @cached_property
    def matched(self) -> dict[int, dict[int, list[int]]]:
        """For each fact, by its row, and each passage of it that was matched: the ranks of the hits that match it."""
        matches = self.judged.matches
        found: dict[int, dict[int, list[int]]] = {}
        for row in np.flatnonzero((matches.query == self.query) & (matches.rank <= len(self.ids))).tolist():
            of_fact = found.setdefault(int(matches.fact[row]), {})
            of_fact.setdefault(int(matches.passage[row]), []).append(int(matches.rank[row]))
        return found

    @cached_property
    def first_ranks(self) -> dict[int, int]:
        """For each fact that is satisfied, by its row: the first rank at which it is, best first."""
        first = self.judged.first
        rows = np.flatnonzero((first.query == self.query) & (first.rank <= len(self.ids))).tolist()
        return {int(first.fact[row]): int(first.rank[row]) for row in rows}
