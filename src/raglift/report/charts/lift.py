"""What changed for each query, sorted: most gained first, most lost last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.comparison.statistics import is_bounded
from raglift.metrics import mean_title
from raglift.report.charts.parts import altair, data_of, figure, numbers, plain
from raglift.report.charts.theme import DOWN, UP, WIDTH, themed
from raglift.significance import TIED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import altair as alt
    from numpy.typing import NDArray

    from raglift.records import Metric, Query

__all__ = ["Changes", "lift_chart"]

_BARS = 400
"""The most bars: more would be narrower than a pixel."""
_SEEN = 80
"""More bars touch each other: a line in their own colour closes the seams."""
_HEIGHT = 240


@dataclass(frozen=True, eq=False)
class Changes:
    """One metric of the same queries on two sides."""

    metric: Metric
    queries: Sequence[Query]
    left: NDArray[np.float64]
    """One value a query; NaN where it does not count."""
    right: NDArray[np.float64]
    sides: tuple[str, str]
    """What the sides are called."""


def lift_chart(changes: Changes) -> alt.LayerChart:
    """Return a bar a query that changed, or one for several neighbours where there are thousands."""
    alt, title = altair(), mean_title(changes.metric)
    difference = changes.right - changes.left
    counted = np.flatnonzero(~np.isnan(difference))
    order = counted[np.argsort(-difference[counted], kind="stable")]
    sizes = difference[order]
    up, down = int(np.count_nonzero(sizes > TIED)), int(np.count_nonzero(sizes < -TIED))
    same, each = len(order) - up - down, max(1, -(-(up + down) // _BARS))
    rows = list(_bars(changes, order, sizes, each))
    most = 1.0 if is_bounded(changes.metric) else float(np.abs(sizes).max(initial=0.0)) or 1.0
    y = alt.Y("d:Q", title=f"{title}: {_sides(changes)}", scale=alt.Scale(domain=[-most, most], nice=False))
    y.axis = alt.Axis(tickCount=5, **numbers("+.2~f" if is_bounded(changes.metric) else "+,.0f"))
    x = alt.X("a:Q", title=None, axis=None, scale=alt.Scale(domain=[0, max(1, len(order))], nice=False))
    colour = alt.Color("u:N", legend=None, scale=alt.Scale(domain=["up", "down"], range=[UP, DOWN]))
    seam = alt.Stroke("u:N", legend=None, scale=alt.Scale(domain=["up", "down"], range=[UP, DOWN]))
    tooltip = [alt.Tooltip(f"{name}:N", title=told) for name, told in _TOLD.items()]
    bars = (
        alt.Chart(data_of(rows))
        .mark_rect(aria=False, strokeWidth=0.7 if len(rows) > _SEEN else 0)
        .encode(x=x, x2="b:Q", y=y, y2=alt.Y2Datum(0), color=colour, stroke=seam)
    )
    zero = alt.Chart(data_of([{}])).mark_rule(style="zero", aria=False).encode(y=alt.datum(0))
    words = [("left", f"▲ {up:,} up", 8), ("center", f"{same:,} the same", 8), ("right", f"▼ {down:,} down", 8)]
    texts = [_text(anchor, told, offset) for anchor, told, offset in words]
    unit = "a bar a query" if each == 1 else f"a bar for every {each} queries: their mean"
    chart = alt.layer(bars.encode(tooltip=tooltip), zero, *texts)
    return themed(
        chart.properties(
            width=WIDTH, height=_HEIGHT, title=alt.Title(f"{title} query by query", subtitle=f"sorted, {unit}")
        ),
        f"Bars: the change of {title} from {plain(changes.sides[0])} to {plain(changes.sides[1])} for each of "
        f"{len(order):,} queries, sorted. {up:,} went up, {same:,} stayed the same, {down:,} went down.",
    )


_TOLD = {"q": "query", "t": "question", "c": "change"}


def _sides(changes: Changes) -> str:
    return f"{plain(changes.sides[1])} − {plain(changes.sides[0])}" if len("".join(changes.sides)) < 24 else "change"


def _text(anchor: str, told: str, offset: int) -> Any:
    """Return a line along the lower edge."""
    alt = altair()
    places = {"left": 0, "center": alt.expr("width / 2"), "right": alt.expr("width")}
    mark = alt.Chart(data_of([{"w": told}])).mark_text(
        align=anchor, baseline="top", x=places[anchor], y=_HEIGHT + offset, style="muted"
    )
    return mark.encode(text="w:N")


def _bars(
    changes: Changes, order: NDArray[np.intp], sizes: NDArray[np.float64], each: int
) -> Iterator[dict[str, object]]:
    """Yield the bars, none for queries that did not change: their place stays empty."""
    for moved in (np.flatnonzero(sizes > TIED), np.flatnonzero(sizes < -TIED)):
        for start in range(0, len(moved), each):
            places = moved[start : start + each]
            mean = float(sizes[places].mean())
            yield {
                "a": int(places[0]),
                "b": int(places[-1]) + 1,
                "d": round(mean, 6),
                "u": "up" if mean > 0 else "down",
                **_words(changes, order[places], mean),
            }


def _words(changes: Changes, places: NDArray[np.intp], mean: float) -> dict[str, str]:
    sign = "+" if mean > 0 else "−"
    size = sign + figure(changes.metric, abs(mean))
    first = changes.queries[int(places[0])]
    if len(places) > 1:
        return {"q": f"{plain(first.id)} and {len(places) - 1} more", "t": "…", "c": f"{size} on average"}
    before, after = (figure(changes.metric, float(side[places[0]])) for side in (changes.left, changes.right))
    return {"q": plain(first.id), "t": plain(first.text), "c": f"{size} ({before} → {after})"}
