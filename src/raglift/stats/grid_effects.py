"""What each level of a factor adds to a grid of cells, and which factors change each other's effect."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.contrasts import Contrasts, interactions, level_pairs
from raglift.stats.intervals import checked_fraction, checked_integer, numbers
from raglift.stats.simultaneous import (
    adjusted_p,
    contrasted,
    critical_value,
    largest,
    resample,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]
    Codes = NDArray[np.intp]

_FEWEST = 2


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
    against_best: Numbers
    """Levels × 2: simultaneous bounds of each level minus the best of the others (Hsu)."""
    may_be_best: NDArray[np.bool_]
    """Which levels cannot be told from the best: the true best is among them in `confidence` of repetitions."""
    too_skewed: NDArray[np.bool_]
    """Which differences decide nothing whatever their p-value, because differences the other way, too rare to be among
    so many queries, could outweigh what was seen."""


@dataclass(frozen=True, eq=False)
class InteractionEffects:
    """How much the differences of one factor depend on the level of another, for all pairs of factors."""

    factors: Codes
    """Contrasts × 2: the columns of the two factors."""
    levels: Codes
    """Contrasts × 4: the first level minus the second of the first factor, at the third minus at the fourth of the
    second factor."""
    corners: Numbers
    """Contrasts × 4: the means at the first level with the third, the second with the third, the first with the fourth,
    and the second with the fourth."""
    mean: Numbers
    """The first minus the second of these, minus the third, plus the fourth."""
    low: Numbers
    """The lower bounds of simultaneous intervals."""
    high: Numbers
    """The upper bounds."""
    p: Numbers
    """Adjusted for all contrasts here."""
    contexts: Codes
    """How many contexts each is the mean over."""
    too_skewed: NDArray[np.bool_]
    """As of pairs."""


@dataclass(frozen=True, eq=False)
class GridEffects:
    """What each factor of a grid does."""

    n: int
    """How many queries count: those with a value in every cell."""
    pairs: tuple[PairEffects, ...]
    """One for each factor of which levels can be compared."""
    interactions: InteractionEffects
    """Every contrast that was tested."""


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

    Intervals and p-values are simultaneous over the pairs of levels of one factor, and those of interactions over all
    interaction contrasts of all pairs of factors. The order of cells does not matter.

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
    factors = range(table.shape[1])
    pairs = [(factor, level_pairs(table, factor)) for factor in factors]
    crossed = [((first, second), interactions(table, first, second)) for first, second in combinations(factors, 2)]
    n = len(counted)
    if n < _FEWEST:  # nothing can be said of any pair
        pairs, crossed, counted = [], [], np.zeros((_FEWEST, len(table)))
    drawn = resample(counted, seed=seed, resamples=resamples)
    return GridEffects(
        n,
        tuple(_pair_effects(factor, found, counted, drawn, confidence, span) for factor, found in pairs if len(found)),
        _interaction_effects(table, crossed, counted, drawn, confidence, span),
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
    against_best, may_be_best = _against_best(pairs.levels, found.mean, low, high, too_skewed)
    return PairEffects(
        factor=factor,
        levels=pairs.levels,
        mean=found.mean,
        low=low,
        high=high,
        p=adjusted_p(found, top),
        contexts=pairs.contexts,
        unmatched=pairs.unmatched,
        against_best=against_best,
        may_be_best=may_be_best,
        too_skewed=too_skewed,
    )


def _against_best(
    levels: Codes, mean: Numbers, low: Numbers, high: Numbers, too_skewed: NDArray[np.bool_]
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the bounds of each level minus the best of the others, and which levels may be the best.

    If the intervals of all pairs hold, then no other level is above the best by a whole interval: the best is among the
    levels that none is so far above. No level is ahead of the best of the others by more than the least of its upper
    bounds, or behind by more than the least of its lower bounds to one of these levels. Both ends are held to 0, since
    a level that is not the best is behind it. Hsu, "Constrained simultaneous confidence intervals for multiple
    comparisons with the best", 1984. His allowances are those of one-sided comparisons with each level; here they are
    those of all pairs, so that a level is left out exactly where a pair says that another is better.

    Args:
        levels: of each pair, the first and the second.
        mean: the first minus the second.
        low: the lower bounds; NaN where the difference is the same for all queries, and taken as it is.
        high: the upper bounds.
        too_skewed: which differences decide nothing.
    """
    count, known = int(levels.max()) + 1, ~np.isnan(low)
    low, high = np.where(known, low, mean), np.where(known, high, mean)
    low, high = np.where(too_skewed, np.minimum(low, 0.0), low), np.where(too_skewed, np.maximum(high, 0.0), high)
    own, other = levels.T.ravel(), levels[:, ::-1].T.ravel()
    below, above = np.concatenate([low, -high]), np.concatenate([high, -low])
    may_be_best = np.ones(count, dtype=np.bool_)
    may_be_best[own[above < 0.0]] = False
    upper, lower = np.full(count, np.inf), np.zeros(count)
    np.minimum.at(upper, own, above)
    rivals = may_be_best[other]
    np.minimum.at(lower, own[rivals], below[rivals])
    return np.stack([lower, np.maximum(upper, 0.0)], axis=1), may_be_best


def _interaction_effects(
    codes: Codes,
    crossed: list[tuple[tuple[int, int], Contrasts]],
    values: Numbers,
    drawn: Numbers,
    confidence: float,
    span: float,
) -> InteractionEffects:
    cells = len(codes)
    factors = np.array([pair for pair, one in crossed for _ in range(len(one))], dtype=np.intp).reshape(-1, 2)
    levels = np.concatenate([np.zeros((0, 4), dtype=np.intp), *(one.levels for _, one in crossed)])
    weights = np.concatenate([np.zeros((0, cells)), *(one.weights for _, one in crossed)])
    contexts = np.concatenate([np.zeros(0, dtype=np.intp), *(one.contexts for _, one in crossed)])
    found = contrasted(values, weights, 2.0 * span)
    top = largest(found, drawn)
    low, high = found.bounds(critical_value(found, top, confidence)) if len(levels) else (found.mean, found.mean)
    return InteractionEffects(
        factors=factors,
        levels=levels,
        corners=_corner_means(codes, factors, levels, weights, values.mean(axis=0)),
        mean=found.mean,
        low=low,
        high=high,
        p=adjusted_p(found, top),
        contexts=contexts,
        too_skewed=found.too_skewed(confidence, max(_freedom(crossed), 1)),
    )


def _corner_means(codes: Codes, factors: Codes, levels: Codes, weights: Numbers, means: Numbers) -> Numbers:
    """Return the means of the four kinds of cells of each interaction contrast."""
    mine, other = codes[:, factors[:, 0]].T, codes[:, factors[:, 1]].T
    return np.stack(
        [
            (np.abs(weights) * (mine == levels[:, [first]]) * (other == levels[:, [second]])) @ means
            for second in (2, 3)
            for first in (0, 1)
        ],
        axis=1,
    )


def _freedom(crossed: list[tuple[tuple[int, int], Contrasts]]) -> int:
    """Return how many interaction contrasts are not made up of others, in grids without gaps."""
    levels = [(len(np.unique(one.levels[:, :2])), len(np.unique(one.levels[:, 2:]))) for _, one in crossed]
    return sum((first - 1) * (second - 1) for first, second in levels if first and second)
