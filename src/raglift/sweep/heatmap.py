"""The cells of a sweep as a map: one part from left to right, one from row to row, a block for each of the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from raglift.metrics import mean_title
from raglift.report.charts.parts import altair, data_of, figure, plain
from raglift.report.charts.theme import WIDTH, themed
from raglift.sweep.specification.cells import NO_RERANKER, PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import altair as alt

    from raglift.records import Metric
    from raglift.sweep.records import CellResult, SweepResultRecord

__all__ = ["alike_of", "heatmap_chart", "varying"]

_HEAD, _NAME, _CELL, _GAP = 26.0, 18.0, 34.0, 6.0
"""The room for the name of a block, for that of a row, for a row's cells, and below them, in pixels."""
_DARK = 0.45
"""Up to this share of the colour scale white letters stand out more, above it black ones: always by over 4 to 1."""
_CUT, _BEST = "✂", "★"
_UPRIGHT = 44
"""So many letters have room beside each other above the columns; more are turned."""


@dataclass(frozen=True)
class _Square:
    """One cell, and where it is."""

    result: CellResult
    block: tuple[str, ...]
    row: str
    column: str
    value: float
    """NaN where it failed."""


def varying(cells: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the parts in which cells differ."""
    told = list(cells)
    return [part for part in PARTS if len({one.get(part) for one in told}) > 1]


def alike_of(names: Iterable[str]) -> str:
    """Return what all of several names begin with, up to a colon: `recursive:`; empty where there is nothing."""
    first, *others = dict.fromkeys(names)
    alike = first[: first.rfind(":") + 1]
    return alike if others and all(name.startswith(alike) for name in others) else ""


def heatmap_chart(result: SweepResultRecord, metric: Metric, x: str, y: str, best: CellResult | None) -> alt.LayerChart:
    """Return the map, with a star at the best; rows are named above, so that long names leave the cells their width."""
    alt = altair()
    squares = _squares(result, metric, x, y)
    columns = list(dict.fromkeys(square.column for square in squares))
    known = [square.value for square in squares if not math.isnan(square.value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    marks, texts, height = _laid_out(squares, metric, best, lambda value: (value - low) / ((high - low) or 1.0))
    pixels = alt.Scale(domain=[height, 0], nice=False)
    across, down = _across(columns, x), alt.Y("a:Q", axis=None, scale=pixels)
    colour = alt.Color("v:Q", legend=None, scale=alt.Scale(scheme="viridis", domain=[low, high], nice=False))
    tooltip = [alt.Tooltip("n:N", title="cell"), alt.Tooltip("w:N", title=mean_title(metric))]
    layers = [
        alt.Chart(data_of(mark for mark in marks if mark["v"] is not None))
        .mark_rect()
        .encode(x=across, y=down, y2="b:Q", color=colour, tooltip=tooltip)
    ]
    for ink in ("#ffffff", "#000000", None):
        here = [mark | {"m": (mark["a"] + mark["b"]) / 2} for mark in marks if mark["i"] == ink]
        if here:
            written = alt.Chart(data_of(here)).mark_text(**({"style": "muted"} if ink is None else {"color": ink}))
            middle = alt.Y("m:Q", axis=None, scale=pixels)
            layers.append(written.encode(x=across, y=middle, text="t:N", tooltip=tooltip))
    layers += [_names([text for text in texts if text["s"] == style], style, down) for style in ("ink", "muted")]
    highest = max(marks, key=lambda mark: -math.inf if mark["v"] is None else mark["v"])
    return themed(
        alt.layer(*filter(None, layers)).properties(
            width=WIDTH, height=height, title=f"{mean_title(metric)} by {x} and {y}"
        ),
        f"A map of {mean_title(metric)} by {x} and {y}, {len(known)} cells; lighter is more. "
        f"The highest is {highest['w']}, of {highest['n']}.",
    )


def _squares(result: SweepResultRecord, metric: Metric, x: str, y: str) -> list[_Square]:
    """Return the cells that were measured or failed, block by block, in the order of the sweep."""
    shown = [one for one in result.results if one.evaluation is not None or one.error is not None]
    told = [one.cell.to_dict() for one in shown]
    others = [part for part in varying(told) if part not in (x, y)]
    squares = [
        _Square(
            one,
            tuple(_called(part, parts.get(part)) for part in others if part in parts),
            _called(y, parts.get(y)),
            _called(x, parts.get(x)),
            one.value(metric),
        )
        for one, parts in zip(shown, told, strict=True)
    ]
    places = {key: number for number, key in enumerate(dict.fromkeys((one.block, one.row) for one in squares))}
    blocks = {block: number for number, block in enumerate(dict.fromkeys(one.block for one in squares))}
    return sorted(squares, key=lambda one: (blocks[one.block], places[one.block, one.row]))


def _called(part: str, value: str | None) -> str:
    if value is None or (part == "reranker" and value == NO_RERANKER):
        return f"without {part}"
    return plain(value)


def _laid_out(
    squares: Sequence[_Square], metric: Metric, best: CellResult | None, share: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], float]:
    """Return the cells and the names with their places in pixels, and the height of all."""
    marks: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    top = 0.0
    for block, in_block in groupby(squares, key=lambda one: one.block):
        if block:
            names.append({"a": top + _HEAD / 2, "n": " · ".join(block), "s": "ink"})
            top += _HEAD
        for row, in_row in groupby(in_block, key=lambda one: one.row):
            names.append({"a": top + _NAME / 2, "n": row, "s": "muted"})
            top += _NAME
            marks += [_mark(one, metric, top, best, share) for one in in_row]
            top += _CELL + _GAP
    return marks, names, top


def _mark(square: _Square, metric: Metric, top: float, best: CellResult | None, share: Any) -> dict[str, Any]:
    one, place = square.result, {"c": square.column, "a": top, "b": top + _CELL}
    if math.isnan(square.value):
        why = "failed: " + plain(one.error) if one.error else "no query counts"
        return place | {"v": None, "t": "–", "i": None, "n": plain(one.cell.name), "w": why}
    told = figure(metric, square.value)
    signs = [_BEST] * (one is best) + [_CUT] * bool(one.read_in_part)
    cut = ", reads some chunks only in part" if one.read_in_part else ""
    ink = "#ffffff" if share(square.value) < _DARK else "#000000"
    return place | {
        "v": square.value,
        "t": " ".join([told, *signs]),
        "i": ink,
        "n": plain(one.cell.name),
        "w": told + cut,
    }


def _names(names: Sequence[dict[str, Any]], style: str, down: Any) -> Any:
    alt = altair()
    if not names:
        return None
    weight, width = "bold" if style == "ink" else "normal", alt.expr("width")
    mark = alt.Chart(data_of(names)).mark_text(align="left", x=0, style=style, fontWeight=weight, limit=width)
    return mark.encode(y=down, text="n:N")


def _across(columns: Sequence[str], part: str) -> Any:
    """Return the columns; what their names begin with alike stands once, in the title."""
    alt = altair()
    alike = alike_of(columns)
    letters = sum(len(column) - len(alike) + 2 for column in columns)
    axis = alt.Axis(
        orient="top",
        ticks=False,
        grid=False,
        labelLimit=180,
        labelAngle=0 if letters < _UPRIGHT else -30,
        # The number is ours, and the name stays data: nothing of it gets into the expression
        labelExpr=f"slice(datum.label, {len(alike)})",
    )
    scale = alt.Scale(domain=list(columns), paddingInner=0.04, paddingOuter=0)
    return alt.X("c:N", sort=None, title=f"{part}: {alike}…" if alike else part, axis=axis, scale=scale)
