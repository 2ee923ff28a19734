"""The four kinds of charts: lines, differences with intervals, changes query by query, and a trade-off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.paired_statistics import is_bounded
from raglift.metrics.computing import mean_title
from raglift.report.charts.parts import (
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
from raglift.report.format import cost_title, decimals_of, difference_text, in_unit_of_title
from raglift.stats.intervals import TIED
from raglift.utilities.display import counted

if TYPE_CHECKING:
    import altair as alt

    from raglift.analysis.records import Tradeoff
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.labels import Query
    from raglift.types.metric import Metric


# Lines: a figure over depths, tokens or calls.


_FEW_POINTS = 12
"""A line of more points has none that are seen; they can still be pointed at."""


@dataclass(frozen=True)
class Line:
    """A line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]
    """Where it is how high, from left to right."""
    colour: str
    band: Sequence[tuple[float, float, float]] = ()
    """Between what the true line may lie: where, the low end, the high end."""
    is_cut: bool = False
    """Whether its end is marked, because it cannot go on as the others do."""


@dataclass(frozen=True)
class Axis:
    """An axis of a line chart."""

    title: str
    format: str
    domain: tuple[float, float]
    """Its ends."""
    values: Sequence[float] | None = None
    """Where it has figures; None for round ones."""


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
    """Return lines over one axis, with their bands."""
    alt = altair()
    marks: dict[str, Any] = {} if x_axis.values is None else {"values": list(x_axis.values)}
    across, up = (alt.Scale(nice=False, domain=list(axis.domain)) for axis in (x_axis, y_axis))
    x = alt.X("k:Q", title=x_axis.title, axis=alt.Axis(grid=False, format=x_axis.format, **marks), scale=across)
    y = alt.Y("v:Q", title=y_axis.title, axis=alt.Axis(format=y_axis.format, tickCount=5), scale=up)
    names = [plain(line.name) for line in lines]
    colour = alt.Color("s:N", title=None, scale=alt.Scale(domain=names, range=[line.colour for line in lines]))
    if (legend := legend_of(names)) is not None:  # its signs would be those of the bands, which are faint
        legend.symbolOpacity, legend.symbolType = 1, "stroke"
    colour.legend = legend
    rows = [
        {"k": where, "s": name, "v": value, "t": f"{value:,.{decimals}f}"}
        for line, name in zip(lines, names, strict=True)
        for where, value in line.points
    ]
    titles = {"s:N": "of", "k:Q": x_axis.title, "t:N": y_axis.title}
    tooltip = [alt.Tooltip(column, title=column_title) for column, column_title in titles.items()]
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


# Each system minus another one, below each other.


_ROW = 34
"""The height of a row, in pixels."""
_DESCRIBED = 12
"""So many differences are in the description of a chart."""


@dataclass(frozen=True)
class Difference:
    """A system minus another one, and where the true difference may lie."""

    name: str
    """The system."""
    change: PairedDifference
    verdict: str
    """What was decided; empty if nothing was, and then it is drawn hollow."""


def differences_chart(
    differences: Sequence[Difference], metric: Metric, *, axis_title: str, title: str, subtitle: str
) -> alt.LayerChart:
    """Return a row for each system with a point and an interval."""
    alt = altair()
    bounded, decimals = is_bounded(metric), decimals_of(metric)
    rows: list[dict[str, Any]] = [
        {
            "n": plain(one.name),
            "v": one.change.mean,
            "l": max(low, -1.0) if bounded else low,
            "h": min(high, 1.0) if bounded else high,
            "t": difference_text(one.change, decimals),
            "a": one.verdict,
            "c": {"better": UP, "worse": DOWN}.get(one.verdict, BEFORE),
        }
        for one in differences
        for low, high in [(one.change.low, one.change.high)]
    ]
    for row in rows:  # where all queries changed alike there is no interval
        if math.isnan(row["l"]):
            row["l"] = row["h"] = row["v"]
    y = alt.Y("n:N", sort=None, title=None, axis=alt.Axis(ticks=False, labelLimit=alt.expr("max(90, width / 3)")))
    ends = [0.0, *(row[end] for row in rows for end in ("l", "h"))]
    air = 0.04 * (max(ends) - min(ends)) or 0.05
    across = alt.Scale(domain=[min(ends) - air, max(ends) + air], nice=not bounded)
    axis = alt.Axis(tickCount=6, grid=False, ticks=True, domain=True, **numbers("+.2~f" if bounded else "+,.0f"))
    low, middle = (alt.X(f"{end}:Q", title=axis_title, scale=across, axis=axis) for end in ("l", "v"))
    tooltip = [
        alt.Tooltip("n:N", title="of"),
        alt.Tooltip("t:N", title="difference"),
        alt.Tooltip("a:N", title="verdict"),
    ]
    base = alt.Chart(data_of(rows)).encode(y=y, tooltip=tooltip)
    colour = alt.Color("c:N", scale=None)
    fill = alt.condition(alt.datum.a != "", colour, alt.value("transparent"))
    layers = [
        alt.Chart(data_of([{"v": 0.0}])).mark_rule(style="zero", strokeDash=[4, 3], aria=False).encode(x=middle),
        base.mark_rule(strokeWidth=2.5).encode(x=low, x2="h:Q", color=colour),
        base.mark_point(size=64, strokeWidth=2, opacity=1).encode(x=middle, stroke=colour, fill=fill),
    ]
    said = "; ".join(" ".join(filter(None, [row["n"], row["t"], row["a"]])) for row in rows[:_DESCRIBED])
    return themed(
        alt.layer(*layers).properties(width=WIDTH, height=_ROW * len(rows), title=alt.Title(title, subtitle=subtitle)),
        f"Points with intervals, {axis_title}: {said}{'; …' if len(rows) > _DESCRIBED else '.'}",
    )


# What changed for each query, sorted: most gained first, most lost last.


_BARS = 400
"""The most bars: more would be narrower than a pixel."""
_SEAMLESS = 80
"""More bars would touch each other: a line in their own colour closes the seams."""
_CHANGES_HEIGHT = 240


def changes_chart(
    metric: Metric,
    queries: Sequence[Query],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    sides: tuple[str, str],
) -> alt.LayerChart:
    """Return a bar a query that changed, or one for several neighbours if there are thousands."""
    alt, title = altair(), mean_title(metric)
    difference = after - before
    with_value = np.flatnonzero(~np.isnan(difference))
    order = with_value[np.argsort(-difference[with_value], kind="stable")]
    sizes = difference[order]
    up, down = int(np.count_nonzero(sizes > TIED)), int(np.count_nonzero(sizes < -TIED))
    same, each = len(order) - up - down, max(1, -(-(up + down) // _BARS))
    rows = list(_bars(metric, queries, (before, after), order, sizes, each))
    most = 1.0 if is_bounded(metric) else float(np.abs(sizes).max(initial=0.0)) or 1.0
    left, right = map(plain, sides)
    words = f"{right} − {left}" if len("".join(sides)) < 24 else "change"
    y = alt.Y("d:Q", title=f"{title}: {words}", scale=alt.Scale(domain=[-most, most], nice=False))
    y.axis = alt.Axis(tickCount=5, **numbers("+.2~f" if is_bounded(metric) else "+,.0f"))
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
    unit = "a bar a question" if each == 1 else f"a bar for every {each} questions: their mean"
    return themed(
        alt.layer(*layers).properties(
            width=WIDTH,
            height=_CHANGES_HEIGHT,
            title=alt.Title(f"{title} question by question", subtitle=f"sorted, {unit}"),
        ),
        f"Bars: the change of {title} from {left} to {right} for each of {len(order):,} questions, sorted. "
        f"{up:,} went up, {same:,} stayed the same, {down:,} went down.",
    )


_CHANGE_COLUMNS = {"q": "id", "t": "question", "c": "change"}


def _bars(
    metric: Metric,
    queries: Sequence[Query],
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    order: NDArray[np.intp],
    sizes: NDArray[np.float64],
    each: int,
) -> Iterator[dict[str, object]]:
    """Yield the bars, none for queries that did not change: their location stays empty."""
    for moved in (np.flatnonzero(sizes > TIED), np.flatnonzero(sizes < -TIED)):
        for start in range(0, len(moved), each):
            places = moved[start : start + each]
            mean = float(sizes[places].mean())
            first = queries[int(order[places[0]])]
            size = ("+" if mean > 0 else "−") + figure(metric, abs(mean))
            words = {"q": f"{plain(first.id)} and {len(places) - 1} more", "t": "…", "c": f"{size} on average"}
            if len(places) == 1:
                before, after = (figure(metric, float(side[order[places[0]]])) for side in values)
                words = {"q": plain(first.id), "t": plain(first.text), "c": f"{size} ({before} → {after})"}
            kind = "up" if mean > 0 else "down"
            yield {"a": int(places[0]), "b": int(places[-1]) + 1, "d": round(mean, 6), "u": kind} | words


# Quality against a cost, with the Pareto front.


_WIDE = 20.0
"""A cost that differs by more than this factor is shown on a logarithmic scale."""
_FEW_SYSTEMS = 8
"""Of at most so many systems all are named; of more, those on the front."""


def tradeoff_chart(tradeoff: Tradeoff, names: Mapping[str, str]) -> alt.LayerChart:
    """Return a point a system and a step line through the front."""
    alt = altair()
    cost, metric = tradeoff.costs[0], tradeoff.quality
    words = plain(cost_title(cost))
    measured = [one for one in tradeoff.systems if one.left_out is None]
    measured.sort(key=lambda one: (one.costs[cost], -one.quality))
    costs = [float(f"{in_unit_of_title(cost, one.costs[cost]):.4g}") for one in measured]
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
