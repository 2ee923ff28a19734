from __future__ import annotations

import pytest

ABC = ["A", "B", "C"]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("hit_rate@5", 1),
        ("precision@5", 0.4),  # as trec_eval
        ("recall@5", 2 / 3),
        ("f1@5", 0.5),
        ("hit_rate", 1),
        ("recall", 2 / 3),
        ("precision@1", 1),
        ("recall@1", 1 / 3),
        ("precision@2", 1 / 2),
        ("recall@2", 1 / 3),
    ],
)
def test_a_x_b_of_three_facts(value, metric: str, expected: float) -> None:
    assert value(metric, ABC, ["A", "X", "B"]) == pytest.approx(expected)


@pytest.mark.parametrize("metric", ["hit_rate@5", "precision@5", "recall@5", "f1@5"])
@pytest.mark.parametrize("ids", [[], ["X", "Y"]])
def test_nothing_found_is_zero(value, metric: str, ids: list[str]) -> None:
    assert value(metric, ABC, ids) == 0


def test_precision_divides_by_k_also_when_fewer_came_back(value) -> None:
    assert value("precision@10", ["A"], ["A"]) == 0.1


def test_precision_counts_hits_and_recall_counts_facts(value) -> None:
    labels = [["A", "B"], "A", "C"]  # A proves two facts, B one of them again
    assert value("precision@4", labels, ["A", "B", "X", "Y"]) == 1 / 2
    assert value("recall@4", labels, ["A", "B", "X", "Y"]) == 2 / 3


def test_one_alternative_satisfies_a_fact(value) -> None:
    assert value("recall@2", [["A", "B"]], ["B", "X"]) == 1


def test_a_duplicate_is_a_relevant_hit_but_no_new_fact(value) -> None:
    assert value("precision@3", ABC, ["A", "A", "A"]) == 1
    assert value("recall@3", ABC, ["A", "A", "A"]) == 1 / 3


def test_f1_is_of_the_querys_own_precision_and_recall(value) -> None:
    assert value("f1@10", ABC, ["A", *"XYZUVW", "B"]) == pytest.approx(2 * 0.2 * (2 / 3) / (0.2 + 2 / 3))
