"""Reading figures off an evaluation, a lift and a comparison."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.comparison import compare
from raglift.errors import ConfigurationError
from raglift.metrics import parse


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
