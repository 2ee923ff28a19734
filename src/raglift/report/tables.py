"""Tables as records, whatever shows them: a terminal, a page, a notebook, Markdown."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cell", "Table"]


@dataclass(frozen=True)
class Cell:
    """One cell of a table: text, and what it means."""

    text: str
    tone: str = ""
    """`better`, `worse`, `muted`, or nothing. Never the only sign: the text says it too."""
    low: float | None = None
    """Where a small bar beside the text begins, …"""
    middle: float | None = None
    """… has its mark, …"""
    high: float | None = None
    """… and ends, on the scale of the column; None for no bar."""


@dataclass(frozen=True)
class Table:
    """Rows under titles."""

    caption: str
    """What the table shows; read out by screen readers."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: tuple[int, ...] = (0,)
    """The columns of names and words; the others hold numbers, and are aligned so."""
    sections: tuple[int, ...] = ()
    """The rows above which a line is drawn."""
    rests_on_labels: bool = True
    """Whether its figures depend on who labelled what, which is then said with it."""
