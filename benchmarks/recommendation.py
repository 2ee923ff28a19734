"""How often a recommendation is right: simulated sweeps whose true means are known.

Each draw is a sweep of a grid (3 chunk sizes, 2 embedding models, dense or BM25 or both, with a reranker or without)
over some queries. A query has an easiness that all cells share, each part of a cell adds its effect and a part of its
own for that query, and values are kept within 0 and 1. Effects are known, so it is known which cell is the best, and
which cells are as good. Looked at is how often the true best is among the cells that may be the best (at least 95 of
100 is promised), how many cells these are, how often the cell with the highest mean is the true best, how often the
recommended cell is as good as the best, and by how much it is worse where it is not. Run it as

    python benchmarks/recommendation.py [--draws 500] [--queries 40 100 300]
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.recommendation import MARGIN
from raglift.stats.best_of_many import best_of_many

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

RESAMPLES = 999
GRID = tuple(itertools.product(range(3), range(2), range(3), range(2)))
"""Chunk size, embedding model, retriever, reranker."""
COST = np.array([10.0 * reranker + retriever + 0.5 * model + 0.1 * size for size, model, retriever, reranker in GRID])
"""A reranker costs most, then the retriever."""


@dataclass(frozen=True)
class World:
    """Sweeps with the same true effects."""

    name: str
    draw: Callable[[np.random.Generator, int], Numbers]
    """Returns queries × cells."""
    truth: Numbers
    """The true mean of each cell."""

    @property
    def best(self) -> int:
        """The cell with the highest true mean; of equal ones the cheapest."""
        best = np.flatnonzero(self.truth >= self.truth.max() - 1e-9)
        return int(best[COST[: len(self.truth)][best].argmin()])


def additive(name: str, effects: tuple[tuple[float, ...], ...], spread: float = 0.25) -> World:
    """Return a world in which the effect of each part is the same whatever the other parts are, but for the bounds."""
    shift = np.array([sum(effect[level] for effect, level in zip(effects, cell, strict=True)) for cell in GRID])

    def draw(random: np.random.Generator, queries: int) -> Numbers:
        easy = random.normal(0.5, 0.3, size=(queries, 1))
        own = sum(
            random.normal(0.0, spread / 2, size=(queries, len(effect)))[:, [cell[part] for cell in GRID]]
            for part, effect in enumerate(effects)
        )
        return np.clip(easy + own + shift + random.normal(0.0, spread / 2, size=(queries, len(GRID))), 0.0, 1.0)

    truth = draw(np.random.default_rng(99), 400_000).mean(axis=0)
    order = {value: truth[shift == value].mean() for value in np.unique(shift)}  # equal effects are equal means
    return World(name, draw, np.array([order[value] for value in shift]))


def hits(name: str, changed: float, better: tuple[int, ...], gain: float) -> World:
    """Return a world of HitRate: cells agree on most queries, some find more, and the others are equal."""
    p, raised = 0.6, 0.6 + gain

    def draw(random: np.random.Generator, queries: int) -> Numbers:
        common = random.random((queries, 1))
        own = random.random((queries, len(GRID)))
        chance = np.where(np.isin(np.arange(len(GRID)), better), raised, p)
        return (np.where(random.random((queries, len(GRID))) < changed, own, common) < chance).astype(np.float64)

    return World(name, draw, np.where(np.isin(np.arange(len(GRID)), better), raised, p))


def skewed(name: str, rare: float, small: float) -> World:
    """Return a world without differences in the mean: the first cell against many small wins and few large losses."""

    def draw(random: np.random.Generator, queries: int) -> Numbers:
        base = 0.7 + random.uniform(-0.02, 0.02, size=(queries, 1))
        lost = random.random((queries, len(GRID))) < rare
        change = np.where(lost, -small * (1.0 - rare) / rare, small)
        change[:, 0] = 0.0
        return base + change

    return World(name, draw, np.full(len(GRID), 0.7))


def worlds() -> list[World]:
    """Return the worlds that are looked at."""
    none = ((0.0,) * 3, (0.0,) * 2, (0.0,) * 3, (0.0,) * 2)
    return [
        additive("nothing differs", none),
        additive("the reranker adds 0.10, nothing else", (*none[:3], (0.0, 0.10))),
        additive("small effects of all parts", ((0.0, 0.02, 0.0), (0.0, 0.02), (0.0, 0.0, 0.02), (0.0, 0.03))),
        additive("large effects of all parts", ((0.0, 0.08, 0.03), (0.0, 0.08), (0.0, 0.04, 0.10), (0.0, 0.12))),
        additive("dense equals hybrid, the reranker costs 0.05", (*none[:2], (0.05, 0.0, 0.05), (0.05, 0.0))),
        hits("HitRate, a tenth of queries differ", 0.1, (), 0.0),
        hits("HitRate, two cells find 0.10 more", 0.1, (7, 11), 0.1),
        skewed("losses of 0.45 in 10 % against wins of 0.05", 0.1, 0.05),
    ]


@dataclass(frozen=True)
class Found:
    """What recommendations of many draws are worth."""

    world: str
    queries: int
    kept: float
    """How often the true best was among those that may be the best."""
    size: float
    """How many these were, on average."""
    highest: float
    """How often the highest mean was that of a cell as good as the true best."""
    recommended: float
    """How often the recommended cell was as good as the true best."""
    loss: float
    """By how much the true mean of the recommended cell was below the best, on average."""
    winners_loss: float
    """The same of the cell with the highest mean."""


def measured(world: World, queries: int, draws: int, seed: int = 0) -> Found:
    """Draw sweeps of a world, and see how often what is recommended is right."""
    rows = []
    for number in range(draws):
        values = world.draw(np.random.default_rng((seed, queries, number)), queries)
        means = values.mean(axis=0)
        highest = int(means.argmax())
        may_be_best = best_of_many(values, seed=number, resamples=RESAMPLES, bound=1.0).may_be_best
        may_be_best[highest] = True
        equals = np.flatnonzero(may_be_best & (means >= means[highest] - MARGIN))
        chosen = int(equals[COST[equals].argmin()])
        below = world.truth.max() - world.truth
        as_good = (below[highest] < 1e-9, below[chosen] < 1e-9)
        rows.append((may_be_best[world.best], may_be_best.sum(), *as_good, below[chosen], below[highest]))
    return Found(world.name, queries, *np.mean(rows, axis=0).tolist())


def main() -> None:
    """Print a row for each world and number of queries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--queries", type=int, nargs="+", default=[40, 100, 300])
    arguments = parser.parse_args()
    head = ("true best kept", "cells kept", "highest is best", "recommended is best", "its loss", "highest's loss")
    sys.stdout.write(f"{'world':46} {'queries':>7} {' '.join(f'{title:>19}' for title in head)}\n")
    for world in worlds():
        for queries in arguments.queries:
            one = measured(world, queries, arguments.draws)
            cells = (
                f"{one.kept:.3f}",
                f"{one.size:.1f} of {len(GRID)}",
                f"{one.highest:.3f}",
                f"{one.recommended:.3f}",
            )
            cells = (*cells, f"{one.loss:.4f}", f"{one.winners_loss:.4f}")
            sys.stdout.write(f"{world.name:46} {queries:>7} {' '.join(f'{cell:>19}' for cell in cells)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
