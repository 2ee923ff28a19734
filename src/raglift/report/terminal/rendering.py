"""Prints lines and tables on a terminal, or as plain text."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.base.display import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.table import Table as RichTable

    from raglift.rendering.document import Part, Table


WIDTH = 100
"""The most columns of a table that is not printed on a terminal."""
_WORD = 16
_GAP = 2
_INTERVAL = re.compile(r" \[[^\[\]]*\]")
_STYLES = {"better": "bold color(32)", "worse": "bold color(166)", "muted": "dim"}
"""Blue and orange, which can be distinguished with red-green colour blindness, on a dark ground and on a light one."""


def write(console: Console, parts: Iterable[Part], *, wrap: bool = True, roomy: bool = False) -> None:
    """Print lines and tables; nothing in them is markup.

    Args:
        console: where.
        parts: what.
        wrap: break long lines at words.
        roomy: leave more space between columns.
    """
    from rich.text import Text

    for part in parts:
        if isinstance(part, str):
            console.print(Text(one_line(part)), soft_wrap=not wrap)
        else:
            console.print(_rich(_fitting(part, console.width), roomy=roomy))


def _fitting(table: Table, width: int) -> Table:
    """Return a table without the intervals of as many columns, from the left, as make its numbers fit beside words.

    Numbers are never broken; columns of words are taken to need so many characters as a word has.
    """
    needed = [_width(table, column) for column in range(len(table.columns))]
    for column in table.text_columns:
        needed[column] = min(needed[column], _WORD)
    for column in range(len(table.columns)):
        if sum(needed) + _GAP * (len(needed) - 1) <= width:
            break
        if column not in table.text_columns and any(" [" in row[column].text for row in table.rows):
            table = _without_intervals(table, column)
            needed[column] = _width(table, column)
    return table


def _width(table: Table, column: int) -> int:
    from rich.cells import cell_len

    return max(cell_len(text) for text in (table.columns[column], *(row[column].text for row in table.rows)))


def _without_intervals(table: Table, column: int) -> Table:
    def short(text: str) -> str:
        return _INTERVAL.sub("", text)

    rows = tuple(
        tuple(replace(cell, text=short(cell.text)) if place == column else cell for place, cell in enumerate(row))
        for row in table.rows
    )
    titles = tuple(short(title) if place == column else title for place, title in enumerate(table.columns))
    return replace(table, columns=titles, rows=rows)


def _rich(table: Table, *, roomy: bool) -> RichTable:
    """Return a table as rich prints it; numbers are never broken, names are where they must."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1) if roomy else (0, 1, 0, 0))
    for number, title in enumerate(table.columns):
        is_words = number in table.text_columns
        shown.add_column(
            Text(one_line(title)), justify="left" if is_words else "right", no_wrap=not is_words, overflow="fold"
        )
    for number, row in enumerate(table.rows):
        if number in table.sections:
            shown.add_section()
        shown.add_row(*(Text(one_line(cell.text), style=_STYLES.get(cell.emphasis, "")) for cell in row))
    return shown


def as_text(parts: Iterable[Part], *, width: int = WIDTH, wrap: bool = True, roomy: bool = False) -> str:
    """Return lines and tables as plain text."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, force_jupyter=False)
    write(console, parts, wrap=wrap, roomy=roomy)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())
