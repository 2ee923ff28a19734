"""Fair comparisons of different chunkings: matched by coverage, and decided at an equal budget of context tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.chunking import differ_in_length, differently_chunked, hit_length, last_hits
from raglift.analysis.scoring import can_be_scored, scored_by, with_metrics
from raglift.analysis.upper_bound import match_tables_of, rule_of
from raglift.base.tokens import EstimatedTokens, TokenCounts, is_at_hand
from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.budgets import context_totals, prefix_lengths
from raglift.metrics.computing import mean_of, score
from raglift.metrics.parsing import as_metric
from raglift.metrics.registry import MEASURES
from raglift.records.metric import Tokens
from raglift.records.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.analysis.records import EvaluationRecord
    from raglift.analysis.shared_queries import SharedQueries
    from raglift.records.metric import Metric


# What was done so that systems of different chunks are compared fairly.


@dataclass(frozen=True)
class Fairness:
    """How systems of different chunks were compared, with the figures that would mislead beside those that decide."""

    lengths: Mapping[str, float]
    """For each system, the mean length of its first hits, down to the depth of the primary metric, in characters."""
    unbudgeted: Metric | None = None
    """The primary metric at a number of hits; None where it was named at a budget and not scored at any such number."""
    budgeted: Metric | None = None
    """The primary metric at an equal budget of context tokens; None where the lengths of hits do not differ by more
    than a quarter, where hits have no texts, or where the metric has no meaning at a budget."""
    decides: bool = False
    """Whether the budgeted metric decides; it does unless another primary metric was named."""
    smallest: str | None = None
    """The system whose median of context tokens is the budget; None where a budget was named that no median is."""
    is_estimated: bool = False
    """Whether four characters were taken for a token, since tokens could not be counted without a network."""
    nothing_fits: Mapping[str, int] | None = None
    """For each system, of how many scored queries already the first hit is larger than the budget: they count 0."""
    unfilled: Mapping[str, int] | None = None
    """For each system, of how many scored queries all hits together have fewer tokens than the budget."""
    rescored: tuple[str, ...] = ()
    """The systems that were scored by containment, and were scored again by coverage."""
    containment: Mapping[str, float] | None = None
    """For each system, the mean of the unbudgeted metric by containment, where coverage decides."""

    def in_hits(self, metric: Metric) -> Metric:
        """Return the metric at a number of hits that the one at the equal budget stands for; any other as it is."""
        if self.unbudgeted is None or metric != self.budgeted or self.smallest is None:
            return metric
        return self.unbudgeted


# The comparison made fair.


def made_fair(
    systems: Mapping[str, EvaluationRecord],
    shared: SharedQueries,
    primary: Metric,
    *,
    is_named: bool,
    match: str | MatchRule | None = None,
) -> tuple[dict[str, EvaluationRecord], Fairness | None]:
    """Return systems as they are compared fairly, and what was done for that; None where their chunks are the same.

    Args:
        systems: by name.
        shared: the queries that they are compared on.
        primary: the metric that decides where chunks are the same.
        is_named: whether the user named it; then it decides in any case.
        match: by which rule all are matched; None for coverage where chunks differ, else as they were scored.

    Raises:
        ConfigurationError: an unknown way of matching.
    """
    lengths = {name: hit_length(evaluation, primary.k) for name, evaluation in systems.items()}
    differ = differently_chunked(systems, lengths)
    counter = token_counter(systems)
    found = _matched_by(_rules(systems, match, differ=differ), systems, primary, counter)
    if not differ:
        return found, None
    unbudgeted = primary if primary.budget is None else counterpart(primary, systems)
    rescored = tuple(name for name in found if rule_of(found[name]) != rule_of(systems[name]))
    fairness = Fairness(lengths, unbudgeted, rescored=rescored)
    if unbudgeted is not None and all(rule_of(one).by_coverage for one in found.values()):
        means = {name: _by_containment(name, systems[name], shared, unbudgeted) for name in found}
        fairness = replace(fairness, containment=means)
    budgeted, smallest = primary, None
    searches = any(evaluation.run.has_sessions for evaluation in systems.values())
    # What agents return is spread over calls, and not what reaches a prompt: their tokens are shown beside the figures
    if unbudgeted is not None and unbudgeted.k is not None and differ_in_length(lengths) and not searches:
        budgeted, smallest = _at_equal_budget(primary, found, shared, unbudgeted.k, counter)
    if budgeted.budget is None:
        return found, fairness
    found = {name: with_metrics(evaluation, [budgeted], counter) for name, evaluation in found.items()}
    nothing, unfilled = _fits(found, shared, budgeted.budget)
    return found, replace(
        fairness,
        budgeted=budgeted,
        decides=not is_named or primary.budget is not None,
        smallest=smallest,
        is_estimated=isinstance(counter, EstimatedTokens),
        nothing_fits=nothing,
        unfilled=unfilled,
    )


def with_named_budget(
    systems: Mapping[str, EvaluationRecord], primary: Metric | str | None
) -> Mapping[str, EvaluationRecord]:
    """Return systems with a primary metric that was named at a token budget, scored now where it was not.

    Raises:
        ConfigurationError: the text is not a metric.
    """
    if primary is None or (wanted := as_metric(primary, "primary")).budget is None:
        return systems
    counter = token_counter(systems, may_estimate=False)
    return {
        name: with_metrics(one, [wanted], counter) if can_be_scored(wanted, one.run) else one
        for name, one in systems.items()
    }


def counterpart(budgeted: Metric, systems: Mapping[str, EvaluationRecord]) -> Metric | None:
    """Return the metric at a number of hits that stands for one at a budget: the deepest that all systems have scored.

    At most 10 hits, where any such depth was scored; None where none was.
    """
    common = set.intersection(*(set(evaluation.scores.metrics) for evaluation in systems.values()))
    alike = [one for one in common if replace(one, depth=None) == replace(budgeted, depth=None) and one.k is not None]
    usual = [one for one in alike if one.k is not None and one.k <= _USUAL_DEPTH]
    return max(usual or alike, key=lambda one: one.k or 0, default=None)


_USUAL_DEPTH = 10


# Matched by coverage, with containment beside it.


def _rules(
    systems: Mapping[str, EvaluationRecord], match: str | MatchRule | None, *, differ: bool
) -> Mapping[str, MatchRule]:
    """Return by which rule systems are to be matched: as asked for, else by coverage if their chunks differ."""
    if match is None:
        return _by_coverage(systems) if differ else {}
    if isinstance(match, MatchRule):
        return dict.fromkeys(systems, match)
    return {
        name: rule
        if (rule := rule_of(one)).mode == match
        else MatchRule.for_profile(one.profile, match, unicode_folding=rule.unicode_folding)
        for name, one in systems.items()
    }


def _by_coverage(systems: Mapping[str, EvaluationRecord]) -> dict[str, MatchRule]:
    """Return the rules of systems of different chunks: coverage for those that were scored by containment.

    It is the coverage rule of the others, if some were scored by one. Nothing changes where that was chosen on purpose:
    in a cell of a sweep, whose default is coverage; with another tool's profile, which compares whole texts; or with
    fuzzy matching, for texts that coverage would not find.
    """
    rules = {name: rule_of(one) for name, one in systems.items()}
    others = {rule for rule in rules.values() if rule.mode != "containment"}
    on_purpose = any(one.profile != "default" for one in systems.values()) or any(
        rules[name].mode == "containment" and "sweep" in one.run.spec for name, one in systems.items()
    )
    if on_purpose or len(others) > 1 or not all(rule.by_coverage for rule in others):
        return {}
    by_coverage = next(iter(others), None)
    return {
        name: by_coverage or MatchRule("coverage", rule.minimum_length, rule.unicode_folding)
        for name, rule in rules.items()
        if rule.mode == "containment"
    }


def _matched_by(
    rules: Mapping[str, MatchRule], systems: Mapping[str, EvaluationRecord], primary: Metric, counter: TokenCounts
) -> dict[str, EvaluationRecord]:
    """Return systems matched by the given rules; those that are already, and those without a rule, as they are.

    A primary metric that cannot be computed here, as one whose package is not installed, keeps all as they are.
    """
    if not all(can_be_scored(primary, evaluation.run) for evaluation in systems.values()):
        return dict(systems)
    return {
        name: scored_by(one, rule, counter) if (rule := rules.get(name, rule_of(one))) != rule_of(one) else one
        for name, one in systems.items()
    }


def _by_containment(name: str, evaluation: EvaluationRecord, shared: SharedQueries, metric: Metric) -> float:
    """Return a system's mean by containment over the shared queries, from its scores where these are by it."""
    rule = rule_of(evaluation)
    if rule.mode == "containment" and metric in evaluation.scores.metrics:
        return mean_of(metric, shared.columns(name, evaluation.scores.of(evaluation.after, metric)))
    run, queries = evaluation.run, evaluation.dataset.queries
    rankings = [Ranking(hits[: metric.k]) for hits in last_hits(evaluation)]
    by_containment = MatchRule("containment", rule.minimum_length, rule.unicode_folding)
    tables = match_rankings(queries, [rankings], by_containment)
    last = replace(run, stages=run.stages[-1:])
    scores = score(last, evaluation.dataset, tables, [metric], evaluation.profile)
    return mean_of(metric, shared.columns(name, scores.of(evaluation.after, metric)))


# The budget, and what fits into it.


def token_counter(systems: Mapping[str, EvaluationRecord], *, may_estimate: bool = True) -> TokenCounts:
    """Return what counts the tokens of all systems: what has counted some, or is new, or else only estimates them.

    Where nobody asked for tokens, as where chunks differ, no encoding is fetched over a network for them.

    Args:
        systems: by name.
        may_estimate: whether an estimate will do.
    """
    for evaluation in systems.values():
        if evaluation.match_table:
            counter = evaluation.match_table[0].counter
            if counter.has_counted:
                return counter
    return EstimatedTokens() if may_estimate and not is_at_hand() else TokenCounts(progress=False)


def _at_equal_budget(
    primary: Metric, systems: Mapping[str, EvaluationRecord], shared: SharedQueries, k: int, counter: TokenCounts
) -> tuple[Metric, str | None]:
    """Return the primary metric at the equal budget, and the system whose median the budget is.

    A metric that was named at a budget stays as it is; one without a meaning at a budget too.
    """
    budget, smallest = smallest_median(systems, shared, k, counter)
    if primary.budget is not None:
        return primary, smallest if primary.budget.most == budget else None
    if not budget or "tokens" not in MEASURES[primary.name].depths:
        return primary, None
    return primary @ Tokens(budget), smallest


def smallest_median(
    systems: Mapping[str, EvaluationRecord], shared: SharedQueries, k: int, counter: TokenCounts
) -> tuple[int, str | None]:
    """Return the smallest median of the context tokens of k hits among systems, and whose it is; 0 if there is none.

    The median is over the shared queries with labels for which anything came back; between two values it is their
    mean, rounded down.
    """
    medians = {name: _median(one, shared.places[name].tolist(), k, counter) for name, one in systems.items()}
    known = {name: median for name, median in medians.items() if median > 0}
    if not known:
        return 0, None
    smallest = min(known, key=known.__getitem__)
    return known[smallest], smallest


def _median(evaluation: EvaluationRecord, places: Sequence[int], k: int, counter: TokenCounts) -> int:
    hits = list(last_hits(evaluation))
    rankings = [hits[place][:k] for place in places if evaluation.dataset.queries[place].is_labelled]
    rankings = [ranking for ranking in rankings if ranking]
    tokens = iter(counter.of([hit.chunk.text for ranking in rankings for hit in ranking]).tolist())
    totals = [sum(next(tokens) for _ in ranking) for ranking in rankings]
    return int(np.median(totals)) if totals else 0


def _fits(
    systems: Mapping[str, EvaluationRecord], shared: SharedQueries, budget: Tokens
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return of how many scored queries of each system nothing fits, and the hits do not fill the budget."""
    nothing: dict[str, int] = {}
    unfilled: dict[str, int] = {}
    for name, evaluation in systems.items():
        last = match_tables_of(evaluation)[-1]
        labelled = np.array([query.is_labelled for query in evaluation.dataset.queries], dtype=np.bool_)
        places = shared.places[name]
        came_back = (labelled & (last.hits > 0))[places]
        nothing[name] = int(np.count_nonzero(came_back & (prefix_lengths(last, budget)[places] == 0)))
        unfilled[name] = int(np.count_nonzero(came_back & (context_totals(last)[places] < budget.most)))
    return nothing, unfilled
