"""How often a recommendation is right: simulated sweeps whose true means are known.

Each draw is a sweep: a table of the scores of some queries in each cell. In `at the margin` 3, 10 or 20 cheaper cells
are 0.0301 below the best, just too much, and the others far below; `rare losses` has the same where a cell loses 1 on a
few queries and is equal on the others; `families` are four chunk sizes with six variants each, most of them close to
each other; `shop_support` are 30 cells measured on that corpus, from which queries are drawn with replacement, and the
worse a cell is, the cheaper. Looked at is how often a cheaper cell than the highest mean is recommended, how often it
is truly more than 0.03, or 0.045, below the best, how often the highest mean is shown to be within 0.03 and is not, and
what the held-out check says: how often it contradicts a choice that is within 0.03 of the best, how often a choice is
not, and in how many of these cases the check says so. Run it as

    python benchmarks/recommendation.py [--draws 500] [--queries 50 100 300] [--measured]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.paired_statistics import Method
from raglift.analysis.recommendation import held_out_check
from raglift.stats.margins import MARGIN, non_inferiority
from raglift.sweep.specification.record import Sweep
from raglift.types.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

CELLS = 24
METRIC, METHOD = Metric("ndcg", 10), Method("", 0.95, 0)


@dataclass(frozen=True)
class Table:
    """Sweeps with the same true means."""

    name: str
    truth: Numbers
    """The true mean of each cell."""
    draw: Callable[[np.random.Generator, int], Numbers]
    """Returns queries × cells."""
    cost: Callable[[np.random.Generator], Numbers]
    """Returns what each cell costs."""


def at_the_margin(rivals: int, deviation: float = 0.15) -> Table:
    """Return one best cell, cheaper ones just too far below it, and others far below; normal scores.

    Args:
        rivals: how many are 0.0301 below.
        deviation: the standard deviation of a paired difference.
    """
    truth = _just_below(rivals)

    def draw(random: np.random.Generator, queries: int) -> Numbers:
        own = random.standard_normal((queries, CELLS)) * deviation * np.sqrt(0.5)
        return random.standard_normal((queries, 1)) * 0.25 + own + truth

    return Table(f"{rivals} cells at −0.0301", truth, draw, lambda random: _best_is_dearest(truth, random))


def rare_losses(rivals: int) -> Table:
    """Return the same where cheaper cells lose 1 on 3 of 100 queries, and are equal to the best on the others."""
    truth = _just_below(rivals)

    def draw(random: np.random.Generator, queries: int) -> Numbers:
        return 1.0 - (random.random((queries, CELLS)) < -truth)

    return Table(f"{rivals} cells with rare losses", truth, draw, lambda random: _best_is_dearest(truth, random))


def _just_below(rivals: int) -> Numbers:
    return np.concatenate([[0.0], np.full(rivals, -0.0301), np.full(CELLS - 1 - rivals, -0.12)])


def _best_is_dearest(truth: Numbers, random: np.random.Generator) -> Numbers:
    return np.where(truth == 0.0, 9.0, random.random(CELLS) + 5.0 * (truth < -0.1))


def families() -> Table:
    """Return four chunk sizes (a paired deviation of 0.30 across) of six variants each (0.10 within)."""
    family = np.arange(CELLS) // 6
    truth = np.array([0.0, -0.01, -0.025, -0.06])[family] - np.tile([0.0, 0.002, 0.004, 0.008, 0.012, 0.02], 4)

    def draw(random: np.random.Generator, queries: int) -> Numbers:
        shared = (random.standard_normal((queries, 4)) * np.sqrt((0.30**2 - 0.10**2) / 2))[:, family]
        own = random.standard_normal((queries, CELLS)) * 0.10 * np.sqrt(0.5)
        return random.standard_normal((queries, 1)) * 0.25 + shared + own + truth

    return Table("families", truth, draw, lambda random: random.random(CELLS))


def measured_cells(folder: Path) -> Table:
    """Return 30 cells over shop_support, of which the cheapest is the worst; queries are drawn with replacement."""
    sweep = Sweep(
        dataset="shop_support",
        chunkers=[f"recursive:{size}" for size in ("300/0", "400/40", "600/60", "1000/0", "1000/100", "1500/0")],
        embeddings=["bge-small"],
        retrievers=["bm25", "dense", "hybrid", "hybrid(dense=0.3,bm25=0.7)", "hybrid(dense=0.7,bm25=0.3)"],
        metrics=["ndcg@10"],
        primary="ndcg@10",
        candidates=20,
    )
    cells = [entry.evaluation for entry in sweep.run(folder, progress=False).finished]
    scores = np.stack([one.scores.of(one.after, METRIC) for one in cells if one is not None], axis=1)
    scores = scores[~np.isnan(scores).any(axis=1)]
    truth = scores.mean(axis=0)
    return Table(
        f"shop_support, {len(truth)} cells",
        truth,
        lambda random, queries: scores[random.integers(len(scores), size=queries)],
        lambda _: truth,
    )


def tables() -> list[Table]:
    """Return the simulated tables."""
    return [
        *(at_the_margin(rivals) for rivals in (3, 10, 20)),
        *(rare_losses(rivals) for rivals in (1, 10)),
        families(),
    ]


@dataclass(frozen=True)
class Rates:
    """How often recommendations are right."""

    cheaper: float
    """A cheaper cell than the highest mean is recommended, …"""
    wrong: float
    """… which is truly more than the margin below the best, …"""
    far_wrong: float
    """… or more than 1.5 times the margin."""
    shown: float
    """The highest mean is shown to be within the margin, …"""
    shown_wrong: float
    """… and is not."""
    false_alarms: float
    """A choice that is within the margin is contradicted."""
    wrong_choices: float
    """What one half chooses is not within the margin, …"""
    caught: float
    """… and in how many of these cases it is contradicted; NaN if there are none."""


def choice(scores: Numbers, cost: Numbers) -> tuple[int, int, bool]:
    """Return which cell is recommended, the one with the highest mean, and whether that is shown to be as good."""
    found = non_inferiority(scores, cost[:, np.newaxis] < cost, bound=1.0)
    cheaper = np.flatnonzero(found.shown & (np.arange(len(cost)) != found.best))
    chosen = int(cheaper[cost[cheaper].argmin()]) if len(cheaper) else found.best
    return chosen, found.best, bool(found.shown[found.best])


def contradicted(scores: Numbers, cost: Numbers) -> tuple[int, bool]:
    """Return which cell one half of the queries chooses, and whether the other half contradicts it."""
    first, second = scores[::2], scores[1::2]
    chosen = choice(first, cost)[0]
    means = first.mean(axis=0)
    means[chosen] = -np.inf
    pair = second[:, [chosen, int(means.argmax())]]
    found = held_out_check(("chosen", "other"), pair, ((), ()), METRIC, METHOD, margin=MARGIN, recommended="chosen")
    return chosen, found.verdict == "contradicted"


def measured(table: Table, queries: int, draws: int) -> Rates:
    """Draw sweeps of a table, and see how often what is recommended is right."""
    rows, checks = [], []
    for number in range(draws):
        random = np.random.default_rng((queries, number))
        scores, cost = table.draw(random, queries), table.cost(random)
        below = table.truth.max() - table.truth
        chosen, best, is_shown = choice(scores, cost)
        is_cheaper = chosen != best
        shown = is_shown and not is_cheaper
        rows.append(
            (
                is_cheaper,
                is_cheaper and below[chosen] > MARGIN,
                is_cheaper and below[chosen] > 1.5 * MARGIN,
                shown,
                shown and below[best] > MARGIN,
            )
        )
        half, alarm = contradicted(scores, cost)
        checks.append((below[half] > MARGIN, alarm))
    wrong, alarms = np.array(checks, dtype=np.float64).T
    caught = float(alarms[wrong > 0].mean()) if wrong.any() else float("nan")
    return Rates(*np.mean(rows, axis=0).tolist(), float(((1 - wrong) * alarms).mean()), float(wrong.mean()), caught)


def main() -> None:
    """Print a row for each table and number of queries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--queries", type=int, nargs="+", default=[50, 100, 300])
    parser.add_argument(
        "--measured", action="store_true", help="also that of measured cells, which takes a minute more"
    )
    arguments = parser.parse_args()
    head = ("cheaper", ">0.03", ">0.045", "best shown", "wrongly", "false alarms", "wrong halves", "caught")
    sys.stdout.write(f"{'table':28} {'queries':>7} {' '.join(f'{title:>12}' for title in head)}\n")
    found = tables()
    if arguments.measured:
        with tempfile.TemporaryDirectory() as folder:
            found.append(measured_cells(Path(folder) / "sweep"))
    for table in found:
        for queries in arguments.queries:
            rates = measured(table, queries, arguments.draws)
            cells = (f"{value:.1%}" if value == value else "–" for value in vars(rates).values())
            sys.stdout.write(f"{table.name:28} {queries:>7} {' '.join(f'{cell:>12}' for cell in cells)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
