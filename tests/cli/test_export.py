"""`raglift export`: a saved run for other tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import raglift as rl


@pytest.fixture
def saved(ranked, tmp_path: Path) -> Path:
    """A saved run of 10 queries with a reranker, one of which finds nothing to the point."""
    found = [2] * 9 + [None]
    return ranked(found, reranked=[1, 3] * 5, ks=(1, 3), metrics=("rr", "recall", "ndcg")).save(tmp_path / "run")


@pytest.mark.slow
def test_it_says_what_it_wrote_and_what_differs(run, saved: Path, tmp_path: Path) -> None:
    code, out, err = run("export", saved, "--output", tmp_path / "out")
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        f"wrote to {tmp_path / 'out'}",
        "  run.trec   60 hits of 10 queries after rerank, with its own scores",
        "  qrels.txt  10 labels of 10 queries, 1 of them facts that no known chunk proves (raglift-unfound:…)",
    ]
    assert "AP and NDCG for all 10 labelled queries." in out
    code, out, _ = run("export", saved, "--output", tmp_path / "other", "--json")
    told = json.loads(out)
    assert (code, told["folder"], told["format"], told["labelled_queries"]) == (0, str(tmp_path / "other"), "trec", 10)
    assert len(told["files"]) == 2


@pytest.mark.slow
def test_what_it_wrote_is_scored_as_before(run, saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert run("export", saved, "--output", folder, "--all-stages")[0] == 0
    scores = rl.load_evaluation(saved).scores
    for number, stage in enumerate(scores.stages, start=1):
        code, out, err = run(
            "score", folder / "qrels.txt", folder / f"run.{number}-{stage}.trec",
            "--metrics", ",".join(map(str, scores.metrics)), "--json",
        )  # fmt: skip
        assert code == 0, err
        (scored,) = json.loads(out)["runs"]
        for metric in scores.metrics:
            assert scored["metrics"][str(metric)]["mean"] == scores.mean(stage, metric)


@pytest.mark.slow
def test_nothing_is_replaced_unasked(run, saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert run("export", saved, "--output", folder)[0] == 0
    code, out, err = run("export", saved, "--output", folder, "--stage", "retrieve")
    assert (code, out) == (2, "")
    assert "an export there already" in err
    assert run("export", saved, "--output", folder, "--stage", "retrieve", "--overwrite")[0] == 0
    assert " retrieve\n" in (folder / "run.trec").read_text()
    code, _, err = run("export", saved, "--output", saved, "--overwrite")
    assert (code, "not an export alone" in err) == (2, True)
    assert rl.load_evaluation(saved).scores.stages == ("retrieve", "rerank")
