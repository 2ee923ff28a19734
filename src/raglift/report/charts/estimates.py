"""Which means and differences stand below each other: of stages, systems and tags."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from raglift.comparison.statistics import interval_of, is_bounded, mean_of, primary_of, scored
from raglift.errors import ConfigurationError
from raglift.metrics import MEASURES, mean_title
from raglift.report.charts.intervals import Estimate, Scale, intervals_chart
from raglift.report.charts.parts import plain, quantity
from raglift.report.charts.theme import AFTER, BEFORE, PALETTE
from raglift.report.format import decimals_of, difference_text, interval_text, level
from raglift.significance import CONFIDENCE, Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt

    from raglift.records import Metric
    from raglift.result_records import ComparisonRecord, EvaluationRecord, TagSlicesRecord
    from raglift.result_records.comparison import Compared
    from raglift.significance import PairedDifference

__all__ = ["differences_of_systems", "means_of_stages", "means_of_systems", "tags_chart"]

_MOST_SYSTEMS = 40
_MOST_TAGS = 30
_TOLD_APART = ("better", "worse")


def means_of_stages(evaluation: EvaluationRecord, metrics: Sequence[Metric | str]) -> alt.LayerChart:
    """Return each metric before and after reranking; by default those of quality at the usual depth."""
    known = evaluation.scores.metrics
    wanted = [scored(metric, known, "metrics") for metric in metrics]
    if not wanted:
        depth = primary_of(None, known).depth
        wanted = [one for one in known if one.depth == depth and is_bounded(one) and MEASURES[one.name].is_earned]
    unlike = [str(one) for one in wanted if is_bounded(one) != is_bounded(wanted[0])]
    if unlike:
        raise ConfigurationError(
            f"metrics: found {', '.join(unlike)} beside {wanted[0]}; expected metrics on one scale, as those "
            "between 0 and 1"
        )
    stages = list(dict.fromkeys((evaluation.before, evaluation.after)))
    estimates = [one for metric in wanted for one in _stages_of(evaluation, metric, stages)]
    colours = (BEFORE, AFTER) if len(stages) > 1 else (AFTER,)
    scale = Scale("mean, with 95 % intervals", quantity(wanted[0]), bounds=_bounds(wanted[0]))
    return intervals_chart(estimates, scale, title="Means of the stages", series=stages, colours=colours)


def _stages_of(evaluation: EvaluationRecord, metric: Metric, stages: Sequence[str]) -> list[Estimate]:
    values = np.stack([evaluation.scores.of(stage, metric) for stage in stages])
    if evaluation.has_fair_lift(metric):  # the same queries on both sides
        values = np.where(np.isnan(values).any(axis=0), np.nan, values)
    cut = [stage for stage in stages if evaluation.is_truncated(stage, metric)]
    aside = f"{cut[-1]} returns at most {evaluation.truncated[cut[-1]]}" if cut else ""
    estimates = []
    for stage, of_stage in zip(stages, values, strict=True):
        mean = math.nan if stage in cut else mean_of(metric, of_stage)
        interval = interval_of(metric, of_stage, CONFIDENCE)
        told = interval_text(mean, interval, decimals_of(metric))
        estimates.append(Estimate(mean_title(metric), stage, mean, interval, told, aside))
    return estimates


def means_of_systems(
    comparison: ComparisonRecord, metric: Metric | str | None, names: Mapping[str, str]
) -> alt.LayerChart:
    """Return each system's mean; best first."""
    wanted = scored(comparison.primary if metric is None else metric, comparison.metrics, "metric")
    decimals = decimals_of(wanted)
    estimates = [
        Estimate(
            names.get(row.system, row.system),
            "",
            row.mean,
            row.interval,
            interval_text(row.mean, row.interval, decimals),
            aside="baseline" if row.system == comparison.baseline else "truncated" if row.truncated else "",
        )
        for row in _best(comparison, comparison.of(wanted))
    ]
    known = level(comparison.method)
    reference = comparison.row(comparison.baseline, wanted).mean
    scale = Scale(f"mean {mean_title(wanted)}, {known} intervals", quantity(wanted), reference, _bounds(wanted))
    return intervals_chart(estimates, scale, title=f"{mean_title(wanted)} of each system", series=("",))


def differences_of_systems(
    comparison: ComparisonRecord, metric: Metric | str | None, names: Mapping[str, str]
) -> alt.LayerChart:
    """Return each other system minus the baseline, best first; hollow where it is not told apart from the baseline."""
    wanted = scored(comparison.primary if metric is None else metric, comparison.metrics, "metric")
    rows = _best(comparison, [row for row in comparison.of(wanted) if row.difference is not None])
    if not rows:
        raise ConfigurationError(
            f"differences: found no fair pair on {wanted}; expected a metric at a depth that every system returns"
        )
    estimates = [
        _difference(
            wanted,
            names.get(row.system, row.system),
            "",
            row.difference,
            aside=row.verdict if row.verdict in _TOLD_APART else "",
            is_weak=row.verdict not in _TOLD_APART,
        )
        for row in rows
        if row.difference is not None
    ]
    known = level(comparison.method)
    baseline = names.get(comparison.baseline, comparison.baseline)
    scale = Scale(f"{mean_title(wanted)} minus the baseline's, {known} intervals", _signed(wanted), 0.0, _reach(wanted))
    return intervals_chart(
        estimates,
        scale,
        title=f"{mean_title(wanted)} minus that of {plain(baseline)}",
        subtitle="filled: better or worse; hollow: not told apart, or not tested",
        series=("",),
    )


def tags_chart(slices: TagSlicesRecord, names: Mapping[str, str], *, lift: bool) -> alt.LayerChart:
    """Return the differences on each tag, or the means where there are none; the most frequent tag first."""
    systems = list(dict.fromkeys(one.system for one in slices.slices))
    as_lift = lift and any(one.difference is not None for one in slices.slices)
    shown = [system for system in systems if not (as_lift and system == slices.baseline)][: len(PALETTE)]
    tags, title, decimals = slices.tags[:_MOST_TAGS], mean_title(slices.metric), decimals_of(slices.metric)
    estimates = []
    for one in slices.slices:
        if one.tag not in tags or one.system not in shown:
            continue
        row = "without a tag" if one.tag is None else one.tag
        name, aside = names.get(one.system, one.system), f"n = {one.n:,}"
        if as_lift:
            if one.difference is not None:
                estimates.append(_difference(slices.metric, row, name, one.difference, aside, is_weak=one.few))
            continue
        told = interval_text(one.mean, one.interval, decimals)
        estimates.append(Estimate(row, name, one.mean, one.interval, told, aside, is_weak=one.few))
    known = f"{level(slices.method)} intervals"
    if as_lift:
        scale = Scale(f"change of {title}, {known}", _signed(slices.metric), 0.0, _reach(slices.metric))
    else:
        scale = Scale(f"mean {title}, {known}", quantity(slices.metric), bounds=_bounds(slices.metric))
    words = f"{title} by tag" + (f": change to {names.get(slices.baseline or '', slices.baseline)}" if as_lift else "")
    if len(tags) < len(slices.tags):
        words += f" (the {len(tags)} most frequent of {len(slices.tags):,})"
    few = "hollow: fewer than 10 queries" if any(one.is_weak for one in estimates) else ""
    return intervals_chart(
        estimates, scale, title=plain(words), subtitle=few, series=[names.get(system, system) for system in shown]
    )


def _best(comparison: ComparisonRecord, rows: Sequence[Compared]) -> list[Compared]:
    """Return the rows, best first; where there are very many, those of the best systems and the baseline."""
    by_mean = sorted((row for row in rows if not math.isnan(row.mean)), key=lambda row: -row.mean)
    return by_mean[:_MOST_SYSTEMS] + [row for row in by_mean[_MOST_SYSTEMS:] if row.system == comparison.baseline]


def _difference(
    metric: Metric, row: str, series: str, found: PairedDifference, aside: str = "", *, is_weak: bool = False
) -> Estimate:
    told = difference_text(found, decimals_of(metric))
    return Estimate(row, series, found.mean, Interval(found.low, found.high), told, aside, is_weak)


def _signed(metric: Metric) -> str:
    return "+.2~f" if is_bounded(metric) else "+,.0f"


def _bounds(metric: Metric) -> tuple[float, float] | None:
    return (0.0, 1.0) if is_bounded(metric) else None


def _reach(metric: Metric) -> tuple[float, float] | None:
    """Return what no true difference leaves, though the interval of a few queries may."""
    return (-1.0, 1.0) if is_bounded(metric) else None
