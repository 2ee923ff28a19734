"""A system is measured as it is deployed, and deeper only where that is the same system."""

from __future__ import annotations

from typing import Any

import pytest

import raglift as rl
from raglift.results.evaluation import Evaluation
from raglift.types.dataset import Dataset

QUESTIONS = [f"Where is stone {number}?" for number in range(6)]
DATA = Dataset.from_dict({question: [f"stone {place} lies here"] for place, question in enumerate(QUESTIONS)})
LINES = [f"stone {number} lies here, number {number * 7 % 20} of the row" for number in range(20)]


def texts(evaluation: Evaluation, stage: int = 0) -> list[list[str]]:
    return [[hit.chunk.text for hit in trace.stages[stage].ranking] for trace in evaluation.run.traces]


def lines_of(query: str) -> list[str]:
    """All lines, the wanted one third."""
    number = int(query.split()[3].rstrip("?"))
    others = [line for line in LINES if not line.startswith(f"stone {number} ")]
    return [*others[:2], LINES[number], *others[2:]]


def backwards(query: str, found: list[str]) -> list[float]:
    return [float(place) for place in range(len(found))]


def search(query: str, k: int) -> list[str]:
    return lines_of(query)[:k]


def search_four(query: str, k: int = 4) -> list[str]:
    return lines_of(query)[:k]


def search_by_depth(query: str, k: int = 4) -> list[str]:
    """What comes first depends on how many are asked for, as in a fusion."""
    return sorted(lines_of(query)[:k], key=len)


def test_a_function_that_takes_k_is_asked_for_ten_which_is_recorded() -> None:
    evaluation = rl.evaluate(search, DATA)
    assert {len(found) for found in texts(evaluation)} == {10}
    assert evaluation.run.spec["k"] == 10
    assert evaluation.truncated == {}


def test_a_k_with_a_default_is_the_functions_own() -> None:
    evaluation = rl.evaluate(search_four, DATA)
    assert texts(evaluation) == [search_four(question) for question in QUESTIONS]
    assert evaluation.truncated == {"retrieve": 4}
    assert "k" not in evaluation.run.spec


def test_the_depth_that_the_system_returns_decides_and_deeper_metrics_are_not_taken() -> None:
    evaluation = rl.evaluate(search_four, DATA)
    assert {metric.k for metric in evaluation.scores.metrics} == {1, 3, 4}
    assert evaluation.depth_limit == 4
    assert str(rl.compare([evaluation, rl.evaluate(search, DATA, ks=(1, 4))], names=["a", "b"]).primary) == "ndcg@4"


def test_depths_that_are_asked_for_are_taken_and_marked() -> None:
    evaluation = rl.evaluate(search_four, DATA, ks=(1, 10))
    assert evaluation.is_truncated("retrieve", "recall@10")
    assert "retrieve: returned at most 4 hits: as deployed, so there are no figures at a deeper k" in evaluation.notes


def test_deeper_is_the_same_system_where_it_begins_with_the_same_hits() -> None:
    evaluation = rl.evaluate(search_four, DATA, depth="deep", candidates=12)
    assert {len(found) for found in texts(evaluation)} == {12}
    assert evaluation.run.spec["deployed_depth"] == 4
    assert evaluation.depth_limit == 4
    assert {metric.k for metric in evaluation.scores.metrics} == {1, 3, 4, 5, 10}
    (note,) = (note for note in evaluation.notes if "as deployed" in note)
    assert note == (
        "retrieve: returns 4 hits as deployed; asked for 12 hits, it began with the same for the 3 questions tried"
    )


def test_where_depth_changes_what_comes_first_the_deployed_figures_stay_with_an_example() -> None:
    evaluation = rl.evaluate(search_by_depth, DATA, depth="deep", candidates=12)
    assert texts(evaluation) == [search_by_depth(question) for question in QUESTIONS]
    (note,) = (note for note in evaluation.notes if "does not begin with" in note)
    assert " is 'stone " in note


@pytest.mark.slow
def test_a_reranker_that_is_tried_gets_candidates_and_before_is_the_same_system() -> None:
    evaluation = rl.evaluate(search_four, DATA, reranker=backwards, candidates=12)
    assert [stage.name for stage in evaluation.run.stages] == ["retrieve", "rerank"]
    assert {len(found) for found in texts(evaluation)} == {12}
    assert [found[:4] for found in texts(evaluation)] == [search_four(question) for question in QUESTIONS]
    assert str(evaluation.reranker_lift().primary) == "ndcg@4"


@pytest.mark.slow
def test_where_depth_changes_what_comes_first_both_befores_are_stages() -> None:
    evaluation = rl.evaluate(search_by_depth, DATA, reranker=backwards, candidates=12)
    assert [stage.name for stage in evaluation.run.stages] == ["retrieve", "candidates", "rerank"]
    assert texts(evaluation) == [search_by_depth(question) for question in QUESTIONS]
    assert texts(evaluation, 1) == [search_by_depth(question, 12) for question in QUESTIONS]
    assert texts(evaluation, 2) == [found[::-1] for found in texts(evaluation, 1)]
    assert evaluation.depth_limit == 4
    assert not evaluation.has_fair_lift("ndcg@10")
    first, over = str(evaluation).split("Lift over the candidates\n")
    retrieved, candidates = (
        next(line for line in part.splitlines() if line.startswith("NDCG@4")) for part in (first, over)
    )
    assert retrieved != candidates


def test_a_perfect_reranker_has_the_candidates_that_the_reranker_got() -> None:
    answer, *others = lines_of(QUESTIONS[0])[:4]

    def search(query: str, k: int = 2) -> list[str]:
        return others[:2] if k == 2 else [*others[::-1], answer]

    data = rl.Dataset.from_dict({QUESTIONS[0]: [answer]})
    first = rl.evaluate(
        search, data, reranker=lambda query, texts: [float(text == answer) for text in texts], candidates=4
    )
    assert first.candidates == "candidates"
    assert (first.scores.mean("retrieve", "recall@2"), first.scores.mean("rerank", "recall@2")) == (0.0, 1.0)
    assert first.headroom(2).mean_recall == 1.0
    assert first.failure_analysis(2).made_findable == ()


def test_a_query_that_fails_in_either_pass_has_failed() -> None:
    def fails_deep(query: str, k: int = 4) -> list[str]:
        if k > 4 and query == QUESTIONS[0]:
            raise ValueError("too deep")
        return search_by_depth(query, k)

    evaluation = rl.evaluate(fails_deep, DATA, reranker=backwards, candidates=12, retries=0)
    errors = {trace.query_id: trace.error for trace in evaluation.run.traces if trace.error is not None}
    assert list(errors) == [DATA.queries[0].id]
    assert "too deep" in errors[DATA.queries[0].id]


def test_what_could_not_be_compared_is_not_taken_for_the_same() -> None:
    def never_deep(query: str, k: int = 4) -> list[str]:
        if k > 4:
            raise ValueError("too deep")
        return lines_of(query)[:k]

    evaluation = rl.evaluate(never_deep, DATA, depth="deep", candidates=12, retries=0)
    assert texts(evaluation) == [search_four(question) for question in QUESTIONS]
    assert any("no question tried was answered both" in note for note in evaluation.notes)


@pytest.mark.slow
def test_what_is_saved_says_how_deep_the_system_was_asked(tmp_path: Any) -> None:
    evaluation = rl.evaluate(search_four, DATA, reranker=backwards, candidates=12)
    evaluation.save(tmp_path / "run")
    again = rl.load_evaluation(tmp_path / "run")
    assert again.depth_limit == 4
    assert again.run.stages == evaluation.run.stages
    assert str(again) == str(evaluation)
