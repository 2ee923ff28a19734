"""Unjudged hits: what share of the first ones they are, and between what figures lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from raglift.analysis.upper_bound import match_tables_of
from raglift.matching.supposing import with_facts
from raglift.metrics.computing import compute, cut_at_depth, mean_of, mean_title
from raglift.metrics.measure import relevant_hits, unjudged_hits
from raglift.metrics.registry import MEASURES
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric

    Integers = NDArray[np.int64]


LITTLE = 0.05
"""Up to this share of unjudged hits nothing is said of them."""
_FEWEST_IRRELEVANT = 50
_MOST_UNJUDGED = 0.5
_DRAWS = 20
"""How often it is drawn at random which of the unjudged hits are relevant; a figure is the mean over the draws."""
_FEWEST_DRAWS = 4
_DRAWN = 400_000
"""Of more hits than make up so many in all draws there are fewer draws: their mean varies no more for it."""
_SEED = 0
_SMOOTHING = 5
"""So many hits of the overall share of relevant ones are added to the judged hits at each rank."""

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

    def mean_if(self, keys: Sequence[_Key], drawn: NDArray[np.bool_], grade: int) -> float:
        """Return the mean of the metric if some hits were relevant, over several draws.

        Each is a fact of its own, found or not, so that recall and ideal rankings grow with it.

        Args:
            keys: the hits that are drawn from.
            drawn: for each draw and each of these hits, whether it is relevant.
            grade: of those that are.
        """
        own = self.first_ranks()
        place = {query.id: number for number, query in enumerate(self.evaluation.dataset.queries) if query.is_labelled}
        known = [(number, place[key[0]], own.get(key, 0)) for number, key in enumerate(keys) if key[0] in place]
        number, query, rank = np.array(known, dtype=np.int64).reshape(-1, 3).T
        metric = self.metric
        plain = metric if metric.budget is None and metric.calls is None else replace(metric, depth=None)
        counts = ~np.isnan(self.evaluation.scores.of(self.evaluation.after, metric))
        draws = []
        for of_draw in drawn:
            table = with_facts(self.table, query[of_draw[number]], rank[of_draw[number]], grade)
            values = compute(table, plain, self.evaluation.profile)
            draws.append(np.where(counts, np.nan_to_num(values), np.nan))
        return mean_of(metric, np.mean(draws, axis=0)[self.places])


@dataclass(frozen=True, eq=False)
class _RankShares:
    """At each rank, how many of the judged hits are relevant."""

    relevant: Integers
    """For rank 1, 2, …"""
    judged: Integers

    @classmethod
    def of(cls, sides: Sequence[_Side]) -> _RankShares:
        """Count the judged hits of some systems, each system's on its own."""
        depth = max((int(side.counted_hits.max(initial=0)) for side in sides), default=0)
        relevant, judged = np.zeros((2, depth), dtype=np.int64)
        for side in sides:
            hits = side.counted_hits[side.looked_at]
            judged += np.count_nonzero(hits[:, np.newaxis] > np.arange(depth), axis=0)
            judged -= np.bincount(side.unjudged[1] - 1, minlength=depth)
            query, rank, _ = relevant_hits(side.table, depth)
            relevant += np.bincount(rank[side.looked_at[query]] - 1, minlength=depth)
        return cls(relevant, judged)

    @property
    def smoothed(self) -> NDArray[np.float64]:
        """The share at each rank, as if so many more hits had been judged there, of which the share over all is."""
        total = self.relevant.sum() / self.judged.sum()
        return np.asarray((self.relevant + _SMOOTHING * total) / (self.judged + _SMOOTHING), dtype=np.float64)

    def draws(self, ranks: Iterable[int]) -> NDArray[np.bool_]:
        """Return for each draw which hits are relevant, each with the share at its rank; always the same draws.

        There are 20 draws; of more than 20,000 hits fewer, and of 100,000 or more there are 4.
        """
        chances = self.smoothed[np.fromiter(ranks, dtype=np.int64) - 1]
        draws = min(max(_DRAWN // max(len(chances), 1), _FEWEST_DRAWS), _DRAWS)
        return np.random.default_rng(_SEED).random((draws, len(chances))) < chances


def _shares_to_extrapolate(sides: Sequence[_Side]) -> _RankShares | None:
    """Return how often judged hits are relevant by rank; None where that says nothing of those that nobody judged.

    It does if the labels are those of a judged pool or of a random sample: people who name what is relevant, perhaps
    with some irrelevant passages besides, have judged other hits than those that are left. At least 50 hits of one
    system must be judged irrelevant, and at most half of the hits of each unjudged.
    """
    known = all(side.evaluation.dataset.judged is not None for side in sides)
    if not known or max(side.share for side in sides) > _MOST_UNJUDGED:
        return None
    alone = [_RankShares.of([side]) for side in sides]
    irrelevant = max(int(one.judged.sum() - one.relevant.sum()) for one in alone)
    return _RankShares.of(sides) if irrelevant >= _FEWEST_IRRELEVANT else None


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
    estimates: Mapping[str, float] | None
    """For each system, the mean if they are relevant as often as the judged hits at their rank; None where the judged
    hits say nothing of them."""
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
    grade, shares = _usual_grade(sides.values()), _shares_to_extrapolate(list(sides.values()))
    own = {name: side.first_ranks() for name, side in sides.items()}
    ranks: dict[_Key, int] = {}
    for key, rank in (pair for of_side in own.values() for pair in of_side.items()):
        ranks[key] = min(rank, ranks.get(key, rank))
    ranges, estimates = {}, {}
    for name, side in sides.items():
        facts = ranks if same_chunks else own[name]
        ends = side.mean, side.mean_if(list(facts), np.ones((1, len(facts)), dtype=np.bool_), grade)
        ranges[name] = (min(ends), max(ends))
        if shares is not None:
            estimates[name] = side.mean_if(list(facts), shares.draws(facts.values()), grade)
    if len(sides) > 1 and same_chunks:
        to_label = sum(any(key not in of_side for of_side in own.values()) for key in ranks)
    else:
        to_label = sum(map(len, own.values()))
    by_name = {name: side.share for name, side in sides.items()}
    return Unjudged(metric, by_name, ranges, estimates if shares is not None else None, to_label)


def unjudged_text(found: Unjudged, shown: Sequence[str] = ("",)) -> str:
    """Return what share of the first hits nobody judged, between what the metric lies for that, and what to label next.

    Args:
        found: of one system or of several.
        shown: the systems whose figures are told; of one, an empty name is not.
    """
    shares = _listed(found.shares, shown, "{:.1%}".format)
    first = f"of the {_which(found.metric)}, {shares} have no label and count as irrelevant"
    figures = f"{mean_title(found.metric)} is {_listed(found.ranges, shown, _range_text)}"
    if not any(" to " in _range_text(found.ranges[name]) for name in shown):
        return f"{first}; {figures} anyway"
    figures += ", depending on them"
    if found.estimates is not None:
        usual = _listed(found.estimates, shown, "{:.3f}".format)
        figures += f", and {usual} if they are relevant as often as the labelled hits at their rank"
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
