"""The parts of a report, independent of its output: texts, tables, charts and queries.

A terminal, a page, a notebook and Markdown all show the same records; none of them is HTML or text for a terminal yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class Cell:
    """One cell of a table: text, and what it means."""

    text: str
    """What it says, without an interval."""
    emphasis: str = ""
    """`better`, `worse`, `passed`, `failed`, `muted`, or nothing. Never the only sign: the text says it too."""
    low: float | None = None
    """Where a small bar next to the text begins, …"""
    middle: float | None = None
    """… has its mark, …"""
    high: float | None = None
    """… and ends, on the scale of the column; None for no bar."""
    value: float | None = None
    """What a column of numbers is sorted by; None for a text, or where there is no number."""
    link: str = ""
    """Where the text leads to on a page, as a relative address."""
    interval: str = ""
    """Between what the figure may lie, as `[0.51, 0.59]`; outputs leave it out where there is no room."""
    is_share: bool = False
    """Whether the scale of its bar is in percent."""
    is_exploratory: bool = False
    """Whether it is a hint to look, and no finding; a notebook does not colour it."""

    @property
    def full_text(self) -> str:
        """The text with its interval."""
        return f"{self.text} {self.interval}" if self.interval else self.text


@dataclass(frozen=True)
class Table:
    """Rows under titles."""

    caption: str
    """What the table shows; read out by screen readers."""
    columns: tuple[str, ...]
    """What stands above them; `titles` adds the confidence of intervals."""
    rows: tuple[tuple[Cell, ...], ...]
    text_columns: tuple[int, ...] = (0,)
    """The columns of text, aligned to the left; the others hold numbers."""
    sections: tuple[int, ...] = ()
    """The rows above which a line is drawn."""
    rests_on_labels: bool = True
    """Whether its figures depend on who labelled what, which is then said with it."""
    sortable: bool = False
    """Whether a page lets readers sort the rows: by the values of cells, and texts by their letters."""
    optional: tuple[int, ...] = ()
    """The columns that a terminal too narrow for all leaves out, the last of them first."""
    definitions: tuple[str, ...] = ()
    """What each column means, where its title does not say it; empty, or as many as there are columns."""
    continued: bool = False
    """Whether a terminal too narrow for all columns shows the rest in another table below, with the first again."""
    confidence: str = ""
    """How often the intervals of its cells hold the true value, as `95%`."""

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the columns; those with intervals say how often these hold: `mean [95%]`."""
        return tuple(
            f"{title} [{self.confidence}]" if self.confidence and self.has_intervals(column) else title
            for column, title in enumerate(self.columns)
        )

    def has_intervals(self, column: int) -> bool:
        """Return whether a cell of a column has an interval."""
        return any(row[column].interval for row in self.rows)


def row_of(cells: Iterable[Cell | str]) -> tuple[Cell, ...]:
    """Return a row; texts stand for plain cells."""
    return tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells)


RowT = TypeVar("RowT")


@dataclass(frozen=True)
class Column(Generic[RowT]):
    """A column of a table, declared once for all outputs."""

    title: str
    """What stands above it."""
    cell: Callable[[RowT], Cell | str]
    """Makes the cell of a row."""
    words: bool = False
    """Whether it holds names or words, which start at the left and break where they must; else numbers."""
    value: Callable[[RowT], float | None] | None = None
    """What rows are sorted by; None for the cell's own value."""
    definition: str = ""
    """What it means, where the title does not say it."""
    optional: bool = False
    """Whether a terminal too narrow for all columns may leave it out."""

    def cell_of(self, row: RowT) -> Cell:
        """Return the cell of a row, with what it is sorted by."""
        made = self.cell(row)
        cell = Cell(made) if isinstance(made, str) else made
        return cell if self.value is None else replace(cell, value=self.value(row))


def table_from(
    columns: Sequence[Column[RowT]],
    rows: Iterable[RowT],
    caption: str,
    *,
    sortable: bool = False,
    confidence: str = "",
) -> Table:
    """Return a table of declared columns."""
    return Table(
        caption,
        tuple(column.title for column in columns),
        tuple(tuple(column.cell_of(row) for column in columns) for row in rows),
        tuple(number for number, column in enumerate(columns) if column.words),
        sortable=sortable,
        optional=tuple(number for number, column in enumerate(columns) if column.optional),
        definitions=tuple(column.definition for column in columns) if any(one.definition for one in columns) else (),
        confidence=confidence,
    )


def table_across(
    measures: Iterable[Column[RowT] | None], things: Sequence[RowT], name: Callable[[RowT], str], caption: str
) -> Table:
    """Return a table of few things with many figures: a row for each declared figure, and a column for each thing."""
    rows: list[tuple[Cell, ...]] = []
    lines = []
    for measure in measures:
        if measure is None:
            lines.append(len(rows))
        else:
            rows.append((Cell(measure.title), *map(measure.cell_of, things)))
    return Table(caption, ("", *map(name, things)), tuple(rows), sections=tuple(lines), continued=True)


@dataclass(frozen=True)
class Line:
    """A line of which what does not fit goes on below its text, not below what stands before it."""

    before: str
    """A mark, as `! `, or an indent."""
    text: str


Part = str | Line | Table
"""What a report on a terminal consists of: lines, and tables."""


def table_of(
    columns: Sequence[str], rows: Iterable[Sequence[str | Cell]], *, left: Sequence[int] = (0,), caption: str = ""
) -> Table:
    """Return a table of texts and cells."""
    cells: list[tuple[Cell, ...]] = []
    sections = []
    for row in rows:
        if row:
            cells.append(row_of(row))
        else:
            sections.append(len(cells))
    return Table(caption, tuple(columns), tuple(cells), tuple(left), tuple(sections))


class Detail(IntEnum):
    """How much detail a section has; each output chooses by it."""

    SUMMARY = 0
    """What a reader decides by: shown everywhere."""
    DETAILS = 1
    """What stands behind it: folded in Markdown and notebooks, shown in a terminal on request, open on a page."""


@dataclass(frozen=True)
class Figure:
    """A chart under a title."""

    title: str
    chart: Callable[[], alt.TopLevelMixin]
    """Makes the chart, with a description for who cannot see it; called by the outputs that show charts."""
    caption: str = ""
    """How to read it."""
    table: Table | None = None
    """The same as a small table, for outputs without charts; None for nothing."""


@dataclass(frozen=True)
class Entry:
    """An entry of a list, and what is listed below it."""

    text: str
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    detail: Detail = Detail.SUMMARY
    entries: tuple[Entry, ...] = ()
    """A list, between paragraphs and tables."""

    @property
    def shown_tables(self) -> tuple[Table, ...]:
        """Its tables, for outputs without charts: those that stand for a chart too."""
        return (*(figure.table for figure in self.figures if figure.table is not None), *self.tables)

    @property
    def is_chart_alone(self) -> bool:
        """Whether outputs without charts have nothing to show of it."""
        return not self.paragraphs and not self.entries and not self.shown_tables


@dataclass(frozen=True)
class Tile:
    """A figure of the first screen, large, with what changed."""

    label: str
    """What it is, in everyday words or as a metric."""
    value: str
    change: str = ""
    """How it changed, and from what: `▲ 17 points, from 41%`."""
    emphasis: str = ""
    """`better` or `worse` where the change is significant."""
    note: str = ""
    """What else to know: an interval, a ceiling."""
    definition: str = ""
    """What it measures."""


@dataclass(frozen=True)
class Share:
    """A part of a whole: so many facts had one outcome."""

    label: str
    count: int
    outcome: str
    """The outcome of `failure_analysis`, by which the queries of a page are filtered."""


@dataclass(frozen=True)
class Example:
    """A question that shows what was found."""

    query_id: str
    text: str
    """The question."""
    said: str
    """What became of it: `its passage is ranked lower`."""


@dataclass(frozen=True)
class Document:
    """A report: what was found, then its sections."""

    title: str
    """What was measured, in a few words."""
    lead: str
    """What was found, in one or two sentences."""
    headline: Table
    """The figures that matter most, with their intervals."""
    measured: tuple[tuple[str, str], ...]
    """What was measured and how, as names and values."""
    warnings: tuple[str, ...] = ()
    """Why the figures may not mean what they seem to."""
    notes: tuple[str, ...] = ()
    """Further notes."""
    sections: tuple[Section, ...] = ()
    about: tuple[str, ...] = ()
    """What was measured, in a line or two, for outputs that do not show all of `measured`."""
    labels: str = ""
    """Label provenance, shown with each table; empty if people made all labels."""
    tiles: tuple[Tile, ...] = ()
    """The figures of the first screen of a page, instead of the headline; other outputs show the headline."""
    shares: tuple[Share, ...] = ()
    """What became of the facts, for a bar on the first screen of a page."""
    next_step: str = ""
    """What to try next; a section says it too."""
    next_outcome: str = ""
    """The outcome of facts that it is about: the questions of a page are filtered by it."""
    example: Example | None = None
    """One of the questions that are not answered well."""
    printed: Detail = Detail.SUMMARY
    """How much of it `print` and a command show where nothing is said of that."""
    passed: bool | None = None
    """Whether what was checked passed; None where nothing was."""
