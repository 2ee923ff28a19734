"""A summary as HTML for a notebook, a mail or a wiki: styled by itself, in the colours around it, light or dark."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from raglift.utilities.display import excerpt, printable

if TYPE_CHECKING:
    from raglift.rendering.document import Cell, Document, Entry, Section, Table


_LONGEST = 300
"""The longest text that is shown whole."""
_MOST_ROWS = 60
# Grounds that a light and a dark text can both be read on
_STYLES = {
    "better": "background:rgba(40,130,220,.22);font-weight:600",
    "worse": "background:rgba(225,120,20,.25);font-weight:600",
    "passed": "background:rgba(40,130,220,.22);font-weight:600",
    "failed": "background:rgba(225,120,20,.25);font-weight:600",
    "muted": "opacity:.75",
}
_FONT = "font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:14px;line-height:1.4"
_CELL = "padding:.25em .75em;border:solid #8886;border-width:{}px 0 1px;text-align:"
_TABLE = "border-collapse:collapse;margin:.4em 0;font-size:inherit;font-variant-numeric:tabular-nums"


def html_of(document: Document) -> str:
    """Return a report as HTML without script, style sheet or link; its charts and queries are left out."""
    # The classes keep MathJax from reading a formula into a text with dollars
    parts = [
        f"<strong>{_text(document.title)}</strong>" if document.title else "",
        _paragraph(document.lead),
        _table(document.headline, document.labels),
        *(_paragraph(warning, "Warning: ") for warning in document.warnings),
        *(_section(section, document.labels) for section in document.sections if not section.is_chart_alone),
        *map(_paragraph, document.notes),
        _measured(document),
    ]
    inside = "".join(parts)
    style = f"max-width:64em;overflow-x:auto;{_FONT}"
    return f'<div class="raglift mathjax_ignore tex2jax_ignore" style="{style}">{inside}</div>'


def _text(text: str) -> str:
    return html.escape(printable(excerpt(text[: 4 * _LONGEST], _LONGEST)))


def _paragraph(text: str, before: str = "") -> str:
    said = html.escape(printable(" ".join(text.split())))
    return f'<p style="margin:.5em 0">{f"<strong>{before}</strong>" if before else ""}{said}</p>' if text else ""


def _section(section: Section, labels: str) -> str:
    tables = (_table(table, labels) for table in section.shown_tables)
    inside = "".join([*map(_paragraph, section.paragraphs), _list(section.entries), *tables])
    if section.detail:
        return _folded(section.heading, inside)
    return f'<p style="margin:1em 0 .2em"><strong>{_text(section.heading)}</strong></p>{inside}'


def _list(entries: Sequence[Entry]) -> str:
    if not entries:
        return ""
    lines = "".join(f"<li>{_text(entry.text)}{_list(entry.entries)}</li>" for entry in entries)
    return f'<ul style="margin:.3em 0">{lines}</ul>'


def _folded(heading: str, inside: str) -> str:
    return (
        f'<details style="margin:.5em 0"><summary style="cursor:pointer">{_text(heading)}</summary>{inside}</details>'
    )


def _measured(document: Document) -> str:
    if not document.measured:
        return ""
    lines = "".join(f"<li>{_text(name)}: {_text(value)}</li>" for name, value in document.measured)
    return _folded("What was measured", f'<ul style="margin:.3em 0">{lines}</ul>')


def _table(table: Table, labels: str) -> str:
    """Return a table and its label provenance; empty for one without rows."""
    if not table.rows:
        return ""
    head = "".join(
        f'<th scope="col" style="{_style(table, place)};font-weight:600">{_text(title)}</th>'
        for place, title in enumerate(table.titles)
    )
    left = len(table.rows) - _MOST_ROWS
    more = f'<p style="margin:.2em 0">and {left:,} more</p>' if left > 0 else ""
    whose = _paragraph(labels) if table.rests_on_labels else ""
    return (
        f'<table style="{_TABLE}" aria-label="{_text(table.caption)}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(_rows(table))}</tbody></table>{more}{whose}"
    )


def _rows(table: Table) -> Iterator[str]:
    for number, row in enumerate(table.rows[:_MOST_ROWS]):
        line = 2 if number in table.sections else 0
        cells = "".join(_cell(cell, _style(table, place, line)) for place, cell in enumerate(row))
        yield f"<tr>{cells}</tr>"


def _cell(cell: Cell, style: str) -> str:
    emphasis = _STYLES.get(cell.emphasis, "")
    toned = f";{emphasis}" if emphasis and (cell.emphasis == "muted" or not cell.is_exploratory) else ""
    return f'<td style="{style}{toned}">{_text(cell.full_text)}</td>'


def _style(table: Table, place: int, line: int = 0) -> str:
    return _CELL.format(line) + ("left" if place in table.text_columns else "right;white-space:nowrap")
