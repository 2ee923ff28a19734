"""A metric over k."""

from __future__ import annotations

import pandas as pd
import pytest

from raglift.errors import ConfigurationError
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.rank_measures import Recall
from raglift.results.evaluation import Evaluation
from raglift.running.evaluation import evaluate
from raglift.running.scoring import rescore
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.labels import Fact, Passage, Query

DATA = Dataset(
    (
        Query("boat", "boat", (Fact((Passage("made of bronze"),)), Fact((Passage("made of ash"),)))),
        Query("keeper", "keeper", (Fact((Passage("called Halvard"),)),)),
        Query("fails", "fails", (Fact((Passage("the storm"),)),)),
        Query("unlabelled", "unlabelled"),
    )
)
RESULTS = {
    "boat": ["x", "it is made of bronze", "y", "it is made of ash"],
    "keeper": ["he was called Halvard", "x", "y", "z"],
    "fails": RuntimeError("no index"),
    "unlabelled": ["x", "y"],
}
RETRIEVER = FakeRetriever(RESULTS)


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    reranker = FakeReranker({"it is made of ash": 1.0}, top_n=3)
    return evaluate(RETRIEVER, DATA, reranker=reranker, candidates=4, ks=(2,))


def test_each_k_has_the_means_that_it_would_be_scored_with(evaluation: Evaluation) -> None:
    asked = len(RETRIEVER.asked)
    frame = evaluation.over_k("ndcg", ks=[3, 1])
    again = rescore(evaluation, metrics=["ndcg"], ks=(1, 3)).scores
    expected = pd.DataFrame(
        {
            "k": [1, 3],
            "retrieve": [again.mean("retrieve", NDCG @ k) for k in (1, 3)],
            "rerank": [again.mean("rerank", NDCG @ k) for k in (1, 3)],
            "n": [3, 3],
        }
    )
    pd.testing.assert_frame_equal(frame, expected)
    assert frame["rerank"].iloc[0] > frame["retrieve"].iloc[0] > 0
    assert len(RETRIEVER.asked) == asked


def test_by_default_k_goes_to_the_candidates_and_is_missing_where_a_stage_cuts(evaluation: Evaluation) -> None:
    frame = evaluation.over_k(Recall)
    assert frame["k"].tolist() == [1, 2, 3, 4]
    assert frame["retrieve"].tolist() == pytest.approx([1 / 3, 1.5 / 3, 1.5 / 3, 2 / 3])
    assert frame["rerank"].isna().tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("metric", "ks", "message"),
    [
        ("ndcg@3", None, "over_k: found ndcg@3; expected a measure without a depth"),
        ("ndcg@tokens(30)", None, r"over_k: found ndcg@tokens\(30\)"),
        ("span_precision_omega", None, "over_k: found span_precision_omega"),
        ("ndgc", None, "did you mean 'ndcg'"),
        ("ndcg", [5], "ks: found 5; expected depths from 1 to 4, the number of candidates"),
        ("ndcg", [1, 0], "ks: found 0"),
        ("ndcg", [True], "ks: found True"),
        ("ndcg", [None], "ks: found None"),
        ("ndcg", [], r"ks: found \[\]"),
        ("ndcg", "123", "ks: found '123'"),
        ("ndcg", 3.5, "ks: found 3.5"),
    ],
)
def test_what_is_no_curve(evaluation: Evaluation, metric: str, ks: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        evaluation.over_k(metric, ks)  # type: ignore[arg-type]
