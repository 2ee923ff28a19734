"""`score_rankings`: rankings that are lists of ids, scored as `evaluate` scores them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.errors import ConfigurationError, DatasetError
from raglift.metrics.computing import score_rankings
from raglift.metrics.graded_measures import NDCG
from raglift.metrics.parsing import parse
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.registry import MEASURES
from raglift.testing.fakes import FakeRetriever
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query

NAMES = [f"chunk{number}" for number in range(16)]
OF_IDS = [name for name, measure in MEASURES.items() if not (measure.needs_text or measure.needs_irrelevant)]
KS = (1, 3, 10, 12)
METRICS = [f"{name}@{k}" for name in OF_IDS if MEASURES[name].takes_k for k in KS]
METRICS += ["r_precision", *(f"ndcg(gain=exponential)@{k}" for k in KS)]
Case = tuple[dict[str, int], list[str]]
"""The grades of chunks, and the ids that were retrieved."""

grades = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4), max_size=8)
few_examples = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def cases_of(ids: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[Case]]:
    return st.lists(st.tuples(grades, ids), min_size=1, max_size=8)


with_repeats = st.lists(st.sampled_from(NAMES), max_size=14)


def by_ids(cases: list[Case], profile: str = "default") -> Any:
    rankings = {f"q{number}": ids for number, (_, ids) in enumerate(cases)}
    relevant = {f"q{number}": of_query for number, (of_query, _) in enumerate(cases)}
    return score_rankings(rankings, relevant, METRICS, profile=profile)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@given(cases=cases_of(with_repeats))
@few_examples
def test_the_values_are_those_of_evaluate(profile: str, cases: list[Case]) -> None:
    queries = [
        Query(
            f"q{number}",
            str(number),
            tuple(Fact((Passage(chunk_id=n, grade=g),)) for n, g in labels.items() if g),
            judged_irrelevant=tuple(Passage(chunk_id=n, grade=0) for n, g in labels.items() if not g),
        )
        for number, (labels, _) in enumerate(cases)
    ]
    retriever = FakeRetriever(
        {str(number): [Chunk("text", id=n) for n in ids] for number, (_, ids) in enumerate(cases)}
    )
    evaluation = rl.evaluate(retriever, rl.Dataset(tuple(queries)), metrics=METRICS, profile=profile)
    expected = evaluation.scores.values[0]
    found = by_ids(cases, profile)
    assert found.query_ids == evaluation.scores.query_ids
    assert found.metrics == evaluation.scores.metrics
    np.testing.assert_array_equal(found.values, expected)


RELEVANT = {"found": {"a": 2, "b": 1}, "empty": ["a"], "missing": ["a"], "unlabelled": {"a": 0}}
RANKINGS = {"found": ["b", "a"], "empty": [], "unlabelled": ["a"], "unknown": ["a"]}


def test_a_mean_is_over_all_labelled_queries() -> None:
    scores = score_rankings(RANKINGS, RELEVANT, ["ndcg@10", "mrr"])
    np.testing.assert_allclose(scores.of("ndcg@10"), [0.8597186998521972, 0, 0, np.nan])
    assert scores.mean(NDCG @ 10) == pytest.approx(0.8597186998521972 / 3)
    assert scores.mean("MRR") == pytest.approx(1 / 3)
    assert scores.n("mrr") == 3


def test_what_is_empty_and_what_is_left_out_is_counted() -> None:
    scores = score_rankings(RANKINGS, RELEVANT)
    assert (scores.empty, scores.unlabelled) == (2, 2)
    assert "whose ranking is missing or empty: 2" in str(scores)
    assert "without labels, which are left out: 2" in str(scores)


def test_a_missing_ranking_counts_0_also_where_empty_ones_are_left_out() -> None:
    scores = score_rankings(RANKINGS, RELEVANT, "recall@5", profile="autorag")
    np.testing.assert_array_equal(scores.of("recall@5"), [1, np.nan, 0, np.nan])


def test_a_frame_has_a_row_a_query_and_a_column_a_metric() -> None:
    frame = score_rankings(RANKINGS, RELEVANT, ["recall@1", "mrr"]).to_frame()
    assert list(frame.columns) == ["recall@1", "rr"]
    assert frame.loc["found"].tolist() == [0.5, 1.0]
    assert frame.index.name == "query_id"


@pytest.mark.parametrize(
    "name", [*(name for name, measure in MEASURES.items() if measure.needs_text), "recall@tokens(2000)"]
)
def test_what_needs_texts_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="found ids alone; expected the texts of the hits"):
        score_rankings(RANKINGS, RELEVANT, [name])


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(ConfigurationError, match=r"found 'ndgc' .did you mean 'ndcg'"):
        score_rankings(RANKINGS, RELEVANT, ["ndgc@10"])
    with pytest.raises(ConfigurationError, match="metrics: found none"):
        score_rankings(RANKINGS, RELEVANT, [])
    with pytest.raises(ConfigurationError, match="profile: found 'trek'"):
        score_rankings(RANKINGS, RELEVANT, profile="trek")
    with pytest.raises(ConfigurationError, match="precision: found no depth"):
        score_rankings(RANKINGS, RELEVANT, ["precision"])
    with pytest.raises(ConfigurationError, match="found rr, which was not scored; expected one of ndcg@5"):
        score_rankings(RANKINGS, RELEVANT, ["ndcg@5"]).of("mrr")
    with pytest.raises(DatasetError, match='rankings: "q": found "abc"; expected a list of ids, best first'):
        score_rankings({"q": "abc"}, RELEVANT | {"q": ["abc"]})


def test_metrics_are_values_or_texts_and_each_is_taken_once() -> None:
    scores = score_rankings(RANKINGS, RELEVANT, [NDCG @ 5, "NDCG@5", "map"])
    assert scores.metrics == (parse("ndcg@5"), parse("ap"))
    assert repr(scores) == "RankingScores(2 metrics, 4 questions; print() shows the means)"
