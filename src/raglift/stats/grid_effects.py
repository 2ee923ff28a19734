"""What each level of a factor adds to a grid of cells."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import checked_fraction, checked_integer, numbers
from raglift.stats.simultaneous import (
    adjusted_p,
    contrasted,
    critical_value,
    largest,
    resample,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]
    Codes = NDArray[np.intp]

_FEWEST = 2


# Which cells are compared with which, as weights.
#
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
    """A row a contrast: the two levels of a pair, the first minus the second."""
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
    parts = [_pairs_within(codes, factor, levels[places], relevant) for relevant, places in _by_row(common)]
    return _in_order(parts, len(codes))


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
    if not relevant.any():
        return np.zeros(len(codes), dtype=np.intp)
    return np.unique(codes[:, relevant], axis=0, return_inverse=True)[1].ravel()


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
    has_context = contexts > 0
    return Contrasts(levels[has_context], weights[has_context], contexts[has_context], unmatched[has_context])


def _in_order(parts: Sequence[Contrasts], cells: int) -> Contrasts:
    """Return all contrasts, in the order of their levels."""
    none = np.zeros(0, dtype=np.intp)
    found = [Contrasts(np.zeros((0, 2), dtype=np.intp), np.zeros((0, cells)), none, none), *parts]
    levels = np.concatenate([part.levels for part in found])
    order = np.lexsort(levels.T[::-1])
    return Contrasts(
        levels[order],
        np.concatenate([part.weights for part in found])[order],
        np.concatenate([part.contexts for part in found])[order],
        np.concatenate([part.unmatched for part in found])[order],
    )


# What the levels do.


@dataclass(frozen=True, eq=False)
class PairEffects:
    """The differences between the levels of one factor: one entry a pair of levels that can be compared."""

    factor: int
    """Its column."""
    levels: Codes
    """Pairs × 2: the first level minus the second."""
    mean: Numbers
    """The mean difference over queries and contexts."""
    low: Numbers
    """The lower bounds of simultaneous intervals; NaN where a difference is the same for all queries."""
    high: Numbers
    """The upper bounds."""
    p: Numbers
    """Adjusted for all pairs of the factor."""
    contexts: Codes
    """How many contexts each is the mean over."""
    unmatched: Codes
    """How many cells with one of the two levels have no counterpart."""
    may_be_best: NDArray[np.bool_]
    """Which levels cannot be told from the best: the true best is among them in `confidence` of repetitions."""
    too_skewed: NDArray[np.bool_]
    """Which differences decide nothing whatever their p-value, because differences the other way, too rare to be among
    so many queries, could outweigh what was seen."""


@dataclass(frozen=True, eq=False)
class GridEffects:
    """What each factor of a grid does."""

    n: int
    """How many queries count: those with a value in every cell."""
    pairs: tuple[PairEffects, ...]
    """One for each factor of which levels can be compared."""


def factor_effects(
    values: ArrayLike,
    codes: ArrayLike,
    *,
    seed: int,
    confidence: float = 0.95,
    span: float = 1.0,
    resamples: int = 10_000,
) -> GridEffects:
    """Compare the levels of each factor of a grid over matched cells, query by query.

    Queries are the random factor, cells are fixed: intervals and p-values are about other queries asked of these same
    cells. Two levels are compared within each context, a combination of levels of the other factors at which both have
    a cell, and every such context counts alike. A factor that does not apply to any cell of one of the two levels
    cannot be held equal: cells that differ in it alone are averaged.

    Intervals and p-values are simultaneous over the pairs of levels of one factor. The order of cells does not matter.

    Neither holds where rare queries lose much and none of them was drawn. Where that may be, a difference is marked as
    too skewed to decide.

    Args:
        values: cells × queries; NaN where a query does not count, which leaves it out of all cells.
        codes: cells × factors: the number of each cell's level, from 0; −1 where a factor does not apply to a cell.
        seed: an integer of at least 0.
        confidence: how often all intervals of a family hold their true values together.
        span: the most by which two cells can differ on one query, as 1 for a metric from 0 to 1.
        resamples: how many repetitions are drawn.

    Raises:
        ConfigurationError: an argument outside its range, arrays that do not fit, or two cells with the same levels.
    """
    seed, resamples = checked_integer("seed", seed, least=0), checked_integer("resamples", resamples, least=1)
    confidence = checked_fraction("confidence", confidence)
    table, known = _checked_codes(codes), numbers("values", values, dimensions=2)
    if len(table) != len(known):
        raise ConfigurationError(f"codes: found {len(table)} rows with {len(known)} cells; expected one a cell")
    counted = np.ascontiguousarray(known[:, ~np.isnan(known).any(axis=0)].T)
    n = len(counted)
    if n < _FEWEST:  # nothing can be said of any pair
        return GridEffects(n, ())
    drawn = resample(counted, seed=seed, resamples=resamples)
    pairs = [(factor, level_pairs(table, factor)) for factor in range(table.shape[1])]
    return GridEffects(
        n,
        tuple(_pair_effects(factor, found, counted, drawn, confidence, span) for factor, found in pairs if len(found)),
    )


def _checked_codes(codes: ArrayLike) -> Codes:
    table = np.asarray(codes)
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer) or (table < -1).any():
        raise ConfigurationError("codes: expected a table of integers, a row a cell: the number of a level, or −1")
    if len(np.unique(table, axis=0)) != len(table):
        raise ConfigurationError("codes: found two cells with the same levels; expected each combination once")
    return table.astype(np.intp)


def _pair_effects(
    factor: int, pairs: Contrasts, values: Numbers, drawn: Numbers, confidence: float, span: float
) -> PairEffects:
    found = contrasted(values, pairs.weights, span)
    top = largest(found, drawn)
    low, high = found.bounds(critical_value(found, top, confidence))
    count = int(pairs.levels.max()) + 1
    too_skewed = found.too_skewed(confidence, count - 1)  # each level but one may have its rare losses
    return PairEffects(
        factor=factor,
        levels=pairs.levels,
        mean=found.mean,
        low=low,
        high=high,
        p=adjusted_p(found, top),
        contexts=pairs.contexts,
        unmatched=pairs.unmatched,
        may_be_best=_may_be_best(pairs.levels, found.mean, low, high, too_skewed),
        too_skewed=too_skewed,
    )


def _may_be_best(
    levels: Codes, mean: Numbers, low: Numbers, high: Numbers, too_skewed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which levels may be the best: those that no other is above by a whole interval.

    If the intervals of all pairs hold, the best is among them. Hsu, "Constrained simultaneous confidence intervals for
    multiple comparisons with the best", 1984; his allowances are those of one-sided comparisons with each level, here
    they are those of all pairs, so that a level is left out exactly where a pair says that another is better.

    Args:
        levels: of each pair, the first and the second.
        mean: the first minus the second.
        low: the lower bounds; NaN where the difference is the same for all queries, and taken as it is.
        high: the upper bounds.
        too_skewed: which differences decide nothing.
    """
    known = ~np.isnan(low)
    low, high = np.where(known, low, mean), np.where(known, high, mean)
    found = np.ones(int(levels.max()) + 1, dtype=np.bool_)
    found[levels[(high < 0.0) & ~too_skewed, 0]] = False
    found[levels[(low > 0.0) & ~too_skewed, 1]] = False
    return found
