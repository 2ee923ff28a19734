from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("metric", "ids", "expected"),
    [
        ("rr", ["A", "X"], 1),
        ("rr", ["X", "Y", "B", "A"], 1 / 3),
        ("rr@3", ["X", "Y", "B", "A"], 1 / 3),
        ("rr@2", ["X", "Y", "B", "A"], 0),
        ("rr@10", ["X"], 0),
        ("rr@10", [], 0),
    ],
)
def test_reciprocal_rank(value, metric: str, ids: list[str], expected: float) -> None:
    assert value(metric, ["A", "B"], ids) == expected


def test_average_precision_divides_by_all_facts(value) -> None:
    assert value("ap@5", ["A", "B", "C"], ["A", "X", "B"]) == pytest.approx(0.5556, abs=5e-5)
    assert value("ap", ["A", "B", "C"], ["A", "X", "B"]) == pytest.approx((1 + 2 / 3) / 3)


def test_average_precision_is_cut_at_k(value) -> None:
    assert value("ap@2", ["A", "B", "C"], ["A", "X", "B"]) == pytest.approx(1 / 3)


def test_facts_found_by_one_hit_share_its_rank(value) -> None:
    # N(2) = 1 for both facts of hit B, N(3) = 2
    labels = [["B", "C"], "B", "A"]
    assert value("ap@5", labels, ["X", "B", "A"]) == pytest.approx((1 / 2 + 1 / 2 + 2 / 3) / 3)


def test_a_hit_that_proves_nothing_new_adds_nothing(value) -> None:
    assert value("ap@5", [["A", "B"], "C"], ["A", "B", "C"]) == pytest.approx((1 + 2 / 3) / 2)
    assert value("ap@5", ["A", "C"], ["A", "A", "C"]) == pytest.approx((1 + 2 / 3) / 2)
