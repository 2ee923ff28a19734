"""Cells are asked for as many hits as fill a prompt, and nothing else of them changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from raglift.datasets.loading import load_dataset
from raglift.results.evaluation import Evaluation
from raglift.sweep.engine import run_sweep
from raglift.sweep.measuring import Remembered, candidate_pairs
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.record import Sweep, load_sweep
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

CANDIDATES = 20


@pytest.fixture(scope="module")
def support() -> Dataset:
    """A few answerable questions over all documents of shop_support."""
    data = load_dataset("shop_support")
    return replace(data, queries=tuple(query for query in data.queries if query.answerable and query.facts)[:4])


def of_support(dataset: Dataset, reranker: Path, budget: int | None) -> Sweep:
    return Sweep(
        dataset=dataset,
        chunkers="recursive:150/0",
        retrievers=["bm25", "bm25(k1=0.4,b=0.1)"],
        rerankers=["none", str(reranker)],
        candidates=CANDIDATES,
        budget=budget,
    )


@pytest.fixture(scope="module")
def results(
    support: Dataset, tiny_cross_encoder: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[SweepResult, SweepResult]:
    """One sweep without a budget, and with the usual one."""
    folder = tmp_path_factory.mktemp("filling")
    plain, filled = (
        run_sweep(of_support(support, tiny_cross_encoder, budget), folder / str(budget), progress=False)
        for budget in (None, 2000)
    )
    return plain, filled


def evaluations(result: SweepResult, *, reranked: bool) -> list[Evaluation]:
    cells = [one for one in result.results if (one.cell.reranker != "none") == reranked]
    return [one.evaluation for one in cells if one.evaluation is not None]


def rankings(evaluation: Evaluation, k: int | None = None) -> list[list[list[str]]]:
    return [
        [[hit.chunk.text for hit in stage.ranking.hits[:k]] for stage in trace.stages]
        for trace in evaluation.run.traces
    ]


@pytest.mark.slow
def test_prompts_of_small_chunks_are_full_behind_the_same_candidates(
    results: tuple[SweepResult, SweepResult],
) -> None:
    plain, filled = (evaluations(result, reranked=False) for result in results)
    assert len(plain) == len(filled) == 2
    for before, after in zip(plain, filled, strict=True):
        characters = [sum(map(len, hits)) for (hits,) in rankings(after)]
        assert min(characters) > 7000
        assert max(sum(map(len, hits)) for (hits,) in rankings(before)) < 3000
        assert rankings(after, CANDIDATES) == rankings(before)
        assert after.run.spec["candidates"] == CANDIDATES
        for metric in before.scores.metrics:
            assert after.scores.of("retrieve", metric).tolist() == before.scores.of("retrieve", metric).tolist()


@pytest.mark.slow
def test_rerankers_get_their_candidates(results: tuple[SweepResult, SweepResult]) -> None:
    plain, filled = (evaluations(result, reranked=True) for result in results)
    assert len(plain) == len(filled) == 2
    for before, after in zip(plain, filled, strict=True):
        assert rankings(after) == rankings(before)
        assert [n for n in after.notes if n.startswith("rerank: the hits of 4 questions come to fewer than 2,000")]
    sources = zip(*(evaluations(result, reranked=False) for result in results), strict=True)
    for without, source in sources:
        assert candidate_pairs(source) == candidate_pairs(without)


def test_a_system_of_the_users_is_asked_for_more_behind_its_candidates(island: Dataset, tmp_path: Path) -> None:
    lines = [f"line {number} of the log" for number in range(50)]

    def search(query: str, k: int) -> list[str]:
        return lines[:k]

    sweep = Sweep(dataset=island, systems={"log": search}, candidates=5, ks=(1, 3), primary="ndcg@3", budget=60)
    (entry,) = run_sweep(sweep, tmp_path / "sweep", progress=False).results
    assert entry.evaluation is not None
    found = rankings(entry.evaluation)
    assert {len(hits) > 5 for (hits,) in found} == {True}
    assert entry.evaluation.run.spec["candidates"] == 5


class Fused:
    """Ranks otherwise when it is asked for more, as a fusion may."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], int]] = []

    def retrieve(self, queries: list[str], k: int) -> list[Ranking]:
        self.asked.append((list(queries), k))
        return [Ranking.of((Chunk(f"{query} {n}", id=str(n)), None) for n in reversed(range(k))) for query in queries]


def test_what_was_returned_stays_and_more_follows() -> None:
    fused = Fused()
    asked = Remembered(fused)

    def ids(queries: list[str], k: int) -> list[list[str]]:
        return [[chunk.id for chunk in ranking.chunks] for ranking in asked.retrieve(queries, k)]

    assert ids(["a", "b"], 2) == [["1", "0"], ["1", "0"]]
    assert ids(["b"], 4) == [["1", "0", "3", "2"]]
    assert ids(["a", "b"], 3) == [["1", "0", "2"], ["1", "0", "3"]]
    assert fused.asked == [(["a", "b"], 2), (["b"], 4), (["a"], 3)]


@pytest.mark.parametrize(
    ("written", "project", "budget"),
    [("", 500, 500), ("budget: 800", 500, 800)],
)
def test_a_file_says_the_budget_before_the_project_does(
    tmp_path: Path, written: str, project: int | None, budget: int | None
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(f"dataset: lighthouse\n{written}\n", encoding="utf-8")
    assert load_sweep(file, defaults={"budget": project}).budget == budget
