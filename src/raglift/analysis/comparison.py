"""Comparison of systems on the same queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.baselines import choose_baseline
from raglift.analysis.chunking import differently_chunked
from raglift.analysis.fairness import checked_budget, made_fair, prompts_of, with_leads, with_named_budget
from raglift.analysis.notes import retries_note
from raglift.analysis.paired_statistics import (
    NOT_COMPARABLE,
    bound_of,
    interval_of,
    method_of,
    method_text,
    minimum_detectable_effect,
    primary_of,
    verdict,
    within_reach,
)
from raglift.analysis.records import ComparisonRecord, ComparisonRow, HeldOut
from raglift.analysis.shared_queries import baseline_of, check_same_rule, named, shared_queries
from raglift.analysis.unjudged import unjudged_of
from raglift.analysis.upper_bound import rule_of
from raglift.analysis.warnings import (
    too_skewed_note,
    warnings_of,
    wins_against_means,
)
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_of
from raglift.metrics.prompt_measures import PromptRecall, RecallArea
from raglift.metrics.registry import MEASURES
from raglift.stats.paired_tests import holm, paired_difference, paired_differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.fairness import Fairness
    from raglift.analysis.records import EvaluationRecord, Method
    from raglift.analysis.shared_queries import SharedQueries
    from raglift.matching.rule import MatchRule
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


# The values of all systems on their shared queries, and which systems can be paired.


@dataclass(frozen=True, eq=False)
class Paired:
    """Values per metric, system and query, all systems on the same queries."""

    names: tuple[str, ...]
    """The systems, in the order given."""
    baseline: int
    """Which of them the others are compared with."""
    metrics: tuple[Metric, ...]
    """The primary metric first."""
    values: NDArray[np.float64]
    """Shape (metrics, systems, queries); NaN if a query is left out of the mean."""
    truncated: NDArray[np.bool_]
    """Shape (metrics, systems): whether the metric looks deeper than the system could return."""

    @cached_property
    def fair(self) -> tuple[tuple[int, int], ...]:
        """The pairs (metric, system) of which a difference to the baseline means something."""
        return tuple(
            (metric, system)
            for metric in range(len(self.metrics))
            for system in range(len(self.names))
            if system != self.baseline
            and not self.truncated[metric, system]
            and not self.truncated[metric, self.baseline]
        )

    def of(self, place: tuple[int, int]) -> NDArray[np.float64]:
        """Return one system's values of one metric."""
        values: NDArray[np.float64] = self.values[place]
        return values

    def baseline_of(self, place: tuple[int, int]) -> NDArray[np.float64]:
        """Return the baseline's values of the same metric."""
        return self.of((place[0], self.baseline))

    def fair_differences(self) -> NDArray[np.float64]:
        """Return the system minus the baseline: a row per query, and a column per fair pair."""
        if not self.fair:
            return np.zeros((self.values.shape[2], 0))
        return np.stack([self.of(place) - self.baseline_of(place) for place in self.fair], axis=1)


def pair_up(
    systems: Mapping[str, EvaluationRecord],
    baseline: str,
    metrics: Sequence[Metric],
    shared: SharedQueries,
) -> Paired:
    """Return the values of each metric at each system's last stage, for the shared queries."""
    values = np.stack(
        [
            [
                shared.columns(name, evaluation.scores.of(evaluation.after, metric))
                for name, evaluation in systems.items()
            ]
            for metric in metrics
        ]
    )
    deepest = {name: _deepest(evaluation) for name, evaluation in systems.items()}
    truncated = np.array(
        [
            [looks_too_deep(evaluation, metric, deepest[name]) for name, evaluation in systems.items()]
            for metric in metrics
        ],
        dtype=np.bool_,
    )
    return Paired(tuple(systems), list(systems).index(baseline), tuple(metrics), values, truncated)


def looks_too_deep(evaluation: EvaluationRecord, metric: Metric, deepest: int | None = None) -> bool:
    """Whether a metric looks deeper than a system could return.

    A stage that cuts is made good by a later one that adds hits, so what counts is the last ranking too. A metric of
    what is read looks at whatever came, and a verdict on it takes what did not come into account.

    Args:
        evaluation: of the system.
        metric: what is measured.
        deepest: the most hits that the last stage returned; None where the caller does not know.
    """
    if MEASURES[metric.name].needs_budget:
        return False
    if not any(evaluation.is_truncated(stage, metric) for stage in evaluation.scores.stages):
        return False
    return metric.k is None or (_deepest(evaluation) if deepest is None else deepest) < metric.k


def _deepest(evaluation: EvaluationRecord) -> int:
    """Return the most hits that the last stage returned for any query."""
    if not evaluation.truncated:
        return 0
    return max(
        (
            len(done.ranking)
            for trace in evaluation.run.traces
            for done in trace.stages
            if done.stage == evaluation.after
        ),
        default=0,
    )


# Two halves of the queries: one to choose the best system on, one to measure it on.


def halves(queries: Sequence[Query], seed: int) -> tuple[list[int], list[int]]:
    """Split queries in two halves that hold each tag about equally often.

    Each query belongs to the rarest of its tags (of equally rare ones, the first in alphabetical order), those without
    tags to a group of their own. The groups are shuffled and put in line one after the other, and the line is dealt
    out in turn: each group, and the whole, is split to within one query. The same queries, tags and seed give the same
    halves, whatever order the queries come in.

    Args:
        queries: those that are scored.
        seed: of the shuffling.

    Returns:
        The indices of the queries of each half, in rising order; the first half is never the smaller.
    """
    frequency = Counter(tag for query in queries for tag in set(query.tags))
    groups: dict[tuple[str, ...], list[int]] = {}
    for place in sorted(range(len(queries)), key=lambda place: queries[place].id):
        tags = sorted(set(queries[place].tags), key=lambda tag: (frequency[tag], tag))
        groups.setdefault(tuple(tags[:1]), []).append(place)
    random = np.random.default_rng(seed)
    line = [place for group in sorted(groups) for place in random.permutation(groups[group]).tolist()]
    return sorted(line[::2]), sorted(line[1::2])


# The best system, chosen on one half of the queries and measured on the other.


_FEWEST = 4


def hold_out_best(paired: Paired, queries: Sequence[Query], method: Method, *, is_chosen: bool = False) -> HeldOut:
    """Choose the system with the highest mean on one half of the queries, and measure it on the other.

    The half that measures had no part in the choice, so one test at its own level is enough, however many systems there
    were. Of equal means the first system is chosen. It is measured against the baseline; where that was itself chosen
    for its mean on all queries, also on those that measure, against the second best of the half that chooses.

    Args:
        paired: the values.
        queries: those that the values are of.
        method: the seed and level.
        is_chosen: whether the baseline was chosen for its mean.

    Raises:
        ConfigurationError: no system has a fair pair on the primary metric, or too few queries have a value.
    """
    systems = [number for metric, number in paired.fair if metric == 0]
    if not systems:
        raise ConfigurationError(
            f"hold_out: found no system that can be compared in {paired.metrics[0]}; expected at least one: use a "
            "depth that all of them return"
        )
    values = paired.values[0]
    counted = np.flatnonzero(~np.isnan(values[[*systems, paired.baseline]]).any(axis=0)).tolist()
    if len(counted) < _FEWEST:
        raise ConfigurationError(
            f"hold_out: found {len(counted)} scored queries; expected at least {_FEWEST}, two for each half"
        )
    places = [[counted[place] for place in half] for half in halves([queries[place] for place in counted], method.seed)]
    selection, held = (np.array(half, dtype=np.intp) for half in places)
    choices = sorted((*systems, paired.baseline) if is_chosen else systems)
    best, *others = sorted(choices, key=lambda number: -float(values[number, selection].mean()))
    other = others[0] if is_chosen else paired.baseline
    differences = values[best] - values[other]
    found = paired_difference(
        differences[held], seed=method.seed, confidence=method.confidence, bound=bound_of(paired.metrics[0])
    )
    found = within_reach(paired.metrics[0], found)
    return HeldOut(
        system=paired.names[best],
        selection=tuple(queries[place].id for place in selection),
        selection_difference=mean_of(paired.metrics[0], differences[selection]),
        held_out=tuple(queries[place].id for place in held),
        mean=mean_of(paired.metrics[0], values[best, held]),
        baseline_mean=mean_of(paired.metrics[0], values[other, held]),
        difference=found,
        verdict=verdict(found, found.p, method),
        baseline=paired.names[other],
        of_all=is_chosen,
    )


# Systems on the same queries, each compared with a baseline.


def compare_systems(
    systems: Mapping[str, EvaluationRecord],
    *,
    baseline: str | int | None = None,
    primary: Metric | str | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    hold_out: bool = False,
    match: str | MatchRule | None = None,
    budget: int | None = None,
    as_scored: Mapping[str, EvaluationRecord] | None = None,
) -> ComparisonRecord:
    """Compare systems on the same queries, and say which differences are real: see `raglift.compare`.

    Args:
        systems: two or more evaluations, by name.
        baseline: the system that the others are compared with, by name or number; by default see `choose_baseline`.
        primary: the metric that decides; by default as in `raglift.compare`.
        seed: of the permutation tests and the choice of halves.
        confidence: how often intervals hold the true value; a difference counts as real at p ≤ 1 − confidence.
        hold_out: choose the best system on one half of the queries, and measure it on the other.
        match: by which rule all are matched; by default as in `raglift.compare`.
        budget: the tokens of the prompt at which systems of different chunks are compared; by default 2,000.
        as_scored: the systems before they were matched by one rule, where they have been already.

    Raises:
        ConfigurationError: an argument that cannot be used; or systems without a fair pair: no query in common, other
            labels, another match rule or profile.
    """
    method = method_of(seed, confidence)
    if budget is not None:
        checked_budget(budget)
    first = baseline_of(list(systems), baseline)
    shared = shared_queries(systems, first)
    systems = with_named_budget(systems, primary)
    decides = _primary(primary, _common_metrics(systems, first), systems)
    as_scored, in_hits = as_scored or systems, decides
    systems, fairness = made_fair(
        systems, shared, decides, is_named=primary is not None, first=first, match=match, budget=budget
    )
    check_same_rule({first: systems[first], **systems})
    metrics = _common_metrics(systems, first)
    if fairness is not None and fairness.decides and fairness.area is not None:
        decides = fairness.area
    ordered = (decides, *(metric for metric in metrics if metric != decides))
    reference = choose_baseline(systems, baseline, pair_up(systems, first, (decides,), shared))
    chosen = reference.name
    if chosen != first:
        shared = shared_queries(systems, chosen)
    paired = pair_up(systems, chosen, ordered, shared)
    alike = None
    if fairness is not None:
        apart = _apart(as_scored, chosen, fairness)
        fairness = with_leads(replace(fairness, apart=apart), systems, shared, method)
        as_scored = as_scored if match is None else systems
        if len(apart) < len(systems) - 1 and decides != in_hits:
            alike = _Alike.of(as_scored, systems, chosen, in_hits, apart, shared)
    rows = _rows(paired, method, alike, _bounds(systems, paired, shared))
    unjudged = unjudged_of(systems, decides, shared.places, same_chunks=fairness is None)
    held = hold_out_best(paired, shared.queries, method, is_chosen=reference.is_chosen) if hold_out else None
    deciding = [row for row in rows if not row.exploratory]
    corrected = "nothing to correct for: one comparison"
    if len(systems) > 2:
        corrected = f"Holm over {len(systems) - 1} systems"
        corrected += ", not over the choice of the baseline" if reference.is_chosen else ""
    text = method_text([row.difference for row in deciding if row.system != chosen], decides, corrected)
    return ComparisonRecord(
        names=tuple(systems),
        evaluations=tuple(systems.values()),
        baseline=chosen,
        primary=decides,
        query_ids=tuple(query.id for query in shared.queries),
        rows=tuple(rows),
        method=replace(method, text=text),
        held_out=held,
        warnings=tuple(
            warnings_of(
                systems, shared, paired, rows, fairness, unjudged, held_out=hold_out, is_chosen=reference.is_chosen
            )
        ),
        notes=(
            *shared.notes,
            *(f"{name}: {retries}" for name, one in systems.items() if (retries := retries_note(one.run))),
            *_not_in_common(systems, metrics),
            *(note for row in deciding for note in wins_against_means(row, row.system, chosen)),
            *(note for row in deciding for note in too_skewed_note(row, row.system, chosen)),
        ),
        fairness=fairness,
        as_scored=tuple(as_scored.values()),
        unjudged=unjudged,
        baseline_reason=reference.reason,
    )


def _common_metrics(systems: Mapping[str, EvaluationRecord], baseline: str) -> list[Metric]:
    """Return the metrics that all systems have scored, in the baseline's order."""
    scored = [set(evaluation.scores.metrics) for evaluation in systems.values()]
    common = set.intersection(*scored)
    if not common:
        found = "; ".join(f"{name}: {', '.join(map(str, one.scores.metrics))}" for name, one in systems.items())
        raise ConfigurationError(f"compare: found no metric that all systems have scored ({found}); {_RESCORE}")
    return [metric for metric in systems[baseline].scores.metrics if metric in common]


def _not_in_common(systems: Mapping[str, EvaluationRecord], common: Sequence[Metric]) -> list[str]:
    """Say which metrics are left out: not all systems have scored them."""
    every = dict.fromkeys(metric for evaluation in systems.values() for metric in evaluation.scores.metrics)
    left_out = [str(metric) for metric in every if metric not in common]
    return [f"not scored of all systems, and so not compared: {named(left_out)}"] if left_out else []


_RESCORE = "expected at least one: rl.rescore adds metrics and depths without asking the system again"


def _primary(
    primary: Metric | str | None, metrics: Sequence[Metric], systems: Mapping[str, EvaluationRecord]
) -> Metric:
    """Return the metric that decides; where some systems lack it, say which."""
    try:
        limits = [limit for each in systems.values() if (limit := each.depth_limit) is not None]
        return primary_of(primary, metrics, min(limits, default=None))
    except ConfigurationError as error:
        if primary is None:
            raise
        without = [name for name, one in systems.items() if str(primary) not in map(str, one.scores.metrics)]
        if 0 < len(without) < len(systems):
            raise ConfigurationError(f"{error}; not scored of {', '.join(map(repr, without))}") from None
        raise


@dataclass(frozen=True, eq=False)
class _Alike:
    """The systems that have the chunks of the baseline, in a comparison where others have not.

    What decides between them is what decides where they are compared alone.
    """

    paired: Paired
    """The values of the metric that decides, as they were scored, of all systems."""
    numbers: frozenset[int]
    """Which of them have the chunks of the baseline."""

    @classmethod
    def of(
        cls,
        as_scored: Mapping[str, EvaluationRecord],
        systems: Mapping[str, EvaluationRecord],
        baseline: str,
        decides: Metric,
        apart: Sequence[str],
        shared: SharedQueries,
    ) -> _Alike:
        """Return them as they were scored; by the rule of the comparison where they were scored by several rules."""
        names = list(systems)
        rules = {rule_of(as_scored[name]) for name in names if name not in apart}
        scored = as_scored if len(rules) == 1 else systems
        numbers = frozenset(number for number, name in enumerate(names) if name not in (*apart, baseline))
        return cls(pair_up(scored, baseline, (decides,), shared), numbers)


def _apart(systems: Mapping[str, EvaluationRecord], baseline: str, fairness: Fairness) -> tuple[str, ...]:
    """Return the systems whose chunks are not those of the baseline."""
    pairs = {name: {baseline: systems[baseline], name: one} for name, one in systems.items() if name != baseline}
    return tuple(name for name, pair in pairs.items() if differently_chunked(pair, fairness.lengths))


_Bounds = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def _bounds(systems: Mapping[str, EvaluationRecord], paired: Paired, shared: SharedQueries) -> _Bounds | None:
    """Return the lowest and highest values that full prompts could give each system on the metric that decides.

    None where another decides than recall up to a budget or at it, or all prompts are full.
    """
    decides = paired.metrics[0]
    if decides.name not in (RecallArea.name, PromptRecall.name):
        return None
    prompts = {name: prompts_of(one, decides) for name, one in systems.items()}
    if not any(one.unfilled[shared.places[name]].any() for name, one in prompts.items()):
        return None
    lowest = np.stack([shared.columns(name, one.lowest) for name, one in prompts.items()])
    return lowest, np.stack([shared.columns(name, one.highest) for name, one in prompts.items()])


def _rows(
    paired: Paired, method: Method, alike: _Alike | None = None, bounds: _Bounds | None = None
) -> list[ComparisonRow]:
    """Return, for each metric, a row per system.

    Args:
        paired: the values; the metric that decides first.
        method: the seed and level.
        alike: the systems that are compared with the baseline by another metric, as they were scored.
        bounds: what full prompts could give, where some are not.
    """
    of_all = _described(paired, method)
    of_alike = {} if alike is None else _described(alike.paired, method)

    def source(number: int) -> tuple[Paired, Mapping[tuple[int, int], PairedDifference]]:
        return (alike.paired, of_alike) if alike is not None and number in alike.numbers else (paired, of_all)

    decide = {number: source(number)[1].get((0, number)) for number in range(len(paired.names))}
    adjusted = _adjusted(decide)
    unknown: set[int] = set()
    if bounds is not None:
        by_size = [number for number in adjusted if source(number)[0] is paired]
        unknown = _undecided(paired, bounds, by_size, decide, adjusted, method)
    rows = []
    for place, metric in enumerate(paired.metrics):
        for number, name in enumerate(paired.names):
            pairs, described = source(number)
            if not (decides := metric == pairs.metrics[0]):
                pairs, described = paired, of_all
            place_in_pairs = pairs.metrics.index(metric)
            row = _row(pairs, (place_in_pairs, number), described.get((place_in_pairs, number)), method)
            if number == paired.baseline:
                row = replace(row, exploratory=place != 0)
            elif decides:
                row = _decided(row, pairs, adjusted.get(number), method)
                row = replace(row, verdict=NOT_COMPARABLE) if number in unknown else row
            rows.append(replace(row, metric=metric, system=name))
    return rows


def _described(paired: Paired, method: Method) -> dict[tuple[int, int], PairedDifference]:
    found = paired_differences(
        paired.fair_differences(),
        seed=method.seed,
        confidence=method.confidence,
        bounds=[bound_of(paired.metrics[metric]) for metric, _ in paired.fair],
    )
    return dict(zip(paired.fair, found, strict=True))


def _undecided(
    paired: Paired,
    bounds: _Bounds,
    by_size: Sequence[int],
    decide: Mapping[int, PairedDifference | None],
    adjusted: Mapping[int, float],
    method: Method,
) -> set[int]:
    """Return the systems whose verdict would be another if the hits that did not come held nothing, or everything."""
    lowest, highest = bounds
    open_pairs = [
        number for number in by_size if ((lowest != highest) & ~np.isnan(lowest))[[number, paired.baseline]].any()
    ]
    if not open_pairs:
        return set()
    unknown: set[int] = set()
    base = paired.baseline
    for mine, others in ((lowest, highest), (highest, lowest)):
        columns = np.stack([mine[number] - others[base] for number in open_pairs], axis=1)
        found = paired_differences(
            columns,
            seed=method.seed,
            confidence=method.confidence,
            bounds=[bound_of(paired.metrics[0])] * len(open_pairs),
        )
        supposed = {**decide, **dict(zip(open_pairs, found, strict=True))}
        p = _adjusted(supposed)
        for number in open_pairs:
            now, other = decide[number], supposed[number]
            if now is None or other is None:
                continue
            if verdict(now, adjusted[number], method) != verdict(other, p[number], method):
                unknown.add(number)
    return unknown


def _row(paired: Paired, place: tuple[int, int], difference: PairedDifference | None, method: Method) -> ComparisonRow:
    metric_place, number = place
    metric, values, baseline = paired.metrics[metric_place], paired.of(place), paired.baseline_of(place)
    if number != paired.baseline:
        both = ~np.isnan(values) & ~np.isnan(baseline)
        values, baseline = values[both], baseline[both]
    return ComparisonRow(
        system=paired.names[number],
        metric=metric,
        mean=mean_of(metric, values),
        interval=interval_of(metric, values, method.confidence),
        baseline_mean=mean_of(metric, baseline),
        n=int(np.count_nonzero(~np.isnan(values))),
        difference=None if difference is None else within_reach(metric, difference),
        truncated=bool(paired.truncated[metric_place, number]),
    )


def _adjusted(described: Mapping[int, PairedDifference | None]) -> dict[int, float]:
    """Return the p-values of what decides, corrected over the systems, by the system's number."""
    tested = {number: found.p for number, found in described.items() if found is not None}
    return dict(zip(tested, holm(list(tested.values())).tolist(), strict=True))


def _decided(row: ComparisonRow, paired: Paired, p_holm: float | None, method: Method) -> ComparisonRow:
    """Return a row of the primary metric with what was decided."""
    if row.difference is None or not row.difference.n or p_holm is None:
        return replace(row, exploratory=False)
    number = paired.names.index(row.system)
    return replace(
        row,
        p_holm=p_holm,
        minimum_detectable_effect=minimum_detectable_effect(
            paired.of((0, number)) - paired.baseline_of((0, number)), method, len(paired.names) - 1
        ),
        verdict=verdict(row.difference, p_holm, method),
        exploratory=False,
    )
