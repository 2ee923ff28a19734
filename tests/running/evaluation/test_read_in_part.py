"""What a reranker did not read to the end is counted, noted, saved, and shown wherever the figures are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import raglift as rl
from raglift.running.evaluation import rerank
from raglift.types.rankings import ReadInPart

QUERY = "who is the keeper"
TEXTS = ["the lamp of the island", "the keeper is on the boat " * 20, "fog " * 200]
NOTE = "rerank: 2 of 3 candidates are longer than the reranker reads; the rest of their text is not scored"


@pytest.fixture
def data() -> rl.Dataset:
    return rl.Dataset.from_dict({QUERY: ["the keeper is on the boat"]})


@pytest.fixture
def retrieved(data: rl.Dataset) -> rl.Evaluation:
    return rl.evaluate(lambda query: TEXTS, data, ks=(1, 3))


@pytest.fixture
def evaluation(retrieved: rl.Evaluation, tiny_cross_encoder: Path) -> rl.Evaluation:
    return rerank(retrieved, str(tiny_cross_encoder))


@pytest.mark.slow
def test_rerank_and_evaluate_count_and_note_the_same(
    evaluation: rl.Evaluation, data: rl.Dataset, tiny_cross_encoder: Path
) -> None:
    together = rl.evaluate(lambda query: TEXTS, data, ks=(1, 3), reranker=str(tiny_cross_encoder))
    for one in (evaluation, together):
        assert [stage.read_in_part for stage in one.run.stages] == [None, ReadInPart(candidates=2, of=3)]
        assert NOTE in one.notes


@pytest.mark.slow
def test_it_is_saved_and_loaded_and_a_run_of_before_loads(evaluation: rl.Evaluation, tmp_path: Path) -> None:
    folder = evaluation.save(tmp_path / "run")
    assert rl.load_evaluation(folder).run.stages == evaluation.run.stages
    header = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert header["stages"][1]["read_in_part"] == {"candidates": 2, "of": 3, "queries": 0}
    for stage in header["stages"]:
        stage.pop("read_in_part", None)
    (folder / "run.json").write_text(json.dumps(header), encoding="utf-8")
    assert [stage.read_in_part for stage in rl.load_evaluation(folder).run.stages] == [None, None]


def test_a_query_that_is_too_long_is_noted(tiny_cross_encoder: Path) -> None:
    long = rl.Dataset.from_dict({"who is the keeper " * 30: ["the lamp of the island"]})
    done = rl.evaluate(lambda query: TEXTS[:1], long, ks=(1,), reranker=str(tiny_cross_encoder))
    assert done.run.stages[1].read_in_part == ReadInPart(candidates=1, of=1, queries=1)
    assert "rerank: 1 question is longer than the reranker reads; only the beginning was read" in done.notes


def test_a_reranker_of_ones_own_may_count_and_an_error_in_it_costs_the_count_alone(retrieved: rl.Evaluation) -> None:
    class Counts:
        found: ReadInPart | None = ReadInPart(1, 3)

        def rerank(self, queries, rankings):
            return rankings

        def read_in_part(self, queries, rankings):
            assert (queries, [len(ranking) for ranking in rankings]) == ([QUERY], [3])
            if self.found is None:
                raise ValueError("no tokenizer")
            return self.found

    counts = Counts()
    assert rerank(retrieved, counts).run.stages[1].read_in_part == ReadInPart(1, 3)
    counts.found = None
    failed = rerank(retrieved, counts)
    assert failed.run.stages[1].read_in_part is None
    assert "rerank: whether it read its candidates whole is not known: ValueError: no tokenizer" in failed.notes
