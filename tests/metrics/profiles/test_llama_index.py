"""`profile="llamaindex"` against LlamaIndex's own metric classes, on labels by id."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse

pytestmark = pytest.mark.slow

theirs = pytest.importorskip("llama_index.core.evaluation.retrieval.metrics")

Case = tuple[list[list[str]], list[str]]

METRICS: dict[str, Any] = {
    "hit_rate": theirs.HitRate(),
    "precision": theirs.Precision(),
    "recall": theirs.Recall(),
    "rr": theirs.MRR(),
    "ap": theirs.AveragePrecision(),
    "ndcg": theirs.NDCG(),
    "ndcg(gain=exponential)": theirs.NDCG(mode="exponential"),
}
# From 3.12 on Python's own sum, which LlamaIndex uses, corrects what rounding loses
ATOL = 0.0 if sys.version_info < (3, 12) else 1e-12

names = st.sampled_from([f"node{number}" for number in range(20)])
facts = st.lists(st.lists(names, min_size=1, max_size=4), min_size=1, max_size=5)
cases = st.lists(st.tuples(facts, st.lists(names, max_size=40)), min_size=1, max_size=6)
few_examples = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def expected_ids(facts: list[list[str]]) -> list[str]:
    return list(dict.fromkeys(name for fact in facts for name in fact))


def of_llama_index(metric: str, facts: list[list[str]], ids: list[str]) -> float:
    """Return its value; 0 where it raises because nothing came back."""
    if not ids:
        return 0.0
    return float(METRICS[metric].compute(expected_ids=expected_ids(facts), retrieved_ids=ids).score)


@given(cases, st.integers(1, 40) | st.none())
@few_examples
def test_its_metric_classes(judged, cases: list[Case], k: int | None) -> None:
    match_table = judged(*cases)
    for metric in METRICS:
        expected = [of_llama_index(metric, facts, ids[:k]) for facts, ids in cases]
        found = compute(match_table, parse(metric if k is None else f"{metric}@{k}"), "llamaindex")
        np.testing.assert_allclose(found, expected, rtol=0, atol=ATOL, err_msg=metric)


def test_it_raises_where_nothing_came_back_and_the_profile_counts_0(judged) -> None:
    with pytest.raises(ValueError, match="must be provided"):
        METRICS["recall"].compute(expected_ids=["A"], retrieved_ids=[])
    match_table = judged((["A"], []), (["A"], ["A"]))
    for metric in METRICS:
        assert compute(match_table, parse(f"{metric}@3"), "llamaindex").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("metric", "expected"), [("precision@5", 2 / 3), ("ap@5", 5 / 9), ("recall@5", 2 / 3), ("ndcg@5", 0.7039)]
)
def test_a_x_b_of_a_b_c(value, metric: str, expected: float) -> None:
    assert value(metric, ["A", "B", "C"], ["A", "X", "B"], "llamaindex") == pytest.approx(expected, abs=5e-5)


def test_the_ideal_is_not_cut(value) -> None:
    assert value("ndcg@1", ["A", "B"], ["A", "B"], "llamaindex") == pytest.approx(0.6131, abs=5e-5)
    assert value("ndcg@1", ["A", "B"], ["A", "B"]) == 1


def test_f1_is_of_its_own_precision_and_recall(value) -> None:
    assert value("f1@5", ["A", "B", "C", "D"], ["A", "X", "A"], "llamaindex") == 2 * 0.5 * 0.25 / 0.75
