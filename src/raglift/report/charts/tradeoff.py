"""Quality against a cost, with the systems that none beats in both."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError
from raglift.metrics import mean_title
from raglift.report.charts.parts import altair, data_of, figure, plain, quantity
from raglift.report.charts.theme import BEFORE, HEIGHT, UP, WIDTH, themed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import altair as alt

    from raglift.result_records import Costed, TradeoffRecord

__all__ = ["tradeoff_chart"]

_COSTS = {
    "latency_p50": ("milliseconds for a query, median", 1000.0),
    "latency_p95": ("milliseconds for a query, 95th percentile", 1000.0),
    "context_tokens": ("tokens of context for a query, mean", 1.0),
    "index_seconds": ("seconds to build the index", 1.0),
    "index_bytes": ("megabytes of the index", 1e-6),
    "chunks": ("chunks in the index", 1.0),
    "dollars": ("US dollars for embedding", 1.0),
}
"""What an axis calls a cost, and what it is multiplied with for that."""
_WIDE = 20.0
"""A cost that differs by more than this factor is shown on a logarithmic scale."""
_SHORT = 18
_FEW = 8
"""At most so many systems have their names beside their points, if all are short; else numbers, and a key."""
_CLOSE = 0.04
"""Points that are closer than this share of the chart have one label together."""
_MOST = 16
"""At most so many numbers; where there are more systems, only those on the front have one."""


def tradeoff_chart(tradeoff: TradeoffRecord, names: Mapping[str, str]) -> alt.LayerChart:
    """Return a point a system and a step line through the front.

    Args:
        tradeoff: of one cost.
        names: what to call each system.
    """
    alt = altair()
    cost, metric = tradeoff.costs[0], tradeoff.quality
    words, unit = _COSTS.get(cost, (plain(cost), 1.0))
    taken = [one for one in tradeoff.systems if one.left_out is None]
    if not taken:
        raise ConfigurationError(f"tradeoff: found no system to show: {'; '.join(tradeoff.notes)}")
    taken.sort(key=lambda one: (one.costs[cost], -one.quality))
    rows, key = _rows(taken, cost, unit, names, mean_of=lambda value: figure(metric, value))
    costs = [row["x"] for row in rows]
    is_wide = min(costs) > 0 and max(costs) / min(costs) > _WIDE
    title = f"{words}{' (logarithmic)' if is_wide else ''}"
    x = alt.X("x:Q", title=title, **_costs_axis(costs, is_wide=is_wide))
    y = alt.Y("y:Q", title=mean_title(metric), scale=alt.Scale(zero=False, nice=True, padding=14))
    y.axis = alt.Axis(format=quantity(metric), tickCount=5)
    front = [row for row in rows if row["f"] == "front"]
    line = alt.Chart(data_of(front)).mark_line(interpolate="step-after", color=UP, opacity=0.6, strokeWidth=2)
    layers = [line.encode(x=x, y=y)]
    for some, colour in _coloured(rows, key):
        points = alt.Chart(data_of(some)).mark_point(filled=True, size=90, opacity=1)
        layers.append(points.encode(x=x, y=y, color=colour, tooltip=_tooltip(mean_title(metric), words)))
    layers += [mark.encode(x=x, y=y, text="l:N") for mark in _labels(rows, is_wide=is_wide)]
    shown = f"{len(front)} of {len(rows)} systems are on the front: {', '.join(row['n'] for row in front)}"
    return themed(
        alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=f"{mean_title(metric)} against {words}"),
        f"Points: {mean_title(metric)} against {title}; up and to the left is better. {shown}.",
    )


def _rows(
    taken: Sequence[Costed], cost: str, unit: float, names: Mapping[str, str], *, mean_of: Any
) -> tuple[list[dict[str, Any]], bool]:
    """Return the points, and whether they are numbered and need a key."""
    called = {one.system: plain(names.get(one.system, one.system)) for one in taken}
    numbered = len(taken) > _FEW or any(len(name) > _SHORT for name in called.values())
    rows, number = [], 0
    for one in taken:
        told = len(taken) <= _MOST or one.on_front
        number += told
        name, value = called[one.system], one.costs[cost] * unit
        row = {"x": float(f"{value:.4g}"), "y": one.quality, "n": name, "q": mean_of(one.quality), "c": f"{value:,.4g}"}
        row |= {"f": "front" if one.on_front else "beaten", "l": ""}
        if told:
            row |= {"l": str(number) if numbered else name, "k": f"{number}  {name}" if numbered else name}
        rows.append(row)
    return rows, numbered


def _tooltip(quality: str, words: str) -> list[Any]:
    alt = altair()
    titles = (("n", "system"), ("q", quality), ("c", words), ("f", "Pareto front"))
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in titles]


def _coloured(rows: Sequence[Mapping[str, Any]], key: bool) -> Iterator[tuple[Sequence[Mapping[str, Any]], Any]]:
    """Yield points with what colours them; with numbers, a legend is the key to them."""
    alt = altair()
    keyed = [row for row in rows if key and "k" in row]
    others = [row for row in rows if row not in keyed]
    for kind, colour in (("beaten", BEFORE), ("front", UP)):
        some = [row for row in others if row["f"] == kind]
        if some:
            yield some, alt.value(colour)
    if keyed:
        scale = alt.Scale(
            domain=[row["k"] for row in keyed], range=[UP if row["f"] == "front" else BEFORE for row in keyed]
        )
        limit = alt.expr("width - 24")
        legend = alt.Legend(orient="bottom", direction="vertical", columns=1, labelLimit=limit, title=None)
        yield keyed, alt.Color("k:N", legend=legend, scale=scale)


def _costs_axis(costs: Sequence[float], *, is_wide: bool) -> dict[str, Any]:
    """Return the scale and the axis of costs; places are compared and no lengths, so 0 is there where it is near."""
    alt = altair()
    if is_wide:
        values = [step * 10.0**power for power in range(-4, 12) for step in (1, 3)]
        return {
            "scale": alt.Scale(type="log", nice=False, padding=24),
            "axis": alt.Axis(format=",~r", values=[value for value in values if min(costs) <= value <= max(costs)]),
        }
    scale = alt.Scale(zero=min(costs) < max(costs) / 2, nice=True, padding=14)
    return {"scale": scale, "axis": alt.Axis(format=",~r", tickCount=5)}


def _labels(rows: Sequence[Mapping[str, Any]], *, is_wide: bool) -> list[Any]:
    """Return the labels: to the right of points in the left half, else to the left; close points share one."""
    alt = altair()
    across = _shares([math.log(row["x"]) if is_wide else row["x"] for row in rows])
    up = _shares([row["y"] for row in rows])
    shared: dict[int, list[str]] = {}
    for number, row in enumerate(rows):
        if row["l"]:
            near = (one for one in shared if max(abs(across[one] - across[number]), abs(up[one] - up[number])) < _CLOSE)
            shared.setdefault(next(near, number), []).append(row["l"])
    labels = []
    for align, offset in (("left", 8), ("right", -8)):
        here = [
            {"x": rows[one]["x"], "y": rows[one]["y"], "l": ", ".join(told)}
            for one, told in shared.items()
            if (across[one] <= 0.5) == (offset > 0)
        ]
        if here:
            labels.append(alt.Chart(data_of(here)).mark_text(align=align, dx=offset, dy=-9))
    return labels


def _shares(values: Sequence[float]) -> list[float]:
    """Return where values lie between the least and the largest, from 0 to 1."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low or 1.0) for value in values]
