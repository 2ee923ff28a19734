from __future__ import annotations

from math import log2

import pytest


def test_a_x_b_of_three_facts(value) -> None:
    assert value("ndcg@5", ["A", "B", "C"], ["A", "X", "B"]) == pytest.approx(0.7039, abs=5e-5)


def test_three_of_four_facts_in_the_first_chunk(value) -> None:
    labels = ["A", "A", "A", "B"]
    assert value("dcg@10", labels, ["A", "X"]) == pytest.approx(1 + 1 / log2(3) + 1 / log2(4))
    assert value("ndcg@10", labels, ["A", "X"]) == pytest.approx(0.832, abs=5e-4)


def test_facts_of_one_chunk_beyond_k_do_not_count(value) -> None:
    assert value("ndcg@1", ["A", "A", "B"], ["A"]) == 1
    assert value("dcg@2", ["A", "A", "A"], ["A"]) == pytest.approx(1 + 1 / log2(3))


def test_a_better_alternative_found_later_adds_the_difference(value) -> None:
    labels = [[("A", 1), ("B", 3)]]
    assert value("dcg@10", labels, ["A", "B"]) == pytest.approx(2.262, abs=5e-4)
    assert value("idcg@10", labels, ["A", "B"]) == 3
    assert value("ndcg@10", labels, ["A", "B"]) == pytest.approx(0.754, abs=5e-4)
    assert value("dcg@1", labels, ["A", "B"]) == 1
    assert value("dcg@10", labels, ["B", "A"]) == 3
    assert value("dcg(gain=exponential)@10", labels, ["A", "B"]) == pytest.approx(1 + (7 - 1) / log2(3))


def test_an_improvement_never_comes_before_the_facts_own_position(value) -> None:
    # at rank 1: D (grade 4), C (3), A (1), which come to the positions 1, 2, 3; the better A at rank 2 counts at 3
    labels = [("S", 4), ("S", 3), [("S", 1), ("B", 2)]]
    assert value("dcg@10", labels, ["S", "B"]) == pytest.approx(4 + 3 / log2(3) + 2 / log2(4))
    assert value("ndcg@10", labels, ["S", "B"]) == 1


def test_of_facts_at_one_rank_the_higher_gain_comes_first(value) -> None:
    assert value("ndcg@10", [("A", 1), ("A", 4), ("A", 2)], ["A"]) == 1


def test_the_highest_grade_matched_at_the_rank_counts(value) -> None:
    assert value("dcg@10", [[("A", 2), ("A", 4), ("A", 1)]], ["A"]) == 4


@pytest.mark.parametrize(("gain", "expected"), [("linear", 0.8597), ("exponential", 0.7967)])
def test_grades_two_and_one_the_wrong_way_round(value, gain: str, expected: float) -> None:
    ndcg = value(f"ndcg(gain={gain})@10", [("A", 2), ("B", 1)], ["B", "A"])
    assert ndcg == pytest.approx(expected, abs=5e-5)


def test_the_gain_is_linear_by_default(value) -> None:
    assert value("dcg@1", [("A", 4)], ["A"]) == value("dcg(gain=linear)@1", [("A", 4)], ["A"]) == 4
    assert value("dcg(gain=exponential)@1", [("A", 4)], ["A"]) == 15


def test_the_ideal_is_cut_at_k(value) -> None:
    assert value("idcg@2", [("A", 1), ("B", 3), ("C", 2)], []) == pytest.approx(3 + 2 / log2(3))
    assert value("ndcg@1", ["A", "B", "C"], ["A"]) == 1


@pytest.mark.parametrize("metric", ["dcg@5", "ndcg@5", "ndcg"])
@pytest.mark.parametrize("ids", [[], ["X"]])
def test_nothing_found_is_zero(value, metric: str, ids: list[str]) -> None:
    assert value(metric, ["A"], ids) == 0
