"""Comparison of systems on the same queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.chunking import differently_chunked, last_hits
from raglift.analysis.fairness import Fairness, checked_budget, made_fair, prompts_of, with_named_budget
from raglift.analysis.paired_statistics import (
    NOT_COMPARABLE,
    Method,
    bound_of,
    interval_of,
    minimum_detectable_effect,
    primary_of,
    verdict,
    within_reach,
)
from raglift.analysis.records import ComparisonRow
from raglift.analysis.shared_queries import SharedQueries, baseline_of, check_same_rule, named, shared_queries
from raglift.analysis.upper_bound import rule_of
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_of, mean_title
from raglift.metrics.prompt_measures import PromptRecall, RecallArea
from raglift.metrics.registry import MEASURES
from raglift.stats.paired_tests import PairedDifference, holm, paired_differences

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
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
    systems: Mapping[str, Evaluation],
    baseline: str,
    metrics: Sequence[Metric],
    shared: SharedQueries,
) -> Paired:
    """Return the values of each metric at each system's last stage, for the shared queries."""
    values = np.stack(
        [
            [shared.columns(name, evaluation.last_values(metric)) for name, evaluation in systems.items()]
            for metric in metrics
        ]
    )
    truncated = np.array(
        [[looks_too_deep(evaluation, metric) for evaluation in systems.values()] for metric in metrics], dtype=np.bool_
    )
    return Paired(tuple(systems), list(systems).index(baseline), tuple(metrics), values, truncated)


def looks_too_deep(evaluation: Evaluation, metric: Metric) -> bool:
    """Whether a metric looks deeper than a system could return.

    A stage that cuts is made good by a later one that adds hits, so what counts is the last ranking too. A metric of
    what is read looks at whatever came, and a verdict on it takes what did not come into account.
    """
    if MEASURES[metric.name].needs_budget:
        return False
    if not any(evaluation.is_truncated(stage, metric) for stage in evaluation.scores.stages):
        return False
    return metric.k is None or max(map(len, last_hits(evaluation)), default=0) < metric.k


# Which system the others are compared with, and why: never an accident of names or of their order.


_TWO = 2


@dataclass(frozen=True)
class Baseline:
    """The system that the others are compared with."""

    name: str
    """What it is called."""
    reason: str
    """Why it is this one, in a few words."""
    is_chosen: bool = False
    """Whether it was chosen for its mean on the queries of the comparison."""


def choose_baseline(systems: Mapping[str, Evaluation], given: str | int | None, paired: Paired) -> Baseline:
    """Return the system that the others are compared with.

    The one that is named. Of two the first, so that the second is said to be better or worse, as it was asked. Of more
    the only one that is plain BM25; if there is none, or several, the one with the highest mean of the primary
    metric.

    Raises:
        ConfigurationError: no system has the name or number that was given.
    """
    names = list(systems)
    if given is not None:
        return Baseline(baseline_of(names, given), "as requested")
    if len(names) <= _TWO:
        return Baseline(names[0], "the first of two")
    plain = [name for name, evaluation in systems.items() if is_plain_bm25(evaluation)]
    if len(plain) == 1:
        return Baseline(plain[0], "the only plain BM25")
    best = best_system(paired)
    if best is None:
        return Baseline(names[0], "the first, because no system has a mean that can be compared")
    return Baseline(names[best], f"the highest mean {mean_title(paired.metrics[0])}", is_chosen=True)


def best_system(paired: Paired) -> int | None:
    """Return the number of the system with the highest mean of the primary metric; of equal ones the first.

    Systems that return fewer hits than the metric looks at cannot be it. None if no system can.
    """
    metric = paired.metrics[0]
    means = {
        number: mean
        for number in range(len(paired.names))
        if not paired.truncated[0, number] and not np.isnan(mean := mean_of(metric, paired.of((0, number))))
    }
    return max(means, key=means.__getitem__) if means else None


def is_plain_bm25(evaluation: Evaluation) -> bool:
    """Whether a system is BM25 and nothing else: one stage, which says so by its first word."""
    stages = evaluation.run.stages
    first_word = stages[0].system.replace("(", " ").partition(" ")[0]
    return len(stages) == 1 and "bm25" in first_word.lower()


# Two halves of the queries: one to choose the best system on, one to measure it on.


def halves(queries: Sequence[Query], seed: int) -> tuple[list[int], list[int]]:
    """Split queries in two halves that hold each tag about equally often.

    Each query belongs to the rarest of its tags (of equally rare ones, the first in alphabetical order), those without
    tags to a group of their own. The groups are shuffled and put in line one after the other, and the line is dealt
    out in turn: each group, and the whole, is split to within one query. The same queries, tags and seed give the same
    halves, whatever order the queries come in.

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


# Systems on the same queries, each compared with a baseline.


@dataclass(frozen=True, eq=False)
class FairSystems:
    """Systems made comparable, and what decides between them."""

    systems: Mapping[str, Evaluation]
    """By name, matched and scored as they are compared."""
    as_scored: Mapping[str, Evaluation]
    """The same before they were matched by one rule, or made fair in other ways."""
    shared: SharedQueries
    """The queries that all of them answered, in the order of the first."""
    fairness: Fairness | None
    """What was done because they have different chunks; None if they do not."""
    metrics: tuple[Metric, ...]
    """Those that all have scored, the one that decides first."""
    in_hits: Metric
    """The metric that decides where chunks are the same."""


def fair_systems(
    systems: Mapping[str, Evaluation],
    first: str,
    primary: Metric | str | None,
    match: str | MatchRule | None,
    budget: int | None,
) -> FairSystems:
    """Return systems as they can be compared.

    Args:
        systems: two or more, by name.
        first: the one whose queries and labels are looked at first.
        primary: the metric that decides, where it was named.
        match: by which rule all are matched; None for coverage where chunks differ, else as they were scored.
        budget: the tokens of the prompt at which different chunks are compared; None for 2,000.

    Raises:
        ConfigurationError: an argument that cannot be used; or systems without a fair pair: no query in common, other
            labels, another match rule or profile.
    """
    if budget is not None:
        checked_budget(budget)
    shared = shared_queries(systems, first)
    as_scored = with_named_budget(systems, primary)
    in_hits = decides = _primary(primary, _common_metrics(as_scored, first), as_scored)
    fair, fairness = made_fair(
        as_scored, shared, in_hits, is_named=primary is not None, first=first, match=match, budget=budget
    )
    check_same_rule({first: fair[first], **fair})
    if fairness is not None and fairness.decides and fairness.area is not None:
        decides = fairness.area
    others = [metric for metric in _common_metrics(fair, first) if metric != decides]
    return FairSystems(fair, as_scored, shared, fairness, (decides, *others), in_hits)


def _common_metrics(systems: Mapping[str, Evaluation], baseline: str) -> list[Metric]:
    """Return the metrics that all systems have scored, in the baseline's order."""
    scored = [set(evaluation.scores.metrics) for evaluation in systems.values()]
    common = set.intersection(*scored)
    if not common:
        found = "; ".join(f"{name}: {', '.join(map(str, one.scores.metrics))}" for name, one in systems.items())
        raise ConfigurationError(f"compare: found no metric that all systems have scored ({found}); {_RESCORE}")
    return [metric for metric in systems[baseline].scores.metrics if metric in common]


def not_in_common(systems: Mapping[str, Evaluation], common: Sequence[Metric]) -> list[str]:
    """Say which metrics are left out: not all systems have scored them."""
    every = dict.fromkeys(metric for evaluation in systems.values() for metric in evaluation.scores.metrics)
    left_out = [str(metric) for metric in every if metric not in common]
    return [f"not scored of all systems, and so not compared: {named(left_out)}"] if left_out else []


_RESCORE = "expected at least one: rl.rescore adds metrics and depths without asking the system again"


def _primary(primary: Metric | str | None, metrics: Sequence[Metric], systems: Mapping[str, Evaluation]) -> Metric:
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
class Alike:
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
        as_scored: Mapping[str, Evaluation],
        systems: Mapping[str, Evaluation],
        baseline: str,
        decides: Metric,
        apart: Sequence[str],
        shared: SharedQueries,
    ) -> Alike:
        """Return them as they were scored; by the rule of the comparison where they were scored by several rules."""
        names = list(systems)
        rules = {rule_of(as_scored[name]) for name in names if name not in apart}
        scored = as_scored if len(rules) == 1 else systems
        numbers = frozenset(number for number, name in enumerate(names) if name not in (*apart, baseline))
        return cls(pair_up(scored, baseline, (decides,), shared), numbers)


def apart_from(systems: Mapping[str, Evaluation], baseline: str, fairness: Fairness) -> tuple[str, ...]:
    """Return the systems whose chunks are not those of the baseline."""
    pairs = {name: {baseline: systems[baseline], name: one} for name, one in systems.items() if name != baseline}
    return tuple(name for name, pair in pairs.items() if differently_chunked(pair, fairness.lengths))


Bounds = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def bounds_of_prompts(systems: Mapping[str, Evaluation], paired: Paired, shared: SharedQueries) -> Bounds | None:
    """Return the lowest and highest values that full prompts could give each system on the metric that decides.

    None if another decides than recall up to a budget or at it, or all prompts are full.
    """
    decides = paired.metrics[0]
    if decides.name not in (RecallArea.name, PromptRecall.name):
        return None
    prompts = {name: prompts_of(one, decides) for name, one in systems.items()}
    if not any(one.unfilled[shared.places[name]].any() for name, one in prompts.items()):
        return None
    lowest = np.stack([shared.columns(name, one.lowest) for name, one in prompts.items()])
    return lowest, np.stack([shared.columns(name, one.highest) for name, one in prompts.items()])


def rows_of(
    paired: Paired, method: Method, alike: Alike | None = None, bounds: Bounds | None = None
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
    bounds: Bounds,
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
