"""Evaluations as frames."""

import numpy as np
import pandas as pd
import pytest

from raglift.running.evaluation import evaluate
from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.dataset import Dataset
from raglift.types.labels import Fact, Passage, Query

ROWLOCK = "the rowlock is made of bronze"
KEEPER = "the keeper was called Halvard"
DATA = Dataset(
    (
        Query("boat", "What is the boat made of?", (Fact((Passage(ROWLOCK),)),), tags=("easy", "boats")),
        Query("keeper", "Who kept the light?", (Fact((Passage(KEEPER),)),)),
        Query("fails", "Why?", (Fact((Passage("because of the storm"),)),)),
        Query("depth", "How deep is it?"),
    )
)
RESULTS = {
    "What is the boat made of?": ["x", f"so {ROWLOCK}", "y"],
    "Who kept the light?": [f"so {KEEPER}", "z", "w"],
    "Why?": RuntimeError("no index"),
    "How deep is it?": ["x", "y", "z"],
}


def measure(reranker=None, **options):
    return evaluate(FakeRetriever(RESULTS), DATA, reranker=reranker, ks=(1, 3), **options)


@pytest.fixture
def evaluation():
    """The reranker keeps two hits and moves the boat's up; one query fails, one has no labels."""
    return measure(FakeReranker({f"so {ROWLOCK}": 1.0}, top_n=2), metrics=["mrr", "ndcg"])


@pytest.mark.slow
def test_one_row_a_metric_and_k(evaluation):
    frame = evaluation.to_frame()
    expected = pd.DataFrame(
        {
            "metric": ["MRR", "MRR", "NDCG", "NDCG"],
            "k": pd.array([1, 3, 1, 3], dtype="Int64"),
            "tokens": pd.array([None] * 4, dtype="Int64"),
            "before": [1 / 3, 1.5 / 3, 1 / 3, (1 + 1 / np.log2(3)) / 3],
            "after": [2 / 3] * 4,
            "lift": [1 / 3, np.nan, 1 / 3, np.nan],
            "n": [3] * 4,
            "n_after": [3] * 4,
            "truncated": [False, True, False, True],
            "beyond_candidates": [0] * 4,
            "stage:retrieve": [1 / 3, 1.5 / 3, 1 / 3, (1 + 1 / np.log2(3)) / 3],
            "stage:rerank": [2 / 3] * 4,
        }
    )
    pd.testing.assert_frame_equal(frame, expected)


def test_one_stage_has_no_after_and_no_lift():
    frame = measure(metrics=["mrr"]).to_frame()
    assert frame["after"].isna().all()
    assert frame["lift"].isna().all()
    assert frame["after"].dtype == frame["lift"].dtype == np.float64
    assert "stage:retrieve" in frame


def test_one_row_a_query_metric_and_stage(evaluation):
    frame = evaluation.per_query()
    names = "query_id query tags metric stage value hits seconds retries error"
    assert list(frame.columns) == names.split()
    assert len(frame) == 4 * 4 * 2
    assert not frame.duplicated(["query_id", "metric", "stage"]).any()
    values = frame[frame["metric"] == "rr@3"].pivot_table(
        index="query_id", columns="stage", values="value", dropna=False
    )
    assert values.loc["boat"].to_dict() == {"retrieve": 0.5, "rerank": 1.0}
    assert values.loc["keeper"].to_dict() == {"retrieve": 1.0, "rerank": 1.0}
    assert values.loc["fails"].to_dict() == {"retrieve": 0.0, "rerank": 0.0}
    assert values.loc["depth"].isna().all()


def test_each_row_says_what_happened(evaluation):
    frame = evaluation.per_query().set_index(["query_id", "metric", "stage"])
    boat = frame.loc[("boat", "rr@1", "rerank")]
    assert (boat["query"], boat["tags"], boat["hits"]) == ("What is the boat made of?", "easy,boats", 2)
    assert boat["seconds"] >= 0
    assert pd.isna(boat["error"])
    failed = frame.loc[("fails", "rr@1", "retrieve")]
    assert failed["error"] == "retrieve: RuntimeError: no index"
    assert failed["hits"] == 0
    assert pd.isna(failed["seconds"])


def test_the_means_are_those_of_the_rows(evaluation):
    rows = evaluation.per_query()
    for _, row in evaluation.to_frame().iterrows():
        text = f"{'rr' if row['metric'] == 'MRR' else 'ndcg'}@{row['k']}"
        for stage in ("retrieve", "rerank"):
            values = rows[(rows["metric"] == text) & (rows["stage"] == stage)]["value"]
            assert values.mean() == pytest.approx(row[f"stage:{stage}"])
            assert values.count() == row["n"]
