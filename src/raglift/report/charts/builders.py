"""The five kinds of charts: lines, estimates with intervals, changes query by query, outcomes, and a trade-off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.analysis.paired_statistics import is_bounded
from raglift.metrics.computing import mean_title
from raglift.report.charts.parts import (
    AFTER,
    BEFORE,
    DOWN,
    HEIGHT,
    UP,
    WIDTH,
    altair,
    data_of,
    figure,
    legend_of,
    numbers,
    plain,
    quantity,
    themed,
)
from raglift.report.format import outcome_text, percent_text
from raglift.stats.intervals import TIED
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import altair as alt
    from numpy.typing import NDArray

    from raglift.analysis.outcomes import FailureAnalysis
    from raglift.analysis.records import Tradeoff
    from raglift.stats.intervals import Interval
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


# Lines: a figure over depths, tokens, calls or dates.


_FEW_POINTS = 12
"""A line of more points has none that are seen; they can still be pointed at."""


@dataclass(frozen=True)
class Line:
    """A line of a chart."""

    name: str
    points: Sequence[tuple[float | str, float]]
    """Where it is how high, from left to right; the first of a date is text."""
    colour: str
    band: Sequence[tuple[float, float, float]] = ()
    """Between what the true line may lie: where, the low end, the high end."""
    point_names: Sequence[str] = ()
    """What each point is, if it is not the line's name."""
    is_cut: bool = False
    """Whether its end is marked, because it cannot go on as the others do."""


@dataclass(frozen=True)
class Axis:
    """An axis of a line chart."""

    title: str
    format: str
    domain: Sequence[float] | None = None
    """Its ends; None for those of the data."""
    values: Sequence[float] | None = None
    """Where it has figures; None for round ones."""
    is_date: bool = False


def lines_chart(
    lines: Sequence[Line],
    x_axis: Axis,
    y_axis: Axis,
    *,
    title: str,
    description: str,
    subtitle: str = "",
    in_steps: bool = False,
    decimals: int = 3,
) -> alt.LayerChart:
    """Return lines over one axis, with their bands.

    Args:
        lines: in the order of the legend, which is shown if there are several.
        x_axis: what they go over.
        y_axis: how high they are.
        title: of the chart.
        description: what can be seen in it, in words.
        subtitle: what is left out.
        in_steps: whether a line stays as high as it is until its next point.
        decimals: of the figures that points show.
    """
    alt = altair()
    kind = "T" if x_axis.is_date else "Q"
    place = {"nice": False} if x_axis.domain is None else {"nice": False, "domain": list(x_axis.domain)}
    marks: dict[str, Any] = {} if x_axis.values is None else {"values": list(x_axis.values)}
    if not x_axis.is_date:
        marks["format"] = x_axis.format
    x = alt.X(f"k:{kind}", title=x_axis.title or None, axis=alt.Axis(grid=False, **marks))
    if not x_axis.is_date:
        x.scale = alt.Scale(**place)
    height = {"zero": False, "nice": True} if y_axis.domain is None else {"nice": False, "domain": list(y_axis.domain)}
    y = alt.Y("v:Q", title=y_axis.title, axis=alt.Axis(format=y_axis.format, tickCount=5), scale=alt.Scale(**height))
    names = [plain(line.name) for line in lines]
    colour = alt.Color("s:N", title=None, scale=alt.Scale(domain=names, range=[line.colour for line in lines]))
    if (legend := legend_of(names)) is not None:  # its signs would be those of the bands, which are faint
        legend.symbolOpacity, legend.symbolType = 1, "stroke"
    colour.legend = legend
    rows = [
        {"k": where, "s": name, "v": value, "t": f"{value:,.{decimals}f}", "n": plain(point)}
        for line, name in zip(lines, names, strict=True)
        for (where, value), point in zip(line.points, line.point_names or [name] * len(line.points), strict=True)
    ]
    tooltip = [alt.Tooltip("n:N", title="of"), alt.Tooltip(f"k:{kind}", title=x_axis.title or "date")]
    tooltip.append(alt.Tooltip("t:N", title=y_axis.title))
    base = alt.Chart(data_of(rows)).encode(x=x, y=y, color=colour)
    are_few = max((len(line.points) for line in lines), default=0) <= _FEW_POINTS
    layers = [
        base.mark_line(strokeWidth=2.5, **({"interpolate": "step-after"} if in_steps else {})),
        base.mark_point(filled=True, size=44, opacity=1 if are_few else 0).encode(tooltip=tooltip),
    ]
    bands = [
        {"k": where, "s": name, "l": low, "h": high}
        for line, name in zip(lines, names, strict=True)
        for where, low, high in line.band
    ]
    if bands:
        area = alt.Chart(data_of(bands)).mark_area(opacity=0.15, aria=False)
        layers.insert(0, area.encode(x=x, y=alt.Y("l:Q", title=y_axis.title), y2="h:Q", color=colour))
    ends = [
        {"k": line.points[-1][0], "v": line.points[-1][1], "s": name}
        for line, name in zip(lines, names, strict=True)
        if line.is_cut and line.points
    ]
    if ends:
        mark = alt.Chart(data_of(ends)).mark_point(shape="stroke", angle=90, size=260, strokeWidth=2.5)
        layers.append(mark.encode(x=x, y=y, color=colour, tooltip=[alt.Tooltip("s:N", title="of")]))
    return themed(
        alt.layer(*layers).properties(
            width=WIDTH, height=HEIGHT, title=alt.Title(plain(title), subtitle=subtitle or [])
        ),
        description,
    )


# Means or differences with their intervals, below each other: of systems, stages or tags.


_NAME = 22.0
"""The height of a row's name, in pixels: it is above the row, so that a long one has the full width."""
_LINE = 16.0
"""The height of its interval."""
_ROW = _NAME + _LINE + 8.0
"""The height of both, and of the space below."""
_DESCRIBED = 12
"""So many estimates are in the description of a chart."""


@dataclass(frozen=True)
class Estimate:
    """A mean or a difference, and where the true one may lie."""

    name: str
    """What it is of."""
    value: float
    interval: Interval | None
    text: str
    """The figures in words."""
    aside: str = ""
    """What else to say of the row, at its right end."""
    is_weak: bool = False
    """Whether it says little, for example of few queries; drawn hollow."""


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


def estimates_chart(estimates: Sequence[Estimate], scale: Scale, *, title: str, subtitle: str = "") -> alt.LayerChart:
    """Return a row for each name with a point and an interval.

    Args:
        estimates: in the order of the rows; those without a value are left out.
        scale: how their values are to be read.
        title: of the chart.
        subtitle: what its signs mean.
    """
    alt = altair()
    known = [one for one in estimates if not math.isnan(one.value)]
    marks = [_interval_mark(one, _ROW * number + _NAME + _LINE / 2, scale) for number, one in enumerate(known)]
    height = max(_ROW * len(known), _NAME)
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False))
    across = alt.Scale(domain=_interval_domain(marks, scale), nice=scale.bounds is None)
    axis = alt.Axis(tickCount=6, grid=False, ticks=True, domain=True, **numbers(scale.format))
    low, x = (alt.X(f"{end}:Q", title=scale.title, scale=across, axis=axis) for end in ("l", "v"))
    tooltip = [alt.Tooltip("n:N", title="of"), alt.Tooltip("t:N", title="estimate")]
    rules = alt.Chart(data_of(marks)).mark_rule(strokeWidth=2.5, color=AFTER)
    layers = [rules.encode(y=y, x=low, x2="h:Q", tooltip=tooltip)]
    for is_weak in (False, True):
        some = [mark for mark in marks if mark["w"] == is_weak]
        if some:
            points = alt.Chart(data_of(some))
            points = points.mark_point(size=64, strokeWidth=2, opacity=1, filled=not is_weak, color=AFTER)
            layers.append(points.encode(y=y, x=x, tooltip=tooltip))
    if scale.reference is not None:  # in pieces beside the intervals, so that it never runs through a name
        half = _LINE / 2
        pieces = [{"v": scale.reference, "y": mark["y"] - half, "z": mark["y"] + half} for mark in marks]
        dashes = alt.Chart(data_of(pieces)).mark_rule(style="zero", strokeDash=[4, 3], aria=False)
        layers.insert(0, dashes.encode(x=x, y=y, y2="z:Q"))
    layers += _row_names(known, y)
    said = "; ".join(f"{mark['n']} {mark['t']}" for mark in marks[:_DESCRIBED])
    return themed(
        alt.layer(*layers).properties(width=WIDTH, height=height, title=alt.Title(title, subtitle=subtitle or [])),
        f"Points with intervals, {scale.title}: {said}{'; …' if len(marks) > _DESCRIBED else '.'}",
    )


def _interval_mark(one: Estimate, y: float, scale: Scale) -> dict[str, Any]:
    interval = one.interval
    known = interval is not None and not math.isnan(interval.low)
    low, high = (interval.low, interval.high) if interval is not None and known else (one.value, one.value)
    if scale.bounds is not None:  # an interval of few queries may leave what is possible, and would dwarf the others
        low, high = max(low, scale.bounds[0]), min(high, scale.bounds[1])
    return {"y": y, "v": one.value, "l": low, "h": high, "n": plain(one.name), "t": one.text, "w": one.is_weak}


def _interval_domain(marks: Sequence[Mapping[str, Any]], scale: Scale) -> list[float]:
    """Return the values to show: all intervals with some air, and the reference."""
    ends = [value for mark in marks for value in (mark["l"], mark["h"])]
    ends += [] if scale.reference is None else [scale.reference]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    air = 0.04 * (high - low) or 0.05
    if scale.bounds is None:
        return [low - air, high + air]
    return [max(scale.bounds[0], low - air), min(scale.bounds[1], high + air)]


def _row_names(estimates: Sequence[Estimate], y: Any) -> list[Any]:
    """Return the rows' names, cut before they meet what is at the right end."""
    alt = altair()
    rows = [
        {"y": _ROW * number + _NAME / 2, "n": plain(one.name), "a": one.aside} for number, one in enumerate(estimates)
    ]
    asides = [row for row in rows if row["a"]]
    beside = 7 * max((len(one.aside) for one in estimates), default=0) + 12
    layers = []
    for some, limit in ((asides, f"width - {beside}"), ([row for row in rows if not row["a"]], "width")):
        if some:
            mark = alt.Chart(data_of(some)).mark_text(align="left", x=0, limit=alt.expr(limit))
            layers.append(mark.encode(y=y, text="n:N"))
    if asides:
        mark = alt.Chart(data_of(asides)).mark_text(align="right", x=alt.expr("width"), style="muted")
        layers.append(mark.encode(y=y, text="a:N"))
    return layers


# What changed for each query, sorted: most gained first, most lost last.


_BARS = 400
"""The most bars: more would be narrower than a pixel."""
_SEAMLESS = 80
"""More bars would touch each other: a line in their own colour closes the seams."""
_CHANGES_HEIGHT = 240


@dataclass(frozen=True, eq=False)
class Changes:
    """One metric of the same queries on two sides."""

    metric: Metric
    queries: Sequence[Query]
    left: NDArray[np.float64]
    """One value a query; NaN if it does not count."""
    right: NDArray[np.float64]
    sides: tuple[str, str]
    """What the sides are called."""


def changes_chart(changes: Changes) -> alt.LayerChart:
    """Return a bar a query that changed, or one for several neighbours if there are thousands."""
    alt, title = altair(), mean_title(changes.metric)
    difference = changes.right - changes.left
    with_value = np.flatnonzero(~np.isnan(difference))
    order = with_value[np.argsort(-difference[with_value], kind="stable")]
    sizes = difference[order]
    up, down = int(np.count_nonzero(sizes > TIED)), int(np.count_nonzero(sizes < -TIED))
    same, each = len(order) - up - down, max(1, -(-(up + down) // _BARS))
    rows = list(_bars(changes, order, sizes, each))
    most = 1.0 if is_bounded(changes.metric) else float(np.abs(sizes).max(initial=0.0)) or 1.0
    left, right = map(plain, changes.sides)
    words = f"{right} − {left}" if len("".join(changes.sides)) < 24 else "change"
    y = alt.Y("d:Q", title=f"{title}: {words}", scale=alt.Scale(domain=[-most, most], nice=False))
    y.axis = alt.Axis(tickCount=5, **numbers("+.2~f" if is_bounded(changes.metric) else "+,.0f"))
    x = alt.X("a:Q", title=None, axis=None, scale=alt.Scale(domain=[0, max(1, len(order))], nice=False))
    shade = alt.Scale(domain=["up", "down"], range=[UP, DOWN])
    tooltip = [alt.Tooltip(f"{name}:N", title=title_of_column) for name, title_of_column in _CHANGE_COLUMNS.items()]
    bars = alt.Chart(data_of(rows)).mark_rect(aria=False, strokeWidth=0.7 if len(rows) > _SEAMLESS else 0)
    colours = {
        "color": alt.Color("u:N", legend=None, scale=shade),
        "stroke": alt.Stroke("u:N", legend=None, scale=shade),
    }
    layers = [bars.encode(x=x, x2="b:Q", y=y, y2=alt.Y2Datum(0), tooltip=tooltip, **colours)]
    layers.append(alt.Chart(data_of([{}])).mark_rule(style="zero", aria=False).encode(y=alt.datum(0)))
    for anchor, where, text in (
        ("left", 0, f"▲ {up:,} up"),
        ("center", alt.expr("width / 2"), f"{same:,} the same"),
        ("right", alt.expr("width"), f"▼ {down:,} down"),
    ):
        below = {"align": anchor, "baseline": "top", "x": where, "y": _CHANGES_HEIGHT + 8, "style": "muted"}
        layers.append(alt.Chart(data_of([{"w": text}])).mark_text(**below).encode(text="w:N"))
    unit = "a bar a query" if each == 1 else f"a bar for every {each} queries: their mean"
    return themed(
        alt.layer(*layers).properties(
            width=WIDTH, height=_CHANGES_HEIGHT, title=alt.Title(f"{title} query by query", subtitle=f"sorted, {unit}")
        ),
        f"Bars: the change of {title} from {left} to {right} for each of {len(order):,} queries, sorted. "
        f"{up:,} went up, {same:,} stayed the same, {down:,} went down.",
    )


_CHANGE_COLUMNS = {"q": "query", "t": "question", "c": "change"}


def _bars(
    changes: Changes, order: NDArray[np.intp], sizes: NDArray[np.float64], each: int
) -> Iterator[dict[str, object]]:
    """Yield the bars, none for queries that did not change: their location stays empty."""
    for moved in (np.flatnonzero(sizes > TIED), np.flatnonzero(sizes < -TIED)):
        for start in range(0, len(moved), each):
            places = moved[start : start + each]
            mean = float(sizes[places].mean())
            first = changes.queries[int(order[places[0]])]
            size = ("+" if mean > 0 else "−") + figure(changes.metric, abs(mean))
            words = {"q": f"{plain(first.id)} and {len(places) - 1} more", "t": "…", "c": f"{size} on average"}
            if len(places) == 1:
                sides = (float(side[order[places[0]]]) for side in (changes.left, changes.right))
                before, after = (figure(changes.metric, value) for value in sides)
                words = {"q": plain(first.id), "t": plain(first.text), "c": f"{size} ({before} → {after})"}
            kind = "up" if mean > 0 else "down"
            yield {"a": int(places[0]), "b": int(places[-1]) + 1, "d": round(mean, 6), "u": kind} | words


# What became of the facts.


_OUTCOME = 30
"""The height of an outcome, in pixels."""


def outcomes_chart(losses: FailureAnalysis) -> alt.LayerChart:
    """Return a bar for each outcome that facts have, as long as there are facts."""
    alt = altair()
    rows: list[dict[str, Any]] = [
        {
            "o": plain(outcome_text(loss, losses.k)),
            "n": loss.facts,
            "c": "found" if loss.outcome == "found" else "lost",
            "w": f"{loss.facts:,} ({percent_text(loss.facts / losses.facts, 0)})",
        }
        for loss in losses.losses
        if loss.facts
    ]
    longest = max((row["n"] for row in rows), default=1)
    x = alt.X("n:Q", axis=None, scale=alt.Scale(domain=[0, 1.35 * longest], nice=False))  # with room for the figure
    y = alt.Y("o:N", title=None, sort=None, axis=alt.Axis(ticks=False, labelLimit=180))
    shade = alt.Scale(domain=["found", "lost"], range=[UP, DOWN])
    tooltip = [alt.Tooltip("o:N", title="outcome"), alt.Tooltip("w:N", title="facts")]
    base = alt.Chart(data_of(rows)).encode(x=x, y=y)
    bars = base.mark_bar(height=16).encode(color=alt.Color("c:N", legend=None, scale=shade), tooltip=tooltip)
    figures = base.mark_text(align="left", dx=6).encode(text="w:N")
    said = ", ".join(f"{row['n']:,} {row['o']}" for row in rows)
    return themed(
        alt.layer(bars, figures).properties(
            width=WIDTH, height=_OUTCOME * max(1, len(rows)), title=f"Where recall was lost, at k = {losses.k}"
        ),
        f"Bars: what became of {counted(losses.facts, 'fact')}: {said or 'nothing'}.",
    )


# Quality against a cost, with the Pareto front.


_COSTS = {
    "latency_p50": ("milliseconds for a query, median", 1000.0),
    "latency_p95": ("milliseconds for a query, 95th percentile", 1000.0),
    "context_tokens": ("tokens of context for a query, mean", 1.0),
    "index_seconds": ("seconds to build the index", 1.0),
    "index_bytes": ("megabytes of the index", 1e-6),
    "chunks": ("chunks in the index", 1.0),
    "dollars": ("US dollars", 1.0),
}
"""What an axis calls a cost, and what it is multiplied with for that."""
_WIDE = 20.0
"""A cost that differs by more than this factor is shown on a logarithmic scale."""
_FEW_SYSTEMS = 8
"""Of at most so many systems all are named; of more, those on the front."""


def tradeoff_chart(tradeoff: Tradeoff, names: Mapping[str, str]) -> alt.LayerChart:
    """Return a point a system and a step line through the front.

    Args:
        tradeoff: of one cost; at least one of its systems is measured.
        names: what to call each system.
    """
    alt = altair()
    cost, metric = tradeoff.costs[0], tradeoff.quality
    words, unit = _COSTS.get(cost, (plain(cost), 1.0))
    measured = [one for one in tradeoff.systems if one.left_out is None]
    measured.sort(key=lambda one: (one.costs[cost], -one.quality))
    costs = [float(f"{one.costs[cost] * unit:.4g}") for one in measured]
    is_wide = min(costs) > 0 and max(costs) / min(costs) > _WIDE
    middle = math.sqrt(min(costs) * max(costs)) if is_wide else (min(costs) + max(costs)) / 2
    rows: list[dict[str, Any]] = []
    for one, value in zip(measured, costs, strict=True):
        name = plain(names.get(one.system, one.system))
        is_named = one.on_front or len(measured) <= _FEW_SYSTEMS
        row = {"x": value, "y": one.quality, "n": name, "l": name if is_named else "", "c": f"{value:,.4g}"}
        rows.append(row | {"q": figure(metric, one.quality), "f": "front" if one.on_front else "beaten"})
    title = f"{words}{' (logarithmic)' if is_wide else ''}"
    # Locations are compared and no lengths, so 0 is on the scale only if it is near
    kind = {"type": "log", "nice": False, "padding": 24} if is_wide else {"nice": True, "padding": 14}
    if not is_wide:
        kind["zero"] = min(costs) < max(costs) / 2
    x = alt.X("x:Q", title=title, scale=alt.Scale(**kind), axis=alt.Axis(format=",~r", tickCount=5))
    y = alt.Y("y:Q", title=mean_title(metric), scale=alt.Scale(zero=False, nice=True, padding=14))
    y.axis = alt.Axis(format=quantity(metric), tickCount=5)
    columns = (("n", "system"), ("q", mean_title(metric)), ("c", words), ("f", "Pareto front"))
    tooltip = [alt.Tooltip(f"{name}:N", title=title_of_column) for name, title_of_column in columns]
    shade = alt.Scale(domain=["front", "beaten"], range=[UP, BEFORE])
    front = [row for row in rows if row["f"] == "front"]
    line = alt.Chart(data_of(front)).mark_line(interpolate="step-after", color=UP, opacity=0.6, strokeWidth=2)
    points = alt.Chart(data_of(rows)).mark_point(filled=True, size=90, opacity=1)
    colour = alt.Color("f:N", legend=None, scale=shade)
    layers = [line.encode(x=x, y=y), points.encode(x=x, y=y, color=colour, tooltip=tooltip)]
    for align, offset, is_left in (("left", 8, True), ("right", -8, False)):  # towards the middle of the chart
        some = [row for row in rows if row["l"] and (row["x"] <= middle) == is_left]
        if some:
            text = alt.Chart(data_of(some)).mark_text(align=align, dx=offset, dy=-9, limit=alt.expr("width / 2"))
            layers.append(text.encode(x=x, y=y, text="l:N"))
    said = f"{len(front)} of {counted(len(rows), 'system')} are Pareto-optimal: {', '.join(row['n'] for row in front)}"
    heading = f"{mean_title(metric)} against {words}"
    return themed(
        alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=heading),
        f"Points: {mean_title(metric)} against {title}; up and to the left is better. {said}.",
    )
