"""Hits that nobody judged: what share of the first ones they are, and what they can do to the figures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.shared_queries import named
from raglift.analysis.upper_bound import match_tables_of
from raglift.matching.supposing import with_facts
from raglift.metrics.budgets import within_budget
from raglift.metrics.computing import compute, mean_of, mean_title
from raglift.metrics.measure import relevant_hits, unjudged_hits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.records import EvaluationRecord
    from raglift.matching.matches import MatchTable
    from raglift.records.metric import Metric


LITTLE = 0.05
"""Up to this share of unjudged hits nothing is said of them."""
_DRAWS = 20
"""How often it is drawn at random which of the unjudged hits are relevant; a figure is the mean over the draws."""
_SEED = 0


@dataclass(frozen=True)
class Unjudged:
    """What hits that nobody judged can do to a metric, of one system or of several."""

    metric: Metric
    """The metric that decides; the hits are those down to its depth, or that fit into its budget."""
    shares: Mapping[str, float]
    """For each system, which share of these hits of the labelled queries nobody judged."""
    counted: Mapping[str, float]
    """For each system, the mean where every such hit is irrelevant, as they count."""
    relevant: int = 0
    """How many of the distinct judged hits are relevant."""
    judged: int = 0
    """How many distinct hits were judged, relevant or not."""
    supposed: Mapping[str, float] | None = None
    """For each system, the mean if as many of the unjudged hits were relevant as of the judged; None where no hit was
    judged irrelevant, so that nothing is known of how many these may be."""
    turned: Mapping[str, str] = field(default_factory=dict)
    """For each system of a comparison whose verdict would be another one then: which."""


@dataclass(frozen=True, eq=False)
class _Side:
    """One system: its matches down to the depth, and its hits there."""

    evaluation: EvaluationRecord
    table: MatchTable
    places: NDArray[np.intp]
    """The queries that are looked at."""
    unjudged: tuple[NDArray[np.int64], NDArray[np.int64]]
    """Query and rank of the hits that nobody judged; what came back before does not count again."""
    hits: int

    @classmethod
    def of(cls, evaluation: EvaluationRecord, metric: Metric, places: NDArray[np.intp] | None) -> _Side:
        table = match_tables_of(evaluation)[-1]
        if metric.budget is not None:
            table = within_budget(table, metric.budget)
        labelled = np.array([query.is_labelled for query in evaluation.dataset.queries], dtype=np.bool_)
        looked_at = np.zeros(len(labelled), dtype=np.bool_)
        looked_at[slice(None) if places is None else places] = True
        looked_at &= labelled
        query, rank = unjudged_hits(table, metric.k)
        kept = looked_at[query]
        hits = np.minimum(table.hits, metric.k if metric.k is not None else table.hits.max(initial=0))
        chosen = np.flatnonzero(looked_at) if places is None else places
        return cls(evaluation, table, chosen, (query[kept], rank[kept]), int(hits[looked_at].sum()))

    def keys(self) -> list[tuple[str, str]]:
        """Return the query and the chunk of each unjudged hit, by their ids."""
        queries, rankings = self.evaluation.dataset.queries, self.table.rankings
        pairs = zip(*(column.tolist() for column in self.unjudged), strict=True)
        return [(queries[query].id, rankings[query].hits[rank - 1].chunk.id) for query, rank in pairs]

    def relevant(self, k: int | None) -> tuple[list[tuple[str, str]], list[int]]:
        """Return the query and the chunk of each relevant hit by their ids, and their grades."""
        queries, rankings = self.evaluation.dataset.queries, self.table.rankings
        query, rank, grade = relevant_hits(self.table, k)
        kept = np.isin(query, self.places)
        pairs = zip(query[kept].tolist(), rank[kept].tolist(), strict=True)
        return [(queries[q].id, rankings[q].hits[r - 1].chunk.id) for q, r in pairs], grade[kept].tolist()


def unjudged_of(
    systems: Mapping[str, EvaluationRecord],
    metric: Metric,
    places: Mapping[str, NDArray[np.intp]] | None = None,
    *,
    same_chunks: bool = True,
) -> tuple[Unjudged, NDArray[np.float64] | None] | None:
    """Return what unjudged hits can do to a metric, and the values of each system and query then; None if nothing.

    Nothing is to be said where people only named what is relevant, and where at most 5 % of the hits were not judged.

    A share of the distinct unjudged hits is drawn at random: that share of the distinct judged ones which is relevant.
    Each is taken as a fact of its own, of the grade that relevant hits have on average, and the metric computed anew;
    recall and ideal rankings grow with the facts. Values are the means of 20 draws, always the same ones.

    Args:
        systems: by name.
        metric: the metric that decides.
        places: for each system, the queries that it is compared on, in one order; None for all.
        same_chunks: whether a hit of one system that is drawn is a fact for the others too, found or not.
    """
    if not any(evaluation.dataset.shows_judged for evaluation in systems.values()):
        return None
    sides = {name: _Side.of(one, metric, None if places is None else places[name]) for name, one in systems.items()}
    shares = {name: len(side.unjudged[0]) / side.hits if side.hits else 0.0 for name, side in sides.items()}
    if max(shares.values()) <= LITTLE:
        return None
    counted = {
        name: mean_of(metric, side.evaluation.scores.of(side.evaluation.after, metric)[side.places])
        for name, side in sides.items()
    }
    relevant, judged, grade = _judged(sides, metric.k)
    found = Unjudged(metric, shares, counted, relevant, judged)
    if relevant == judged:
        return found, None
    values = _supposed(sides, metric, relevant / judged, grade, same_chunks=same_chunks)
    supposed = {name: mean_of(metric, row) for name, row in zip(sides, values, strict=True)}
    return replace(found, supposed=supposed), values


def _judged(sides: Mapping[str, _Side], k: int | None) -> tuple[int, int, int]:
    """Return how many distinct hits are relevant and how many judged, and the grade of relevant hits, rounded."""
    relevant: set[tuple[str, str]] = set()
    judged: set[tuple[str, str]] = set()
    grades: list[int] = []
    for side in sides.values():
        keys, of_side = side.relevant(k)
        relevant |= set(keys)
        grades += of_side
        unjudged = set(side.keys())
        queries = side.evaluation.dataset.queries
        judged |= {
            key
            for place in side.places.tolist()
            if queries[place].is_labelled
            for hit in side.table.rankings[place].hits[:k]
            if (key := (queries[place].id, hit.chunk.id)) not in unjudged
        }
    judged |= relevant  # an id may stand for two texts, of which one was judged
    return len(relevant), len(judged), max(round(float(np.mean(grades))), 1) if grades else 1


def _supposed(
    sides: Mapping[str, _Side], metric: Metric, share: float, grade: int, *, same_chunks: bool
) -> NDArray[np.float64]:
    """Return the values of each system and query if that share of the unjudged hits were relevant."""
    keys = {name: side.keys() for name, side in sides.items()}
    every = list(dict.fromkeys(key for of_side in keys.values() for key in of_side))
    random = np.random.default_rng(_SEED)
    drawn = np.array([random.permutation(len(every)) for _ in range(_DRAWS)]) < round(share * len(every))
    rows = []
    for name, side in sides.items():
        own = dict(
            zip(reversed(keys[name]), reversed(side.unjudged[1].tolist()), strict=True)
        )  # the first rank of each
        query_place = {
            query.id: number for number, query in enumerate(side.evaluation.dataset.queries) if query.is_labelled
        }
        taken = [
            (number, query_place[key[0]], own.get(key, 0))
            for number, key in enumerate(every)
            if key[0] in query_place and (same_chunks or key in own)
        ]
        number, query, rank = np.array(taken, dtype=np.int64).reshape(-1, 3).T
        draws = [_values(side, metric, query[of_draw[number]], rank[of_draw[number]], grade) for of_draw in drawn]
        rows.append(np.mean(draws, axis=0)[side.places])
    return np.stack(rows)


def _values(
    side: _Side, metric: Metric, query: NDArray[np.int64], rank: NDArray[np.int64], grade: int
) -> NDArray[np.float64]:
    """Return a system's values with further facts; NaN where a query does not count now."""
    plain = metric if metric.budget is None else replace(metric, depth=None)
    values = compute(with_facts(side.table, query, rank, grade), plain, side.evaluation.profile)
    counts = ~np.isnan(side.evaluation.scores.of(side.evaluation.after, metric))
    return np.where(counts, np.nan_to_num(values), np.nan)


# In words.


def is_unjudged_note(note: str) -> bool:
    """Return whether a note says what share of the first hits has no label, in the words of this version or 0.1.0's."""
    return _NO_LABEL in note or note.startswith("nobody judged")


def unjudged_note(found: Unjudged) -> str:
    """Return what share of the first hits of one system nobody judged, and between what its metric lies for that."""
    (share,), (counted,) = found.shares.values(), found.counted.values()
    first = f"{share:.1%} of the {_which(found.metric)} {_NO_LABEL}"
    if found.supposed is None:
        return f"{first}; {_NOT_KNOWN}"
    (supposed,) = found.supposed.values()
    return f"{first}; {_if(found)}, {mean_title(found.metric)} would {_change(counted, supposed)}"


_NO_LABEL = "have no label and count as irrelevant"
_NOT_KNOWN = "no hit was judged irrelevant, so it is unknown how many of them are relevant"


def _change(counted: float, supposed: float) -> str:
    before, after = f"{counted:.3f}", f"{supposed:.3f}"
    return f"stay {before}" if before == after else f"be {after} instead of {before}"


def _if(found: Unjudged) -> str:
    return f"if the same share of them were relevant as of the labelled ones ({found.relevant:,} of {found.judged:,})"


def unjudged_text(found: Unjudged, shown: Sequence[str]) -> str:
    """Return what share of the first hits of systems nobody judged, and what that can do to the verdict.

    Args:
        found: of the systems.
        shown: those whose figures are told.
    """
    title = mean_title(found.metric)
    shares = _listed([f"{found.shares[name]:.1%} in {name}" for name in shown])
    first = f"of the {_which(found.metric)}, {shares} {_NO_LABEL}"
    if found.supposed is None:
        return f"{first}; {_NOT_KNOWN}"
    figures = _listed([f"{_change(found.counted[name], found.supposed[name])} in {name}" for name in shown])
    turned = [f"{name} would be {verdict}" for name, verdict in found.turned.items()]
    verdict = f"the verdict could change: {named(turned)}" if turned else "the verdict would stay the same"
    return f"{first}; {_if(found)}, {title} would {figures}, and {verdict}"


def unjudged_in_short(found: Unjudged) -> str:
    """Return what share of the first hits of several systems nobody judged, and whether that can turn a verdict."""
    least, most = (f"{share:.0%}" for share in (min(found.shares.values()), max(found.shares.values())))
    share = least if least == most else f"{least} to {most}"
    first = f"{share} of the {_which(found.metric)} {_NO_LABEL}"
    return f"{first}; labelling them could change which system is better" if found.turned else first


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _which(metric: Metric) -> str:
    if metric.budget is not None:
        return f"hits within {metric.budget.most:,} tokens"
    return "hits" if metric.k is None else f"top-{metric.k} hits"
