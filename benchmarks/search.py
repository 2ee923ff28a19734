"""How good is what a search finds, and how often does a race drop one of the best?

Regret: every cell of a space is measured once on all queries, by a sweep over static vectors and BM25 (15 chunkings, 14
weights of a hybrid: 210 cells). Then searches are run over the stored scores, by the code of `raglift search`
(`raglift.search.race_stored`), each in its own random order, and it is looked at how far the true mean of the cell
with the highest mean among those left is below that of the sweep's winner. Beside it stands what a uniform sample of
the queries finds with as many questions: every cell is asked the same few.

False eliminations: values are drawn for systems some of which are tied for the best; a race is wrong if it drops any of
them. Either the mean over these queries decides (batches stratified by difficulty), or that of the population that they
are drawn from (purely random order).

    python benchmarks/search.py --dataset shop_support [--runs 200] [--draws 2000]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from raglift.search import race_stored
from raglift.search.course import BATCH
from raglift.stats.racing import Race, stratified_batches
from raglift.sweep.specification.record import Sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

GOOD = 0.01
"""A regret of so much is none that matters."""
ALPHA = 0.05
WEIGHTS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
CHUNKERS = (
    *("recursive:300/0", "recursive:500/50", "recursive:700/100", "recursive:1000/100", "recursive:1000/400"),
    *("recursive:1500/150", "recursive:2000/200", "token:64/0", "token:128/16", "token:250/25", "sentence:500/0"),
    *("sentence:1000/100", "markdown:1000/0", "recursive:1000/100+headings", "recursive:500/50+headings"),
)


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def scores_of(dataset: str, folder: Path) -> Numbers:
    """Return NDCG@10 of every cell of the space on every labelled query: queries × cells."""
    hybrids = [f"hybrid(dense={weight:g},bm25={1 - weight:g})" for weight in WEIGHTS]
    sweep = Sweep(
        dataset=dataset,
        chunkers=list(CHUNKERS),
        embeddings=["minilm-static"],
        retrievers=["bm25", "dense", *hybrids],
        rerankers=["none"],
        metrics=["ndcg"],
        primary="ndcg@10",
        ks=[10],
    )
    result = sweep.run(folder, resume=(folder / "sweep.json").exists())
    columns = [
        entry.evaluation.scores.of(entry.evaluation.after, "ndcg@10")
        for entry in result.finished
        if entry.evaluation is not None
    ]
    table = np.array(columns).T
    return np.asarray(table[~np.isnan(table).any(axis=1)])


def sampled(values: Numbers, share: float, seed: int) -> int:
    """Return the best cell on a uniform sample of the queries."""
    queries = len(values)
    some = np.random.default_rng([seed, 1]).choice(queries, max(1, round(share * queries)), replace=False)
    return int(values[some].mean(axis=0).argmax())


def print_regret(name: str, values: Numbers, shares: Sequence[float], runs: int) -> None:
    """Print the regret of searches and of uniform samples."""
    means = values.mean(axis=0)
    best = np.flatnonzero(means >= means.max() - 1e-12)
    say(f"{name}: {len(values):,} queries, {len(means):,} cells, {runs:,} runs; the best has {means.max():.3f},")
    say(f"the second {np.sort(means)[-2]:.3f}, the median {np.median(means):.3f}")
    say("budget  asked    left  mean regret  within 0.01  dropped a best | uniform sample: mean regret  within 0.01")
    systems = {str(number): values[:, number] for number in range(len(means))}
    for share in shares:
        found = [race_stored(systems, share=share, alpha=ALPHA, seed=seed) for seed in range(runs)]
        regret = np.array([each.regret for each in found])
        other = means.max() - means[[sampled(values, each.share, seed) for seed, each in enumerate(found)]]
        wrong = np.mean([any(str(number) in each.dropped for number in best.tolist()) for each in found])
        asked, left = np.mean([each.share for each in found]), np.mean([len(each.left) for each in found])
        say(
            f"{share:6.0%}  {asked:5.1%}  {left:6.1f}  {regret.mean():11.4f}  {np.mean(regret <= GOOD):11.1%}  "
            f"{wrong:14.1%} | {other.mean():27.4f}  {np.mean(other <= GOOD):11.1%}"
        )


NULLS = {
    "12 tied": [0.5] * 12,
    "12 tied near 1": [0.95] * 12,
    "1 best, 11 within 0.02": [0.6, *[0.58] * 11],
    "2 tied, 6 worse": [0.6, 0.6, 0.55, 0.5, 0.4, 0.3, 0.2, 0.1],
    "100 tied": [0.5] * 100,
}
"""The means of systems."""


def eliminated(chances: Sequence[float], *, population: bool, queries: int, draws: int) -> float:
    """Return how often any of the systems with the highest mean is dropped.

    Args:
        chances: the mean of each system.
        population: whether these are the means of a population; else the means over the queries are exactly these.
        queries: how many.
        draws: how many races.
    """
    means, wrong = np.array(chances), 0
    for seed in range(draws):
        draw = np.random.default_rng([seed, queries, len(means), population])
        hard = draw.random((queries, 1))
        easy = np.where(draw.random((queries, len(means))) < 0.6, hard, draw.random((queries, len(means))))
        if population:
            values = (easy < means).astype(float)
        else:  # of each system the queries that are easiest for it, as many as its mean says
            values = (easy.argsort(axis=0).argsort(axis=0) < np.round(means * queries)).astype(float)
        strata = None if population else (hard[:, 0] * 4).astype(int).tolist()
        race = Race.of(len(means), queries, alpha=ALPHA, estimand="population" if population else "queries")
        for batch in stratified_batches(queries, BATCH, strata=strata, seed=seed):
            race = race.after(values[np.ix_(batch, race.running)])
            if len(race.running) == 1:
                break
        true = np.round(means * queries) if not population else means
        wrong += bool(race.dropped[true == true.max()].any())
    return wrong / draws


def print_eliminated(draws: int) -> None:
    """Print how often one of the best is dropped."""
    say(f"How often a best system is dropped at alpha {ALPHA:g}, {draws:,} draws of 120 queries")
    say("systems                 these queries  population")
    for name, chances in NULLS.items():
        rates = [eliminated(chances, population=population, queries=120, draws=draws) for population in (False, True)]
        say(f"{name:<22}  {rates[0]:13.2%}  {rates[1]:10.2%}")


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", nargs="*", default=["shop_support", "war_and_peace"])
    parser.add_argument("--shares", nargs="*", type=float, default=[0.1, 0.15, 0.2, 0.25])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--folder", type=Path, help="where the sweeps are kept; by default a new temporary folder")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="search-"))
    for dataset in given.dataset:
        print_regret(dataset, scores_of(dataset, folder / dataset), given.shares, given.runs)
        say("")
    if given.draws:
        print_eliminated(given.draws)


if __name__ == "__main__":
    sys.exit(main())
