"""Evaluations as frames."""

import numpy as np
import pandas as pd
import pytest

from raglift.errors import ConfigurationError
from raglift.metrics.parsing import parse
from raglift.results.comparison import compare
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
def test_one_row_a_metric(evaluation):
    frame = evaluation.to_frame()
    expected = pd.DataFrame(
        {
            "metric": ["rr@1", "rr@3", "ndcg@1", "ndcg@3"],
            "mean": [2 / 3] * 4,
            "n": [3] * 4,
            "before": [1 / 3, 1.5 / 3, 1 / 3, (1 + 1 / np.log2(3)) / 3],
            "lift": [1 / 3, np.nan, 1 / 3, np.nan],
            "beyond_candidates": [0] * 4,
            "truncated": [False, True, False, True],
        }
    )
    pd.testing.assert_frame_equal(frame[list(expected)], expected)
    assert [str(parse(name)) for name in frame["metric"]] == list(frame["metric"])
    assert set(measure(metrics=["mrr"]).to_frame()) == {"metric", "mean", "mean_low", "mean_high", "n", "truncated"}


@pytest.mark.slow
def test_intervals_and_tests_are_those_of_the_lift(evaluation):
    frame, lift = evaluation.to_frame().set_index("metric"), evaluation.reranker_lift().to_frame().set_index("metric")
    lift = lift.rename(columns={"after": "mean", "after_low": "mean_low", "after_high": "mean_high"})
    lift = lift.rename(columns={"low": "lift_low", "high": "lift_high", "difference": "lift"})
    columns = ["mean_low", "mean_high", "before_low", "before_high", "lift", "lift_low", "lift_high", "p"]
    pd.testing.assert_frame_equal(frame[columns], lift.loc[frame.index, columns])
    assert frame["verdict"].to_dict()["ndcg@1"] == lift.loc["ndcg@1", "verdict"] == "not significant"
    assert set(frame["verdict"].drop("ndcg@1")) == {"exploratory"}


@pytest.mark.slow
def test_values_by_metric(evaluation):
    values, before = evaluation["MRR@3"], evaluation["mrr@3", "retrieve"]
    assert (values.name, values.index.name) == ("rr@3", "query_id")
    assert values.dropna().to_dict() == {"boat": 1.0, "keeper": 1.0, "fails": 0.0}
    assert before["boat"] == 0.5
    assert evaluation.mean("mrr@3") == values.mean()
    assert evaluation.mean("mrr@3", stage="retrieve") == before.mean()
    with pytest.raises(ConfigurationError, match=r"ndcg@7, which was not scored; expected one of ndcg@1, ndcg@3, rr@1"):
        evaluation["ndcg@7"]
    with pytest.raises(TypeError):
        iter(evaluation)
    values["boat"] = -1.0  # a copy
    assert evaluation["mrr@3"]["boat"] == 1.0


@pytest.mark.slow
def test_values_of_systems(evaluation):
    other = measure(metrics=["mrr", "ndcg"])
    values = compare({"one": other, "two": evaluation}, primary="mrr@1")["mrr@1"]
    assert (values.index.name, values.columns.name, list(values)) == ("query_id", "system", ["one", "two"])
    assert values.loc["boat"].to_dict() == {"one": 0.0, "two": 1.0}


@pytest.mark.slow
def test_completion_offers_what_there_is(evaluation):
    assert not {"is_beyond_candidates", "once", "view"} & set(dir(evaluation))
    assert {"mean", "plot", "reranker_lift"} <= set(dir(evaluation))
    assert [name for name in dir(evaluation.plot) if not name.startswith("_")] == ["lift", "over_k"]
    assert evaluation._ipython_key_completions_() == ["rr@1", "rr@3", "ndcg@1", "ndcg@3"]


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
        for stage, mean in (("retrieve", "before"), ("rerank", "mean")):
            values = rows[(rows["metric"] == row["metric"]) & (rows["stage"] == stage)]["value"]
            assert values.mean() == pytest.approx(row[mean])
            assert values.count() == row["n"]
