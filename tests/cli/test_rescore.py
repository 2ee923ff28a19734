"""`raglift rescore`: a saved run by another rule, other metrics or depths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import raglift as rl

pytestmark = pytest.mark.slow


@pytest.fixture
def saved(ranked, tmp_path: Path) -> Path:
    """A saved run of 10 queries with a reranker, scored at 1 and 3."""
    return ranked([2] * 10, reranked=[1] * 10).save(tmp_path / "run")


def metrics(out: str) -> set[str]:
    return {row["metric"] for row in json.loads(out)["metrics"]}


def test_without_options_nothing_changes(run, saved: Path) -> None:
    code, out, _ = run("rescore", saved)
    assert code == 0
    assert out.split() == str(rl.load_evaluation(saved)).split()


def test_other_depths_keep_the_measures(run, saved: Path) -> None:
    _, before, _ = run("rescore", saved, "--json")
    code, after, _ = run("rescore", saved, "-k", "1,2", "--json")
    names = {name.partition("@")[0] for name in metrics(before)}
    assert code == 0
    assert metrics(after) == {f"{name}@{k}" for name in names for k in (1, 2)}


def test_another_rule_is_kept_with_the_run(run, saved: Path, tmp_path: Path) -> None:
    code, _, err = run(
        "rescore", saved, "--match", "coverage", "--match-threshold", "0.7", "--output", tmp_path / "covered"
    )
    assert code == 0
    assert "saved to" in err
    spec = rl.load_evaluation(tmp_path / "covered").run.spec["match"]
    assert (spec["mode"], spec["threshold"]) == ("coverage", 0.7)


def test_other_labels_come_from_a_file(run, saved: Path, tmp_path: Path) -> None:
    text = rl.load_evaluation(saved).dataset.queries[0].text
    labels = tmp_path / "theirs.jsonl"
    labels.write_text(json.dumps({"id": "q0000", "query": text, "relevant": ["nothing to the point, line 1"]}) + "\n")
    code, out, _ = run("rescore", saved, "--labels", labels, "--json", "--output", tmp_path / "new")
    assert code == 0
    assert json.loads(out)["dataset"] == "stones (labels: theirs)"
    assert rl.load_evaluation(tmp_path / "new").scores.n("rerank", "rr@1") == 1
    code, out, _ = run("rescore", saved, "--labels", labels)
    assert "9 questions of the run not among the labels: unlabelled" in out


def test_measures_of_what_chunks_allow_are_left_out_under_other_labels(run, ranked, tmp_path: Path) -> None:
    first = ranked([1, 2], metrics=("rr", "span_precision_omega"), chunks=["nothing to the point, line 1"])
    saved = first.save(tmp_path / "run")
    labels = tmp_path / "theirs.jsonl"
    text = first.dataset.queries[0].text
    labels.write_text(json.dumps({"id": "q0000", "query": text, "relevant": ["nothing to the point, line 1"]}) + "\n")
    code, out, err = run("rescore", saved, "--labels", labels, "--json")
    assert (code, metrics(out)) == (0, {"rr@1", "rr@3"})
    assert "not known under other labels: span_precision_omega" in err


def test_metrics_that_are_named_are_those_that_are_shown(run, saved: Path) -> None:
    code, out, _ = run("rescore", saved, "--metrics", "hit_rate@2", "--json")
    assert (code, metrics(out)) == (0, {"hit_rate@2"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--documents", "."), "--documents: found it without --labels; expected both"),
        (("--include", "*.rst"), "--include: found it without --labels; expected both"),
        (("--match-threshold", "0.7"), "--match-threshold: found it without --match; expected both"),
    ],
)
def test_options_that_need_another_are_refused(run, saved: Path, options: tuple[str, ...], said: str) -> None:
    code, out, err = run("rescore", saved, *options)
    assert (code, out) == (2, "")
    assert said in err
