"""Fair comparisons of different chunks: matched by coverage, and decided by what is read of prompts of one size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.chunking import differently_chunked, hit_length, last_hits
from raglift.analysis.costs import characters_of_hits
from raglift.analysis.paired_statistics import Method, bound_of
from raglift.analysis.scoring import can_be_scored, scored_by, with_metrics
from raglift.analysis.upper_bound import match_tables_of, rule_of
from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.matching.reading import characters_sent, positions_of_facts
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import mean_of, score
from raglift.metrics.parsing import as_metric
from raglift.metrics.prompt_measures import (
    DEFAULT_BUDGET,
    NAMED_BUDGETS,
    PromptRecall,
    RecallArea,
    budget_in_characters,
    scale_of_labels,
)
from raglift.metrics.registry import MEASURES
from raglift.stats.paired_tests import holm, paired_differences
from raglift.text.tokens import EstimatedTokens, TokenCounts, is_encoding_available
from raglift.types.metric import Metric, Tokens
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from raglift.analysis.shared_queries import SharedQueries
    from raglift.matching.matches import MatchTable
    from raglift.results.evaluation import Evaluation


# What was done so that systems of different chunks are compared fairly.


@dataclass(frozen=True)
class Lead:
    """The system with the highest recall at a prompt size."""

    budget: Tokens
    """The size of the prompt."""
    system: str
    """The system."""
    recall: float
    """Its mean recall there."""


@dataclass(frozen=True)
class Fairness:
    """How systems of different chunks were compared, with the figures beside those that decide."""

    lengths: Mapping[str, float]
    """For each system, the mean length of its first hits, down to the depth of the primary metric, in characters."""
    in_hits: Metric | None = None
    """The primary metric at a number of hits, as deployed; None if it was named at a budget, and was not scored at
    any number of hits."""
    area: Metric | None = None
    """Recall up to the budget; None if hits have no texts, or systems search several times."""
    recall: Metric | None = None
    """Recall at the budget; None if there is no `area`."""
    decides: bool = False
    """Whether `area` decides between systems of different chunks; it does unless another primary metric was named."""
    is_named: bool = False
    """Whether the user named the primary metric; then it decides between all systems."""
    apart: tuple[str, ...] = ()
    """The systems with other chunks than the baseline."""
    characters_per_token: float = 0.0
    """What makes characters of the budget, for all systems: the mean of the labelled passages."""
    is_estimated: bool = False
    """Whether four characters were taken for a token, since tokens could not be counted without a network."""
    sent: Mapping[str, float] | None = None
    """For each system, the tokens of its first hits as deployed, down to the depth of `in_hits`: the mean over the
    queries."""
    filled: Mapping[str, float] | None = None
    """For each system, the tokens that all its hits fill of the budget: the mean over the queries."""
    unfilled: Mapping[str, int] | None = None
    """For each system, of how many scored queries the hits end before the budget though more could come."""
    long_facts: int = 0
    """How many facts have only passages that are longer than the budget."""
    at_whole: Lead | None = None
    """The system with the highest `area` if passages must be covered whole; None if it is the same as matched."""
    leads: tuple[Lead, ...] = ()
    """The leader at each named prompt size that all systems fill; none where several have the highest recall."""
    change: tuple[Lead, Lead] | None = None
    """Two leads with systems that are each significantly better at their own size; None if there are none."""
    rescored: tuple[str, ...] = ()
    """The systems that were scored by containment, and were scored again by coverage."""
    containment: Mapping[str, float] | None = None
    """For each system, the mean of `in_hits` by containment, if coverage decides."""

    def ends_early(self, system: str, queries: int) -> bool:
        """Whether more than 5% of the prompts of a system end before the budget though more could come."""
        return self.unfilled is not None and self.unfilled[system] > UNFILLED * queries

    @property
    def budget(self) -> Tokens:
        """The size of the prompt at which systems are compared."""
        return (None if self.area is None else self.area.budget) or Tokens(DEFAULT_BUDGET)


@dataclass(frozen=True, eq=False)
class Prompts:
    """What is known of the prompts of one system, up to a budget; a value for each query of its dataset."""

    lowest: NDArray[np.float64]
    """Recall up to the budget, where the hits that did not come held nothing."""
    highest: NDArray[np.float64]
    """The same where they held every remaining fact at once."""
    unfilled: NDArray[np.bool_]
    """Whether the hits end before the budget though more could come."""
    characters: NDArray[np.float64]
    """The characters of all hits."""


# The comparison made fair.


def made_fair(
    systems: Mapping[str, Evaluation],
    shared: SharedQueries,
    primary: Metric,
    *,
    is_named: bool,
    first: str,
    match: str | MatchRule | None = None,
    budget: int | None = None,
) -> tuple[dict[str, Evaluation], Fairness | None]:
    """Return systems as they are compared fairly, and what was done for that; None if their chunks are the same.

    Raises:
        ConfigurationError: an unknown way of matching, or a budget that is none.
    """
    lengths = {name: hit_length(evaluation, primary.k) for name, evaluation in systems.items()}
    differ = differently_chunked(systems, lengths)
    counter = token_counter(systems)
    found = _matched_by(_rules(systems, match, differ=differ), systems, primary, counter)
    if not differ:
        return found, None
    in_hits = primary if primary.budget is None else counterpart(primary, systems)
    rescored = tuple(name for name in found if rule_of(found[name]) != rule_of(systems[name]))
    fairness = Fairness(lengths, in_hits, rescored=rescored, decides=False, is_named=is_named)
    if in_hits is not None and all(rule_of(one).by_coverage for one in found.values()):
        means = {name: _by_containment(name, systems[name], shared, in_hits) for name in found}
        fairness = replace(fairness, containment=means)
    # What agents return is spread over calls, and not what reaches a prompt: their tokens are shown beside the figures
    if any(evaluation.run.has_sessions for evaluation in systems.values()) or min(lengths.values()) == 0:
        return found, fairness
    named = primary.budget.most if primary.budget is not None else DEFAULT_BUDGET
    tokens = Tokens(named if budget is None or MEASURES[primary.name].needs_budget else budget)
    area, recall = RecallArea @ tokens, PromptRecall @ tokens
    scale = scale_of_labels(systems[first].dataset.queries, counter)
    found = {name: at_scale(one, (area, recall), scale, counter) for name, one in found.items()}
    fairness = replace(
        fairness,
        area=area,
        recall=recall,
        decides=not is_named or primary == area,
        characters_per_token=scale,
        is_estimated=isinstance(counter, EstimatedTokens),
    )
    return found, with_prompts(fairness, found, shared)


def checked_budget(budget: object) -> None:
    """Raise if it is no size of a prompt."""
    if isinstance(budget, bool) or not isinstance(budget, Integral) or budget < 1:
        raise ConfigurationError(f"budget: found {budget!r}; expected an integer, 1 or more")


def with_prompts(fairness: Fairness, systems: Mapping[str, Evaluation], shared: SharedQueries) -> Fairness:
    """Return what was done with what the prompts of the systems hold."""
    area, scale, k = (
        fairness.area,
        fairness.characters_per_token,
        None if fairness.in_hits is None else fairness.in_hits.k,
    )
    if area is None:
        return fairness
    limit = fairness.budget.most * scale
    sent: dict[str, float] = {}
    filled: dict[str, float] = {}
    unfilled: dict[str, int] = {}
    for name, one in systems.items():
        labelled = np.array([query.is_labelled for query in one.dataset.queries], dtype=np.bool_)
        places = shared.places[name][labelled[shared.places[name]]]
        prompts = prompts_of(one, area)
        table = match_tables_of(one)[-1]
        sent[name] = _mean(characters_sent(table, k)[places]) / scale
        filled[name] = _mean(np.minimum(prompts.characters, limit)[places]) / scale
        unfilled[name] = int(np.count_nonzero(prompts.unfilled[places]))
    return replace(
        fairness,
        sent=sent,
        filled=filled,
        unfilled=unfilled,
        long_facts=_long_facts(next(iter(systems.values())), limit),
        at_whole=_at_whole(systems, shared, area),
    )


def tokens_sent(evaluation: Evaluation, k: int | None) -> float:
    """Return about how many tokens the first k hits of a query have, on average; NaN without their texts.

    They are estimated from characters, as where chunks of different sizes are compared. Of agents nothing is estimated:
    what they read is counted search by search.
    """
    if evaluation.run.has_sessions:
        return math.nan

    def estimated() -> float:
        characters = characters_of_hits(evaluation, k)
        return characters / scale_of_labels(evaluation.dataset.queries, token_counter({"": evaluation})) or math.nan

    return evaluation.once(("tokens sent", k), estimated)


def at_scale(evaluation: Evaluation, metrics: Sequence[Metric], scale: float, counter: TokenCounts) -> Evaluation:
    """Return an evaluation with metrics of what is read, where a token has so many characters."""
    tables = tuple(replace(table, characters_per_token=scale) for table in match_tables_of(evaluation))
    scores = evaluation.scores
    others = [metric for metric in scores.metrics if not MEASURES[metric.name].needs_budget]
    read = [metric for metric in scores.metrics if metric not in others]
    bare = replace(evaluation, match_table=tables, scores=scores.only(others))
    return with_metrics(bare, list(dict.fromkeys((*read, *metrics))), counter)


def prompts_of(evaluation: Evaluation, area: Metric) -> Prompts:
    """Return what is known of the prompts of a system after its last stage, up to the budget of a metric.

    More could come where a ranking has as many hits as were asked for, or as some stage returns at most, and the index
    has others. Where they held every remaining fact, its position would be the end of what came.
    """
    table, run = match_tables_of(evaluation)[-1], evaluation.run
    lowest = evaluation.scores.of(evaluation.after, area)
    limit = budget_in_characters(table, area)
    characters = characters_sent(table)
    most = min([int(run.spec["candidates"]), *evaluation.truncated.values()])
    may_grow = table.hits >= most
    if (deepest := run.spec.get("filled")) is not None:  # whoever has more than the candidates was asked for so many
        may_grow = (table.hits == most) | (table.hits >= int(deepest))
    has_all = np.zeros(len(lowest), dtype=np.bool_) if run.inventory is None else table.hits >= run.inventory.chunks
    unfilled = may_grow & ~has_all & (characters < limit)
    query = table.facts.query
    missing = np.bincount(query, weights=np.isinf(positions_of_facts(table)), minlength=table.queries)
    facts = np.maximum(np.bincount(query, minlength=table.queries), 1)
    worth = np.maximum(0.0, 1.0 - characters / limit) if area.name == RecallArea.name else 1.0
    gain = np.where(unfilled, missing / facts * worth, 0.0)
    return Prompts(lowest, lowest + gain, unfilled, characters)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _long_facts(evaluation: Evaluation, limit: float) -> int:
    """Return how many facts have only passages that are longer than so many characters."""
    facts = (fact for query in evaluation.dataset.queries if query.is_labelled for fact in query.facts)
    return sum(all(passage.text is not None and len(passage.text) > limit for passage in one.passages) for one in facts)


def _at_whole(systems: Mapping[str, Evaluation], shared: SharedQueries, area: Metric) -> Lead | None:
    """Return which system has the highest area where passages must be covered whole; None if none other leads then."""
    rules = {rule_of(one) for one in systems.values()}
    if len(rules) > 1 or not (rule := next(iter(rules))).by_coverage or rule.threshold == 1.0:
        return None
    whole, part = {}, {}
    for name, one in systems.items():
        table = replace(match_tables_of(one)[-1], rule=replace(rule, threshold=1.0))
        part[name] = mean_of(area, shared.columns(name, one.scores.of(one.after, area)))
        whole[name] = mean_of(area, shared.columns(name, _last_scores(one, table, area)))
    leader = max(whole, key=whole.__getitem__)
    return None if leader == max(part, key=part.__getitem__) else Lead(area.budget or Tokens(1), leader, whole[leader])


def _last_scores(evaluation: Evaluation, table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """Return a metric after the last stage, for each query; NaN for one without labels."""
    last = replace(evaluation.run, stages=evaluation.run.stages[-1:])
    values: NDArray[np.float64] = score(last, evaluation.dataset, [table], [metric], evaluation.profile).values[0, 0]
    return values


# Which system leads at which prompt size, and whether that changes.


UNFILLED = 0.05
"""Above this share of queries whose prompts end before it, a size is not looked at."""


def with_leads(
    fairness: Fairness, systems: Mapping[str, Evaluation], shared: SharedQueries, method: Method
) -> Fairness:
    """Return what was done with the leaders at the named prompt sizes, and a change of lead that is significant.

    A change is two sizes of which each has a leader that is significantly better there than that of the other, by
    paired tests of recall at both, corrected by Holm over all pairs of systems at all sizes.
    """
    if fairness.area is None:
        return fairness
    sizes = [
        size
        for size in map(Tokens, NAMED_BUDGETS)
        if all(_is_filled(one, shared.places[name], size) for name, one in systems.items())
    ]
    values = {
        (size, name): shared.columns(name, recall_at(one, size)) for size in sizes for name, one in systems.items()
    }
    leads = []
    for size in sizes:
        means = {name: mean_of(PromptRecall @ size, values[size, name]) for name in systems}
        if known := {name: mean for name, mean in means.items() if not np.isnan(mean)}:
            best = max(known, key=known.__getitem__)
            if list(known.values()).count(known[best]) == 1:
                leads.append(Lead(size, best, known[best]))
    pairs = list(combinations(dict.fromkeys(lead.system for lead in leads), 2))
    tests = [(size, *pair) for size in sizes for pair in pairs]
    if not pairs:
        return replace(fairness, leads=tuple(leads))
    columns = np.stack([values[size, one] - values[size, other] for size, one, other in tests], axis=1)
    found = paired_differences(
        columns, seed=method.seed, confidence=method.confidence, bounds=[bound_of(fairness.area)] * len(tests)
    )
    untested = len(sizes) * len(systems) * (len(systems) - 1) // 2 - len(tests)
    p = holm([*(one.p for one in found), *[1.0] * untested]).tolist()
    shown = {
        (size, *((one, other) if difference.mean > 0 else (other, one)))
        for (size, one, other), difference, corrected in zip(tests, found, p, strict=False)
        if corrected <= method.alpha and not difference.too_skewed
    }
    change = next(
        (
            (low, high)
            for low, high in combinations(leads, 2)
            if (low.budget, low.system, high.system) in shown and (high.budget, high.system, low.system) in shown
        ),
        None,
    )
    return replace(fairness, leads=tuple(leads), change=change)


def recall_at(evaluation: Evaluation, size: Tokens) -> NDArray[np.float64]:
    """Return recall at a prompt size after the last stage, for each query; NaN for one without labels."""
    return _last_scores(evaluation, match_tables_of(evaluation)[-1], PromptRecall @ size)


def _is_filled(evaluation: Evaluation, places: NDArray[np.int64], size: Tokens) -> bool:
    area = RecallArea @ size
    unfilled = prompts_of(with_metrics(evaluation, [area]), area).unfilled[places]
    return not len(unfilled) or float(unfilled.mean()) <= UNFILLED


def with_named_budget(systems: Mapping[str, Evaluation], primary: Metric | str | None) -> Mapping[str, Evaluation]:
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


def counterpart(budgeted: Metric, systems: Mapping[str, Evaluation]) -> Metric | None:
    """Return the metric at a number of hits that stands beside one at a budget: the deepest that all have scored.

    It is the same measure, or NDCG where that is taken at budgets alone. At most 10 hits, where any such depth was
    scored; None if none was.
    """
    common = set.intersection(*(set(evaluation.scores.metrics) for evaluation in systems.values()))
    wanted = Metric("ndcg") if MEASURES[budgeted.name].needs_budget else replace(budgeted, depth=None)
    alike = [one for one in common if replace(one, depth=None) == wanted and one.k is not None]
    usual = [one for one in alike if one.k is not None and one.k <= _USUAL_DEPTH]
    return max(usual or alike, key=lambda one: one.k or 0, default=None)


_USUAL_DEPTH = 10


# Matched by coverage, with containment beside it.


def _rules(
    systems: Mapping[str, Evaluation], match: str | MatchRule | None, *, differ: bool
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


def _by_coverage(systems: Mapping[str, Evaluation]) -> dict[str, MatchRule]:
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
    rules: Mapping[str, MatchRule], systems: Mapping[str, Evaluation], primary: Metric, counter: TokenCounts
) -> dict[str, Evaluation]:
    """Return systems matched by the given rules; those that are already, and those without a rule, as they are.

    A primary metric that cannot be computed here, as one whose package is not installed, keeps all as they are.
    """
    if not all(can_be_scored(primary, evaluation.run) for evaluation in systems.values()):
        return dict(systems)
    return {
        name: scored_by(one, rule, counter) if (rule := rules.get(name, rule_of(one))) != rule_of(one) else one
        for name, one in systems.items()
    }


def _by_containment(name: str, evaluation: Evaluation, shared: SharedQueries, metric: Metric) -> float:
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


# Tokens.


def token_counter(systems: Mapping[str, Evaluation], *, may_estimate: bool = True) -> TokenCounts:
    """Return what counts the tokens of all systems: what has counted some, or is new, or else only estimates them.

    Where nobody asked for tokens, as where chunks differ, no encoding is fetched over a network for them.
    """
    for evaluation in systems.values():
        if evaluation.match_table:
            counter = evaluation.match_table[0].counter
            if counter.has_counted:
                return counter
    return EstimatedTokens() if may_estimate and not is_encoding_available() else TokenCounts(progress=False)
