"""Systems on the same queries, each beside a baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.comparison.cautions import cautions
from raglift.comparison.hold_out import hold_out_best
from raglift.comparison.pairs import Paired, pair_up
from raglift.comparison.same_queries import check_same_rule, named, shared_queries
from raglift.comparison.statistics import (
    detectable,
    interval_of,
    mean_of,
    method_of,
    method_text,
    primary_of,
    verdict,
    within_reach,
)
from raglift.comparison.systems import baseline_of
from raglift.errors import ConfigurationError
from raglift.metrics import has_differences
from raglift.result_records import Compared, ComparisonRecord
from raglift.significance import holm, paired_differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.records import Metric
    from raglift.result_records import EvaluationRecord, Method
    from raglift.significance import PairedDifference

__all__ = ["compare_systems"]


def compare_systems(
    systems: Mapping[str, EvaluationRecord],
    *,
    baseline: str | int | None = None,
    primary: Metric | str | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    hold_out: bool = False,
) -> ComparisonRecord:
    """Compare systems on the same queries, and say which differences are real: see `raglift.compare`.

    Args:
        systems: two or more evaluations, by name.
        baseline: the system that the others are compared with, by name or number; by default the first.
        primary: the metric that decides; by default as in `raglift.compare`.
        seed: of the permutation tests and the choice of halves.
        confidence: how often intervals hold the true value; a difference counts as real at p ≤ 1 − confidence.
        hold_out: choose the best system on one half of the queries, and measure it on the other.

    Raises:
        ConfigurationError: an argument that cannot be used; or systems without a fair pair: no query in common, other
            labels, another match rule or profile.
    """
    method = method_of(seed, confidence)
    chosen = baseline_of(list(systems), baseline)
    check_same_rule({chosen: systems[chosen], **systems})
    shared = shared_queries(systems, chosen)
    metrics = _common_metrics(systems, chosen)
    decides = _primary(primary, metrics, systems)
    ordered = (decides, *(metric for metric in metrics if metric != decides))
    paired = pair_up(systems, chosen, ordered, shared)
    rows = _rows(paired, method)
    held = hold_out_best(paired, shared.queries, method) if hold_out else None
    deciding = [row for row in rows if not row.exploratory]
    corrected = "nothing to correct for: one comparison"
    if len(systems) > 2:
        corrected = f"Holm over {len(systems) - 1} systems"
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
        warnings=tuple(cautions(systems, shared, paired, rows, held_out=hold_out)),
        notes=(*shared.notes, *_not_in_common(systems, metrics)),
    )


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
        return primary_of(primary, metrics)
    except ConfigurationError as error:
        if primary is None:
            raise
        without = [name for name, one in systems.items() if str(primary) not in map(str, one.scores.metrics)]
        if 0 < len(without) < len(systems):
            raise ConfigurationError(f"{error}; not scored of {', '.join(map(repr, without))}") from None
        raise


def _rows(paired: Paired, method: Method) -> list[Compared]:
    """Return, for each metric, a row a system."""
    described = paired_differences(paired.fair_differences(), seed=method.seed, confidence=method.confidence)
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


def _row(paired: Paired, place: tuple[int, int], difference: PairedDifference | None, method: Method) -> Compared:
    metric_place, number = place
    metric, values, baseline = paired.metrics[metric_place], paired.of(place), paired.baseline_of(place)
    if number != paired.baseline:
        both = ~np.isnan(values) & ~np.isnan(baseline)
        values, baseline = values[both], baseline[both]
    return Compared(
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


def _decided(row: Compared, paired: Paired, p_holm: float | None, method: Method) -> Compared:
    """Return a row of the primary metric with what was decided."""
    if row.difference is None or not row.difference.n or p_holm is None:
        return replace(row, exploratory=False)
    number = paired.names.index(row.system)
    return replace(
        row,
        p_holm=p_holm,
        detectable=detectable(paired.of((0, number)) - paired.baseline_of((0, number)), method, len(paired.names) - 1),
        verdict=verdict(row.difference, p_holm, method),
        exploratory=False,
    )
