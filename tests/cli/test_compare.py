"""`raglift compare`: saved runs next to each other, and one run's reranker lift."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import raglift as rl
from raglift.running.systems import LocalSystem, build_retriever

pytestmark = pytest.mark.slow


@pytest.fixture
def runs(ranked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of saved runs: `base`, `better` and `reranked`."""
    tags = [["hard"], ["easy"], []] * 10
    ranked([2] * 30, tags=tags).save(tmp_path / "base")
    ranked([1] * 20 + [2] * 10, tags=tags).save(tmp_path / "better")
    ranked([2] * 30, reranked=[1] * 25 + [3] * 5, tags=tags).save(tmp_path / "reranked")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_runs_are_compared_and_printed_as_the_library_prints_them(run, runs) -> None:
    code, out, err = run("compare", "base", "better", "--primary", "mrr@3", "--seed", "4")
    assert (code, err) == (0, "")
    comparison = rl.compare(["base", "better"], primary="mrr@3", seed=4)
    following = "Next: raglift report base better shows every question"
    assert out == f"{comparison}\n\n{following}; --all prints every metric, tag and question that moved\n"
    code, out, _ = run("compare", "base", "better", "--primary", "mrr@3", "--seed", "4", "--all")
    assert (code, out) == (0, f"{comparison.to_text()}\n\n{following}\n")
    assert "seed 4" in out


def test_json_is_complete_and_agrees_with_the_library(run, runs) -> None:
    options = ("--primary", "rr@3", "--baseline", "base", "--by-tag", "--json")
    code, out, _ = run("compare", "base", "better", "reranked", *options)
    told = json.loads(out)
    comparison = rl.compare(["base", "better", "reranked"], primary="rr@3", baseline="base")
    assert code == 0
    assert (told["dataset"], told["primary"], told["baseline"]) == ("stones", "rr@3", "base")
    assert (told["baseline_reason"], told["best"]) == ("as requested", comparison.best)
    assert [system["name"] for system in told["systems"]] == ["base", "better", "reranked"]
    assert [system["stage"] for system in told["systems"]] == ["retrieve", "retrieve", "rerank"]
    assert told["query_ids"] == list(comparison.query_ids)
    assert told["method"] == {"text": comparison.method.text, "confidence": 0.95, "seed": 0}
    assert len(told["rows"]) == len(comparison.rows)
    row = told["rows"][1]
    found = comparison.row("better")
    assert found.difference is not None
    assert (row["difference"], row["p"], row["p_holm"]) == (found.difference.mean, found.difference.p, found.p_holm)
    assert (row["wins"], row["exploratory"], row["verdict"]) == (20, False, "better")
    assert told["rows"][0]["difference"] is None
    assert told["tradeoff"] is None
    assert told["warnings"] == list(comparison.warnings)
    assert {(one["tag"], one["n"]) for one in told["by_tag"]["slices"]} == {("hard", 10), ("easy", 10), (None, 10)}


def test_one_run_shows_its_reranker_lift(run, runs) -> None:
    code, out, _ = run("compare", "reranked", "--primary", "rr@3")
    lift = rl.load_evaluation("reranked").reranker_lift("rr@3")
    assert code == 0
    assert out == f"{lift}\n"
    _, out, _ = run("compare", "reranked", "--primary", "rr@3", "--json", "--by-tag")
    told = json.loads(out)
    assert (told["before"], told["after"]) == ("retrieve", "rerank")
    assert told["rows"][0]["wins"] == 25
    assert told["moved_down"][0] == {
        "query_id": "q0025",
        "text": "Where does stone number 0025 lie?",
        "before": 0.5,
        "after": 1 / 3,
        "rank_before": 2,
        "rank_after": 3,
    }
    assert told["by_tag"]["metric"] == "rr@3"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("base",), "compare: found one run, base, of one stage (retrieve); expected a run with a reranker, or"),
        (("reranked", "--names", "a"), "compare: found --names with one run"),
        (("base", "nowhere"), "nowhere: found no such folder; expected that of a saved evaluation"),
        (
            ("base", "better", "--primary", "ndcg@10"),
            "primary: found ndcg@10, which was not scored; expected one of rr@1, rr@3",
        ),
        (("base", "better", "--primary", "rr@3", "--baseline", "1"), "baseline: found '1'; expected one of 'base', 'b"),
        (("base", "better", "--primary", "rr@3", "--names", "a,a"), "names: found 'a' more than once"),
        (("base", "better", "--primary", "rr@3", "--seed", "-1"), "seed: found -1"),
    ],
)
def test_mistakes_end_with_one_message_and_code_2(run, runs, arguments, message) -> None:
    code, out, err = run("compare", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("raglift: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_json_names_the_models_that_labelled_and_nothing_where_people_did(run, runs, ranked, judged_by_model) -> None:
    for name, rank in (("one", 1), ("two", 2)):
        judged_by_model(ranked([rank] * 30, reranked=[1] * 30), labels=10).save(runs / name)
    expected = {"passages": {"people": 20, "openai:gpt-4o-mini (relevance@3f9a1c07)": 10}, "queries": {"people": 30}}
    for command in (("compare", "one", "two"), ("compare", "one"), ("rescore", "one")):
        _, out, _ = run(*command, "--json")
        assert json.loads(out)["labels"] == expected
    for command in (("compare", "base", "better"), ("compare", "reranked"), ("rescore", "base")):
        _, out, _ = run(*command, "--json")
        assert "labels" not in json.loads(out)


def test_a_terminal_has_colours(run, runs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in run("compare", "base", "better", "--primary", "mrr@3")[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("compare", "base", "better", "--primary", "mrr@3")[1]


def test_json_says_what_was_done_because_chunks_differ(run, tmp_path: Path) -> None:
    data = rl.load_dataset("lighthouse")
    for size in (300, 1000):
        system = build_retriever(data, LocalSystem("bm25", rl.RecursiveChunker(size, 0)))
        rl.evaluate(system, data, ks=(1, 3)).save(tmp_path / str(size))
    _, out, _ = run("compare", tmp_path / "300", tmp_path / "1000", "--json")
    fairness = json.loads(out)["fairness"]
    assert fairness["other_chunks"]
    assert fairness["sentences"]
    assert all(lead["system"] in ("300", "1000") for lead in fairness["leads"])
