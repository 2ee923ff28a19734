"""Which cells of a space begin, and which join later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raglift.sweep.specification.cells import NO_RERANKER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raglift.search.specification import Search
    from raglift.sweep.specification.cells import Cell


@dataclass(frozen=True)
class Entries:
    """The cells of a space, by when they may enter the race."""

    first: tuple[Cell, ...]
    """Those that begin: without a reranker, or with one where the same cell without it is not in the space."""
    later: Mapping[Cell, tuple[Cell, ...]]
    """For some of these the same cell with each reranker."""


def entries(search: Search) -> Entries:
    """Return which cells begin, and which join later if the cell without their reranker goes on.

    Args:
        search: the space.
    """
    every = dict.fromkeys(search.cells)
    later: dict[Cell, list[Cell]] = {}
    for cell in every:
        if cell.reranker != NO_RERANKER and _plain(cell) in every:
            later.setdefault(_plain(cell), []).append(cell)
    joining = {cell for variants in later.values() for cell in variants}
    return Entries(
        tuple(cell for cell in every if cell not in joining),
        {cell: tuple(variants) for cell, variants in later.items()},
    )


def _plain(cell: Cell) -> Cell:
    """Return the cell without its reranker."""
    return replace(cell, reranker=NO_RERANKER)
