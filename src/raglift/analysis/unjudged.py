"""Unjudged hits: what share of the first ones they are, and between what figures lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.upper_bound import match_tables_of
from raglift.matching.matches import Direction, FactTable, Matches, MatchTable, PassageTable, Satisfactions
from raglift.metrics.computing import compute, cut_at_depth, mean_of, mean_title
from raglift.metrics.measure import relevant_hits, unjudged_hits
from raglift.metrics.registry import MEASURES
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric

    Integers = NDArray[np.int64]


LITTLE = 0.05
"""Up to this share of unjudged hits nothing is said of them."""

_Key: TypeAlias = "tuple[str, str]"  # a query and a chunk, by their ids
_ValueT = TypeVar("_ValueT")


# The hits of a system, and its metric values if some of those that nobody judged were relevant.


@dataclass(frozen=True, eq=False)
class _Side:
    """One system: its matches down to the depth, and its hits there."""

    evaluation: Evaluation
    metric: Metric
    table: MatchTable
    places: NDArray[np.intp]
    """The queries that are looked at."""
    unjudged: tuple[Integers, Integers]
    """Query and rank of the hits that nobody judged; what came back before does not count again."""
    counted_hits: Integers
    """How many hits of each query are down to the depth."""
    looked_at: NDArray[np.bool_]
    """Which queries are looked at and have labels."""

    @classmethod
    def of(cls, evaluation: Evaluation, metric: Metric, places: NDArray[np.intp] | None = None) -> _Side:
        """Return a system's hits down to the depth of a metric, of some queries or of all."""
        table, of_hits = cut_at_depth(match_tables_of(evaluation)[-1], _of_hits(metric))
        labelled = np.array([query.is_labelled for query in evaluation.dataset.queries], dtype=np.bool_)
        looked_at = np.zeros(len(labelled), dtype=np.bool_)
        looked_at[slice(None) if places is None else places] = True
        looked_at &= labelled
        query, rank = unjudged_hits(table, of_hits.k)
        kept = looked_at[query]
        hits = np.minimum(table.hits, of_hits.k if of_hits.k is not None else table.hits.max(initial=0))
        chosen = np.flatnonzero(looked_at) if places is None else places
        return cls(evaluation, metric, table, chosen, (query[kept], rank[kept]), hits, looked_at)

    @property
    def hits(self) -> int:
        """How many hits of the labelled queries are down to the depth."""
        return int(self.counted_hits[self.looked_at].sum())

    @property
    def share(self) -> float:
        """Which share of these nobody judged."""
        return len(self.unjudged[0]) / self.hits if self.hits else 0.0

    @property
    def mean(self) -> float:
        """The mean as it is counted, with unjudged hits as irrelevant."""
        return mean_of(self.metric, self.evaluation.scores.of(self.evaluation.after, self.metric)[self.places])

    def first_ranks(self) -> dict[_Key, int]:
        """Return the rank at which each distinct unjudged hit comes first."""
        queries, rankings = self.evaluation.dataset.queries, self.table.rankings
        found: dict[_Key, int] = {}
        for query, rank in zip(*(column.tolist() for column in self.unjudged), strict=True):
            found.setdefault((queries[query].id, rankings[query].hits[rank - 1].chunk.id), rank)
        return found

    def mean_if_relevant(self, keys: Sequence[_Key], grade: int) -> float:
        """Return the mean of the metric if some hits were relevant.

        Each is a fact of its own, found or not, so that recall and ideal rankings grow with it.
        """
        own = self.first_ranks()
        place = {query.id: number for number, query in enumerate(self.evaluation.dataset.queries) if query.is_labelled}
        known = [(place[key[0]], own.get(key, 0)) for key in keys if key[0] in place]
        query, rank = np.array(known, dtype=np.int64).reshape(-1, 2).T
        metric = self.metric
        plain = metric if metric.budget is None and metric.calls is None else replace(metric, depth=None)
        counts = ~np.isnan(self.evaluation.scores.of(self.evaluation.after, metric))
        values = np.nan_to_num(compute(with_facts(self.table, query, rank, grade), plain, self.evaluation.profile))
        return mean_of(metric, np.where(counts, values, np.nan)[self.places])


def _usual_grade(sides: Iterable[_Side]) -> int:
    """Return the grade that the relevant hits of some systems have on average, rounded; 1 where there is none."""
    found = [(side, relevant_hits(side.table, _of_hits(side.metric).k)) for side in sides]
    grades = np.concatenate([grade[np.isin(query, side.places)] for side, (query, _, grade) in found])
    return max(round(float(np.mean(grades))), 1) if len(grades) else 1


def _of_hits(metric: Metric) -> Metric:
    """Return a metric with the depth at which it looks at hits: measures of sessions look at those of all calls."""
    return replace(metric, depth=None) if MEASURES[metric.name].is_by_call and metric.k is not None else metric


# What they can do to the metric that decides, of one system or of several.


@dataclass(frozen=True)
class Unjudged:
    """What hits that nobody judged can do to a metric, of one system or of several."""

    metric: Metric
    """The metric that decides; the hits are those down to its depth, or that fit into its budget."""
    shares: Mapping[str, float]
    """For each system, which share of these hits of the labelled queries nobody judged."""
    ranges: Mapping[str, tuple[float, float]]
    """For each system, the means where every such hit is irrelevant, as they count, and where every one is relevant,
    the lower first. A hit is relevant for all systems alike, found or not, unless their chunks differ."""
    to_label: int
    """How many distinct ones to label next: of several systems, those that not all of them returned."""


def unjudged_of(
    systems: Mapping[str, Evaluation],
    metric: Metric,
    places: Mapping[str, NDArray[np.intp]] | None = None,
    *,
    same_chunks: bool = True,
) -> Unjudged | None:
    """Return what unjudged hits can do to a metric; None if nothing.

    Nothing is to be said where people only named what is relevant, and where at most 5 % of the hits were not judged.

    Args:
        systems: by name.
        metric: the metric that decides.
        places: for each system, the queries that it is compared on, in one order; None for all.
        same_chunks: whether a relevant hit of one system is a fact for the others too, found or not.
    """
    if not any(evaluation.dataset.shows_judged for evaluation in systems.values()):
        return None
    measure = MEASURES[metric.name]
    repeated = any(trace.repetitions for one in systems.values() for trace in one.run.traces)
    # Of all runs, of what became of the hits, or of what is read before a fact, which a supposed label does not say
    if repeated or measure.needs_budget or (measure.is_by_call and not measure.takes_k):
        return None
    sides = {name: _Side.of(one, metric, None if places is None else places[name]) for name, one in systems.items()}
    if max(side.share for side in sides.values()) <= LITTLE:
        return None
    grade = _usual_grade(sides.values())
    own = {name: side.first_ranks() for name, side in sides.items()}
    every = list(dict.fromkeys(key for of_side in own.values() for key in of_side))
    ranges = {}
    for name, side in sides.items():
        ends = side.mean, side.mean_if_relevant(every if same_chunks else list(own[name]), grade)
        ranges[name] = (min(ends), max(ends))
    if len(sides) > 1 and same_chunks:
        to_label = sum(any(key not in of_side for of_side in own.values()) for key in every)
    else:
        to_label = sum(map(len, own.values()))
    by_name = {name: side.share for name, side in sides.items()}
    return Unjudged(metric, by_name, ranges, to_label)


def unjudged_text(found: Unjudged, shown: Sequence[str] = ("",)) -> str:
    """Return what share of the first hits nobody judged, the bounds of the metric for that, and what to label next."""
    shares = _listed(found.shares, shown, "{:.1%}".format)
    first = f"of the {_which(found.metric)}, {shares} have no label and count as irrelevant"
    figures = f"{mean_title(found.metric)} is {_listed(found.ranges, shown, _range_text)}"
    if not any(" to " in _range_text(found.ranges[name]) for name in shown):
        return f"{first}; {figures} anyway"
    figures += ", depending on them"
    if not found.to_label:
        return f"{first}; {figures}"
    these = f"{counted(found.to_label, 'hit')}{'' if len(found.shares) == 1 else ' that not all of the systems return'}"
    if found.to_label > _MOST_TO_LABEL:
        return f"{first}; {figures}; label next a random sample of the {these} (raglift labels sample)"
    return f"{first}; {figures}; label next the {these} (raglift labels review)"


_MOST_TO_LABEL = 500
"""Of more hits than people can label, a sample is drawn."""


def _range_text(ends: tuple[float, float]) -> str:
    low, high = (f"{end:.3f}" for end in ends)
    return low if low == high else f"{low} to {high}"


def unjudged_in_short(found: Unjudged) -> str:
    """Return what share of the first hits of several systems nobody judged."""
    least, most = (f"{share:.0%}" for share in (min(found.shares.values()), max(found.shares.values())))
    share = least if least == most else f"{least} to {most}"
    return f"{share} of the {_which(found.metric)} have no label and count as irrelevant"


def _listed(values: Mapping[str, _ValueT], shown: Sequence[str], text: Callable[[_ValueT], str]) -> str:
    parts = [f"{text(values[name])} in {name}" if name else text(values[name]) for name in shown]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _which(metric: Metric) -> str:
    if metric.budget is not None:
        return f"hits within {metric.budget.most:,} tokens"
    k = _of_hits(metric).k
    if metric.calls is not None:
        return f"hits of the first {metric.calls.most} calls"
    return "hits" if k is None else f"top-{k} hits"


def with_facts(
    match_table: MatchTable, query: NDArray[np.int64], rank: NDArray[np.int64], grade: int = 1
) -> MatchTable:
    """Return a match table with further facts, each of one passage that one hit matches.

    So what recall and ideal rankings are measured by grows with them: a fact that nobody finds counts too.

    Args:
        match_table: what matched.
        query: for each new fact, whose it is: the number of a query with labels.
        rank: the rank of the hit that satisfies it; 0 if no hit does.
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
