"""Slices by tag, and cost beside quality, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.metrics import mean_title
from raglift.rendering.document import Cell, table_of
from raglift.report.format import (
    cost_text,
    cost_title,
    decimals_of,
    differing,
    interval_text,
    labels_line,
    labels_of,
    legend,
    level,
    p_text,
    place_text,
)
from raglift.report.terminal.rendering import as_text
from raglift.report.words import EXPLORATORY, ON_THE_FRONT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from raglift.rendering.document import Part
    from raglift.result_records import TagSlice, TagSlicesRecord, TradeoffRecord

__all__ = ["slices_parts", "slices_text", "tradeoff_parts", "tradeoff_text"]

_FEW = "‡"
_LONGEST = 15


def slices_text(slices: TagSlicesRecord) -> str:
    """Return one row a tag and system as plain text."""
    return as_text(slices_parts(slices))


def tradeoff_text(tradeoff: TradeoffRecord) -> str:
    """Return quality and costs of each system as plain text, the best quality first."""
    return as_text(tradeoff_parts(tradeoff))


def slices_parts(slices: TagSlicesRecord) -> Iterator[Part]:
    """Yield the lines and the table of slices by tag."""
    name = mean_title(slices.metric)
    if not slices.slices:
        yield f"{name} by tag: no labelled query has a tag."
        return
    beside = f", and the difference to {slices.baseline}" if slices.baseline is not None else ""
    yield f"{name} by tag{beside}. {EXPLORATORY}"
    yield from labels_line(slices.label_sources)
    percent = level(slices.method)
    systems = list(dict.fromkeys(one.system for one in slices.slices))
    several = len(systems) > 1
    labels = labels_of(systems, _LONGEST)
    yield from legend(labels) if several else ()
    columns = ["tag", "n", f"mean [{percent}]"]
    columns[1:1] = ["system"] if several else []
    columns += [f"difference [{percent}]", "p"] if slices.baseline is not None else []
    yield table_of(columns, _slice_rows(slices, labels if several else {}), left=(0, 1) if several else (0,))
    if any(one.few for one in slices.slices):
        yield f"{_FEW} fewer than {slices.slices[0].FEW} queries: these figures say little"


def _slice_rows(slices: TagSlicesRecord, labels: Mapping[str, str]) -> Iterator[tuple[str | Cell, ...]]:
    decimals = decimals_of(slices.metric)
    tag: str | None = ""
    for one in slices.slices:
        is_first = one.tag != tag
        if labels and is_first and tag != "":
            yield ()
        tag = one.tag
        label = "(no tag)" if one.tag is None else one.tag
        cells: list[str | Cell] = [
            label if is_first else "",
            *([labels[one.system]] if labels else []),
            f"{one.n:,}" + _FEW * one.few,
        ]
        cells.append(interval_text(one.mean, one.interval, decimals))
        cells += _slice_difference(one, slices) if slices.baseline is not None else []
        yield tuple(cells)


def _slice_difference(one: TagSlice, slices: TagSlicesRecord) -> list[str | Cell]:
    if one.baseline_mean is None:
        return [Cell("baseline", "muted"), ""]
    p = None if one.difference is None else one.difference.p
    return [differing(one.difference, slices.metric, slices.method.alpha), p_text(p)]


def tradeoff_parts(tradeoff: TradeoffRecord) -> Iterator[Part]:
    """Yield the lines and the table of quality and costs."""
    name = mean_title(tradeoff.quality)
    yield f"{name} beside {' and '.join(map(cost_title, tradeoff.costs))}"
    yield from labels_line(tradeoff.label_sources)
    labels = labels_of([one.system for one in tradeoff.systems])
    yield from legend(labels)
    rows = sorted(tradeoff.systems, key=lambda one: (one.left_out is not None, -one.quality))
    cells = [
        (
            labels[one.system],
            interval_text(one.quality, None),
            *(cost_text(one, cost) for cost in tradeoff.costs),
            place_text(one, labels),
        )
        for one in rows
    ]
    columns = ("system", name, *map(cost_title, tradeoff.costs), "")
    yield table_of(columns, cells, left=(0, len(columns) - 1))
    yield ON_THE_FRONT
    yield from (f"! {note}" for note in tradeoff.notes)
