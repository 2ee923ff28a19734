"""Where recall was lost, as a flow from all facts to those that were found."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from raglift.report.charts.parts import altair, data_of, plain
from raglift.report.charts.theme import DOWN, UP, WIDTH, themed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import altair as alt

    from raglift.diagnosis import LossBreakdownRecord

__all__ = ["Gate", "gates_of", "loss_chart"]

_BAND = 150.0
"""How high the flow of all facts is, in pixels."""
_TOP = 72.0
"""Where it begins: above are the counts of what is left."""
_DROP = 26.0
"""How far below the flow what is lost ends."""
_BELOW = 74.0
"""The room for words below the lowest end."""
_STEPS = 16
"""How many straight pieces a curve is drawn with."""
_NODE = 0.022
"""Half the width of the bar at the end of a flow, in gates."""


@dataclass(frozen=True)
class Gate:
    """A point of the way at which some facts are lost and the others go on."""

    lost: int
    """How many facts are lost here."""
    left: int
    """How many go on."""
    lost_words: tuple[str, ...]
    """What became of those that are lost, in short lines."""
    left_words: tuple[str, ...]
    """What the others are, likewise."""


def gates_of(losses: LossBreakdownRecord) -> list[Gate]:
    """Return the gates, in the order in which a fact comes to them; the first counts all facts and loses none."""
    stages = [loss.stage or "" for loss in losses.losses if loss.outcome == "dropped"]
    way: list[tuple[str, str | None, tuple[str, ...], tuple[str, ...]]] = []
    if losses.of("failed").facts:
        way += [("failed", None, ("its query", "failed"), ("asked",))]
    if losses.chunks_known:
        way += [("not_attainable", None, ("not", "attainable"), ("attainable",))]
        way += [("not_retrieved", None, ("not", "retrieved"), ("retrieved",))]
    else:
        way += [("missed", None, ("not", "retrieved"), ("retrieved",))]
    way += [("dropped", stage, ("dropped by", plain(stage)), ("after", plain(stage))) for stage in stages]
    way += [("below_k", None, ("below", f"rank {losses.k}"), (f"in top {losses.k}",))]
    gates = [Gate(0, losses.facts, (), ("all facts",))]
    for outcome, stage, lost_words, left_words in way:
        lost = losses.of(outcome, stage).facts
        gates.append(Gate(lost, gates[-1].left - lost, lost_words, left_words))
    return gates


def loss_chart(losses: LossBreakdownRecord) -> alt.LayerChart:
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
        f"A flow from left to right: of {losses.facts:,} facts, {found:,} are found by rank {losses.k}. "
        f"Lost on the way: {', '.join(lost)}.",
    )


def _ease(share: float) -> float:
    return share * share * (3 - 2 * share)


def _flows(gates: Sequence[Gate], scale: float) -> Iterator[dict[str, object]]:
    """Yield the outlines: what goes on runs straight along the top, what is lost bends down from below it."""
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
    """Yield the counts and the words, above for what goes on and below for what is lost."""
    for number, gate in enumerate(gates):
        top = _TOP - 12 - 15 * (1 + len(gate.left_words))
        yield from _words(number, top, (*gate.left_words, f"{gate.left:,}", _share(gate.left, facts)))
        if gate.lost_words:
            bottom = _TOP + (gate.left + gate.lost) * scale + _DROP + 12
            yield from _words(number, bottom, (f"{gate.lost:,}", _share(gate.lost, facts), *gate.lost_words))


def _share(count: int, facts: int) -> str:
    return f"{100 * count / max(facts, 1):.0f} %"


def _words(number: int, top: float, lines: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield lines below each other, the count in bold: beside each other they have no room on a phone."""
    for line, told in enumerate(lines):
        style = "ink" if told[0].isdigit() and not told.endswith("%") else "muted"
        yield {"x": number, "y": round(top + 15 * line, 2), "s": style, "w": told}
