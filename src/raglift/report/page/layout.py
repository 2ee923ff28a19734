"""The template data of a page: cells with their bars, charts as JSON, headings with their anchors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.base.display import printable
from raglift.rendering.document import Detail

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raglift.rendering.document import Cell, Document, Figure, Section, Table


_LONG = 32
"""A column with more characters in a cell is of texts, which take lines and need width."""
_MANY = 4
"""Tables of so many columns are wider than a phone."""
_TEXTS = ("word", "words")
_LINE = 40
"""As many characters of a name fit into a line of a phone."""
_ROOM = ("", "", "two-lines", "three-lines")
_MARGIN = 2.0
"""What a bar's scale leaves free at each end, of 100."""


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
class LaidCell:
    """A cell, how it is aligned, and its bar."""

    text: str
    interval: str
    """What is in brackets after a figure, as `[0.51, 0.59]`; it is shown smaller."""
    emphasis: str
    kind: str
    """`word`, `words` in a column of long texts, `number`, or `barred` in a column with bars."""
    bar: Bar | None


@dataclass(frozen=True)
class LaidRow:
    """The cells of a row, and how it is drawn."""

    cells: tuple[LaidCell, ...]
    style: str
    """Classes: `ruled` with a line above it, `continued` without a name since it belongs to the row above, `two-lines`
    or `three-lines` where the name is long."""


@dataclass(frozen=True)
class LaidTable:
    """A table as the template shows it."""

    caption: str
    columns: tuple[tuple[str, str], ...]
    """The title of each column, and the kind of its cells."""
    rows: tuple[LaidRow, ...]
    named: bool
    """Whether the names of its rows stand above their cells on a phone, where so many columns would not fit beside."""


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
    heading: str
    paragraphs: tuple[str, ...]
    tables: tuple[LaidTable, ...]
    figures: tuple[LaidFigure, ...]
    folded: bool


def laid_table(table: Table, labels: str = "") -> LaidTable:
    """Return a table with its columns' kinds and the bars of its cells; the bars of a column share one scale.

    Args:
        table: the table.
        labels: the label provenance, which is added to the caption of tables.
    """
    scales = [_scale(row[column] for row in table.rows) for column in range(len(table.columns))]
    kinds = [_kind(table, column, barred=lowest < highest) for column, (lowest, highest) in enumerate(scales)]
    named = kinds[0] in _TEXTS and len(kinds) >= _MANY
    rows = (
        LaidRow(
            tuple(
                _laid_cell(cell, kind, _bar(cell, scale)) for cell, kind, scale in zip(row, kinds, scales, strict=True)
            ),
            _style(row[0].text if named else None, ruled=number in table.sections),
        )
        for number, row in enumerate(table.rows)
    )
    caption = _with_labels(table.caption, labels if table.rests_on_labels else "")
    return LaidTable(caption, tuple(zip(table.columns, kinds, strict=True)), tuple(rows), named)


def _with_labels(caption: str, labels: str) -> str:
    if labels and caption.endswith("."):
        return f"{caption} {labels[0].upper()}{labels[1:]}."
    return " · ".join(filter(None, [caption, labels]))


def _style(name: str | None, *, ruled: bool) -> str:
    """Return the classes of a row; with a name above its cells, also for the number of lines needed."""
    room = "" if name is None else _ROOM[min(1 + len(name) // _LINE, len(_ROOM) - 1)] if name else "continued"
    return " ".join(style for style in ("ruled" if ruled else "", room) if style)


def _kind(table: Table, column: int, *, barred: bool) -> str:
    if barred:
        return "barred"
    if column not in table.text_columns:
        return "number"
    return "words" if any(len(row[column].text) > _LONG for row in table.rows) else "word"


def _laid_cell(cell: Cell, kind: str, bar: Bar | None) -> LaidCell:
    figure, opening, interval = cell.text.partition(" [")
    if kind in _TEXTS or not interval.endswith("]"):
        return LaidCell(cell.text, "", cell.emphasis, kind, bar)
    return LaidCell(figure, opening.strip() + interval, cell.emphasis, kind, bar)


def _scale(cells: Iterable[Cell]) -> tuple[float, float]:
    """Return where the bars of a column begin and end: from the lowest to the highest of them, and 0."""
    ends = [end for cell in cells for end in (cell.low, cell.high) if end is not None]
    return min(0.0, *ends) if ends else 0.0, max(0.0, *ends) if ends else 0.0


def _bar(cell: Cell, scale: tuple[float, float]) -> Bar | None:
    lowest, highest = scale
    if cell.low is None or cell.middle is None or cell.high is None or not lowest < highest:
        return None

    def place(value: float) -> float:
        return round(_MARGIN + (100 - 2 * _MARGIN) * (value - lowest) / (highest - lowest), 2)

    low, high = place(cell.low), place(cell.high)
    return Bar(
        low, None if cell.middle == cell.high else place(cell.middle), round(max(0.5, high - low), 2), place(0.0)
    )


def laid_sections(document: Document) -> tuple[LaidSection, ...]:
    """Return the sections of a page, with an anchor for each of them and for each figure.

    Raises:
        MissingDependency: a package that charts are made with is not installed.
    """
    return tuple(
        _laid_section(section, f"section-{number}", document.labels)
        for number, section in enumerate(document.sections, 1)
    )


def _laid_section(section: Section, anchor: str, labels: str) -> LaidSection:
    figures = (
        _laid_figure(figure, f"{anchor}-chart-{number}", labels) for number, figure in enumerate(section.figures, 1)
    )
    return LaidSection(
        anchor,
        section.heading,
        section.paragraphs,
        tuple(laid_table(table, labels) for table in section.tables),
        tuple(figures),
        section.detail is Detail.REFERENCE,
    )


def _laid_figure(figure: Figure, anchor: str, labels: str) -> LaidFigure:
    from raglift.report.charts.parts import specification

    told = _shown(specification(figure.chart()))
    caption = _with_labels(figure.caption, labels)
    return LaidFigure(anchor, figure.title, figure.description, caption, _for_script(told))


def _shown(value: Any) -> Any:
    """Return JSON values whose texts hold nothing that could reorder a line."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(name): _shown(inner) for name, inner in value.items()}
    return [_shown(inner) for inner in value] if isinstance(value, list) else value


def _for_script(value: Any) -> str:
    """Return JSON that no HTML parser takes for the end of a script."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
