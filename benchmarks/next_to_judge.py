"""How often a sequential review decides wrongly, and how many grades it saves against judging in random order.

A review asks which of two systems is better: pairs are drawn as `raglift.next_to_judge` draws them and graded until the
confidence sequence excludes 0 or everything is judged. Four kinds of simulated reviews of 25 queries and the first ten
hits, 150 pairs of which are of one system alone, in each of which the systems are exactly tied, or differ by a given
Precision@10: with the grades of a good model (kappa about 0.6), of a weak one (0.2), of one that favours a system, and
without any. With RAGLIFT_CORPORA, a folder with `trec_rag25`, also reviews of the topics of TREC RAG 2025 that both
people and a model graded, with two systems that draw their first ten from the pool.

False decisions: of tied systems any decision; otherwise one for the system that is worse. The intervals have to hold
the true difference at every look as well. Random order: the same confidence sequence over uniform draws, which learns
the share of relevant pairs and has no other prediction.

Near a census: how often the 95% intervals of `raglift.correct` hold the difference of systems, from the grades of a
review with so many pairs left to judge.

Run it as

    python benchmarks/next_to_judge.py [--reviews 2000] [--differences 0.06 0.12] [--only reviews|census]
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.judging.sequential_design import Design, Draw, Judged, judged
from raglift.stats import sequential_total
from raglift.stats.confidence_sequences import draws_needed, log_capital

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

QUERIES = 25
DEPTH = 10
PAIRS = 150
ALPHA = 0.05
MODELS = ("good", "weak", "biased", "none")
_AGREES = {"good": 0.8, "weak": 0.6, "biased": 0.75}


class World(NamedTuple):
    """Pairs of two systems: what each weighs in the difference, its value by people, and a model's."""

    weights: NDArray[np.float64]
    values: NDArray[np.float64]
    model: NDArray[np.int64] | None

    @property
    def truth(self) -> float:
        """The difference if people had judged everything."""
        return float(self.weights @ self.values)

    def design(self) -> Design:
        """Return the design of a review; without a model all pairs are of one group."""
        groups = np.zeros(len(self.weights), dtype=np.int64) if self.model is None else self.model
        prior = np.full(int(groups.max()) + 1, np.nan)
        if self.model is not None:
            prior = 0.1 + 0.8 * np.arange(len(prior)) / max(len(prior) - 1, 1)
        return Design(self.weights, groups, prior, np.zeros(len(prior)), np.zeros(len(prior)), 0.0)


def simulated(model: str, difference: float, random: np.random.Generator) -> World:
    """Return the pairs of two systems of which the first is better by a difference, of 0 exactly."""
    sign = np.where(np.arange(PAIRS) % 2, -1.0, 1.0)
    values = (random.random(PAIRS) < 0.4).astype(np.float64)
    excess = round(difference * QUERIES * DEPTH) - round(float(sign @ values))
    # grades are turned until the difference is what is wanted
    raises = ((sign > 0) & (values == 0)) | ((sign < 0) & (values == 1))
    turned = random.permutation(np.flatnonzero(raises if excess > 0 else ~raises))[: abs(excess)]
    values[turned] = 1.0 - values[turned]
    return World(sign / (QUERIES * DEPTH), values, _graded(model, values, sign, random))


def _graded(
    model: str, values: NDArray[np.float64], sign: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.int64] | None:
    if model == "none":
        return None
    right = random.random(len(values)) < _AGREES[model]
    grades = np.where(right, values, 1.0 - values)
    if model == "biased":
        grades = np.where((sign > 0) & (random.random(len(values)) < 0.3), 1.0, grades)
    return grades.astype(np.int64)


def of_collection(folder: Path, random: np.random.Generator) -> World:
    """Return the pairs of two systems that rank the judged documents of TREC RAG 2025 by noisy grades."""
    people, model = (_read(folder / name) for name in ("nist.qrels", "umbrela2.qrels"))
    topics = sorted(set(people) & set(model))
    weights, values, graded = [], [], []
    for topic in topics:
        documents = sorted(set(people[topic]) & set(model[topic]))
        score = np.array([people[topic][one] for one in documents], dtype=np.float64)
        first, second = (set(np.argsort(-score - 2.5 * random.normal(size=len(score)))[:DEPTH]) for _ in range(2))
        for place in sorted(first ^ second):
            weights.append((1.0 if place in first else -1.0) / (DEPTH * len(topics)))
            values.append(float(people[topic][documents[place]] >= 2))
            graded.append(min(model[topic][documents[place]], 3))
    return World(np.array(weights), np.array(values), np.array(graded, dtype=np.int64))


def _read(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        topic, _, document, grade = line.split()
        found.setdefault(topic, {})[document] = int(grade)
    return found


@dataclass(frozen=True)
class Review:
    """One review, to its end."""

    grades: int
    """At how many the question was decided; all, if it never was."""
    is_false: bool
    """Whether it was decided for the wrong system."""
    missed: bool
    """Whether any interval left out the true difference."""
    said: float
    """How many grades were said to be needed in all after 30, divided by how many were; NaN where it ended before."""


def reviewed(world: World, random: np.random.Generator, *, uniform: bool = False) -> Review:
    """Grade every pair, and look after each."""
    design = world.design() if not uniform else world._replace(model=None).design()
    state = design.start()
    drawn: list[Draw] = []
    for _ in range(len(world.weights)):
        chance = state.left / state.left.sum() if uniform else state.probabilities(state.predictions())
        pair = int(random.choice(len(chance), p=chance))
        drawn.append(Draw(pair, float(chance[pair]), state.reach(chance)))
        state.take(pair, float(world.values[pair]))
    draws = _judged(world, design, drawn).draws
    limit = -math.log(ALPHA)
    capital = log_capital(draws, np.array([0.0, world.truth]))
    over = np.flatnonzero(capital[:, 0] >= limit)
    grades = int(over[0]) if len(over) else len(drawn)
    truth = round(world.truth, 9)
    is_false = bool(len(over)) and (truth == 0.0 or _judged(world, design, drawn[:grades]).estimate * truth < 0.0)
    said = math.nan
    if truth and not uniform and grades > _LOOK:
        then, left = _judged(world, design, drawn[:_LOOK]), len(drawn) - _LOOK
        needed = draws_needed(float(capital[_LOOK, 0]), abs(then.estimate), then.spread, left=left)
        said = (_LOOK + (left if needed is None else needed)) / grades
    return Review(grades, is_false, bool((capital[:, 1] >= limit).any()), said)


_LOOK = 30


def _judged(world: World, design: Design, drawn: list[Draw]) -> Judged:
    return judged(design, drawn, world.values[[one.pair for one in drawn]].tolist())


def row(name: str, make: Callable[[np.random.Generator], World], reviews: int, uniform: int) -> str:
    """Return a row of the table: reviews by the design, and fewer in random order."""
    random = np.random.default_rng(1)
    found, plain = [], []
    for number in range(reviews):
        world = make(random)
        found.append(reviewed(world, random))
        if number < uniform:
            plain.append(reviewed(world, random, uniform=True))
    grades, by_chance = (np.median([one.grades for one in some]) for some in (found, plain))
    said = [one.said for one in found if not math.isnan(one.said)]
    return (
        f"{name:34} {np.mean([one.is_false for one in found]):7.1%} {np.mean([one.missed for one in found]):9.1%} "
        f"{grades:8.0f} {by_chance:8.0f} {1 - grades / by_chance:7.0%} {f'{np.median(said):.2f}' if said else '–':>7}"
    )


_LEFT = (100, 60, 30, 15, 10, 6)


def near_a_census(model: str, reviews: int) -> str:
    """Return a row of the table: how often intervals hold the difference with so many pairs left."""
    random = np.random.default_rng(2)
    held = np.zeros(len(_LEFT))
    for _ in range(reviews):
        world = simulated(model, 0.06, random)
        state, order, chances = world.design().start(), [], []
        for _ in range(len(world.weights) - min(_LEFT)):
            chance = state.probabilities(state.predictions())
            order.append(int(random.choice(len(chance), p=chance)))
            chances.append(chance[order[-1]])
            state.take(order[-1], float(world.values[order[-1]]))
        predictions = None if world.model is None else world.weights * world.model
        for place, left in enumerate(_LEFT):
            drawn = order[: len(world.weights) - left]
            found = sequential_total(
                (world.weights * world.values)[drawn],
                drawn,
                chances[: len(drawn)],
                predictions=predictions,
                weights=world.weights,
                highest=1.0,
            )
            held[place] += found.interval.low - 1e-9 <= world.truth <= found.interval.high + 1e-9
    return f"{f'model {model}':34} " + " ".join(f"{share:7.1%}" for share in held / reviews)


def main(arguments: list[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--reviews", type=int, default=2000)
    parser.add_argument(
        "--uniform", type=int, default=200, help="how many of them in random order too, and for each difference"
    )
    parser.add_argument("--differences", type=float, nargs="*", default=[0.06, 0.12])
    parser.add_argument("--only", choices=("reviews", "census"))
    given = parser.parse_args(arguments)
    if given.only != "census":
        _print_reviews(given)
    if given.only != "reviews":
        sys.stdout.write(f"\n{'covered, with so many pairs left':34} {' '.join(f'{left:7}' for left in _LEFT)}\n")
        for model in MODELS:
            sys.stdout.write(near_a_census(model, given.reviews) + "\n")
            sys.stdout.flush()


def _print_reviews(given: argparse.Namespace) -> None:
    uniform = min(given.uniform, given.reviews)
    sys.stdout.write(f"{'':34} {'false':>7} {'left out':>9} {'grades':>8} {'random':>8} {'saved':>7} {'said':>7}\n")
    for difference in (0.0, *given.differences):
        for model in MODELS:
            name = f"{'tied' if not difference else f'difference {difference:g}'}, model {model}"
            reviews = uniform if difference else given.reviews
            sys.stdout.write(row(name, partial(simulated, model, difference), reviews, uniform) + "\n")
            sys.stdout.flush()
    folder = Path(os.environ.get("RAGLIFT_CORPORA", "")) / "trec_rag25"
    if (folder / "nist.qrels").is_file():
        sys.stdout.write(row("TREC RAG 2025", partial(of_collection, folder), given.reviews, uniform) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
