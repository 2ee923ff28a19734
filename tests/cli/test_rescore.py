"""`raglift rescore`: a saved run by another rule, other metrics or depths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import raglift as rl


@pytest.fixture
def saved(ranked, tmp_path: Path) -> Path:
    """A saved run of 10 queries with a reranker, scored at 1 and 3."""
    return ranked([2] * 10, reranked=[1] * 10).save(tmp_path / "run")


def metrics(out: str) -> set[str]:
    return {f"{row['metric']}@{row['k']}" for row in json.loads(out)["metrics"]}


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


def test_other_measures_keep_the_depths(run, saved: Path) -> None:
    code, out, _ = run("rescore", saved, "--metrics", "recall", "--json")
    assert code == 0
    assert metrics(out) == {"Recall@1", "Recall@3"}


def test_another_rule_is_kept_with_the_run(run, saved: Path, tmp_path: Path) -> None:
    code, _, err = run(
        "rescore", saved, "--match", "coverage", "--match-threshold", "0.7", "--save", tmp_path / "covered"
    )
    assert code == 0
    assert "saved to" in err
    spec = rl.load_evaluation(tmp_path / "covered").run.spec["match"]
    assert (spec["mode"], spec["threshold"]) == ("coverage", 0.7)


def test_a_threshold_says_nothing_by_itself(run, saved: Path) -> None:
    code, out, err = run("rescore", saved, "--match-threshold", "0.7")
    assert (code, out) == (2, "")
    assert "expected both, as --match coverage --match-threshold 0.7" in err


def test_a_folder_in_use_is_left_alone(run, saved: Path) -> None:
    before = rl.load_evaluation(saved).scores.metrics
    code, _, err = run("rescore", saved, "-k", "2", "--save", saved)
    assert code == 2
    assert "overwrite" in err
    assert rl.load_evaluation(saved).scores.metrics == before
