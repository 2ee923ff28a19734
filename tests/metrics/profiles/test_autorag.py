"""AutoRAG's figures: its documentation's example, and a second implementation written from its description."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.metrics.computing import compute
from raglift.types.metric import Metric

THREE_GROUPS = ["A", "B", "C"]
ONE_GROUP = [["A", "B", "C"]]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("precision", 0.5),
        ("recall", 0.5),
        ("f1", 0.5),
        ("mrr", 0.5),
        ("map", 5 / 12),  # its page says 1/2 by mistake: AP of the first group is 5/6, of the second 0
        ("ndcg", 0.7039180890341347),
    ],
)
def test_the_example_of_its_documentation(value, metric: str, expected: float) -> None:
    labels = [["test-1", "test-2"], ["test-3"]]
    found = value(f"{metric}@4", labels, ["test-1", "pred-1", "test-2", "pred-3"], "autorag")
    assert found == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("metric", "labels", "expected"),
    [
        ("precision", THREE_GROUPS, 0.667),
        ("map", THREE_GROUPS, 0.4444),
        ("map", ONE_GROUP, 0.8333),
        ("mrr", THREE_GROUPS, 0.4444),
        ("mrr", ONE_GROUP, 1),
        ("ndcg", THREE_GROUPS, 0.7039),
        ("recall", ONE_GROUP, 1),
        ("hit_rate", THREE_GROUPS, 1),
    ],
)
def test_a_x_b_in_three_groups_or_one(value, metric: str, labels: list, expected: float) -> None:
    assert value(f"{metric}@5", labels, ["A", "X", "B"], "autorag") == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(("metric", "expected"), [("recall", 1), ("mrr", 1), ("map", 1), ("ndcg", 0.6131)])
def test_one_of_two_alternatives(value, metric: str, expected: float) -> None:
    assert value(f"{metric}@2", [["A", "B"]], ["A", "X"], "autorag") == pytest.approx(expected, abs=5e-5)


def test_an_id_that_comes_back_twice_is_one_relevant_hit_of_two(value) -> None:
    assert value("precision@2", ["A"], ["A", "A"], "autorag") == 0.5


def test_grades_do_not_count(value) -> None:
    assert value("dcg@2", [("A", 4)], ["A"], "autorag") == 1


def test_an_empty_retrieval_is_left_out_of_the_mean(judged) -> None:
    match_table = judged((["A"], []), (["A"], ["A"]))
    for name in ("hit_rate", "precision", "recall", "f1", "rr", "ap", "dcg", "ndcg"):
        assert np.isnan(compute(match_table, Metric(name, 3), "autorag")).tolist() == [True, False]


class Reference:
    """One query, AutoRAG's way: what was retrieved up to k, and groups of ids."""

    def __init__(self, groups: list[list[str]], ids: list[str]) -> None:
        self.ids = ids
        self.groups = groups
        self.wanted = {name for group in groups for name in group}

    def recall(self) -> float:
        return sum(not set(group).isdisjoint(self.ids) for group in self.groups) / len(self.groups)

    def precision(self) -> float:
        return len(self.wanted & set(self.ids)) / len(self.ids)

    def f1(self) -> float:
        precision, recall = self.precision(), self.recall()
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def rr(self) -> float:
        total = 0.0
        for group in self.groups:
            ranks = self.ranks(group)
            total += 1 / ranks[0] if ranks else 0
        return total / len(self.groups)

    def ap(self) -> float:
        total = 0.0
        for group in self.groups:
            ranks = self.ranks(group)
            if ranks:
                total += sum(found / rank for found, rank in enumerate(ranks, start=1)) / len(ranks)
        return total / len(self.groups)

    def dcg(self) -> float:
        return sum(1 / math.log2(rank + 1) for rank in self.ranks(self.wanted))

    def idcg(self) -> float:
        ones = min(sum(map(len, self.groups)), len(self.ids))
        return sum(1 / math.log2(rank + 1) for rank in range(1, ones + 1))

    def ndcg(self) -> float:
        return self.dcg() / self.idcg()

    def ranks(self, wanted: list[str] | set[str]) -> list[int]:
        return [rank for rank, name in enumerate(self.ids, start=1) if name in wanted]


names = st.sampled_from("abcdefgh")
# a group names an id once; two groups may name the same
groups = st.lists(st.lists(names, min_size=1, max_size=4, unique=True), min_size=1, max_size=4)
cases = st.tuples(groups, st.lists(names | st.sampled_from("xyz"), max_size=12))


@pytest.mark.slow
@given(st.lists(cases, min_size=1, max_size=5), st.integers(1, 12) | st.none())
def test_every_measure_against_a_second_implementation(
    judged, cases: list[tuple[list[list[str]], list[str]]], k: int | None
) -> None:
    match_table = judged(*cases)
    for name in ("recall", "precision", "f1", "rr", "ap", "dcg", "idcg", "ndcg"):
        if k is None and name in ("precision", "f1"):
            continue
        expected = [getattr(Reference(groups, ids[:k]), name)() if ids else math.nan for groups, ids in cases]
        found = compute(match_table, Metric(name, k), "autorag")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=name)
