"""A short report as GitHub's Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.printable import shorten
from raglift.rendering.escaping import escaped, escaped_cell, escaped_html

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.rendering.document import Cell, Document, Section, Table

__all__ = ["markdown_of"]

_LONGEST = 120
"""The longest text of a cell."""
_LONGEST_LINE = 1500
"""The longest text elsewhere."""
_MOST_ROWS = 60
"""The most rows of a table: GitHub takes 65,536 characters in all."""


def markdown_of(document: Document) -> str:
    """Return a report as Markdown for a pull request; its charts and queries are left out.

    Every text is escaped: it shows as it is, and neither links nor mentions anybody.
    """
    blocks = [f"### {_line(document.title)}"] if document.title else []
    blocks += [_line(document.lead)] if document.lead else []
    blocks += _table(document.headline, document.labels)
    if document.warnings:
        blocks.append("\n>\n".join(["> [!WARNING]", *(f"> {_line(warning)}" for warning in document.warnings)]))
    for section in document.sections:
        blocks += _section(section, document.labels)
    if document.notes:
        blocks.append("\n".join(f"- {_line(note)}" for note in document.notes))
    if document.measured:
        lines = "\n".join(f"- {_line(name)}: {_line(value)}" for name, value in document.measured)
        blocks += _folded("What was measured", [lines])
    return "\n\n".join(blocks) + "\n"


def _section(section: Section, labels: str) -> list[str]:
    inside = [_line(paragraph) for paragraph in section.paragraphs]
    inside += [block for table in section.tables for block in _table(table, labels)]
    return _folded(section.heading, inside) if section.folded else [f"**{_line(section.heading)}**", *inside]


def _folded(heading: str, blocks: list[str]) -> list[str]:
    return [f"<details><summary>{escaped_html(shorten(heading, _LONGEST_LINE))}</summary>", *blocks, "</details>"]


def _table(table: Table, labels: str) -> list[str]:
    """Return a table, how many rows are left out, and whose labels it rests on; nothing for one without rows."""
    if not table.rows:
        return []
    ends = [":--" if number in table.words else "--:" for number in range(len(table.columns))]
    rows = [
        [escaped_cell(shorten(title, _LONGEST)) for title in table.columns],
        ends,
        *(list(_cells(row)) for row in table.rows[:_MOST_ROWS]),
    ]
    left = len(table.rows) - _MOST_ROWS
    more = [f"and {left:,} more"] if left > 0 else []
    whose = [_line(labels)] if labels and table.rests_on_labels else []
    return ["\n".join(f"| {' | '.join(row)} |" for row in rows), *more, *whose]


def _cells(row: tuple[Cell, ...]) -> Iterator[str]:
    """Yield the texts of a row; what is better or worse is bold."""
    for cell in row:
        text = escaped_cell(shorten(cell.text, _LONGEST))
        yield f"**{text}**" if cell.tone in ("better", "worse") and text else text


def _line(text: str) -> str:
    return escaped(shorten(text, _LONGEST_LINE))
