"""Comparison of systems on the same queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.baselines import choose_baseline
from raglift.analysis.fairness import made_fair, with_named_budget
from raglift.analysis.notes import retries_note
from raglift.analysis.paired_statistics import (
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
from raglift.analysis.unjudged import holes_between, unjudged_of
from raglift.analysis.upper_bound import match_tables_of
from raglift.analysis.warnings import (
    too_skewed_note,
    warnings_of,
    wins_against_means,
    within_label_error,
)
from raglift.errors import ConfigurationError
from raglift.metrics.computing import has_differences, mean_of
from raglift.records.dataset import checked_share
from raglift.stats.paired_tests import holm, paired_difference, paired_differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.analysis.fairness import Fairness
    from raglift.analysis.records import EvaluationRecord, Method
    from raglift.analysis.shared_queries import SharedQueries
    from raglift.analysis.unjudged import Holes, Unjudged
    from raglift.matching.rule import MatchRule
    from raglift.records.labels import Query
    from raglift.records.metric import Metric
    from raglift.stats.paired_tests import PairedDifference


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
    fairness: Fairness | None = None,
) -> Paired:
    """Return the values of each metric at each system's last stage, for the shared queries.

    The budget of a comparison is what k hits of some system hold, so one that returns k hits is deep enough for it.
    """
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
            [
                looks_too_deep(evaluation, metric if fairness is None else fairness.in_hits(metric), deepest[name])
                for name, evaluation in systems.items()
            ]
            for metric in metrics
        ],
        dtype=np.bool_,
    )
    return Paired(tuple(systems), list(systems).index(baseline), tuple(metrics), values, truncated)


def looks_too_deep(evaluation: EvaluationRecord, metric: Metric, deepest: int | None = None) -> bool:
    """Whether a metric looks deeper than a system could return.

    A stage that cuts is made good by a later one that adds hits, so what counts is the last ranking too.

    Args:
        evaluation: of the system.
        metric: what is measured.
        deepest: the most hits that the last stage returned; None where the caller does not know.
    """
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
    label_error: float | None = None,
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
        label_error: which share of the labels may be wrong; by default what the datasets know of it.

    Raises:
        ConfigurationError: an argument that cannot be used; or systems without a fair pair: no query in common, other
            labels, another match rule or profile.
    """
    method = method_of(seed, confidence)
    if label_error is not None:
        checked_share("label_error", label_error)
    first = baseline_of(list(systems), baseline)
    shared = shared_queries(systems, first)
    systems = with_named_budget(systems, primary)
    decides = _primary(primary, _common_metrics(systems, first), systems)
    systems, fairness = made_fair(systems, shared, decides, is_named=primary is not None, match=match)
    check_same_rule({first: systems[first], **systems})
    metrics = _common_metrics(systems, first)
    if fairness is not None and fairness.decides and fairness.budgeted is not None:
        decides = fairness.budgeted
    ordered = (decides, *(metric for metric in metrics if metric != decides))
    reference = choose_baseline(systems, baseline, pair_up(systems, first, (decides,), shared, fairness))
    chosen = reference.name
    if chosen != first:
        shared = shared_queries(systems, chosen)
    paired = pair_up(systems, chosen, ordered, shared, fairness)
    rows = _rows(paired, method)
    unjudged = _unjudged(systems, shared, paired, rows, method, same_chunks=fairness is None)
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
        warnings=(
            *warnings_of(
                systems, shared, paired, rows, fairness, unjudged, held_out=hold_out, is_chosen=reference.is_chosen
            ),
            *within_label_error(deciding, chosen, systems, label_error),
        ),
        notes=(
            *shared.notes,
            *(f"{name}: {said}" for name, one in systems.items() if (said := retries_note(one.run))),
            *_not_in_common(systems, metrics),
            *(note for row in deciding for note in wins_against_means(row, row.system, chosen)),
            *(note for row in deciding for note in too_skewed_note(row, row.system, chosen)),
        ),
        fairness=fairness,
        unjudged=unjudged,
        baseline_reason=reference.reason,
    )


def _unjudged(
    systems: Mapping[str, EvaluationRecord],
    shared: SharedQueries,
    paired: Paired,
    rows: Sequence[ComparisonRow],
    method: Method,
    *,
    same_chunks: bool,
) -> Unjudged | None:
    """Return what unjudged hits can do to the primary metric, and for which systems its verdict could turn."""
    if any(evaluation.dataset.shows_judged for evaluation in systems.values()):  # matched once, for all that asks
        systems = {name: replace(one, match_table=match_tables_of(one)) for name, one in systems.items()}
    found = unjudged_of(systems, paired.metrics[0], shared.places, same_chunks=same_chunks)
    if found is None:
        return None
    unjudged, values = found
    if values is None:
        return unjudged
    supposed = replace(paired, metrics=paired.metrics[:1], values=values[np.newaxis], truncated=paired.truncated[:1])
    turned = {
        row.system: row.verdict
        for row, now in zip(_rows(supposed, method), rows, strict=False)
        if row.verdict is not None and row.verdict != now.verdict
    }
    holes = {row.system: hole for row in rows if (hole := _hole(systems, row, paired, shared, same_chunks=same_chunks))}
    return replace(unjudged, turned=turned, holes=holes)


def _hole(
    systems: Mapping[str, EvaluationRecord],
    row: ComparisonRow,
    paired: Paired,
    shared: SharedQueries,
    *,
    same_chunks: bool,
) -> Holes | None:
    """Return how the verdict on a system could turn; None where it could not, or is none."""
    if row.exploratory or row.verdict not in ("better", "worse"):
        return None
    pair = (row.system, paired.names[paired.baseline])
    names = pair if row.verdict == "better" else pair[::-1]
    return holes_between({name: systems[name] for name in names}, row.metric, shared.places, same_chunks=same_chunks)


def _common_metrics(systems: Mapping[str, EvaluationRecord], baseline: str) -> list[Metric]:
    """Return the metrics that all systems have scored, in the baseline's order."""
    scored = [set(evaluation.scores.metrics) for evaluation in systems.values()]
    common = set.intersection(*scored)
    if not common:
        found = "; ".join(f"{name}: {', '.join(map(str, one.scores.metrics))}" for name, one in systems.items())
        raise ConfigurationError(f"compare: found no metric that all systems have scored ({found}); {_RESCORE}")
    return [metric for metric in systems[baseline].scores.metrics if metric in common and has_differences(metric)]


def _not_in_common(systems: Mapping[str, EvaluationRecord], common: Sequence[Metric]) -> list[str]:
    """Say which metrics are left out: not all systems have scored them, or their means are geometric."""
    every = dict.fromkeys(metric for evaluation in systems.values() for metric in evaluation.scores.metrics)
    left_out = [str(metric) for metric in every if metric not in common and has_differences(metric)]
    geometric = [str(metric) for metric in every if not has_differences(metric)]
    notes = [f"not scored of all systems, and so not compared: {named(left_out)}"] if left_out else []
    if geometric:
        notes.append(f"geometric means, which have no differences query by query, are not compared: {named(geometric)}")
    return notes


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


def _rows(paired: Paired, method: Method) -> list[ComparisonRow]:
    """Return, for each metric, a row per system."""
    described = paired_differences(
        paired.fair_differences(),
        seed=method.seed,
        confidence=method.confidence,
        bounds=[bound_of(paired.metrics[metric]) for metric, _ in paired.fair],
    )
    by_place = dict(zip(paired.fair, described, strict=True))
    adjusted = _adjusted(paired, by_place)
    rows = []
    for place, metric in enumerate(paired.metrics):
        for number, name in enumerate(paired.names):
            row = _row(paired, (place, number), by_place.get((place, number)), method)
            if place == 0:
                row = _decided(row, paired, adjusted.get(number), method)
            rows.append(replace(row, metric=metric, system=name))
    return rows


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


def _adjusted(paired: Paired, described: Mapping[tuple[int, int], PairedDifference]) -> dict[int, float]:
    """Return the p-values of the primary metric, corrected over the systems, by the system's number."""
    tested = [number for number in range(len(paired.names)) if (0, number) in described]
    return dict(zip(tested, holm([described[0, number].p for number in tested]).tolist(), strict=True))


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
