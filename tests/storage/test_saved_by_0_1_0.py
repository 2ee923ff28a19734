"""Runs and a sweep that raglift 0.1.0 saved: they load, print the same tables, and rescore to the same figures.

`saved_by_0_1_0/` holds what 0.1.0 wrote, and must not be written again by a later version: a run without a reranker
(one query failed, scores are NaN or missing), one with a reranker and costs, one with anchored labels and the chunks of
its index, and a sweep of one cell. `expected.json` holds what 0.1.0 printed and computed for them. A change of how a
table looks may change the tables there; a change of a figure may not go unexplained.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.storage.saving import save_evaluation
from raglift.sweep.engine import load_sweep_result

FOLDER = Path(__file__).parent / "saved_by_0_1_0"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
RUNS = sorted(name for name in EXPECTED if name != "sweep")
OTHER_SETTINGS: dict[str, Any] = {"ks": [2], "metrics": ["recall", "ndcg", "rr"], "profile": "tutorial"}


def figures(evaluation: rl.Evaluation) -> dict[str, dict[str, list[float | None]]]:
    scores = evaluation.scores
    return {
        str(metric): {
            stage: [None if math.isnan(value) else float(value) for value in scores.of(stage, metric)]
            for stage in scores.stages
        }
        for metric in scores.metrics
    }


def nearly(expected: dict[str, Any]) -> dict[str, Any]:
    return {
        metric: {stage: pytest.approx(values, abs=1e-12) for stage, values in stages.items()}
        for metric, stages in expected.items()
    }


def test_there_is_a_run_of_each_kind() -> None:
    loaded = {name.partition("/")[0]: rl.load_evaluation(FOLDER / name) for name in RUNS}
    assert sorted(loaded) == ["anchored", "reranked", "retrieve_only", "sweep"]
    assert [len(evaluation.run.stages) for _, evaluation in sorted(loaded.items())] == [1, 2, 1, 1]
    assert loaded["reranked"].run.cost is not None
    assert loaded["anchored"].run.inventory is not None
    assert loaded["anchored"].dataset.queries[1].facts[0].passages[0].grade == 2
    assert loaded["anchored"].dataset.queries[2].annotator is not None
    assert loaded["retrieve_only"].run.traces[3].error is not None
    assert "sweep" in loaded["sweep"].run.spec


@pytest.mark.parametrize("name", RUNS)
def test_a_run_prints_the_same_table_and_has_the_same_figures(name: str) -> None:
    loaded = rl.load_evaluation(FOLDER / name)
    assert str(loaded).split("\n") == EXPECTED[name]["table"]
    assert figures(loaded) == EXPECTED[name]["figures"]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_rescores_to_the_same_figures(name: str) -> None:
    loaded = rl.load_evaluation(FOLDER / name)
    spec = loaded.run.spec
    same = rl.rescore(loaded, ks=spec["ks"], match=rl.MatchRule(**spec["match"]))
    expected = {metric: of for metric, of in EXPECTED[name]["figures"].items() if not metric.startswith("judged@")}
    assert figures(same) == nearly(expected)  # Judged is scored only where it is named
    other = rl.rescore(loaded, **OTHER_SETTINGS)
    assert figures(other) == nearly(EXPECTED[name]["rescored"])
    assert str(other).split("\n") == EXPECTED[name]["rescored_table"]


def parsed(path: Path) -> list[object]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_is_saved_again_keeps_every_value(name: str, tmp_path: Path) -> None:
    again = save_evaluation(rl.load_evaluation(FOLDER / name), tmp_path / "run")
    header, before = (json.loads((folder / "run.json").read_bytes()) for folder in (again, FOLDER / name))
    if header["inventory"] is not None:
        assert header["inventory"].pop("abutting") is False  # 0.1.0 did not look for chunks that abut a passage
        assert header["inventory"].pop("by_script") is False  # 0.1.0 counted the characters of every script alike
    if header["cost"] is not None:
        assert header["cost"].pop("models") == []  # 0.1.0 did not count the calls of models
        if header["cost"]["index"] is not None:
            assert header["cost"]["index"].pop("read_in_part") is None  # it was in a note alone
    for stage in header["stages"]:
        assert stage.pop("has_own_depth") is False  # 0.1.0 raised the depth of every retriever
    assert header == before
    for lines in ("queries.jsonl", "traces.jsonl", "chunks.jsonl"):
        assert parsed(again / lines) == parsed(FOLDER / name / lines)


def test_a_sweep_prints_the_same_table() -> None:
    assert str(load_sweep_result(FOLDER / "sweep")).split("\n") == EXPECTED["sweep"]["table"]
