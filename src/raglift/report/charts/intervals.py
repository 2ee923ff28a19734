"""Means or differences with their intervals, below each other: of systems, stages or tags."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from raglift.report.charts.parts import altair, data_of, legend_of, numbers, plain
from raglift.report.charts.theme import PALETTE, WIDTH, themed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

    from raglift.significance import Interval

__all__ = ["Estimate", "Scale", "intervals_chart"]

_NAME = 22.0
"""The room for a row's name, in pixels: it stands above the row, so that a long one has all the width."""
_LINE = 16.0
"""The room for each interval."""
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
    axis = alt.Axis(tickCount=6, **numbers(scale.format))
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
        mark = alt.Chart(data_of([{"v": scale.reference}])).mark_rule(style="zero", strokeDash=[4, 3], aria=False)
        layers.insert(0, mark.encode(x=x))
    layers += _names(names, y)
    told = "; ".join(f"{mark['n']} {mark['t']}" for mark in marks[:12])
    return themed(
        alt.layer(*layers).properties(width=WIDTH, height=height, title=alt.Title(title, subtitle=subtitle or [])),
        f"Points with intervals, {scale.title}: {told}{'; …' if len(marks) > 12 else '.'}",
    )


def _names(names: Sequence[dict[str, Any]], y: Any) -> list[Any]:
    """Return the rows' names, cut where they would meet what stands at the right end."""
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
    """Return the intervals and the names with their places in pixels, and the height of all."""
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
