"""Charts of means and differences with their intervals, and the figures that they are drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.analysis.paired_statistics import interval_of, is_bounded, primary_of, scored
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_of, mean_title
from raglift.metrics.registry import MEASURES
from raglift.report.charts.parts import (
    AFTER,
    BEFORE,
    PALETTE,
    WIDTH,
    altair,
    data_of,
    legend_of,
    numbers,
    plain,
    quantity,
    themed,
)
from raglift.report.format import decimals_of, difference_text, interval_text, level
from raglift.stats.intervals import CONFIDENCE, Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt

    from raglift.analysis.records import ComparisonRecord, ComparisonRow, EvaluationRecord, TagSlicesRecord
    from raglift.records.metric import Metric
    from raglift.stats.paired_tests import PairedDifference


# Means or differences with their intervals, below each other: of systems, stages or tags.


_NAME = 22.0
"""The height of a row's name, in pixels: it is above the row, so that a long one has the full width."""
_LINE = 16.0
"""The height of each interval."""
_GAP = 8.0


@dataclass(frozen=True)
class Estimate:
    """A mean or a difference, and where the true one may lie."""

    row: str
    """What it is of; neighbours of the same row stand together under one name."""
    series: str
    """What tells it from the others of its row."""
    value: float
    interval: Interval | None
    told: str
    """The figures in words."""
    aside: str = ""
    """What else to say of the row, at its right end."""
    is_weak: bool = False
    """Whether it says little, as of few queries; drawn hollow."""


@dataclass(frozen=True)
class Scale:
    """How the values of estimates are to be read."""

    title: str
    """What they are."""
    format: str
    reference: float | None = None
    """Where a line is drawn to compare with: no difference, or the baseline's mean."""
    bounds: tuple[float, float] | None = None
    """What no value leaves."""


def intervals_chart(
    estimates: Sequence[Estimate],
    scale: Scale,
    *,
    title: str,
    subtitle: str = "",
    series: Sequence[str],
    colours: Sequence[str] = PALETTE,
) -> alt.LayerChart:
    """Return a row for each name with a point and an interval for each of its series.

    Args:
        estimates: in the order of the rows; those without a value are left out.
        scale: how their values are to be read.
        title: of the chart.
        subtitle: what its signs mean.
        series: all series in their order; a legend tells them where there are several.
        colours: for each series.
    """
    alt = altair()
    marks, names, height = _laid_out([one for one in estimates if not math.isnan(one.value)], series, scale)
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False))
    across = alt.Scale(domain=_domain(marks, scale), nice=scale.bounds is None)
    axis = alt.Axis(tickCount=6, grid=False, ticks=True, domain=True, **numbers(scale.format))
    low, x = (alt.X(f"{end}:Q", title=scale.title, scale=across, axis=axis) for end in ("l", "v"))
    known = [plain(name) for name in series]
    colour = alt.Color("s:N", title=None, scale=alt.Scale(domain=known, range=list(colours[: len(known)])))
    colour.legend = legend_of(known)
    tooltip = [alt.Tooltip("n:N", title="of"), alt.Tooltip("t:N", title="estimate")]
    rules = alt.Chart(data_of(marks)).mark_rule(strokeWidth=2.5)
    layers = [rules.encode(y=y, x=low, x2="h:Q", color=colour, tooltip=tooltip)]
    for is_weak in (False, True):
        some = [mark for mark in marks if mark["w"] == is_weak]
        if not some:
            continue
        points = alt.Chart(data_of(some)).mark_point(size=64, strokeWidth=2, opacity=1, filled=not is_weak)
        layers.append(points.encode(y=y, x=x, color=colour, tooltip=tooltip))
    if scale.reference is not None:
        beside = data_of(_beside_intervals(marks, scale.reference))
        mark = alt.Chart(beside).mark_rule(style="zero", strokeDash=[4, 3], aria=False)
        layers.insert(0, mark.encode(x=x, y=y, y2="z:Q"))
    layers += _names(names, y)
    told = "; ".join(f"{mark['n']} {mark['t']}" for mark in marks[:12])
    return themed(
        alt.layer(*layers).properties(width=WIDTH, height=height, title=alt.Title(title, subtitle=subtitle or [])),
        f"Points with intervals, {scale.title}: {told}{'; …' if len(marks) > 12 else '.'}",
    )


def _beside_intervals(marks: Sequence[dict[str, Any]], reference: float) -> list[dict[str, Any]]:
    """Return the pieces of the line of reference: beside the intervals, so that it never runs through a name."""
    half = _LINE / 2
    return [{"v": reference, "y": mark["y"] - half, "z": mark["y"] + half} for mark in marks]


def _names(names: Sequence[dict[str, Any]], y: Any) -> list[Any]:
    """Return the rows' names, cut where they would meet what is at the right end."""
    alt = altair()
    beside = 7 * max((len(name["a"]) for name in names), default=0) + 12
    asides = [name for name in names if name["a"]]
    layers = []
    for some, limit in ((asides, alt.expr(f"width - {beside}")), ([one for one in names if not one["a"]], None)):
        if some:
            mark = alt.Chart(data_of(some)).mark_text(align="left", x=0, limit=limit or alt.expr("width"))
            layers.append(mark.encode(y=y, text="n:N"))
    if asides:
        mark = alt.Chart(data_of(asides)).mark_text(align="right", x=alt.expr("width"), style="muted")
        layers.append(mark.encode(y=y, text="a:N"))
    return layers


def _laid_out(
    estimates: Sequence[Estimate], series: Sequence[str], scale: Scale
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], float]:
    """Return the intervals and the names with their locations in pixels, and the height of all."""
    marks, names, top = [], [], 0.0
    for row, members in groupby(estimates, key=lambda one: one.row):
        told = list(members)
        names.append({"y": top + _NAME / 2, "n": plain(row), "a": told[0].aside})
        for line, one in enumerate(told):
            marks.append(_mark(one, top + _NAME + _LINE * (line + 0.5), plain(row), scale, several=len(series) > 1))
        top += _NAME + _LINE * len(told) + _GAP
    return marks, names, max(top, _NAME)


def _mark(one: Estimate, y: float, row: str, scale: Scale, *, several: bool) -> dict[str, Any]:
    interval = one.interval
    known = interval is not None and not math.isnan(interval.low)
    low, high = (interval.low, interval.high) if interval is not None and known else (one.value, one.value)
    if scale.bounds is not None:  # an interval of few queries may leave what is possible, and would dwarf the others
        low, high = max(low, scale.bounds[0]), min(high, scale.bounds[1])
    name = plain(one.series)
    told = {"y": y, "v": one.value, "l": low, "h": high, "s": name, "t": one.told}
    return told | {"n": f"{row}, {name}" if several else row, "w": one.is_weak}


def _domain(marks: Sequence[dict[str, Any]], scale: Scale) -> list[float]:
    """Return the values to show: all intervals with some air, and the reference."""
    ends = [value for mark in marks for value in (mark["l"], mark["h"])]
    ends += [] if scale.reference is None else [scale.reference]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    air = 0.04 * (high - low) or 0.05
    if scale.bounds is None:
        return [low - air, high + air]
    return [max(scale.bounds[0], low - air), min(scale.bounds[1], high + air)]


# Means and differences to draw below each other: of stages, systems and tags.


_MOST_SYSTEMS = 40
_MOST_TAGS = 30
_TOLD_APART = ("better", "worse")


def means_of_stages(evaluation: EvaluationRecord, metrics: Sequence[Metric | str]) -> alt.LayerChart:
    """Return each metric before and after reranking; by default those of quality at the usual depth."""
    known = evaluation.scores.metrics
    wanted = [scored(metric, known, "metrics") for metric in metrics]
    if not wanted:
        depth = primary_of(None, known, evaluation.depth_limit).depth
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
    scale = Scale("mean, with 95% intervals", quantity(wanted[0]), bounds=_bounds(wanted[0]))
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
    """Return each other system minus the baseline, best first; hollow where not significant."""
    wanted = scored(comparison.primary if metric is None else metric, comparison.metrics, "metric")
    rows = _best(comparison, [row for row in comparison.of(wanted) if row.difference is not None])
    if not rows:
        raise ConfigurationError(
            f"differences: found no two systems that can be compared in {wanted}; expected a metric at a depth "
            "that every system returns"
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
        subtitle="filled: better or worse; hollow: not significant, too skewed to decide, or not tested",
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


def _best(comparison: ComparisonRecord, rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
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
