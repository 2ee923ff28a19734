"""Charts of what reranking did: the change of each query, and where facts were found or lost."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.analysis.paired_statistics import is_bounded
from raglift.metrics.computing import mean_title
from raglift.report.charts.parts import DOWN, UP, WIDTH, altair, data_of, figure, numbers, plain, themed
from raglift.stats.intervals import TIED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import altair as alt
    from numpy.typing import NDArray

    from raglift.analysis.outcomes import FailureAnalysisRecord
    from raglift.records.labels import Query
    from raglift.records.metric import Metric


# What changed for each query, sorted: most gained first, most lost last.


_BARS = 400
"""The most bars: more would be narrower than a pixel."""
_SEEN = 80
"""More bars would touch each other: a line in their own colour closes the seams."""
_HEIGHT = 240


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
    """Yield the bars, none for queries that did not change: their location stays empty."""
    for moved in (np.flatnonzero(sizes > TIED), np.flatnonzero(sizes < -TIED)):
        for start in range(0, len(moved), each):
            places = moved[start : start + each]
            mean = float(sizes[places].mean())
            yield {
                "a": int(places[0]),
                "b": int(places[-1]) + 1,
                "d": round(mean, 6),
                "u": "up" if mean > 0 else "down",
                **_lift_words(changes, order[places], mean),
            }


def _lift_words(changes: Changes, places: NDArray[np.intp], mean: float) -> dict[str, str]:
    sign = "+" if mean > 0 else "−"
    size = sign + figure(changes.metric, abs(mean))
    first = changes.queries[int(places[0])]
    if len(places) > 1:
        return {"q": f"{plain(first.id)} and {len(places) - 1} more", "t": "…", "c": f"{size} on average"}
    before, after = (figure(changes.metric, float(side[places[0]])) for side in (changes.left, changes.right))
    return {"q": plain(first.id), "t": plain(first.text), "c": f"{size} ({before} → {after})"}


# Failure analysis as a flow from all facts to those that were found.


_BAND = 150.0
"""How high the flow of all facts is, in pixels."""
_TOP = 72.0
"""Where it begins: above are the counts of what is left."""
_DROP = 26.0
"""How far below the flow what is lost ends."""
_BELOW = 74.0
"""The space for text below the lowest end."""
_STEPS = 16
"""How many straight pieces a curve is drawn with."""
_NODE = 0.022
"""Half the width of the bar at the end of a flow, in gates."""


@dataclass(frozen=True)
class Gate:
    """A point of the way at which some facts are lost and the others continue."""

    lost: int
    """How many facts are lost here."""
    left: int
    """How many continue."""
    lost_words: tuple[str, ...]
    """The outcome of those that are lost, in short lines."""
    left_words: tuple[str, ...]
    """What the others are, likewise."""


_BY_INDEX = (
    ("lost_by_compression", "compression"),
    ("lost_by_index", "the index"),
    ("lost_by_filter", "the filter"),
)


def gates_of(losses: FailureAnalysisRecord) -> list[Gate]:
    """Return the gates, in the order in which a fact comes to them; the first counts all facts and loses none."""
    stages = [loss.stage or "" for loss in losses.losses if loss.outcome == "dropped"]
    way: list[tuple[str, str | None, tuple[str, ...], tuple[str, ...]]] = []
    if losses.of("failed").facts:
        way += [("failed", None, ("its query", "failed"), ("asked",))]
    if losses.chunks_known:
        way += [("not_attainable", None, ("lost in", "chunking"), ("in the", "chunks"))]
        way += [("not_retrieved", None, ("not", "retrieved"), ("retrieved",))]
    else:
        way += [("missed", None, ("not", "retrieved"), ("retrieved",))]
    for outcome, words in _BY_INDEX:
        if losses.of(outcome).facts:
            way += [(outcome, None, ("lost by", words), ("found by", "the index"))]
    way += [("dropped", stage, ("dropped by", plain(stage)), ("after", plain(stage))) for stage in stages]
    way += [("below_k", None, ("ranked", "too low"), (f"in top {losses.k}",))]
    gates = [Gate(0, losses.facts, (), ("all facts",))]
    for outcome, stage, lost_words, left_words in way:
        lost = losses.of(outcome, stage).facts
        gates.append(Gate(lost, gates[-1].left - lost, lost_words, left_words))
    return gates


def failure_chart(losses: FailureAnalysisRecord) -> alt.LayerChart:
    """Return the flow: as thick as there are facts, from left to right, with what is lost branching off below."""
    alt = altair()
    gates = gates_of(losses)
    scale = _BAND / max(losses.facts, 1)
    height = _TOP + _BAND + _DROP + _BELOW
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.28, len(gates) - 1 + 0.36], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False))
    colour = alt.Color("c:N", legend=None, scale=alt.Scale(domain=["kept", "lost"], range=[UP, DOWN]))
    flows = (
        alt.Chart(data_of(_flows(gates, scale)))
        .mark_area(opacity=0.45, aria=False)
        .encode(x=x, y=y, y2="z:Q", color=colour, detail="f:N", tooltip=alt.Tooltip("w:N", title="facts"))
    )
    ends = (
        alt.Chart(data_of(_ends(gates, scale)))
        .mark_rect()
        .encode(x=x, x2="x2:Q", y=y, y2="z:Q", color=colour, tooltip=alt.Tooltip("w:N", title="facts"))
    )
    room = alt.expr(f"width / {len(gates) + 0.5}")
    size = alt.expr(f"width / {len(gates) + 0.5} < 62 ? 10 : 12")
    texts = [
        alt.Chart(data_of(row for row in _labels(gates, scale, losses.facts) if row["s"] == style))
        .mark_text(style=style, fontWeight="bold" if style == "ink" else "normal", limit=room, fontSize=size)
        .encode(x=x, y=y, text="w:N")
        for style in ("ink", "muted")
    ]
    found = gates[-1].left
    lost = [f"{gate.lost:,} {' '.join(gate.lost_words)}" for gate in gates[1:]]
    return themed(
        alt.layer(flows, ends, *texts).properties(
            width=WIDTH, height=height, title=f"Where recall was lost, at k = {losses.k}"
        ),
        f"A flow from left to right: of {losses.facts:,} facts, {found:,} are found in the top {losses.k}. "
        f"Lost on the way: {', '.join(lost)}.",
    )


def _ease(share: float) -> float:
    return share * share * (3 - 2 * share)


def _flows(gates: Sequence[Gate], scale: float) -> Iterator[dict[str, object]]:
    """Yield the outlines: what continues runs straight along the top, what is lost bends down from below it."""
    for number, (before, gate) in enumerate(pairwise(gates)):
        for place in (number, number + 1):
            yield _edge(
                place, _TOP, _TOP + gate.left * scale, f"k{number}", f"{gate.left:,} {' '.join(gate.left_words)}"
            )
        if gate.lost:
            words = f"{gate.lost:,} {' '.join(gate.lost_words)}"
            for step in range(_STEPS + 1):
                bend = _DROP * _ease(step / _STEPS)
                top, bottom = _TOP + gate.left * scale + bend, _TOP + before.left * scale + bend
                yield _edge(number + step / _STEPS, top, bottom, f"l{number}", words)


def _edge(place: float, top: float, bottom: float, flow: str, words: str) -> dict[str, object]:
    kind = "kept" if flow.startswith("k") else "lost"
    return {"x": place, "y": round(top, 2), "z": round(bottom, 2), "f": flow, "c": kind, "w": words}


def _ends(gates: Sequence[Gate], scale: float) -> Iterator[dict[str, object]]:
    for number, gate in enumerate(gates):
        kept = _edge(number - _NODE, _TOP, _TOP + gate.left * scale, "k", f"{gate.left:,} {' '.join(gate.left_words)}")
        yield kept | {"x2": number + _NODE}
        if gate.lost:
            top = _TOP + gate.left * scale + _DROP
            lost = _edge(
                number - _NODE, top, top + gate.lost * scale, "l", f"{gate.lost:,} {' '.join(gate.lost_words)}"
            )
            yield lost | {"x2": number + _NODE}


def _labels(gates: Sequence[Gate], scale: float, facts: int) -> Iterator[dict[str, object]]:
    """Yield the counts and the words, above for what continues and below for what is lost."""
    for number, gate in enumerate(gates):
        top = _TOP - 12 - 15 * (1 + len(gate.left_words))
        count, share = _counted(gate.left, facts)
        yield from _words(number, top, (*map(_word, gate.left_words), count, share))
        if gate.lost_words:
            bottom = _TOP + (gate.left + gate.lost) * scale + _DROP + 12
            yield from _words(number, bottom, (*_counted(gate.lost, facts), *map(_word, gate.lost_words)))


def _counted(count: int, facts: int) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return a count and its share of all facts, each with its style."""
    return (f"{count:,}", "ink"), (f"{100 * count / max(facts, 1):.0f}%", "muted")


def _word(word: str) -> tuple[str, str]:
    return word, "muted"


def _words(number: int, top: float, lines: Sequence[tuple[str, str]]) -> Iterator[dict[str, object]]:
    """Yield lines with their styles below each other: next to each other they do not fit on a phone."""
    for line, (told, style) in enumerate(lines):
        yield {"x": number, "y": round(top + 15 * line, 2), "s": style, "w": told}
