"""Contrasts of the factors of a grid: which cells are compared with which, as weights."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]

# A grid is a table of codes, cells × factors: the level that each cell has of each factor, −1 where a factor does not
# apply to the cell, as the embedding model to BM25. No two cells have the same row.
#
# Cells are compared within a context: one combination of levels of the other factors. A factor that does not apply to
# any cell of one of the levels compared cannot be held equal; the cells that differ in it alone are averaged within
# the context. Every context in which all levels to be compared have a cell counts alike; other cells are left out.

NOT_APPLICABLE = -1


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Sums of cells, each with its weight: the mean over contexts of a difference."""

    levels: Codes
    """A row a contrast: the two levels of a pair (first minus second), or the four of an interaction (first minus
    second of the first factor, at the third level minus at the fourth of the second factor)."""
    weights: NDArray[np.float64]
    """Contrasts × cells."""
    contexts: Codes
    """For each contrast, how many contexts it is the mean over."""
    unmatched: Codes
    """For each contrast, how many cells that have one of its levels have no counterpart, and are left out."""

    def __len__(self) -> int:
        return len(self.levels)


def level_pairs(codes: Codes, factor: int) -> Contrasts:
    """Return all pairs of levels of a factor that can be compared, the higher code minus the lower."""
    levels = np.array(list(combinations(range(_count(codes, factor)), 2)), dtype=np.intp).reshape(-1, 2)[:, ::-1]
    applies = _applies(codes, factor)
    common = applies[levels[:, 0]] & applies[levels[:, 1]]
    common[:, factor] = False
    return _joined(
        (_pairs_within(codes, factor, levels[places], relevant) for relevant, places in _by_row(common)), 2, len(codes)
    )


def interactions(codes: Codes, first: int, second: int) -> Contrasts:
    """Return the differences of differences of two factors that can be compared: four cells in each context."""
    ours = np.array(list(combinations(range(_count(codes, first)), 2)), dtype=np.intp).reshape(-1, 2)[:, ::-1]
    theirs = np.array(list(combinations(range(_count(codes, second)), 2)), dtype=np.intp).reshape(-1, 2)[:, ::-1]
    levels = np.concatenate([np.repeat(ours, len(theirs), axis=0), np.tile(theirs, (len(ours), 1))], axis=1)
    of_first, of_second = _applies(codes, first), _applies(codes, second)
    common = of_first[levels[:, 0]] & of_first[levels[:, 1]] & of_second[levels[:, 2]] & of_second[levels[:, 3]]
    common[:, [first, second]] = False
    return _joined(
        (_crossed_within(codes, (first, second), levels[places], relevant) for relevant, places in _by_row(common)),
        4,
        len(codes),
    )


def _count(codes: Codes, factor: int) -> int:
    return int(codes[:, factor].max(initial=NOT_APPLICABLE)) + 1


def _applies(codes: Codes, factor: int) -> NDArray[np.bool_]:
    """Return which factors apply to some cell of each level: levels × factors."""
    found = np.zeros((_count(codes, factor), codes.shape[1]), dtype=np.bool_)
    for level in range(len(found)):
        found[level] = (codes[codes[:, factor] == level] != NOT_APPLICABLE).any(axis=0)
    return found


def _by_row(table: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.bool_], Codes]]:
    """Yield each distinct row with the places where it stands."""
    if len(table):
        rows, which = np.unique(table, axis=0, return_inverse=True)
        for number, row in enumerate(rows):
            yield row, np.flatnonzero(which.ravel() == number)


def _contexts(codes: Codes, relevant: NDArray[np.bool_]) -> Codes:
    """Return the number of each cell's context."""
    return np.unique(codes[:, relevant], axis=0, return_inverse=True)[1].ravel() if relevant.any() else _zeros(codes)


def _zeros(codes: Codes) -> Codes:
    return np.zeros(len(codes), dtype=np.intp)


def _pairs_within(codes: Codes, factor: int, levels: Codes, relevant: NDArray[np.bool_]) -> Contrasts:
    context, level = _contexts(codes, relevant), codes[:, factor]
    has = np.flatnonzero(level != NOT_APPLICABLE)
    cells = np.zeros((_count(codes, factor), context.max(initial=0) + 1))
    np.add.at(cells, (level[has], context[has]), 1.0)
    both = (cells[levels[:, 0]] > 0) & (cells[levels[:, 1]] > 0)
    contexts = both.sum(axis=1)
    share = np.zeros(len(codes))
    share[has] = 1.0 / cells[level[has], context[has]]
    sign = (level == levels[:, :1]).astype(np.float64) - (level == levels[:, 1:])
    weights = sign * both[:, context] * share / np.maximum(contexts, 1)[:, np.newaxis]
    unmatched = ((sign != 0) & ~both[:, context]).sum(axis=1)
    return _kept(levels, weights, contexts, unmatched)


def _crossed_within(codes: Codes, factors: tuple[int, int], levels: Codes, relevant: NDArray[np.bool_]) -> Contrasts:
    context, mine, other = _contexts(codes, relevant), codes[:, factors[0]], codes[:, factors[1]]
    has = np.flatnonzero((mine != NOT_APPLICABLE) & (other != NOT_APPLICABLE))
    cells = np.zeros((_count(codes, factors[0]), _count(codes, factors[1]), context.max(initial=0) + 1))
    np.add.at(cells, (mine[has], other[has], context[has]), 1.0)
    a, b, c, d = levels.T
    every = (cells[a, c] > 0) & (cells[b, c] > 0) & (cells[a, d] > 0) & (cells[b, d] > 0)
    contexts = every.sum(axis=1)
    share = np.zeros(len(codes))
    share[has] = 1.0 / cells[mine[has], other[has], context[has]]
    sign = ((mine == levels[:, 0:1]).astype(np.float64) - (mine == levels[:, 1:2])) * (
        (other == levels[:, 2:3]).astype(np.float64) - (other == levels[:, 3:4])
    )
    weights = sign * every[:, context] * share / np.maximum(contexts, 1)[:, np.newaxis]
    unmatched = ((sign != 0) & ~every[:, context]).sum(axis=1)
    return _kept(levels, weights, contexts, unmatched)


def _kept(levels: Codes, weights: NDArray[np.float64], contexts: Codes, unmatched: Codes) -> Contrasts:
    """Return the contrasts that have a context."""
    kept = contexts > 0
    return Contrasts(levels[kept], weights[kept], contexts[kept], unmatched[kept])


def _joined(parts: Iterator[Contrasts], width: int, cells: int) -> Contrasts:
    """Return all contrasts, in the order of their levels."""
    none = np.zeros(0, dtype=np.intp)
    found = [Contrasts(np.zeros((0, width), dtype=np.intp), np.zeros((0, cells)), none, none), *parts]
    levels = np.concatenate([part.levels for part in found])
    order = np.lexsort(levels.T[::-1])
    return Contrasts(
        levels[order],
        np.concatenate([part.weights for part in found])[order],
        np.concatenate([part.contexts for part in found])[order],
        np.concatenate([part.unmatched for part in found])[order],
    )
