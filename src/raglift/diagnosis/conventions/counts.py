"""What can be counted of one query's ranking: hits, ids, facts and labels, down to a metric's depth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.budgets import within_budget
from raglift.metrics.profiles import DEFAULT, hits
from raglift.metrics.satisfied import depth

if TYPE_CHECKING:
    from raglift.matching import Judgements
    from raglift.metrics.profiles.hits import RelevantHits
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

    @classmethod
    def of(cls, judged: Judgements, query: int, metric: Metric, profile: str = DEFAULT.name) -> Counts:
        """Return the counts of a query; a token budget is a depth like any other from here on."""
        if metric.budget is None:
            return cls(judged, query, metric, profile)
        return cls(within_budget(judged, metric.budget), query, replace(metric, depth=None), profile)

    @property
    def returned(self) -> int:
        """How many hits came back."""
        return int(hits.returned(self.judged, self.metric)[self.query])

    @property
    def distinct_returned(self) -> int:
        """How many different ids they have."""
        return int(hits.distinct_returned(self.judged, self.metric)[self.query])

    def relevant_ranks(self, *, distinct: bool = False) -> list[int]:
        """Return the ranks of the hits that match anything; with `distinct`, of those whose id did not come before."""
        return self._ranks(hits.relevant_hits(self.judged, self.metric, distinct=distinct))

    def ranks_of_first_matches(self) -> list[int]:
        """Return the ranks of the hits that are the first to match some label."""
        return self._ranks(hits.first_matches(self.judged, self.metric))

    def _ranks(self, found: RelevantHits) -> list[int]:
        ranks: list[int] = found.rank[found.query == self.query].tolist()
        return ranks

    @property
    def labels(self) -> int:
        """How many labels there are, alternatives too, each once."""
        return int(np.count_nonzero(hits.labels(self.judged)[0] == self.query))

    @property
    def labels_found(self) -> int:
        """How many of them were matched."""
        return int(hits.labels_found(self.judged, self.metric)[self.query])

    @cached_property
    def facts(self) -> int:
        """How many facts there are."""
        return int(np.count_nonzero(self.judged.facts.query == self.query))

    @property
    def passages(self) -> int:
        """How many passages the facts have; one that two facts share counts twice."""
        facts = self.judged.facts
        return int(facts.passages[facts.query == self.query].sum())

    @cached_property
    def ranks_of_facts(self) -> list[int]:
        """The first rank of each fact that is satisfied, best first."""
        first = self.judged.first
        ranks: list[int] = first.rank[(first.query == self.query) & (first.rank <= depth(self.metric.k))].tolist()
        return ranks

    @cached_property
    def matches(self) -> list[tuple[int, int, int]]:
        """Fact, passage and rank of each match, sorted; facts by their row in the fact table."""
        matches = self.judged.matches
        rows = (matches.query == self.query) & (matches.rank <= depth(self.metric.k))
        columns = (matches.fact[rows], matches.passage[rows], matches.rank[rows])
        return sorted(zip(*(column.tolist() for column in columns), strict=True))
