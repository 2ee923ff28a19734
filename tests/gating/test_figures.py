"""The figures of a run compared with their bounds."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.gating.records import Outcome
from raglift.types.rankings import Cost, StageLatency


def check(result, name):
    return next(one for one in result.checks if one.name == name)


def test_a_stage_may_be_named_and_is_the_last_by_default(ranked) -> None:
    evaluation = ranked([3, 3, 3], reranked=[1, 1, 1])
    result = rl.gate(evaluation, minimum={"rr@3": 1.0, "retrieve:rr@3": 1 / 3, "rerank:rr@3": 1.0})
    assert result.passed
    assert [one.stage for one in result.checks] == ["rerank", "retrieve", "rerank"]
    assert not rl.gate(evaluation, minimum={"retrieve:rr@3": 0.5}).passed


def test_a_metric_that_was_not_scored_is_taken_from_the_candidates(ranked) -> None:
    evaluation = ranked([1, 2, None, 5])
    result = rl.gate(evaluation, minimum={"ndcg@5": 0.1, "rr@5": 0.4})
    assert "ndcg@5" not in map(str, evaluation.scores.metrics)
    expected = rl.rescore(evaluation, metrics=["ndcg@5", "rr@5"])
    for one in result.checks:
        assert one.found == expected.scores.mean("retrieve", one.name)
    assert {*evaluation.scores.metrics} < {*result.evaluation.scores.metrics}


def test_a_metric_that_cannot_be_taken_says_why(ranked) -> None:
    with pytest.raises(ConfigurationError, match=r"recall@7: the run was not scored at that depth, and its 6 cand"):
        rl.gate(ranked([1]), minimum={"recall@7": 0.5})
    with pytest.raises(ConfigurationError, match=r"ndcg: found no such metric of the run; expected a depth"):
        rl.gate(ranked([1]), minimum={"ndcg": 0.5})


def test_a_metric_deeper_than_the_stage_returned_is_told(ranked) -> None:
    evaluation = ranked([1] * 6, reranked=[1] * 6, top_n=2)
    result = rl.gate(evaluation, minimum={"recall@3": 0.5, "recall@1": 0.5, "retrieve:recall@3": 0.5})
    assert result.passed
    assert check(result, "recall@3").note == "rerank returned no more than 2 hits, whatever was asked"
    assert not check(result, "recall@1").note
    assert not check(result, "retrieve:recall@3").note
    for told in (str(result), result.to_markdown(), rl.gate(evaluation, minimum={"recall@3": 1.0}).to_junit()):
        assert "rerank returned no more than 2 hits, whatever was asked" in told


def test_a_run_without_labels_that_count_cannot_keep_a_bound(ranked) -> None:
    result = rl.gate(ranked([1, 1], unlabelled=(0, 1)), minimum={"rr@3": 0.0})
    (one,) = result.checks
    assert math.isnan(one.found)
    assert (one.passed, one.note, result.outcome) == (False, "no question has labels that count", Outcome.FAILED)
    assert "rr@3 is – over 0 questions; expected ≥ 0 (no question has labels that count)" in result.to_junit()


def test_the_worst_queries_are_those_on_the_wrong_side_of_the_bound(ranked) -> None:
    result = rl.gate(ranked([1, 3, 2, None] + [3] * 10), minimum={"rr@3": 0.5}, maximum={"rr@1": 0.5})
    assert check(result, "rr@3").worst[:3] == (("q0003", 0.0), ("q0001", 1 / 3), ("q0004", 1 / 3))
    assert len(check(result, "rr@3").worst) == 10
    assert check(result, "rr@1").worst == (("q0000", 1.0),)


def test_failures_count_0_and_are_named(ranked) -> None:
    evaluation = ranked([1, ValueError("no"), 1, ValueError("boom")])
    assert rl.gate(evaluation, minimum={"rr@3": 0.5}).passed
    result = rl.gate(evaluation, minimum={"rr@3": 0.5}, maximum={"failures": 0})
    assert check(result, "rr@3").found == 0.5
    assert (check(result, "failures").found, check(result, "failures").queries) == (2.0, ("q0001", "q0003"))
    assert result.outcome is Outcome.FAILED
    assert rl.gate(evaluation, maximum={"failures": 2}).passed
    for told in (str(result), result.to_markdown()):
        assert "2 questions failed and count 0 in every mean: q0001, q0003" in told
        assert "boom" in told
        assert told.count("questions failed") <= 2


def test_empty_rankings_of_labelled_queries_and_queries_without_labels(ranked) -> None:
    from raglift.running.evaluation import evaluate
    from raglift.testing.fakes import FakeRetriever

    data = replace(ranked([1, 1, 1]).dataset)
    unanswerable = replace(data.queries[2], facts=(), answerable=False)
    data = replace(data, queries=(*data.queries[:2], unanswerable))
    table = {data.queries[0].text: ["the stone with the number 0000 lies at the ford"]}
    evaluation = evaluate(FakeRetriever(table), data, ks=(1,), metrics=("rr",))
    result = rl.gate(evaluation, maximum={"empty": 0, "unlabelled": 0})
    assert (check(result, "empty").queries, check(result, "empty").n) == (("q0001",), 2)
    assert check(result, "unlabelled").passed  # what has no answer is not unlabelled
    result = rl.gate(ranked([1, 1], unlabelled=(1,)), maximum={"unlabelled": 0})
    assert check(result, "unlabelled").queries == ("q0001",)
    assert "unlabelled: q0001" in str(result)


def timed(evaluation, *latencies):
    whole = latencies[-1]
    return replace(evaluation, run=replace(evaluation.run, cost=Cost(latencies[:-1], whole)))


def test_latency_of_the_run_and_of_a_stage(ranked) -> None:
    evaluation = timed(
        ranked([1], reranked=[1]),
        StageLatency("retrieve", 9, 0.1, 0.2),
        StageLatency("rerank", 8, 0.3, 0.9, failed=1),
        StageLatency("whole", 8, 0.4, 1.1),
    )
    result = rl.gate(
        evaluation, maximum={"p95_latency": "1100ms", "retrieve:p95_latency": 0.1, "rerank:p50_latency": "0.3s"}
    )
    assert [(one.found, one.passed, one.n, one.unit) for one in result.checks] == [
        (1.1, True, 8, "s"),
        (0.2, False, 9, "s"),
        (0.3, True, 8, "s"),
    ]
    assert result.checks[2].note == "1 of the timed questions failed and is left out"
    assert "retrieve:p95_latency  200 ms" in str(result)
    assert "≤ 100 ms" in str(result)


def test_latency_is_that_of_the_pass_of_its_own_and_must_have_been_measured(ranked) -> None:
    evaluation = ranked([1, 2, 3], latency=3)
    result = rl.gate(evaluation, maximum={"p95_latency": 60, "retrieve:p50_latency": 60})
    assert result.passed
    assert result.checks[0].found == evaluation.run.cost.whole.p95
    none_came_through = timed(ranked([1]), StageLatency("whole", 0, math.nan, math.nan, failed=1))
    assert not rl.gate(none_came_through, maximum={"p95_latency": "1s"}).passed
    with pytest.raises(ConfigurationError, match=r"p95_latency: found a run whose latency was not measured"):
        rl.gate(ranked([1]), maximum={"p95_latency": "1s"})
