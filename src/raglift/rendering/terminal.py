"""Prints lines and tables on a terminal, or as plain text."""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from raglift.rendering.document import Cell, Detail, Document, Entry, Line, Part, Section, Table
from raglift.utilities.display import one_line

WIDTH = 100
"""The most columns of a table that is not printed on a terminal."""
_WORD = 16
"""Columns of words are taken to need so many characters; a name that has more may stand above its figures."""
_GAP = 2
_FEW = 2
"""Rows of as few columns have their names beside their figures, however long."""
_INDENT = 2
"""How far the figures below a name stand to the right."""
_GOOD, _BAD = "bold color(32)", "bold color(166)"
_STYLES = {"better": _GOOD, "passed": _GOOD, "worse": _BAD, "failed": _BAD, "muted": "dim"}
"""Blue and orange, which can be distinguished with red-green colour blindness, on a dark ground and on a light one."""


def write(console: Console, parts: Iterable[Part], *, wrap: bool = True) -> None:
    """Print lines and tables; nothing in them is markup."""
    for part in parts:
        if isinstance(part, str):
            _write_line(console, Line("", part), wrap=wrap)
        elif isinstance(part, Line):
            _write_line(console, part, wrap=wrap)
        elif part.continued:
            for number, table in enumerate(_divided(part, console.width)):
                if number:
                    console.print()
                _write_table(console, table)
        else:
            _write_table(console, part)


_COMMANDS = ("::", "##")
"""How a line begins that GitHub reads as a workflow command."""


def _write_line(console: Console, line: Line, *, wrap: bool) -> None:
    before, said = one_line(line.before), one_line(line.text)
    if not wrap:
        console.print(Text(before + said), soft_wrap=True)
        return
    start = len(before)
    if start >= console.width // 2:
        before, said, start = "", before + said, 0
    for number, text in enumerate(Text(said).wrap(console, console.width - start)):
        text.rstrip()
        if number and text.plain.startswith(_COMMANDS):
            text = Text("�") + text  # noqa: PLW2901 — a word within a line, which begins one by the wrapping alone
        if number:
            console.print(Padding(text, (0, 0, 0, start)))
        else:
            console.print(Text(before) + text)


def _write_table(console: Console, table: Table) -> None:
    fitted = _fitting(table, console.width)
    if fitted.is_stacked:
        for line in _stacked(fitted, console.width):
            console.print(line)
    else:
        console.print(_rich(fitted))
    if fitted.left_out:
        _write_line(console, Line("", f"(more columns in a wider terminal: {', '.join(fitted.left_out)})"), wrap=True)


# What a table looks like where it is too wide.


@dataclass(frozen=True)
class _Fitting:
    """A table as it fits into a width."""

    table: Table
    is_broken: bool = False
    """Whether the titles of numbers are in several lines."""
    is_stacked: bool = False
    """Whether the first cell of each row stands on a line of its own, above the others."""
    left_out: tuple[str, ...] = ()
    """The titles of columns for which there is no room."""

    @property
    def titles(self) -> list[list[str]]:
        """The lines of each title."""
        return [
            _lines(self.table, column)
            if self.is_broken and column not in self.table.text_columns
            else [one_line(title)]
            for column, title in enumerate(self.table.titles)
        ]

    @property
    def widths(self) -> list[int]:
        """How wide each column is."""
        return [max(_widest(self.table, column), *map(cell_len, lines)) for column, lines in enumerate(self.titles)]

    @property
    def needed(self) -> int:
        """How wide the table is at least: columns of words are taken to need so many characters as a word has."""
        words = self.table.text_columns
        widths = [min(width, _WORD) if column in words else width for column, width in enumerate(self.widths)]
        if self.is_stacked:
            return _INDENT + sum(widths[1:]) + _GAP * (len(widths) - 2)
        if self.has_long_names:
            widths[0] = self.widths[0]
        return sum(widths) + _GAP * (len(widths) - 1)

    @property
    def can_be_stacked(self) -> bool:
        """Whether the rows have names, and all else is short."""
        words, widths = self.table.text_columns, self.widths
        return 0 in words and len(widths) > _FEW and all(widths[column] <= _WORD for column in words if column)

    @property
    def has_long_names(self) -> bool:
        """Whether the rows are named by texts too long for a column, and all else is short."""
        return self.can_be_stacked and self.widths[0] > _WORD


def _fitting(table: Table, width: int) -> _Fitting:
    """Return a table as it fits: titles in several lines, names above figures, fewer intervals, fewer columns.

    Numbers are never broken.
    """
    for fitted in (_Fitting(table), _Fitting(table, is_broken=True)):
        if fitted.needed <= width:
            return fitted
    fitted = replace(fitted, is_stacked=fitted.has_long_names)
    barred = [column for column in range(len(table.columns)) if table.has_intervals(column)]
    while fitted.needed > width:
        table = fitted.table
        if len(barred) > 1 or (barred and not table.optional):  # the last, of the difference, is worth most
            fitted = replace(fitted, table=_without_intervals(table, barred.pop(0)))
        elif table.optional:
            column = table.optional[-1]
            left_out = (table.columns[column], *fitted.left_out)
            fitted = replace(fitted, table=_without_column(table, column), left_out=left_out)
            barred = [one - (one > column) for one in barred if one != column]
        else:
            return replace(fitted, is_stacked=fitted.can_be_stacked)
    return fitted


def _lines(table: Table, column: int) -> list[str]:
    """Return the title of a column of numbers in lines, as wide as these or one word."""
    words = one_line(table.titles[column]).replace("p (", "p\u00a0(")
    room = max(_widest(table, column), *(cell_len(word) for word in words.split(" ")))
    return textwrap.wrap(words, room, break_long_words=False, break_on_hyphens=False) or [""]


def _widest(table: Table, column: int) -> int:
    return max((cell_len(one_line(row[column].full_text)) for row in table.rows), default=0)


def _without_intervals(table: Table, column: int) -> Table:
    """Return a table whose intervals of one column are left out."""
    return replace(
        table,
        rows=tuple(
            tuple(replace(cell, interval="") if place == column else cell for place, cell in enumerate(row))
            for row in table.rows
        ),
    )


def _divided(table: Table, width: int) -> Iterator[Table]:
    """Yield the columns of a table as tables that fit, each with the first column; at least two columns in each."""
    widths = _Fitting(table).widths
    first = 1
    if len(widths) == first:
        yield table
    for end in range(2, len(widths) + 1):
        is_full = end == len(widths) or sum(widths[first : end + 1]) + _GAP * (end + 1 - first) > width - widths[0]
        if is_full:
            left_out = [column for column in range(1, len(widths)) if not first <= column < end]
            shown = table
            for column in reversed(left_out):
                shown = _without_column(shown, column)
            yield shown
            first = end


def _without_column(table: Table, column: int) -> Table:
    """Return a table without one column."""

    def moved(places: Iterable[int]) -> tuple[int, ...]:
        return tuple(place - (place > column) for place in places if place != column)

    return replace(
        table,
        columns=table.columns[:column] + table.columns[column + 1 :],
        rows=tuple(row[:column] + row[column + 1 :] for row in table.rows),
        text_columns=moved(table.text_columns),
        optional=moved(table.optional),
        definitions=table.definitions[:column] + table.definitions[column + 1 :],
    )


# A table as rich prints it, and one whose names stand above their figures.


def _rich(fitted: _Fitting) -> RichTable:
    """Return a table as rich prints it; numbers are never broken, names are where they must."""
    table = fitted.table
    shown = RichTable(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for number, lines in enumerate(_level(fitted.titles)):
        is_words = number in table.text_columns
        shown.add_column(
            Text("\n".join(lines)),
            justify="left" if is_words else "right",
            no_wrap=not is_words,
            overflow="fold",
        )
    for number, row in enumerate(table.rows):
        if number in table.sections:
            shown.add_section()
        shown.add_row(*map(_styled, row))
    return shown


def _level(titles: Sequence[list[str]]) -> list[list[str]]:
    """Return titles with as many lines each, the last ones next to each other."""
    most = max(map(len, titles), default=0)
    return [[""] * (most - len(lines)) + lines for lines in titles]


def _stacked(fitted: _Fitting, width: int) -> Iterator[Text]:
    """Yield the lines of a table whose rows have their names on lines of their own."""
    table, widths = fitted.table, fitted.widths[1:]
    first, *titles = fitted.titles
    yield from map(Text, first)
    for cells in zip(*_level(titles), strict=True):
        yield _aligned(map(Text, cells), widths, table)
    yield Text("─" * min(width, _INDENT + sum(widths) + _GAP * (len(widths) - 1)))
    for number, row in enumerate(table.rows):
        if number in table.sections:
            yield Text("")
        if row[0].text:
            yield _styled(row[0])
        yield _aligned([_styled(cell) for cell in row[1:]], widths, table)


def _aligned(cells: Iterable[Text], widths: Iterable[int], table: Table) -> Text:
    """Return the cells after the first of a row, in a line."""
    line = Text(" " * (_INDENT - _GAP))
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True), start=1):
        space = " " * max(width - cell.cell_len, 0)
        line.append(" " * _GAP)
        if column not in table.text_columns:
            line.append(space)
        line.append_text(cell)
        if column in table.text_columns:
            line.append(space)
    line.rstrip()
    return line


def _styled(cell: Cell) -> Text:
    return Text(one_line(cell.full_text), style=_STYLES.get(cell.emphasis, ""))


def as_text(parts: Iterable[Part], *, width: int = WIDTH, wrap: bool = True) -> str:
    """Return lines and tables as plain text."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, force_jupyter=False)
    write(console, parts, wrap=wrap)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


# A document as lines and tables: its verdict, tables and warnings, or all of it.


def print_document(
    document: Document, detail: Detail | None = None, *, console: Console | None = None, by_columns: bool = False
) -> None:
    """Print a document, in the colours of the terminal, or as plain text to anything else.

    Args:
        document: what is printed.
        detail: how much of it; by default as much as it says itself.
        console: where to; by default standard output.
        by_columns: whether `COLUMNS`, if it is set, says how wide plain text is.
    """
    console, parts = console or Console(), document_parts(document, detail)
    if console.is_terminal:
        write(console, parts)
    elif not console.quiet:
        width = console.width if by_columns and os.environ.get("COLUMNS", "").isdigit() else WIDTH
        console.file.write(as_text(parts, width=width) + "\n")


def document_text(document: Document, detail: Detail | None = None) -> str:
    """Return a document as plain text."""
    return as_text(document_parts(document, detail))


def document_parts(document: Document, detail: Detail | None = None) -> Iterator[Part]:
    """Yield the lines and tables of a document."""
    detail = document.printed if detail is None else detail
    yield document.title
    yield from document.about
    yield from [document.labels] if document.labels else []
    if document.lead:
        yield from ["", document.lead]
    if document.headline.rows:
        yield ""
        yield document.headline
    for section in document.sections:
        if section.detail <= detail:
            yield from section_parts(section)
    if document.warnings or document.notes:
        yield ""
        yield from (Line("! ", warning) for warning in document.warnings)
        yield from (Line("- ", note) for note in document.notes)
    if detail >= Detail.DETAILS and document.measured:
        yield from ["", "What was measured"]
        yield from (Line("  ", f"{name}: {value}") for name, value in document.measured)


def section_parts(section: Section) -> Iterator[Part]:
    """Yield a section; one that has charts alone is left out."""
    if section.is_chart_alone:
        return
    yield from ["", section.heading]
    yield from section.paragraphs
    yield from _list(section.entries)
    of_figures = [figure.table for figure in section.figures if figure.table is not None]
    for number, table in enumerate(of_figures):
        yield from [""] if number else []
        yield from [table.caption] if len(of_figures) > 1 else []
        yield table
    for number, table in enumerate(section.tables, len(of_figures) if len(of_figures) > 1 else 0):
        yield from [""] if number else []
        yield from [table.caption] if table.caption not in ("", section.heading) else []
        yield table


def _list(entries: Iterable[Entry], indent: str = "  ") -> Iterator[Line]:
    for entry in entries:
        yield Line(indent, entry.text)
        yield from _list(entry.entries, f"{indent}  ")
