"""A summary as GitHub's Markdown, with every text escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from raglift.utilities.display import printable, shorten

if TYPE_CHECKING:
    from raglift.rendering.document import Cell, Document, Entry, Section, Table


# Escaping for GitHub's Markdown: no markup, no link, no mention, no reference, no formula.


# GitHub links these in whatever the Markdown came to, so no escape helps; an empty comment in them does.
_LINKED = re.compile(
    r"""
      (?<![A-Za-z0-9_]) @ (?=\w)          # a mention
    | (?<=[\w.+-]) @ (?=[\w-]+\.[\w-])    # an address
    | \# (?=\d)                           # an issue, also as owner/name#1
    | \b [Gg][Hh] - (?=\d)                # an issue
    | : (?=//)                            # a link
    | \b [Ww][Ww][Ww] (?=\.)              # a link
    | : (?=[A-Za-z0-9_+-]+:)              # an emoji
    """,
    re.VERBOSE,
)
_BREAK = "<!-- -->"
_ENTITIES = {ord(mark): f"&#{ord(mark)};" for mark in "\\`|$"}
# A bracket is a link only before one of these: figures in brackets stay as they are
_MARKS = re.compile(r"[*~]|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BEGINNING = re.compile(r"^(?:\d+(?=[.)])|(?=[#+=\[-]))")


def escaped(text: str) -> str:
    """Return a text for a line or a list of Markdown, on one line whatever it was on."""
    return _BEGINNING.sub(r"\g<0>\\", escaped_cell(text))


def escaped_cell(text: str) -> str:
    """Return a text for a cell of a table, in which no list and no heading can begin."""
    return _MARKS.sub(r"\\\g<0>", escaped_html(text))


def escaped_html(text: str) -> str:
    """Return a text for an HTML element in Markdown, as the summary of folded details."""
    words = printable(" ".join(text.split()))
    pieces = []
    last = 0
    for found in _LINKED.finditer(words):
        pieces.append(words[last : found.end()])
        last = found.end()
    pieces.append(words[last:])
    return _BREAK.join(html.escape(piece, quote=False).translate(_ENTITIES) for piece in pieces)


# A summary as GitHub's Markdown.


_LONGEST = 120
"""The longest text of a cell."""
_LONGEST_LINE = 1500
"""The longest text elsewhere."""
_BOLD = ("better", "worse", "failed")
_MARKED = {"passed": "✅ ", "failed": "❌ "}
_MOST_ROWS = 60
"""The most rows of a table: GitHub takes 65,536 characters in all."""


def markdown_of(document: Document) -> str:
    """Return a report as Markdown for a pull request; its charts and queries are left out.

    Every text is escaped: it shows as it is, and neither links nor mentions anybody.
    """
    mark = "" if document.passed is None else "✅ " if document.passed else "❌ "
    blocks = [f"### {mark}{_line(document.title)}"] if document.title else []
    blocks += [_line(document.lead)] if document.lead else []
    blocks += _table(document.headline, document.labels)
    if document.warnings:
        blocks.append("\n>\n".join(["> [!WARNING]", *(f"> {_line(warning)}" for warning in document.warnings)]))
    for section in document.sections:
        if not section.is_chart_alone:
            blocks += _section(section, document.labels)
    if document.notes:
        blocks.append("\n".join(f"- {_line(note)}" for note in document.notes))
    if document.measured:
        lines = "\n".join(f"- {_line(name)}: {_line(value)}" for name, value in document.measured)
        blocks += _folded("What was measured", [lines])
    return "\n\n".join(blocks) + "\n"


def _section(section: Section, labels: str) -> list[str]:
    inside = [_line(paragraph) for paragraph in section.paragraphs]
    inside += ["\n".join(_list(section.entries))] if section.entries else []
    inside += [block for table in section.shown_tables for block in _table(table, labels)]
    return _folded(section.heading, inside) if section.detail else [f"**{_line(section.heading)}**", *inside]


def _folded(heading: str, blocks: list[str]) -> list[str]:
    return [f"<details><summary>{escaped_html(shorten(heading, _LONGEST_LINE))}</summary>", *blocks, "</details>"]


def _table(table: Table, labels: str) -> list[str]:
    """Return a table, how many rows are left out, and its label provenance; empty for one without rows."""
    if not table.rows:
        return []
    ends = [":--" if number in table.text_columns else "--:" for number in range(len(table.columns))]
    rows = [
        [escaped_cell(shorten(title, _LONGEST)) for title in table.titles],
        ends,
        *(list(_cells(row)) for row in table.rows[:_MOST_ROWS]),
    ]
    left = len(table.rows) - _MOST_ROWS
    more = [f"and {left:,} more"] if left > 0 else []
    whose = [_line(labels)] if labels and table.rests_on_labels else []
    return ["\n".join(f"| {' | '.join(row)} |" for row in rows), *more, *whose]


def _list(entries: Sequence[Entry], indent: str = "") -> Iterator[str]:
    """Yield the lines of a list, and of those inside it."""
    for entry in entries:
        yield f"{indent}- {_line(entry.text)}"
        yield from _list(entry.entries, f"{indent}  ")


def _cells(row: tuple[Cell, ...]) -> Iterator[str]:
    """Yield the texts of a row; what is better, worse or failed is bold."""
    for cell in row:
        text = escaped_cell(shorten(cell.full_text, _LONGEST))
        text = _MARKED.get(cell.emphasis, "") + text
        yield f"**{text}**" if cell.emphasis in _BOLD and text else text


def _line(text: str) -> str:
    return escaped(shorten(text, _LONGEST_LINE))
