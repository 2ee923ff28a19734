"""Reading figures off an evaluation, a lift and a comparison."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.errors import ConfigurationError, DatasetError
from raglift.metrics.parsing import parse
from raglift.results.comparison import compare


def test_metrics_may_be_given_as_texts(ranked):
    evaluation, metric = ranked([2, 1], reranked=[1, 1]), parse("rr@3")
    scores = evaluation.scores
    assert scores.mean("rerank", "MRR@3") == scores.mean("rerank", metric) == 1.0
    assert scores.n("rerank", "rr@3") == 2
    assert evaluation.mean_lift("mrr@3") == evaluation.mean_lift(metric) == 0.25
    assert np.array_equal(evaluation.lift("rr@3"), evaluation.lift(metric))
    assert evaluation.has_fair_lift("rr@3")
    assert evaluation.reranker_lift("rr@3").row("rr@1").metric == parse("rr@1")
    compared = compare({"old": ranked([1, 2]), "new": ranked([1, 1])}, primary="rr@3")
    assert compared.row("new", "rr@1").mean == 1.0


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("ndcg@7", "metric: found ndcg@7, which was not scored; expected one of rr@1, rr@3"),
        ("nonsense", "metric: found 'nonsense'"),
        (3, "metric: found a int; expected a metric, as 'ndcg@10'"),
    ],
)
def test_what_was_not_scored_is_refused(ranked, metric, message):
    evaluation = ranked([2, 1], reranked=[1, 1])
    with pytest.raises(ConfigurationError, match=message):
        evaluation.mean_lift(metric)
    with pytest.raises(ConfigurationError, match=message):
        evaluation.scores.mean("rerank", metric)


def test_the_hits_of_a_query_are_those_of_a_stage(ranked):
    evaluation = ranked([3, None], reranked=[1, None])
    answer = "the stone with the number 0000 lies at the ford"
    after, before = evaluation.hits("q0000"), evaluation.hits("q0000", "retrieve")
    assert [hit.rank for hit in after] == [hit.rank for hit in before] == [1, 2, 3, 4, 5, 6]
    assert (after[0].chunk.text, before[2].chunk.text) == (answer, answer)
    assert after == evaluation.run.traces[0].stages[-1].ranking.hits


def test_a_query_that_failed_has_no_hits(ranked):
    assert ranked([1, ValueError("no lamp")]).hits("q0001") == ()


def test_hits_of_what_is_not_there(ranked):
    evaluation = ranked([1])
    with pytest.raises(ConfigurationError, match="stage: found 'rerank'; expected one of retrieve"):
        evaluation.hits("q0000", "rerank")
    with pytest.raises(DatasetError, match="there is no such question"):
        evaluation.hits("q9")


def test_a_run_says_in_one_line_what_it_is_and_prints_no_texts(ranked):
    assert repr(ranked([1], reranked=[2]).run) == "Run(retrieve + rerank, 1 question, 0 failed)"


def test_metrics_are_ordered_among_themselves_alone():
    assert sorted(map(parse, ("rr@10", "recall@5", "rr@2"))) == list(map(parse, ("recall@5", "rr@2", "rr@10")))
    with pytest.raises(TypeError):
        assert parse("rr@10") < "rr@2"
