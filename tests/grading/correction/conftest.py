"""Two systems over queries whose pairs both people and a model graded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

import raglift as rl
from raglift.grading import Graded, HumanSample, Pool, pool
from raglift.llm.replies import Usage
from raglift.testing import FakeRetriever
from raglift.types.labels import Annotator, Query

QUERIES = 40


@dataclass(frozen=True)
class World:
    """What both annotators say of everything that the systems return."""

    runs: Mapping[str, rl.Evaluation]
    people: Mapping[tuple[str, str], int]
    model: Mapping[tuple[str, str], int]

    @property
    def pool(self) -> Pool:
        return pool(self.runs, depth=10)

    @property
    def graded(self) -> Graded:
        """The model's grades of the pool."""
        pairs = self.pool
        rows = tuple(
            tuple(self.model[entry.query.id, pooled.chunk.id] for pooled in entry.chunks) for entry in pairs.queries
        )
        blank = tuple(tuple("" for _ in row) for row in rows)
        return Graded(pairs, rows, blank, blank, Annotator("judge", "p", "2026-11-21"), 3, 0, 0, Usage(0, 0))

    def sample(self, n: int, **options) -> HumanSample:
        """Draw a sample, with people's grades."""
        return self.grade(rl.sample_for_grading(self.runs, n, **options))

    def grade(self, sample: HumanSample) -> HumanSample:
        """Fill in people's grades."""
        pairs = [(pair.query, pair.chunk) for pair in sample.pairs]
        return sample.with_grades({pair: self.people[pair] for pair in pairs})

    def rankings(self, name: str) -> dict[str, list[str]]:
        return {
            trace.query_id: [hit.chunk.id for hit in trace.stages[-1].ranking.hits]
            for trace in self.runs[name].run.traces
        }


def make_world(queries: int = QUERIES, *, unanswerable: int = 0, empty: int = 0, seed: int = 3) -> World:
    """Return two systems that find most of what is relevant, and a judge that favours the second."""
    random = np.random.default_rng(seed)
    ids = [f"q{number}" for number in range(queries)]
    people, model = {}, {}
    results: dict[str, dict[str, list[rl.Chunk]]] = {"first": {}, "second": {}}
    for query in ids:
        grades = random.binomial(3, random.beta(1.2, 3.0), size=16)
        chunks = [
            rl.Chunk(f"{query} says {number}", id=f"{query}/{number}", doc_id=f"{query}/{number}")
            for number in range(16)
        ]
        for name, noise in (("first", 1.0), ("second", 1.5)):
            order = np.argsort(-(grades + noise * random.normal(size=16)))[:10]
            results[name][f"text of {query}"] = [chunks[place] for place in order]
        favoured = {chunk.id for chunk in results["second"][f"text of {query}"]}
        for chunk, grade in zip(chunks, grades.tolist(), strict=True):
            people[query, chunk.id] = grade
            more = int(random.random() < (0.5 if chunk.id in favoured else 0.1))
            model[query, chunk.id] = min(grade + more, 3)
    for found in results.values():
        for query in ids[:empty]:
            found[f"text of {query}"] = []
    data = rl.Dataset(
        tuple(Query(query, f"text of {query}", answerable=number >= unanswerable) for number, query in enumerate(ids)),
        name="made",
    )
    return World({name: rl.evaluate(FakeRetriever(found), data) for name, found in results.items()}, people, model)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()
