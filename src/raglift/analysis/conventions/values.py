"""One query's value under a profile: the ranking, the counts that the value is computed from, and the calculation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.conventions.records import RankedHit
from raglift.analysis.upper_bound import rule_of
from raglift.errors import ConfigurationError
from raglift.matching.match import span_upper_bound_of
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute, cut_at_depth, rankings_by_stage, score, title
from raglift.metrics.measure import depth
from raglift.metrics.profiles import hits
from raglift.metrics.profiles.registry import DEFAULT, PROFILES
from raglift.metrics.registry import MEASURES
from raglift.metrics.session_prefixes import match_run
from raglift.records.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.conventions.records import State
    from raglift.analysis.records import EvaluationRecord
    from raglift.matching.matches import MatchTable
    from raglift.metrics.profiles.hits import RelevantHits
    from raglift.records.rankings import Hit


# How one query's value is computed, in its own numbers: `2 relevant hits / 5 (k)`. The value is computed a second time
# here, from counts, and the explanation is shown only if the result equals the profile's value: a wrong number in an
# explanation is worse than none.


_EXACT = 1e-8
_MOST_TERMS = 6
_NOTHING = "no relevant hit"

Told = tuple[str, float]
"""What is said, and what it comes to."""
Term = tuple[float, int]
"""A part of a sum, as a fraction."""


def numbers_of(counts: Counts, value: float) -> str:
    """Return how a value comes about under a profile; nothing if few words cannot say it.

    Args:
        counts: the query, matched as the profile does, at the depth of the metric.
        value: what the profile computed.
    """
    name = counts.metric.name
    ways = (_WAYS.get((counts.profile, name)), _WAYS.get(("default", name)))
    for way in filter(None, ways):
        said, comes_to = way(counts)
        if said and math.isclose(comes_to, value, rel_tol=_EXACT, abs_tol=_EXACT):
            return said
    return ""


def _share(part: int, what: str, whole: int, of_what: str) -> Told:
    return f"{_counted(part, what)} / {_counted(whole, of_what)}", part / whole if whole else 0.0


def _counted(count: int, noun: str) -> str:
    """Return a number with its noun, of which | marks the end: `2 hits that came back`."""
    first, _, rest = noun.partition("|")
    return f"{count:,} {first}{'' if count == 1 else 's'}{rest}"


def _precision(counts: Counts) -> Told:
    return _precision_at_k(len(counts.relevant_ranks()), "relevant hit", counts)


def _precision_of_documents(counts: Counts) -> Told:
    return _precision_at_k(len(counts.ranks_of_first_matches()), "relevant document", counts)


def _precision_at_k(relevant: int, noun: str, counts: Counts) -> Told:
    k = counts.metric.k
    return (f"{_counted(relevant, noun)} / {k:,} (k)", relevant / k) if k else ("", 0.0)


def _precision_of_ids(counts: Counts) -> Told:
    relevant = len(counts.relevant_ranks(distinct=True))
    return _share(relevant, "relevant id", counts.distinct_returned, "distinct id| that came back")


def _precision_of_hits(counts: Counts) -> Told:
    relevant = len(counts.relevant_ranks(distinct=True))
    return _share(relevant, "relevant id", counts.returned, "hit| that came back")


def _recall(counts: Counts) -> Told:
    return _share(len(counts.ranks_of_facts), "fact| found", counts.facts, "fact")


def _recall_of_passages(counts: Counts) -> Told:
    found = {(fact, passage) for fact, passage, _ in counts.matches}
    return _share(len(found), "passage| found", counts.passages, "passage")


def _recall_of_labels(counts: Counts) -> Told:
    return _share(counts.labels_found, "label| found", counts.labels, "label")


def _reciprocal_rank(counts: Counts) -> Told:
    rank = min(counts.ranks_of_facts, default=0)
    return (f"1/{rank}, the first fact being found at rank {rank}", 1 / rank) if rank else (_NOTHING, 0.0)


def _reciprocal_rank_of_groups(counts: Counts) -> Told:
    return _mean_of_groups([(1, rank) for rank in counts.ranks_of_facts], counts)


def _average_precision(counts: Counts) -> Told:
    place = {rank: number for number, rank in enumerate(sorted(set(counts.ranks_of_facts)), start=1)}
    return _divided([(place[rank], rank) for rank in counts.ranks_of_facts], counts.facts, "fact")


def _average_precision_of_documents(counts: Counts) -> Told:
    return _divided(_at_hits(counts.ranks_of_first_matches()), counts.labels, "label")


def _average_precision_of_hits(counts: Counts) -> Told:
    return _divided(_at_hits(counts.relevant_ranks()), counts.labels, "label")


def _average_precision_of_found(counts: Counts) -> Told:
    terms = _at_hits(counts.relevant_ranks())
    return _divided(terms, len(terms), "relevant hit| that came back") if terms else (_NOTHING, 0.0)


def _average_precision_of_groups(counts: Counts) -> Told:
    values: list[Term] = []
    for _, of_fact in groupby(counts.matches, key=lambda match: match[0]):
        terms = _at_hits(sorted({rank for _, _, rank in of_fact}))
        values.append(terms[0] if len(terms) == 1 else (_total(terms), len(terms)))
    return _mean_of_groups(values, counts)


def _ndcg(counts: Counts) -> Told:
    gained, ideal = (_beside(counts, name) for name in ("dcg", "idcg"))
    return f"DCG {gained:.4f} / IDCG {ideal:.4f}", gained / ideal if ideal else 0.0


def _f1(counts: Counts) -> Told:
    precision, recall = (_beside(counts, name) for name in ("precision", "recall"))
    names = [title(replace(counts.metric, name=name, parameters=())) for name in ("precision", "recall")]
    mean = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return f"the harmonic mean of {names[0]} {precision:.4f} and {names[1]} {recall:.4f}", mean


def _beside(counts: Counts, name: str) -> float:
    """Return another measure of the same query, at the same depth."""
    parameters = counts.metric.parameters if name in ("dcg", "idcg") else ()
    try:
        return float(
            compute(counts.judged, Metric(name, counts.metric.depth, parameters), counts.profile)[counts.query]
        )
    except ConfigurationError:  # one that divides by k, where there is none
        return math.nan


def _at_hits(ranks: list[int]) -> list[Term]:
    """Return the precision at each of some relevant hits."""
    return list(enumerate(ranks, start=1))


def _divided(terms: Sequence[Term], whole: int, noun: str) -> Told:
    return f"{_sum(terms)} / {_counted(whole, noun)}", _total(terms) / whole if whole else 0.0


def _mean_of_groups(found: list[Term], counts: Counts) -> Told:
    return _divided([*found, *[(0, 1)] * (counts.facts - len(found))], counts.facts, "group")


def _total(terms: Sequence[Term]) -> float:
    return sum(part / whole for part, whole in terms)


def _sum(terms: Sequence[Term]) -> str:
    """Return `(1/1 + 2/3 + 0)`; the sum alone where there are many."""
    if not terms:
        return "0"
    if len(terms) > _MOST_TERMS:
        return f"{_total(terms):.4f}"
    return f"({' + '.join(_term(*term) for term in terms)})"


def _term(part: float, whole: int) -> str:
    if not part:
        return "0"
    return f"{part}/{whole}" if isinstance(part, int) else f"{part / whole:.4f}"


_WAYS: dict[tuple[str, str], Callable[[Counts], Told]] = {
    ("default", "precision"): _precision,
    ("default", "recall"): _recall,
    ("default", "f1"): _f1,
    ("default", "rr"): _reciprocal_rank,
    ("default", "ap"): _average_precision,
    ("default", "ndcg"): _ndcg,
    ("tutorial", "recall"): _recall_of_passages,
    ("autorag", "precision"): _precision_of_hits,
    ("autorag", "rr"): _reciprocal_rank_of_groups,
    ("autorag", "ap"): _average_precision_of_groups,
    ("trec", "precision"): _precision_of_documents,
    ("trec", "recall"): _recall_of_labels,
    ("trec", "ap"): _average_precision_of_documents,
    ("llamaindex", "precision"): _precision_of_ids,
    ("llamaindex", "recall"): _recall_of_labels,
    ("llamaindex", "ap"): _average_precision_of_hits,
    ("ragas", "precision"): _precision_of_ids,
    ("ragas", "recall"): _recall_of_labels,
    ("ragas", "ap"): _average_precision_of_found,
}
"""What to say of a profile's measure; for one that has no entry the default's is tried."""


# Counts of one query's ranking: hits, ids, facts and labels, down to a metric's depth.


@dataclass(frozen=True, eq=False)
class Counts:
    """One query's ranking, cut at a metric's depth."""

    judged: MatchTable
    """What the stage matched, of all queries."""
    query: int
    """The number of the query."""
    metric: Metric
    """Whose depth cuts the ranking."""
    profile: str = DEFAULT.name
    """The match rule that was used."""

    @classmethod
    def of(cls, judged: MatchTable, query: int, metric: Metric, profile: str = DEFAULT.name) -> Counts:
        """Return the counts of a query; a token budget or a number of calls is a depth like any other from here on."""
        within, whole = cut_at_depth(judged, metric)
        return cls(within, query, whole, profile)

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


# The matches of a stage under each profile: by the run's match rule, except where the profile defines its own.


def rule_for(evaluation: EvaluationRecord, profile: str) -> MatchRule:
    """Return by what rule a profile would have matched the run's hits.

    That is the run's own rule, but for the length guard where the two profiles' differ: a length that the user set is
    kept under every profile that has the guard of the run's.
    """
    rule, own, theirs = rule_of(evaluation), *map(MatchRule.for_profile, (evaluation.profile, profile))
    if own.minimum_length == theirs.minimum_length:
        return rule
    return replace(rule, minimum_length=theirs.minimum_length)


def judged_by_profile(evaluation: EvaluationRecord, stage: str, metrics: Iterable[Metric]) -> dict[str, MatchTable]:
    """Return what one stage matched under each profile; profiles of one rule share it.

    Args:
        evaluation: the evaluation.
        stage: one of its stages.
        metrics: what will be computed: what the chunks allow is looked up only where one of them asks for it.
    """
    queries, inventory = evaluation.dataset.queries, evaluation.run.inventory
    place = evaluation.scores.stages.index(stage)
    wants_reach = inventory is not None and any(MEASURES[metric.name].needs_chunks for metric in metrics)
    known = evaluation.match_table[place] if evaluation.match_table else None
    by_rule: dict[MatchRule, MatchTable] = {}
    if known is not None and (known.reach is not None or not wants_reach):
        by_rule[rule_of(evaluation)] = known
    counter = None if known is None else known.counter
    for rule in [rule_for(evaluation, profile) for profile in PROFILES]:
        if rule not in by_rule:
            reach = span_upper_bound_of(queries, inventory, rule) if wants_reach and inventory is not None else None
            rankings = rankings_by_stage(evaluation.run)[place]
            (by_rule[rule],) = match_run(
                evaluation.run, [rankings], queries, rule, stages=[stage], reach=reach, counter=counter
            )
            counter = by_rule[rule].counter
    return {profile: by_rule[rule_for(evaluation, profile)] for profile in PROFILES}


def values_under(
    evaluation: EvaluationRecord, stage: str, judged: MatchTable, metrics: Sequence[Metric], profile: str
) -> NDArray[np.float64]:
    """Return an array of shape (metrics, queries), as `score` makes it; NaN if a query is left out of the mean."""
    info = next(info for info in evaluation.run.stages if info.name == stage)
    alone = replace(evaluation.run, stages=(info,))
    values: NDArray[np.float64] = score(alone, evaluation.dataset, [judged], metrics, profile).values[0]
    return values


# The ranking that is explained: which hit is relevant, for which fact.


def relevant_ranks(judged: MatchTable, query: int, metric: Metric) -> list[int]:
    """Return the ranks of a query's relevant hits, down to the metric's depth."""
    return Counts.of(judged, query, metric).relevant_ranks()


def ranked_hits(
    judged: Mapping[str, MatchTable], query: int, hits: Sequence[Hit], metrics: Sequence[Metric]
) -> tuple[RankedHit, ...]:
    """Return the hits of a query, down to the deepest of some metrics, with the facts that each matches.

    Args:
        judged: the stage's matches, for each profile.
        query: the number of the query.
        hits: its hits.
        metrics: what is looked at; one without a number of hits looks at all of them.
    """
    depths = [metric.k for metric in metrics]
    deepest = len(hits) if None in depths else max(k for k in depths if k is not None)
    relevant = {profile: _relevant(of_profile, query) for profile, of_profile in judged.items()}
    facts = _facts(judged, query)
    return tuple(RankedHit(hit, facts.get(hit.rank, ()), _only_under(relevant, hit.rank)) for hit in hits[:deepest])


def _relevant(judged: MatchTable, query: int) -> set[int]:
    return set(judged.matches.rank[judged.matches.query == query].tolist())


def _only_under(relevant: Mapping[str, set[int]], rank: int) -> tuple[str, ...]:
    """Return the profiles under which the hit is relevant; none if it is so under all, or under none."""
    under = tuple(profile for profile, ranks in relevant.items() if rank in ranks)
    return () if len(under) == len(relevant) else under


def _facts(judged: Mapping[str, MatchTable], query: int) -> dict[int, tuple[tuple[int, State], ...]]:
    """Return for each rank the facts that it matches under any profile, from 1; the default's word comes first."""
    found: dict[int, dict[int, State]] = {}
    for of_profile in [judged[DEFAULT.name], *judged.values()]:
        matches, facts = of_profile.matches, of_profile.facts
        rows = np.flatnonzero(facts.query == query)
        first = dict(zip(of_profile.first.fact.tolist(), of_profile.first.rank.tolist(), strict=True))
        for row in np.flatnonzero(matches.query == query).tolist():
            fact, rank = int(matches.fact[row]), int(matches.rank[row])
            at = first.get(fact)
            state: State = "in part" if at is None or rank < at else "first" if rank == at else "again"
            found.setdefault(rank, {}).setdefault(fact - int(rows[0]) + 1, state)
    return {rank: tuple(sorted(of_rank.items())) for rank, of_rank in found.items()}
