"""A sweep gives what evaluating each system by itself gives, with the shared work done once."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from raglift.errors import ConfigurationError, ModelOutputError
from raglift.results.evaluation import Evaluation
from raglift.retrieval.onnx_models import OnnxCrossEncoder, OnnxEmbedder
from raglift.running.evaluation import evaluate
from raglift.sweep.engine import load_sweep_result, run_sweep
from raglift.sweep.measuring import Parts, Remembered
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.record import Sweep
from raglift.types.dataset import Dataset
from raglift.utilities.cache import Cache

pytestmark = pytest.mark.slow

CHUNKERS = ["recursive:200/0", "recursive:90/30"]


@pytest.fixture
def sweep(island: Dataset) -> Sweep:
    return Sweep(
        dataset=island,
        chunkers=CHUNKERS,
        retrievers=["dense", "bm25", "hybrid(dense=0.7,bm25=0.3)"],
        rerankers=["none", "cross-encoder"],
        candidates=6,
        ks=(1, 3),
        primary="ndcg@3",
    )


def rankings(evaluation: Evaluation) -> list[object]:
    return [
        [(stage.stage, [(hit.chunk.id, hit.score) for hit in stage.ranking]) for stage in trace.stages]
        for trace in evaluation.run.traces
    ]


def assert_same(one: SweepResult, other: SweepResult) -> None:
    assert [result.cell for result in one.results] == [result.cell for result in other.results]
    for left, right in zip(one.results, other.results, strict=True):
        assert left.evaluation is not None
        assert right.evaluation is not None
        assert rankings(left.evaluation) == rankings(right.evaluation)
        np.testing.assert_array_equal(left.evaluation.scores.values, right.evaluation.scores.values)


class Computed:
    """Counts what goes through the models."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: Counter[object] = Counter()
        self.pairs: Counter[object] = Counter()
        embed, score = OnnxEmbedder.embed, OnnxCrossEncoder.score
        monkeypatch.setattr(
            OnnxEmbedder,
            "embed",
            lambda model, texts, kind: (self.texts.update((kind, text) for text in texts), embed(model, texts, kind))[
                1
            ],
        )
        monkeypatch.setattr(
            OnnxCrossEncoder, "score", lambda model, batch: (self.pairs.update(batch), score(model, batch))[1]
        )


def test_each_cell_is_what_evaluating_it_alone_gives(sweep: Sweep, island: Dataset, tmp_path: Path) -> None:
    result = run_sweep(sweep, tmp_path / "sweep", progress=False)
    assert len(result.finished) == 2 * 3 * 2
    for entry in result.results:
        alone = Parts(sweep, island)
        # Prompts are filled behind the candidates also where a fusion of more hits would rank these otherwise
        system = Remembered(alone._deployed(replace(entry.cell, reranker="none")))
        expected = evaluate(
            system,
            island,
            reranker=entry.cell.reranker,
            depth="deep",
            candidates=6,
            ks=(1, 3),
            match="coverage",
            budget=2000,
        )
        assert entry.evaluation is not None
        assert rankings(entry.evaluation) == rankings(expected), entry.cell.name
        of_sweep = entry.evaluation.scores
        kept = [of_sweep.metrics.index(metric) for metric in expected.scores.metrics]
        np.testing.assert_array_equal(of_sweep.values[:, kept], expected.scores.values)
        assert [stage.system for stage in entry.evaluation.run.stages] == [
            stage.system for stage in expected.run.stages
        ]
        assert entry.evaluation.run.inventory == expected.run.inventory
        assert entry.evaluation.notes == expected.notes


def test_every_text_and_every_pair_goes_through_a_model_once(
    sweep: Sweep, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = Computed(monkeypatch)
    run_sweep(sweep, tmp_path / "sweep", progress=False)
    assert set(computed.texts.values()) == {1}
    assert set(computed.pairs.values()) == {1}
    run_sweep(sweep, tmp_path / "again", progress=False)
    assert set(computed.texts.values()) == set(computed.pairs.values()) == {1}


def test_a_sweep_that_is_stopped_resumes_without_repeating_a_batch(
    sweep: Sweep, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_sweep(sweep, tmp_path / "whole", progress=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGLIFT_CACHE", str(tmp_path / "other"))
        computed, stops = Computed(patch), 0
        put = Cache.put_many

        def stopping(self: Cache, entries: object) -> None:
            put(self, entries)  # type: ignore[arg-type]
            if self.path is not None and entries and stops_after[0] >= 0:
                stops_after[0] -= 1
                if stops_after[0] < 0:
                    raise KeyboardInterrupt

        patch.setattr(Cache, "put_many", stopping)
        for batches in range(12):  # each try gets one batch further
            stops_after = [0 if batches % 2 else 1]
            try:
                run_sweep(sweep, tmp_path / "stopped", resume=True, progress=False)
                break
            except KeyboardInterrupt:
                stops += 1
        assert stops >= 3
        stops_after = [-1]
        resumed = run_sweep(sweep, tmp_path / "stopped", resume=True, progress=False)
        assert set(computed.texts.values()) == set(computed.pairs.values()) == {1}
    assert_same(whole, resumed)


def lamp_only(query: str) -> list[str]:
    return ["The lamp is lit at dusk and put out at dawn."]


def never_made() -> object:
    raise OSError("no database at 127.0.0.1:5432")


def test_what_fails_takes_its_cells_with_it_and_nothing_else(island: Dataset, tmp_path: Path) -> None:
    sweep = Sweep(
        dataset=island,
        chunkers=["recursive:200/0"],
        retrievers=["bm25"],
        systems={"lamp": lamp_only, "database": never_made},
        ks=(1,),
        primary="ndcg@1",
    )
    result = run_sweep(sweep, tmp_path / "sweep", progress=False)
    assert [entry.cell.name for entry in result.failed] == ["database · none"]
    assert (
        result.failed[0].error
        == "ConfigurationError: system: never_made() failed: OSError: no database at 127.0.0.1:5432"
    )
    assert {entry.cell.name for entry in result.finished} == {"recursive:200/0 · bm25 · none", "lamp · none"}
    assert result.evaluation("lamp · none").scores.mean("retrieve", result.primary) == pytest.approx(0.2)
    with pytest.raises(ConfigurationError, match="database · none: failed: ConfigurationError: system"):
        result.evaluation("database · none")


def test_a_cell_that_failed_is_tried_again_when_the_sweep_resumes(island: Dataset, tmp_path: Path) -> None:
    ready: list[bool] = []

    def database() -> object:
        if not ready:
            raise OSError("not up yet")
        return lamp_only

    sweep = Sweep(dataset=island, systems={"database": database}, ks=(1,), primary="ndcg@1")
    assert len(run_sweep(sweep, tmp_path / "sweep", progress=False).failed) == 1
    assert "not up yet" in (tmp_path / "sweep" / "failures.json").read_text("utf-8")
    ready.append(True)
    again = run_sweep(sweep, tmp_path / "sweep", resume=True, progress=False)
    assert (len(again.failed), len(again.finished)) == (0, 1)
    assert not load_sweep_result(tmp_path / "sweep").failed


def test_truncated_chunks_mark_their_cells_and_leave_them_out_of_best(tmp_path: Path) -> None:
    text = "The keeper of the lamp wrote in his book. " * 60 + "The tower is ninety feet high. " + "Fog came in. " * 40
    island = Dataset.from_dict(
        {"how high is the tower": ["The tower is ninety feet high."]}, documents={"tower.md": text}
    )
    sweep = Sweep(
        dataset=island,
        chunkers=["recursive:4000/0", "recursive:400/0"],
        retrievers=["dense"],
        ks=(1, 3),
        primary="ndcg@3",
    )
    result = run_sweep(sweep, tmp_path / "sweep", progress=False)
    large, small = result.results
    assert (large.read_in_part, small.read_in_part) == (1, 0)
    assert large.value(result.primary) == 1.0
    assert result.best(without_truncation=True) is small
    assert result.best() is (large if large.value(result.primary) >= small.value(result.primary) else small)
    assert re.search(r"\n4000/0 +100% ", str(result))
    assert load_sweep_result(tmp_path / "sweep").results[0].read_in_part == 1


def test_stages_are_timed_one_query_at_a_time_when_asked(sweep: Sweep, tmp_path: Path) -> None:
    timed = replace(sweep, latency=2, chunkers=CHUNKERS[:1])
    result = run_sweep(timed, tmp_path / "sweep", progress=False)
    for entry in result.finished:
        assert entry.evaluation is not None
        cost = entry.evaluation.run.cost
        assert cost is not None
        assert [latency.stage for latency in cost.latencies] == list(entry.evaluation.scores.stages)
        assert all(latency.queries == 2 and latency.p50 > 0 for latency in cost.latencies)


def test_the_frame_has_a_row_for_each_metric_and_for_each_failure(island: Dataset, tmp_path: Path) -> None:
    sweep = Sweep(dataset=island, systems={"lamp": lamp_only, "database": never_made}, ks=(1, 3), primary="ndcg@1")
    frame = run_sweep(sweep, tmp_path / "sweep", progress=False).to_frame()
    assert set(frame.cell) == {"lamp · none", "database · none"}
    assert len(frame[frame.cell == "lamp · none"]) == 7 * 2 + 2
    assert frame[frame.cell == "database · none"].error.item().startswith("ConfigurationError")


def test_calls_to_a_system_are_made_as_the_sweep_says(island: Dataset, tmp_path: Path) -> None:
    under_way, most, tries = [0], [0], Counter[str]()

    def slow(query: str) -> list[str]:
        tries[query] += 1
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        time.sleep(0.05 if "lamp" not in query else 3.0)
        under_way[0] -= 1
        if "boat" in query:
            raise ConnectionError("not now")
        return [query]

    asked = Sweep(
        dataset=island, systems={"slow": slow}, concurrency=3, timeout=1.5, retries=1, ks=(1,), primary="ndcg@1"
    )
    evaluation = run_sweep(asked, tmp_path / "sweep", progress=False).evaluation("slow · none")
    errors = [trace.error or "" for trace in evaluation.run.traces]
    assert [("no answer within" in error, "not now" in error) for error in errors] == [
        (True, False),
        (True, False),
        (False, False),
        (False, False),
        (False, True),
    ]
    assert most[0] > 1
    assert tries["what does the boat bring"] == 2


def test_one_query_that_a_model_refuses_fails_alone(
    island: Dataset, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = OnnxEmbedder.embed

    def refusing(model: OnnxEmbedder, texts: list[str], kind: str) -> object:
        if kind == "query" and any("boat" in text for text in texts):
            raise ModelOutputError("the model refused a text")
        return embed(model, texts, kind)  # type: ignore[arg-type]

    monkeypatch.setattr(OnnxEmbedder, "embed", refusing)
    asked = Sweep(dataset=island, chunkers="recursive:200/0", retrievers=["dense", "hybrid"], ks=(1,), primary="ndcg@1")
    result = run_sweep(asked, tmp_path / "sweep", progress=False)
    assert len(result.finished) == 2
    for entry in result.finished:
        assert entry.evaluation is not None
        failed = {trace.query_id: trace.error for trace in entry.evaluation.run.traces if trace.error is not None}
        assert failed == {"q5": "retrieve: ModelOutputError: the model refused a text"}


def test_a_cell_without_a_mean_is_never_the_best(sweep: Sweep, tmp_path: Path) -> None:
    result = run_sweep(replace(sweep, rerankers=["none"], chunkers=CHUNKERS[:1]), tmp_path / "sweep", progress=False)
    empty = replace(result.results[0], evaluation=None)
    assert replace(result, results=(empty,)).best() is None
    nothing = result.results[1].evaluation
    assert nothing is not None
    scores = replace(nothing.scores, values=np.full_like(nothing.scores.values, np.nan))
    unknown = replace(result.results[1], evaluation=replace(nothing, scores=scores))
    mixed = replace(result, results=(unknown, result.results[0], result.results[2]))
    assert mixed.ranked[-1] is unknown
    assert mixed.best() is not unknown
    assert replace(result, results=(unknown,)).best() is None
