"""How often statements on the factors of a sweep are right, by simulation.

Queries are drawn from populations of which every cell's mean is known: a grid of 4 chunkers, 3 retrievers and 2
rerankers, whose cells are correlated by the query and by the levels that they share. Counted over many draws: how often
any difference between levels is found where there is none, how often all simultaneous intervals of a factor hold, and
how often the best level is among those named. Run it as

    python benchmarks/factor_effects.py [--draws 2000] [--queries 40 100 300]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from raglift.stats.grid_effects import factor_effects, level_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

CONFIDENCE = 0.95
QUERIES = (40, 100, 300)
RESAMPLES = 499
LEVELS = (4, 3, 2)
GRID = np.array(list(product(*map(range, LEVELS))))
EXCLUDED = ~((GRID[:, 0] == 3) & (GRID[:, 1] == 0)) & ~((GRID[:, 0] == 1) & (GRID[:, 2] == 1))
_SIZE = 24_000
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class Population:
    """Queries to draw from, each with its value in every cell."""

    name: str
    values: Numbers
    """Cells × queries."""
    codes: NDArray[np.intp]
    """The levels of each cell."""


@dataclass(frozen=True)
class Rates:
    """How often statements were wrong or right."""

    pairs: float
    """Any difference between levels found where there is none, in the worst of the factors; NaN if none is 0."""
    coverage: tuple[float, ...]
    """All simultaneous intervals of a factor hold, for each factor."""
    best: float
    """The best level is among those that may be the best, in the worst of the factors."""
    found: float
    """The difference of the two rerankers is found, and in the right direction; NaN if there is none."""


def main() -> None:
    """Print a table of rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000, help="samples for each row")
    parser.add_argument("--queries", type=int, nargs="+", default=list(QUERIES), help="sizes of the samples")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="populations whose names contain this")
    arguments = parser.parse_args()
    heads = ("queries", "false pairs", "coverage of factors", "best", "found")
    say(" " * 33 + "{} {}  {:19} {:>6} {:>6}".format(*heads))
    for population in populations():
        if arguments.only in population.name:
            for n in arguments.queries:
                found = rates(population, n, arguments.draws, arguments.seed)
                held = " ".join(f"{one:.3f}" for one in found.coverage)
                say(f"{population.name:32}{n:8}{found.pairs:12.3f}  {held:19}{found.best:7.3f}{found.found:7.3f}")


def rates(population: Population, n: int, draws: int, seed: int = 0) -> Rates:
    """Return how often statements on samples of n queries are wrong or right."""
    generator, codes = np.random.default_rng(seed), population.codes
    factors = range(codes.shape[1])
    means = population.values.mean(axis=1)
    true = [level_pairs(codes, factor).weights @ means for factor in factors]
    best = [_best(factor, codes, means) for factor in factors]
    none = [np.abs(one) < _EQUAL for one in true]
    wrong, held = np.zeros((len(factors), draws)), np.zeros((len(factors), draws))
    named, right = np.zeros((len(factors), draws)), np.zeros(draws)
    for draw in range(draws):
        sample = population.values[:, generator.integers(0, population.values.shape[1], n)]
        found = factor_effects(sample, codes, seed=draw, confidence=CONFIDENCE, resamples=RESAMPLES)
        for place, (family, truth) in enumerate(zip(found.pairs, true, strict=True)):
            real = (family.p <= 1.0 - CONFIDENCE) & ~family.too_skewed
            wrong[place, draw] = real[none[place]].any()
            inside = (family.low <= truth + _EQUAL) & (family.high >= truth - _EQUAL)
            held[place, draw] = (inside | np.isnan(family.low)).all()
            if place == len(factors) - 1:
                right[draw] = (real & (np.sign(family.mean) == np.sign(truth))).any()
        for place, pairs in enumerate(found.pairs):
            named[place, draw] = pairs.may_be_best[best[place]].all() or len(best[place]) > 1
    rate = [float(row.mean()) if some.any() else np.nan for row, some in zip(wrong, none, strict=True)]
    return Rates(
        pairs=max((one for one in rate if not np.isnan(one)), default=np.nan),
        coverage=tuple(held.mean(axis=1).tolist()),
        best=float(named.mean(axis=1).min()),
        found=np.nan if none[-1].any() else float(right.mean()),
    )


def _best(factor: int, codes: NDArray[np.intp], means: Numbers) -> NDArray[np.intp]:
    """Return the levels that no other is ahead of."""
    pairs = level_pairs(codes, factor)
    ahead = pairs.weights @ means
    beaten = np.concatenate([pairs.levels[ahead > _EQUAL, 1], pairs.levels[ahead < -_EQUAL, 0]])
    return np.setdiff1d(np.arange(LEVELS[factor]), beaten)


def populations() -> Iterator[Population]:
    """Yield grids of cells that measure the same, then grids in which some parts matter."""
    yield even("NDCG, nothing matters", _ndcg(_latent(0.7)))
    yield even("NDCG, cells nearly alike", _ndcg(_latent(0.95)))
    yield even("HitRate 80 %, nothing matters", _hits(_latent(0.7), 0.8))
    yield even("HitRate 95 %, nothing matters", _hits(_latent(0.9), 0.95))
    yield even("HitRate 90 %, few differences", _hits(_latent(0.97), 0.9))
    yield even("NDCG, exclusions", _ndcg(_latent(0.7)), EXCLUDED)
    yield even("HitRate 80 %, exclusions", _hits(_latent(0.7), 0.8), EXCLUDED)
    for losses in (0.1, 0.05, 0.02):
        yield Population(f"small wins, {losses:.0%} lose all", _skewed(_changes(losses, 0.4)), GRID)
    yield Population("wins of a half, 6% lose all", _skewed(_changes(0.06, 0.12)), GRID)
    yield Population("uneven wins, 6% lose some", _skewed(_uneven(0.06)), GRID)
    moved = _latent(0.7) + np.where(GRID[:, 2] == 1, 0.3, 0.0) + np.array([0.0, 0.0, 0.15, 0.3])[GRID[:, 0]]
    more = moved + np.where((GRID[:, 2] == 1) & (GRID[:, 0] == 0), 0.5, 0.0)
    yield even("NDCG, some parts matter", _ndcg(moved), factors=(1,))
    yield even("HitRate, some parts matter", _hits(moved, 0.8), factors=(1,))
    yield even("NDCG, some depend on others", _ndcg(more), factors=(1,))
    yield even("HitRate, some depend on others", _hits(more, 0.8), factors=(1,))
    yield even("NDCG, some matter, exclusions", _ndcg(moved), EXCLUDED, factors=(1,))


def even(
    name: str, values: Numbers, kept: NDArray[np.bool_] | None = None, factors: tuple[int, ...] = (0, 1, 2)
) -> Population:
    """Return a population in which some factors do nothing: each query comes once in every rotation of their levels."""
    shifts = product(*(range(count if place in factors else 1) for place, count in enumerate(LEVELS)))
    turned = [values[np.lexsort(((GRID + shift) % LEVELS).T[::-1])] for shift in shifts]
    kept = np.ones(len(GRID), dtype=np.bool_) if kept is None else kept
    return Population(name, np.concatenate(turned, axis=1)[kept], GRID[kept])


def _latent(alike: float) -> Numbers:
    """Return how well each cell does on each query, with unit variance: queries × cells.

    Args:
        alike: the part of the variance that is the query's own; most of the rest is that of the levels with the query.
    """
    generator, size = np.random.default_rng(0), _SIZE // 4
    levels = sum(generator.standard_normal((size, count))[:, GRID[:, place]] for place, count in enumerate(LEVELS))
    own = np.sqrt(0.64 / len(LEVELS)) * levels + 0.6 * generator.standard_normal((size, len(GRID)))
    found: Numbers = np.sqrt(alike) * generator.standard_normal((size, 1)) + np.sqrt(1.0 - alike) * own
    return found


def _ndcg(latent: Numbers) -> Numbers:
    """Return the discount of the rank at which the only relevant hit stands, 0 beyond 10: cells × queries."""
    ranks = np.minimum((16 * (1.0 - norm.cdf(latent.T))).astype(int), 10)
    found: Numbers = np.r_[1.0 / np.log2(np.arange(2, 12)), 0.0][ranks]
    return found


def _hits(latent: Numbers, rate: float) -> Numbers:
    """Return 1 where the cell finds the passage, which it does with the given probability where nothing helps it."""
    return np.greater(latent.T, norm.ppf(1.0 - rate)).astype(np.float64)


def _skewed(changes: Numbers) -> Numbers:
    """Return cells in which each level but the first changes some queries, with a mean of 0."""
    generator = np.random.default_rng(0)
    found = np.zeros((len(GRID), _SIZE))
    for place, count in enumerate(LEVELS):
        for level in range(1, count):
            found[GRID[:, place] == level] += generator.permutation(changes)
    return found


def _changes(losses: float, wins: float) -> Numbers:
    """Return losses of 1, and equal wins that make up for them."""
    lost, won = round(losses * _SIZE), round(wins * _SIZE)
    return np.concatenate([np.full(lost, -1.0), np.full(won, lost / won), np.zeros(_SIZE - lost - won)])


def _uneven(losses: float) -> Numbers:
    """Return losses of 0 to 1, and wins of very different sizes on all other queries that make up for them."""
    generator, lost = np.random.default_rng(0), round(losses * _SIZE)
    worse, better = -generator.random(lost), generator.gamma(2.0, 1.0, _SIZE - lost)
    return np.concatenate([worse, better * (-worse.sum() / better.sum())])


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
