"""Hits that nobody judged, as each system has them, and metric values if some of them were relevant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from raglift.analysis.upper_bound import match_tables_of
from raglift.matching.supposing import with_facts
from raglift.metrics.computing import compute, cut_at_depth
from raglift.metrics.measure import relevant_hits, unjudged_hits
from raglift.metrics.registry import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord
    from raglift.matching.matches import MatchTable
    from raglift.records.metric import Metric


DRAWS = 20
"""How often it is drawn at random which of the unjudged hits are relevant; a figure is the mean over the draws."""
_FEWEST_DRAWS = 4
_DRAWN = 400_000
"""Of more hits than make up so many in all draws there are fewer draws: their mean varies no more for it."""
SEED = 0
SMOOTHING = 5
"""So many hits of the overall share of relevant ones are added to the judged hits at each rank."""

Key: TypeAlias = "tuple[str, str]"
"""A query and a chunk, by their ids."""


@dataclass(frozen=True, eq=False)
class Side:
    """One system: its matches down to the depth, and its hits there."""

    evaluation: EvaluationRecord
    table: MatchTable
    places: NDArray[np.intp]
    """The queries that are looked at."""
    unjudged: tuple[NDArray[np.int64], NDArray[np.int64]]
    """Query and rank of the hits that nobody judged; what came back before does not count again."""
    counted_hits: NDArray[np.int64]
    """How many hits of each query are down to the depth."""
    looked_at: NDArray[np.bool_]
    """Which queries are looked at and have labels."""

    @property
    def hits(self) -> int:
        """How many hits of the labelled queries are down to the depth."""
        return int(self.counted_hits[self.looked_at].sum())

    @classmethod
    def of(cls, evaluation: EvaluationRecord, metric: Metric, places: NDArray[np.intp] | None) -> Side:
        """Return a system's hits down to the depth of a metric.

        Args:
            evaluation: the system.
            metric: what is measured.
            places: the queries that it is compared on; None for all.
        """
        table = match_tables_of(evaluation)[-1]
        table, metric = cut_at_depth(table, of_hits(metric))
        labelled = np.array([query.is_labelled for query in evaluation.dataset.queries], dtype=np.bool_)
        looked_at = np.zeros(len(labelled), dtype=np.bool_)
        looked_at[slice(None) if places is None else places] = True
        looked_at &= labelled
        query, rank = unjudged_hits(table, metric.k)
        kept = looked_at[query]
        hits = np.minimum(table.hits, metric.k if metric.k is not None else table.hits.max(initial=0))
        chosen = np.flatnonzero(looked_at) if places is None else places
        return cls(evaluation, table, chosen, (query[kept], rank[kept]), hits, looked_at)

    def unjudged_keys(self) -> list[Key]:
        """Return the query and the chunk of each unjudged hit, by their ids."""
        queries, rankings = self.evaluation.dataset.queries, self.table.rankings
        pairs = zip(*(column.tolist() for column in self.unjudged), strict=True)
        return [(queries[query].id, rankings[query].hits[rank - 1].chunk.id) for query, rank in pairs]

    def first_unjudged(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return query and rank of the unjudged hits, each distinct one where it comes first, as in `first_ranks`."""
        keys = self.unjudged_keys()
        first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
        places = np.fromiter(first.values(), dtype=np.int64, count=len(first))
        query, rank = self.unjudged
        return query[places], rank[places]

    def first_ranks(self) -> dict[Key, int]:
        """Return the rank at which each distinct unjudged hit comes first."""
        return dict(zip(reversed(self.unjudged_keys()), reversed(self.unjudged[1].tolist()), strict=True))

    def relevant(self, k: int | None) -> list[Key]:
        """Return the query and the chunk of each relevant hit by their ids."""
        queries, rankings = self.evaluation.dataset.queries, self.table.rankings
        query, rank, _ = relevant_hits(self.table, k)
        kept = np.isin(query, self.places)
        pairs = zip(query[kept].tolist(), rank[kept].tolist(), strict=True)
        return [(queries[q].id, rankings[q].hits[r - 1].chunk.id) for q, r in pairs]


def judged_counts(sides: Mapping[str, Side], k: int | None) -> tuple[int, int, int]:
    """Return how many distinct hits are relevant and how many judged, and the grade of relevant hits, rounded."""
    relevant: set[tuple[str, str]] = set()
    judged: set[tuple[str, str]] = set()
    for side in sides.values():
        relevant |= set(side.relevant(k))
        unjudged = set(side.unjudged_keys())
        queries = side.evaluation.dataset.queries
        judged |= {
            key
            for place in side.places.tolist()
            if queries[place].is_labelled
            for hit in side.table.rankings[place].hits[:k]
            if (key := (queries[place].id, hit.chunk.id)) not in unjudged
        }
    judged |= relevant  # an id may stand for two texts, of which one was judged
    return len(relevant), len(judged), usual_grade(sides, k)


def usual_grade(sides: Mapping[str, Side], k: int | None) -> int:
    """Return the grade that the relevant hits of some systems have on average, rounded; 1 where there is none."""
    found = [(query, grade) for side in sides.values() for query, _, grade in [relevant_hits(side.table, k)]]
    kept = [grade[np.isin(query, side.places)] for (query, grade), side in zip(found, sides.values(), strict=True)]
    grades = np.concatenate(kept)
    return max(round(float(np.mean(grades))), 1) if len(grades) else 1


def distinct_keys(sides: Iterable[Side]) -> list[Key]:
    """Return the query and the chunk of each distinct unjudged hit of some systems."""
    return list(dict.fromkeys(key for side in sides for key in side.unjudged_keys()))


def supposed_by_share(
    sides: Mapping[str, Side], metric: Metric, share: float, grade: int, *, same_chunks: bool
) -> NDArray[np.float64]:
    """Return the values of each system and query if that share of the unjudged hits were relevant."""
    every = distinct_keys(sides.values())
    random = np.random.default_rng(SEED)
    drawn = np.array([random.permutation(len(every)) for _ in range(DRAWS)]) < round(share * len(every))
    return supposed(sides, metric, every, drawn, grade, same_chunks=same_chunks)


def supposed(
    sides: Mapping[str, Side],
    metric: Metric,
    every: Sequence[Key],
    drawn: NDArray[np.bool_],
    grade: int,
    *,
    same_chunks: bool,
) -> NDArray[np.float64]:
    """Return the values of each system and query if some unjudged hits were relevant: the means over several draws.

    Args:
        sides: the systems.
        metric: what is computed.
        every: the unjudged hits that are drawn from.
        drawn: for each draw and each of these hits, whether it is taken to be relevant.
        grade: of those that are.
        same_chunks: whether a hit of one system is a fact for the others too, found or not.
    """
    rows = []
    for side in sides.values():
        own = side.first_ranks()
        query_place = {
            query.id: number for number, query in enumerate(side.evaluation.dataset.queries) if query.is_labelled
        }
        taken = [
            (number, query_place[key[0]], own.get(key, 0))
            for number, key in enumerate(every)
            if key[0] in query_place and (same_chunks or key in own)
        ]
        number, query, rank = np.array(taken, dtype=np.int64).reshape(-1, 3).T
        draws = [values_with(side, metric, query[of_draw[number]], rank[of_draw[number]], grade) for of_draw in drawn]
        rows.append(np.mean(draws, axis=0)[side.places])
    return np.stack(rows)


@dataclass(frozen=True, eq=False)
class RankShares:
    """At each rank, how many of the judged hits are relevant."""

    relevant: NDArray[np.int64]
    """For rank 1, 2, …"""
    judged: NDArray[np.int64]

    @classmethod
    def of(cls, sides: Iterable[Side]) -> RankShares:
        """Count the judged hits of some systems, each system's on its own."""
        sides = list(sides)
        depth = max((int(side.counted_hits.max(initial=0)) for side in sides), default=0)
        relevant, judged = np.zeros((2, depth), dtype=np.int64)
        for side in sides:
            looked_at = side.looked_at
            hits = side.counted_hits[looked_at]
            judged += np.count_nonzero(hits[:, np.newaxis] > np.arange(depth), axis=0)
            judged -= np.bincount(side.unjudged[1] - 1, minlength=depth)
            query, rank, _ = relevant_hits(side.table, depth)
            relevant += np.bincount(rank[looked_at[query]] - 1, minlength=depth)
        return cls(relevant, judged)

    @property
    def total(self) -> float:
        """The share over all ranks; NaN if nothing was judged."""
        judged = int(self.judged.sum())
        return int(self.relevant.sum()) / judged if judged else float("nan")

    @property
    def smoothed(self) -> NDArray[np.float64]:
        """The share at each rank, as if so many more hits had been judged there, of which the share over all is."""
        return np.asarray((self.relevant + SMOOTHING * self.total) / (self.judged + SMOOTHING), dtype=np.float64)

    @property
    def says_something(self) -> bool:
        """Whether any judged hit is irrelevant: else nothing is known of how many unjudged ones may be relevant."""
        return int(self.judged.sum()) > int(self.relevant.sum())

    def draws(self, ranks: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each draw which hits are relevant, each with the share at its rank; always the same draws.

        There are 20 draws; of more than 20,000 hits fewer, and of 100,000 or more there are 4.
        """
        chances = self.smoothed[np.asarray(ranks, dtype=np.int64) - 1]
        draws = min(max(_DRAWN // max(len(chances), 1), _FEWEST_DRAWS), DRAWS)
        return np.random.default_rng(SEED).random((draws, len(chances))) < chances


def values_with(
    side: Side, metric: Metric, query: NDArray[np.int64], rank: NDArray[np.int64], grade: int
) -> NDArray[np.float64]:
    """Return a system's values with further facts; NaN where a query does not count now."""
    plain = metric if metric.budget is None and metric.calls is None else replace(metric, depth=None)
    values = compute(with_facts(side.table, query, rank, grade), plain, side.evaluation.profile)
    counts = ~np.isnan(side.evaluation.scores.of(side.evaluation.after, metric))
    return np.where(counts, np.nan_to_num(values), np.nan)


def of_hits(metric: Metric) -> Metric:
    """Return a metric with the depth at which it looks at hits: measures of sessions look at those of all calls."""
    return replace(metric, depth=None) if MEASURES[metric.name].is_by_call and metric.k is not None else metric
