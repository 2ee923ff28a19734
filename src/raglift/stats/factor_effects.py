"""What each level of a factor adds to a grid of cells, and which factors change each other's effect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.contrasts import Contrasts, interactions, level_pairs
from raglift.stats.intervals import checked_fraction, checked_integer, numbers
from raglift.stats.paired_tests import TIED
from raglift.stats.simultaneous import (
    Contrasted,
    adjusted_p,
    contrasted,
    critical_value,
    largest,
    resample,
    studentized,
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
    """Levels × 2: simultaneous bounds of each level minus the best of the others."""
    may_be_best: NDArray[np.bool_]
    """Which levels cannot be told from the best: the true best is among them in `confidence` of repetitions."""
    unseen: float
    """What queries so rare that none of them was drawn could change: a mean difference up to this decides nothing."""


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
    unseen: float
    """As of pairs."""


@dataclass(frozen=True, eq=False)
class FactorEffects:
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
) -> FactorEffects:
    """Compare the levels of each factor of a grid over matched cells, query by query.

    Queries are the random factor, cells are fixed: intervals and p-values are about other queries asked of these same
    cells. Two levels are compared within each context, a combination of levels of the other factors at which both have
    a cell, and every such context counts alike. A factor that does not apply to any cell of one of the two levels
    cannot be held equal: cells that differ in it alone are averaged.

    Intervals and p-values are simultaneous over the pairs of levels of one factor, and those of interactions over all
    interaction contrasts of all pairs of factors. The order of cells does not matter.

    Neither holds where rare queries lose much and none of them was drawn: a difference decides only if it is also
    larger than `unseen`, which see.

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
    if len(counted) < _FEWEST:
        pairs, crossed, counted = [], [], np.zeros((_FEWEST, len(table)))
        n = int((~np.isnan(known).any(axis=0)).sum())
    else:
        n = len(counted)
    drawn = resample(counted, seed=seed, resamples=resamples)
    return FactorEffects(
        n,
        tuple(_pair_effects(factor, found, counted, drawn, confidence, span) for factor, found in pairs if len(found)),
        _interaction_effects(table, crossed, counted, drawn, confidence, span),
    )


def unseen(n: int, count: int, confidence: float, span: float) -> float:
    """Return what queries so rare that none of them was drawn could change a mean difference by.

    Queries of which a share q lose `span` are all absent from n draws with probability (1 − q)ⁿ. Where those that were
    drawn gain x̄, the true mean is 0 if q = x̄ / (span + x̄). So a mean of x̄ comes about with probability
    (1 + x̄ / span)⁻ⁿ where there is no difference, and no test that holds for every distribution can give a smaller
    p-value. What is returned is the x̄ at which this is (1 − confidence) / count; about span · 3 / n for one test.

    Args:
        n: how many queries.
        count: how many such events there may be.
        confidence: that none of them is overlooked.
        span: the most that a contrast can be on one query.
    """
    return span * math.expm1(math.log(count / (1.0 - confidence)) / n)


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
    found = contrasted(values, pairs.weights)
    top, ahead = np.zeros(len(drawn)), np.full((int(pairs.levels.max()) + 1, len(drawn)), -np.inf)
    for some, z in studentized(found, drawn):
        np.maximum(top, np.abs(z).max(axis=1), out=top)
        for column, (first, second) in enumerate(pairs.levels[some]):
            np.maximum(ahead[first], z[:, column], out=ahead[first])
            np.maximum(ahead[second], -z[:, column], out=ahead[second])
    low, high = found.bounds(critical_value(found, top, confidence))
    least = unseen(found.n, len(ahead) - 1, confidence, span)  # a rare event at each level but one
    allowance = np.quantile(ahead, confidence, axis=1, method="higher")
    against_best, may_be_best = _against_best(pairs.levels, found, allowance, least)
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
        unseen=least,
    )


def _against_best(
    levels: Codes, found: Contrasted, allowance: Numbers, least: float
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the bounds of each level minus the best of the others, and which levels may be the best.

    Each level takes its turn as the control: with the wanted probability no other is ahead of the true best by more
    than the allowance of the best. So the best is among the levels whose upper bound is above 0, and no level is
    further behind it than behind the furthest of these. Hsu, "Constrained simultaneous confidence intervals for
    multiple comparisons with the best", 1984; Multiple Comparisons, 1996, chapter 4.

    Args:
        levels: of each pair, the first and the second.
        found: the first minus the second.
        allowance: for each level, what the largest z of it minus any other stays below.
        least: no bound is nearer than this to the mean.
    """
    first, second = levels.T
    count = len(allowance)
    allowance = np.where(np.isfinite(allowance), allowance, 0.0)
    # A pair that is the same for all queries has no standard error: its difference is taken as it is.
    high_first = np.where(found.known, np.maximum(found.bounds(allowance[first])[1], found.mean + least), found.mean)
    low_second = np.where(found.known, np.minimum(found.bounds(allowance[second])[0], found.mean - least), found.mean)
    own, other = np.concatenate([first, second]), np.concatenate([second, first])
    above, below = np.concatenate([high_first, -low_second]), np.concatenate([low_second, -high_first])
    tied = np.tile(~found.known & (np.abs(found.mean) <= TIED), 2)
    nearest = np.full(count, np.inf)
    np.minimum.at(nearest, own, np.where(tied, np.inf, above))  # a level is not beaten by one that is its equal
    may_be_best = nearest > 0.0
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
    found = contrasted(values, weights)
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
        unseen=unseen(found.n, max(_freedom(crossed), 1), confidence, 2.0 * span),
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
