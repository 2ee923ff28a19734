"""`raglift explain`: one query of a saved run, by a few metrics or by all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def saved(ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A saved run of two queries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    ranked([1, 2]).save("saved")
    return "saved"


def test_metrics_are_shown_at_one_depth_on_one_line_unless_all_are_wanted(run, saved: str) -> None:
    code, short, _ = run("explain", saved, "q0001")
    assert code == 0
    assert "earned: RR@3 +0.5" in short
    assert "@1 " not in short
    assert short.splitlines()[-1] == "--all shows all 4 metrics"
    _, long, _ = run("explain", saved, "q0001", "--all")
    assert "earned:\n      RR@3 +0.500" in long or "earned: RR@3 +0.500" in long
    assert "k = 1" in long
    assert "--all" not in long


def test_json_has_what_each_hit_earned(run, saved: str) -> None:
    code, out, _ = run("explain", saved, "q0001", "--json")
    found = json.loads(out)
    assert (code, found["query"]["id"], found["stage"]) == (0, "q0001", "retrieve")
    assert found["metrics"]["rr@3"] == sum(hit["earned"]["rr@3"] for hit in found["hits"])
    assert [hit["rank"] for hit in found["hits"]] == list(range(1, len(found["hits"]) + 1))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "found no question; expected the id of one, as raglift explain saved q0000"),
        (("q000",), "there is no such question"),
        (("q0001", "--stage", "rerank"), "expected one of retrieve"),
    ],
)
def test_what_does_not_go_together_is_said(words: tuple[str, ...], said: str, run, saved: str) -> None:
    code, _, err = run("explain", saved, *words)
    assert (code, said in err) == (2, True)


def test_every_metric_is_shown_where_none_says_how_good_it_is(run, ranked, saved: str) -> None:
    ranked([1, 2], metrics=("context_tokens",)).save("counted")
    code, out, _ = run("explain", "counted", "q0001")
    assert code == 0
    assert "--all" not in out
    assert out == run("explain", "counted", "q0001", "--all")[1]
