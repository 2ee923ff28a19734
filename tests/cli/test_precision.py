"""`raglift precision`: context precision by a model, behind the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from raglift.testing.openai_server import OpenAIServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[OpenAIServer]:
    with OpenAIServer(
        replies=lambda messages, schema: {"reason": "It says.", "useful": "ford" in messages[1]["content"]}
    ) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
        monkeypatch.chdir(tmp_path)
        yield server


@pytest.fixture
def saved(ranked, tmp_path: Path) -> Path:
    """A saved run of 4 queries with a reranker."""
    return ranked([2] * 4, reranked=[1] * 4).save(tmp_path / "run")


@pytest.mark.slow
def test_it_prints_the_estimate_the_figures_and_the_judge(run, server, saved: Path) -> None:
    code, out, err = run("precision", saved, "-k", "1,3")
    assert code == 0
    assert err.startswith("openai:gpt-4o-mini: 12 prompts, about ")
    words = " ".join(out.split())
    assert "context precision without labels, as openai:gpt-4o-mini judges" in words
    assert "The judge against people: Cohen's kappa 1.00, the same verdict 1.00" in words
    assert "rerank 1 1.000" in words
    assert "What reranking changed" in words
    code, again, err = run("precision", saved, "-k", "1,3")
    assert (code, len(server.requests)) == (0, 12)
    assert "all verdicts from the cache" in " ".join(again.split())


def test_an_estimate_asks_nothing(run, server, saved: Path) -> None:
    code, out, err = run("precision", saved, "--estimate")
    assert (code, out, server.requests) == (0, "", [])
    assert "US$" in err


@pytest.mark.slow
def test_json_has_every_figure_and_verdict(run, server, saved: Path, ranked, tmp_path: Path) -> None:
    other = ranked([1] * 4).save(tmp_path / "other")
    code, out, _ = run("precision", saved, other, "-k", "1,3", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["judge"]["model"] == "openai:gpt-4o-mini"
    assert [(each["system"], each["k"], each["precision"], each["n"]) for each in found["means"]] == [
        ("run/retrieve", 1, 0, 4),
        ("run/retrieve", 3, pytest.approx(1 / 3), 4),
        ("run/rerank", 1, 1, 4),
        ("run/rerank", 3, pytest.approx(1 / 3), 4),
        ("other/retrieve", 1, 1, 4),
        ("other/retrieve", 3, pytest.approx(1 / 3), 4),
    ]
    assert found["agreement"]["kappa"]["value"] == 1
    assert [(lift["system"], lift["k"], lift["ap"]["mean"]) for lift in found["lifts"]] == [
        ("run", 1, 1),
        ("run", 3, 0.5),
    ]
    assert {pair["useful"] for pair in found["pairs"]} == {True, False}
    assert found["without_verdict"] == 0


@pytest.mark.slow
def test_answers_come_from_a_file(run, server, saved: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "q0000", "answer": "At the ford by the mill."}\n')
    code, out, _ = run("precision", saved, "-k", "1", "--answers", answers)
    assert code == 0
    assert "answers were given to 1 of 4 queries" in out
    asked = [str(request.body) for request in server.requests]
    assert sum("by the mill" in body for body in asked) == 2
    answers.write_text("{}\n")
    code, _, err = run("precision", saved, "--answers", answers)
    assert (code, "answers.jsonl:1: id" in err) == (2, True)


def test_too_little_money_stops_with_what_to_do(run, server, saved: Path) -> None:
    code, out, err = run("precision", saved, "--max-cost", "0.000000001")
    assert (code, out, server.requests) == (1, "", [])
    assert "the same command with more to spend continues from there" in err


@pytest.mark.slow
def test_wrong_depths_are_refused_before_anything_is_asked(run, server, saved: Path) -> None:
    code, _, err = run("precision", saved, "-k", "7")
    assert (code, "expected integers from 1 to 6" in err) == (2, True)
    code, _, err = run("precision", saved, "-k", "x")
    assert (code, "-k" in err) == (2, True)
    assert server.requests == []
