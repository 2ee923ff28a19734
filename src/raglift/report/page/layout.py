"""The template data of a page: cells with their bars, charts as JSON, anchors, and the definitions of metrics."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from raglift.metrics.registry import MEASURES
from raglift.rendering.document import Detail
from raglift.report.views.parts import definition_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raglift.rendering.document import Cell, Document, Figure, Section, Table


_LONG = 32
"""A column with more characters in a cell is of texts, which take lines and need width."""
_MARGIN = 2.0
"""What a bar's scale leaves free at each end, of 100."""
_SEEN = 0.005
"""What is less would be 0.00 with two decimals."""


@dataclass(frozen=True)
class Bar:
    """An interval on a scale of 0 to 100."""

    low: float
    middle: float | None
    """Where its mark stands; None for a bar that goes up to the value, and needs none."""
    width: float
    zero: float
    """Where the value 0 stands, which every scale holds."""


@dataclass(frozen=True)
class Axis:
    """The scale above a column of bars: its ends in figures."""

    low: str
    high: str


@dataclass(frozen=True)
class LaidColumn:
    """The title of a column."""

    title: str
    kind: str
    """That of its cells."""
    definition: str
    """What it means, where its title does not say it."""
    axis: Axis | None


@dataclass(frozen=True)
class LaidCell:
    """A cell, how it is aligned, and its bar."""

    cell: Cell
    kind: str
    """`word`, `words` in a column of long texts, `number`, or `barred` in a column with bars."""
    bar: Bar | None

    @property
    def value(self) -> float | None:
        """What a column of numbers is sorted by."""
        return self.cell.middle if self.cell.value is None else self.cell.value


@dataclass(frozen=True)
class LaidRow:
    """The cells of a row, and how it is drawn."""

    cells: tuple[LaidCell, ...]
    ruled: bool
    """Whether there is a line above it."""


@dataclass(frozen=True)
class LaidTable:
    """A table as the template shows it."""

    caption: str
    columns: tuple[LaidColumn, ...]
    rows: tuple[LaidRow, ...]
    sortable: bool = False


@dataclass(frozen=True)
class LaidFigure:
    """A figure with its chart as JSON that can be in a <script> element."""

    anchor: str
    title: str
    description: str
    caption: str
    specification: str


@dataclass(frozen=True)
class LaidSection:
    """A section with the anchor that links go to."""

    anchor: str
    section: Section
    tables: tuple[LaidTable, ...]
    figures: tuple[LaidFigure, ...]


def laid_table(table: Table, labels: str = "") -> LaidTable:
    """Return a table with its columns' kinds and the bars of its cells; the bars of a column share one scale."""
    scales = [_scale(row[column] for row in table.rows) for column in range(len(table.columns))]
    kinds = [_kind(table, column, barred=lowest < highest) for column, (lowest, highest) in enumerate(scales)]
    rows = (
        LaidRow(
            tuple(
                LaidCell(cell, kind, _bar(cell, scale)) for cell, kind, scale in zip(row, kinds, scales, strict=True)
            ),
            number in table.sections,
        )
        for number, row in enumerate(table.rows)
    )
    caption = _with_labels(table.caption, labels if table.rests_on_labels else "")
    columns = (
        LaidColumn(title, kind, definition, _axis(table, number, scale) if kind == "barred" else None)
        for number, (title, kind, scale, definition) in enumerate(
            zip(table.titles, kinds, scales, table.definitions or [""] * len(kinds), strict=True)
        )
    )
    return LaidTable(caption, tuple(columns), tuple(rows), table.sortable and len(table.rows) > 1)


def _axis(table: Table, column: int, scale: tuple[float, float]) -> Axis:
    """Return the scale of a column's bars, in percent where its cells are."""
    percent = all(row[column].is_share for row in table.rows if row[column].low is not None)
    signs = scale[0] < 0

    def end(value: float) -> str:
        decimals = 2 if abs(value) >= _SEEN else 3
        text = f"{100 * value:.0f}%" if percent else f"{value:.{decimals}f}" if value else "0"
        return ("+" if signs and value > 0 else "") + text.replace("-", "−")

    return Axis(end(scale[0]), end(scale[1]))


def _with_labels(caption: str, labels: str) -> str:
    if labels and caption.endswith("."):
        return f"{caption} {labels[0].upper()}{labels[1:]}."
    return " · ".join(filter(None, [caption, labels]))


def _kind(table: Table, column: int, *, barred: bool) -> str:
    if barred:
        return "barred"
    if column not in table.text_columns:
        return "number"
    return "words" if any(len(row[column].text) > _LONG for row in table.rows) else "word"


def _scale(cells: Iterable[Cell]) -> tuple[float, float]:
    """Return where the bars of a column begin and end: from the lowest to the highest of them, and 0."""
    ends = [end for cell in cells for end in (cell.low, cell.high) if end is not None]
    return min(0.0, *ends) if ends else 0.0, max(0.0, *ends) if ends else 0.0


def _place(value: float, scale: tuple[float, float]) -> float:
    """Return where a value stands on a scale of 0 to 100."""
    lowest, highest = scale
    return round(_MARGIN + (100 - 2 * _MARGIN) * (value - lowest) / (highest - lowest), 2)


def _bar(cell: Cell, scale: tuple[float, float]) -> Bar | None:
    if cell.low is None or cell.middle is None or cell.high is None or not scale[0] < scale[1]:
        return None
    low, high = _place(cell.low, scale), _place(cell.high, scale)
    grows = cell.low == 0.0 and cell.middle == cell.high  # from 0 to its value, as of a share: no interval
    return Bar(low, None if grows else _place(cell.middle, scale), round(max(0.5, high - low), 2), _place(0.0, scale))


def in_summary(section: Section, document: Document) -> bool:
    """Whether a section is on the first screen: of one system its tiles say the same, of several none does."""
    return (document.headline.sortable or not document.tiles) and section.detail is Detail.SUMMARY


def laid_sections(document: Document) -> tuple[LaidSection, ...]:
    """Return the sections of a page, with an anchor for each of them and for each figure."""
    sections = []
    for number, section in enumerate(document.sections, 1):
        anchor = f"section-{number}"
        tables = tuple(laid_table(table, document.labels) for table in section.tables)
        figures = tuple(
            _laid_figure(figure, f"{anchor}-chart-{place}", document.labels)
            for place, figure in enumerate(section.figures, 1)
        )
        sections.append(LaidSection(anchor, section, tables, figures))
    return tuple(sections)


def _laid_figure(figure: Figure, anchor: str, labels: str) -> LaidFigure:
    from raglift.report.charts.parts import specification

    spec = specification(figure.chart())
    caption = _with_labels(figure.caption, labels)
    return LaidFigure(anchor, figure.title, spec.get("description", ""), caption, _for_script(spec))


def _for_script(value: Any) -> str:
    """Return JSON that no HTML parser takes for the end of a script."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


# The definitions of metrics: every name of one in a page leads to what it measures.


class Segment(NamedTuple):
    """A part of a text: plain, or a name with a definition."""

    text: str
    definition: str
    """The id of the definition; empty for plain text."""


class Definition(NamedTuple):
    """What a name means; shown when the name is pointed at or pressed."""

    id: str
    name: str
    text: str


class Definitions:
    """The definitions that one page needs, collected while its texts are laid out."""

    def __init__(self) -> None:
        names = {name: each for each in MEASURES.values() for name in (each.title, each.mean_title) if name}
        self._measures = names
        known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![\w@])({known})(@\w+(?:\([^()\s]*\))?)?(?![\w@(])")
        self._used: dict[str, Definition] = {}

    def heading(self, text: str, definition: str = "") -> list[Segment]:
        """Return a title or the name of a row; a metric that it begins with has its definition."""
        found = self._pattern.match(text)
        if found is not None:
            named = Segment(found[0], self._measure(found[1]))
            return [named, Segment(text[found.end() :], "")] if found.end() < len(text) else [named]
        return [Segment(text, self._define(text, definition) if definition else "")]

    def use(self, names: Iterable[str]) -> None:
        """Make sure that metrics which the page's scripts name are defined."""
        for name in names:
            self.heading(name)

    @property
    def used(self) -> list[Definition]:
        """All of them."""
        return list(self._used.values())

    def _measure(self, name: str) -> str:
        measure = self._measures[name]
        place, called = f"measure-{measure.name}", measure.mean_title or measure.title
        self._used[place] = Definition(place, called, definition_of(measure))
        return place

    def _define(self, name: str, text: str) -> str:
        known = next((one.id for one in self._used.values() if (one.name, one.text) == (name, text)), None)
        place = known or f"definition-{len(self._used) + 1}"
        self._used[place] = Definition(place, name, text)
        return place
