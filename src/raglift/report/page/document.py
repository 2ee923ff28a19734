"""What a page consists of, whatever it is about: texts, tables, charts and queries, none of it HTML yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.report.tables import Cell, Table

if TYPE_CHECKING:
    import altair as alt

    from raglift.report.page.drill_down import DrillDown

__all__ = ["Cell", "Document", "Figure", "Section", "Table"]


@dataclass(frozen=True)
class Figure:
    """A chart with what it shows in words."""

    title: str
    description: str
    """What can be seen in it, for who cannot."""
    chart: alt.TopLevelMixin
    caption: str = ""
    """How to read it."""


@dataclass(frozen=True)
class Section:
    """A part of the page under a heading."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    folded: bool = False
    """Whether it is closed until the reader opens it."""


@dataclass(frozen=True)
class Document:
    """A page: the first screen, then its sections, then the queries one by one."""

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
    """What else the reader should know."""
    sections: tuple[Section, ...] = ()
    queries: DrillDown | None = None
    """The queries one by one; None where there is nothing to show of them."""
    labels: str = ""
    """Whose labels the figures rest on, said with each table; empty where people gave all of them."""
