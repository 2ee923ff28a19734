"""How often corrected figures are right, and how much shorter their intervals are than those of people alone.

Two parts, with 2,000 samples each:

- Fixed queries: the pairs of TREC RAG 2025 that both people and a model graded (11 topics). Two systems are made from
  them, and of the pairs among their first ten hits 100, or nearly all 200, are drawn for people to grade. All goes
  through `raglift.sample_for_grading` and `raglift.correct`. Needs RAGLIFT_CORPORA, a folder with `trec_rag25`.
- Populations of queries, and metrics of complete lists: 200 simulated queries are drawn from 20,000, and people grade
  all pairs of 60 of them (NDCG, RR), or 300 pairs (Precision). The model is good, weak, or biased in favour of one of
  the systems.

`width` is that of the corrected interval, `people` of the one by people alone that is estimated in the same way,
and `plain` of Student's interval for the mean of the sampled values.

Run it as

    python benchmarks/correction.py [--samples 2000] [--only trec|simulated]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

import raglift as rl
from raglift.grading import HumanSample, pool
from raglift.stats import Clusters, CorrectedTotal, corrected_total
from raglift.testing import FakeRetriever
from raglift.types.labels import Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.types.dataset import Dataset

    Numbers = NDArray[np.float64]
    Grades = Mapping[str, Mapping[str, int]]

SAMPLES = 2000
BAND = (0.93, 0.97)
METRICS = ("precision@10", "dcg@10", "rbp@10")
RELEVANT_FROM = 2
_SIDES = 0.975


@dataclass
class Tally:
    """What many samples came to for one figure."""

    truth: float
    judge: float = 0.0
    estimates: list[float] | None = None
    held: int = 0
    width: float = 0.0
    alone: float = 0.0
    plain: float = 0.0
    samples: int = 0

    def add(self, corrected: CorrectedTotal, people: CorrectedTotal, plain: float) -> None:
        """Count one sample, but for one without an interval, as where people gave everything the same grade."""
        if np.isnan(corrected.width):
            return
        self.samples += 1
        self.estimates = [*(self.estimates or []), corrected.estimate]
        self.held += corrected.interval.low - 1e-9 <= self.truth <= corrected.interval.high + 1e-9
        self.width += corrected.width
        self.alone += people.width
        self.plain += plain

    def row(self, name: str) -> str:
        """Return the table's row."""
        n = self.samples
        estimate = float(np.mean(self.estimates or [np.nan]))
        return (
            f"{name:44} {self.truth:7.3f} {self.judge:7.3f} {estimate:9.3f} {100 * self.held / n:7.1f}% "
            f"{self.width / n:6.3f} {self.alone / n:6.3f} {self.plain / n:6.3f}"
        )


HEADER = f"{'':44} {'truth':>7} {'judge':>7} {'corrected':>9} {'covered':>8} {'width':>6} {'people':>6} {'plain':>6}"


# Fixed queries: TREC RAG 2025.


@dataclass(frozen=True)
class Collection:
    """The pairs that both people and the model graded."""

    people: Grades
    model: Grades

    @property
    def ids(self) -> dict[str, list[str]]:
        """The documents of each topic that both graded."""
        return {topic: sorted(set(grades) & set(self.model[topic])) for topic, grades in self.people.items()}


def read_collection(folder: Path) -> Collection:
    """Read both files of judgments."""

    def read(name: str) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            topic, _, document, grade = line.split()
            found.setdefault(topic, {})[document] = int(grade)
        return found

    people, model = read("nist.qrels"), read("umbrela2.qrels")
    both = sorted(set(people) & set(model))
    return Collection({topic: people[topic] for topic in both}, {topic: model[topic] for topic in both})


def two_systems(collection: Collection, seed: int = 2) -> dict[str, rl.Evaluation]:
    """Make two systems: each ranks by a mixture of both annotators' grades and noise of its own."""
    random = np.random.default_rng(seed)
    data = rl.Dataset(tuple(Query(topic, f"topic {topic}") for topic in collection.ids), name="trec_rag25")
    made = {}
    for name, of_people, noise in (("A", 0.6, 2.0), ("B", 0.4, 2.5)):
        results = {}
        for topic, documents in collection.ids.items():
            score = {
                each: of_people * collection.people[topic][each]
                + (1 - of_people) * collection.model[topic][each]
                + noise * random.normal()
                for each in documents
            }
            best = sorted(documents, key=lambda each, score=score: -score[each])[:10]  # type: ignore[misc]
            results[f"topic {topic}"] = [rl.Chunk(f"passage {each}", id=each, doc_id=each) for each in best]
        made[name] = rl.evaluate(FakeRetriever(results), data)
    return made


def labels_of(runs: Mapping[str, rl.Evaluation], grades: Grades) -> Dataset:
    """Return grades as the labels of a model: one fact a relevant document."""
    from raglift.types.labels import Annotator, Fact, Passage

    queries = []
    for entry in pool(runs, depth=10).queries:
        passages = [
            Passage(pooled.chunk.text, pooled.chunk.doc_id, grade=grade, annotator=Annotator("umbrela", "", ""))
            for pooled in entry.chunks
            if (grade := grades[entry.query.id][pooled.chunk.id])
        ]
        queries.append(Query(entry.query.id, entry.query.text, tuple(Fact((one,)) for one in passages)))
    return rl.Dataset(tuple(queries), name="umbrela")


def graded(sample: HumanSample, people: Grades) -> HumanSample:
    """Return a sample with people's grades."""
    return sample.with_grades({(pair.query, pair.chunk): people[pair.query][pair.chunk] for pair in sample.pairs})


Pair = tuple[str, str]


def weights(runs: Mapping[str, rl.Evaluation], metric: str) -> dict[str, dict[Pair, float]]:
    """Return what the grade of each pair is multiplied by in each figure, computed anew from the rankings."""
    at_rank = {"precision@10": lambda _: 0.1, "dcg@10": lambda rank: 1 / np.log2(rank + 1)}
    weigh = at_rank.get(metric, lambda rank: 0.2 * 0.8 ** (rank - 1))
    found: dict[str, dict[Pair, float]] = {}
    for name, run in runs.items():
        found[f"{name}/retrieve"] = {
            (trace.query_id, hit.chunk.id): weigh(hit.rank) / len(run.run.traces)
            for trace in run.run.traces
            for hit in trace.stages[0].ranking.hits
        }
    first, second = found.values()
    found["B/retrieve − A/retrieve"] = {
        pair: second.get(pair, 0.0) - first.get(pair, 0.0) for pair in {**first, **second}
    }
    return found


def fixed_queries(collection: Collection, n: int, samples: int) -> dict[Pair, Tally]:
    """Draw pairs again and again, and count how often the intervals hold the figures of all people's grades."""
    runs = two_systems(collection)
    judged = labels_of(runs, collection.model)
    weight = {metric: weights(runs, metric) for metric in METRICS}
    every = list(weight[METRICS[0]]["B/retrieve − A/retrieve"])
    correct = partial(rl.correct, runs, judged, metrics=METRICS, relevant_from=RELEVANT_FROM)

    def gain(metric: str, pair: Pair) -> float:
        grade = collection.people[pair[0]][pair[1]]
        return float(grade * (metric == "dcg@10") or 1) * (grade >= RELEVANT_FROM)

    def total(metric: str, name: str, pairs: Iterable[Pair]) -> Numbers:
        return np.array([weight[metric][name].get(pair, 0.0) * gain(metric, pair) for pair in pairs])

    tallies = {}
    drawn = graded(rl.sample_for_grading(runs, min(n, len(every))), collection.people)
    for each in correct(drawn).figures:
        truth = float(total(str(each.metric), each.name, every).sum())
        tallies[str(each.metric), each.name] = Tally(truth, each.judge)
    for seed in range(samples):
        drawn = graded(rl.sample_for_grading(runs, min(n, len(every)), seed=seed), collection.people)
        pairs = [(pair.query, pair.chunk) for pair in drawn.pairs]
        for each in correct(drawn).figures:
            values = len(every) * total(str(each.metric), each.name, pairs)
            plain = _plain(values, len(every))
            tallies[str(each.metric), each.name].add(each.corrected, each.people, plain)
    return tallies


# Simulated queries: their population is known.


@dataclass(frozen=True)
class World:
    """Many queries with 20 candidates each, of which two systems return ten, and two annotators' grades."""

    people: NDArray[np.int64]
    """Shape (queries, candidates): grades from 0 to 3."""
    model: NDArray[np.int64]
    orders: tuple[NDArray[np.int64], NDArray[np.int64]]
    """For each system, shape (queries, 10): the candidates that it returns, best first."""


JUDGES = ("good", "weak", "biased")


def simulate(judge: str, queries: int = 20_000, seed: int = 1) -> World:
    """Make queries that differ in how much is relevant, two systems, and a judge.

    A good judge is one grade off a fifth of the time, a weak one says anything half of the time, and a biased one adds
    a grade to most of what the second system returns.
    """
    random = np.random.default_rng(seed)
    share = random.beta(1.2, 3.0, size=(queries, 1))
    people = random.binomial(3, share, size=(queries, 20))
    orders = tuple(
        np.argsort(-(people + noise * random.normal(size=people.shape)), axis=1)[:, :10] for noise in (1.2, 1.6)
    )
    if judge == "good":
        model = people + random.choice([-1, 0, 1], p=[0.1, 0.8, 0.1], size=people.shape)
    elif judge == "weak":
        model = np.where(random.random(people.shape) < 0.5, random.integers(0, 4, people.shape), people)
    else:
        favoured = np.zeros(people.shape, dtype=bool)
        np.put_along_axis(favoured, orders[1], True, axis=1)
        model = people + (favoured & (random.random(people.shape) < 0.6))
    return World(people, np.clip(model, 0, 3), (orders[0], orders[1]))


def ndcg(grades: NDArray[np.int64], order: NDArray[np.int64]) -> Numbers:
    """Return NDCG@10 of each query; 0 if nothing is relevant."""
    discount = 1.0 / np.log2(np.arange(2, 12))
    found = (np.take_along_axis(grades, order, axis=1) * discount).sum(axis=1)
    best = (-np.sort(-grades, axis=1)[:, :10] * discount).sum(axis=1)
    return np.divide(found, best, out=np.zeros(len(grades)), where=best > 0)


def rr(grades: NDArray[np.int64], order: NDArray[np.int64]) -> Numbers:
    """Return RR@10 of each query, relevant from grade 2."""
    relevant = np.take_along_axis(grades, order, axis=1) >= RELEVANT_FROM
    return np.where(relevant.any(axis=1), 1.0 / (relevant.argmax(axis=1) + 1), 0.0)


def _plain(values: Numbers, population: int | None) -> float:
    """Return the width of Student's interval for the mean of some of a number of values, or of infinitely many."""
    n = len(values)
    left = 1.0 if population is None else 1.0 - n / population
    return float(2 * stats.t.ppf(_SIDES, n - 1) * values.std(ddof=1) * np.sqrt(left / n))


Measure = Callable[["NDArray[np.int64]", "NDArray[np.int64]"], "Numbers"]


def complete_lists(
    world: World, measure: Measure, samples: int, *, population: bool, queries: int = 200, n: int = 60
) -> list[tuple[str, Tally]]:
    """Draw queries from the world, and of these the ones that people grade."""
    by_people = [measure(world.people, order) for order in world.orders]
    by_model = [measure(world.model, order) for order in world.orders]
    contrasts = {
        "mean of A": (by_people[0], by_model[0]),
        "B − A": (by_people[1] - by_people[0], by_model[1] - by_model[0]),
    }
    found = []
    clusters = Clusters(np.arange(queries), queries) if population else None
    for name, (true, judged) in contrasts.items():
        random = np.random.default_rng(7)
        fixed = random.choice(len(true), queries, replace=False)
        tally = Tally(*(float((each if population else each[fixed]).mean()) for each in (true, judged)))
        for _ in range(samples):
            of = random.choice(len(true), queries, replace=False) if population else fixed
            places = random.choice(queries, n, replace=False)
            about = {"weights": np.full(queries, 1 / queries), "clusters": clusters}
            values, chance = true[of][places] / queries, np.full(n, n / queries)
            both = corrected_total(values, places, chance, predictions=judged[of] / queries, **about)  # type: ignore[arg-type]
            alone = corrected_total(values, places, chance, predictions=None, **about)  # type: ignore[arg-type]
            tally.add(both, alone, _plain(true[of][places], None if population else queries))
        found.append((name, tally))
    return found


def pairs_of_population(world: World, samples: int, *, queries: int = 200, n: int = 300) -> list[tuple[str, Tally]]:
    """Draw queries from the world, and pairs of them for people to grade, for the population's Precision@10."""
    relevant, judged = world.people >= RELEVANT_FROM, world.model >= RELEVANT_FROM
    inside = np.zeros((2, *relevant.shape))
    for system, order in enumerate(world.orders):
        np.put_along_axis(inside[system], order, 0.1, axis=1)
    found = []
    for name, weight in (("mean of A", inside[0]), ("B − A", inside[1] - inside[0])):
        random = np.random.default_rng(7)
        tally = Tally(float((weight * relevant).sum(axis=1).mean()), float((weight * judged).sum(axis=1).mean()))
        for _ in range(samples):
            of = random.choice(len(relevant), queries, replace=False)
            query, candidate = np.nonzero((inside[0, of] > 0) | (inside[1, of] > 0))
            drawn = random.choice(len(query), n, replace=False)
            each = weight[of][query, candidate] / queries
            true, model = relevant[of][query, candidate], judged[of][query, candidate]
            counts = np.flatnonzero(each)
            place = np.full(len(each), -1)
            place[counts] = np.arange(len(counts))
            places = place[drawn][place[drawn] >= 0]
            about = {"weights": each[counts], "clusters": Clusters(query[counts], queries)}
            values = (each * true)[counts][places]
            chance = np.full(len(places), len(places) / len(counts))
            both = corrected_total(values, places, chance, predictions=(each * model)[counts], **about)  # type: ignore[arg-type]
            alone = corrected_total(values, places, chance, predictions=None, **about)  # type: ignore[arg-type]
            tally.add(both, alone, np.nan)
        found.append((name, tally))
    return found


def simulated(judge: str, samples: int) -> Iterator[tuple[str, Tally]]:
    """Yield the figures of one judge."""
    world = simulate(judge)
    for title, measure in (("NDCG@10", ndcg), ("RR@10", rr)):
        for about, population in (("these queries", False), ("population", True)):
            for name, tally in complete_lists(world, measure, samples, population=population):
                yield f"{judge}: {title}, {name}, {about}", tally
    for name, tally in pairs_of_population(world, samples):
        yield f"{judge}: Precision@10, {name}, population", tally


def write(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _print(rows: Iterator[tuple[str, Tally]]) -> bool:
    """Print rows as they come; return whether all cover as often as they should."""
    right = True
    write(HEADER)
    for name, tally in rows:
        right &= BAND[0] <= tally.held / tally.samples <= BAND[1]
        write(tally.row(name))
    return right


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--only", choices=("trec", "simulated"))
    given = parser.parse_args()
    right = True
    folder = Path(os.environ.get("RAGLIFT_CORPORA", "")) / "trec_rag25"
    if given.only != "simulated" and folder.is_dir():
        collection = read_collection(folder)
        for n in (100, 200):
            write(f"\n{n} human grades")
            tallies = fixed_queries(collection, n, given.samples)
            right &= _print((f"{metric} of {name}", tally) for (metric, name), tally in tallies.items())
    if given.only != "trec":
        for judge in JUDGES:
            write(f"\n{judge} judge")
            right &= _print(simulated(judge, given.samples))
    write(f"\n{'all' if right else 'not all'} within {BAND[0]:.0%} to {BAND[1]:.0%}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
