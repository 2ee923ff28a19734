"""`raglift tune`: settings chosen on saved runs, and the score below which not to answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import raglift as rl
from raglift.running.tuning import tune


@pytest.fixture
def reranked(ranked, tmp_path: Path) -> Path:
    """A saved run with a reranker."""
    return ranked([2] * 20, reranked=[1] * 15 + [3] * 5).save(tmp_path / "reranked")


@pytest.mark.slow
def test_the_number_of_candidates_is_tuned_as_the_library_tunes_it(run, reranked: Path) -> None:
    code, out, _ = run("tune", reranked, "--candidates", "2,3", "--primary", "rr@3", "--json")
    found = json.loads(out)
    expected = tune([rl.load_evaluation(reranked)], metric="rr@3", candidates=[2, 3])
    assert code == 0
    assert (found["metric"], found["mean_tuned"]) == ("rr@3", expected.tuned)
    assert len(found["settings"]) == len(expected.settings)


@pytest.mark.slow
def test_a_threshold_is_that_of_the_library(run, tmp_path: Path) -> None:
    system = ("--retriever", "bm25", "-k", "3", "--output", tmp_path / "run")
    assert run("evaluate", "shop_support", *system)[0] == 0
    code, out, _ = run("tune", tmp_path / "run", "--threshold", "--risk", "0.4", "-k", "3", "--json")
    found = json.loads(out)
    expected = rl.load_evaluation(tmp_path / "run").abstention(risk=0.4, k=3)
    assert code == 0
    assert (found["risk"], found["k"], found["threshold"]) == (0.4, 3, expected.threshold)
    assert found["checked_on"]["no_answer_rate"] == expected.checked_on.no_answer_rate
    assert "When not to answer" in run("tune", tmp_path / "run", "--threshold", "--risk", "0.4")[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--risk", "0.2"), "--risk: found it without --threshold"),
        (("--threshold", "--candidates", "2"), "--candidates: found it with --threshold"),
        (("--threshold", "-k", "1,3"), "--threshold: found -k 1,3; expected one run, and one depth at most"),
        (("--candidates", "many"), "--candidates: found 'many'; expected integers"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, reranked: Path, options: tuple[str, ...], said: str) -> None:
    code, out, err = run("tune", reranked, *options)
    assert (code, out) == (2, "")
    assert said in err
