"""A document for a terminal: its verdict, tables and warnings, or all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.rendering.document import Detail, Line
from raglift.report.terminal.rendering import WIDTH, as_text, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from raglift.rendering.document import Document, Entry, Part, Section


def print_document(document: Document, console: Console, detail: Detail | None = None, *, width: int = WIDTH) -> None:
    """Print a document, in the colours of the terminal, or as plain text to anything else.

    Args:
        document: the document.
        console: where.
        detail: sections of more detail are left out; None for as much as the document asks for.
        width: the columns of what is no terminal.
    """
    parts = document_parts(document, detail)
    if console.is_terminal:
        write(console, parts)
    elif not console.quiet:
        console.file.write(as_text(parts, width=width) + "\n")


def document_text(document: Document, detail: Detail | None = None) -> str:
    """Return a document as plain text."""
    return as_text(document_parts(document, detail))


def document_parts(document: Document, detail: Detail | None = None) -> Iterator[Part]:
    """Yield the lines and tables of a document.

    Args:
        document: the document.
        detail: sections of more detail are left out; None for as much as the document asks for.
    """
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
    if not section.paragraphs and not section.entries and not section.shown_tables:
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
