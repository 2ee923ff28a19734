"""Budgets: they are spent, and never exceeded."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from raglift.search.schedule import Rung, first_rung, next_rung


@given(
    st.integers(1, 500), st.integers(1, 60), st.integers(1, 200), st.floats(0, 1e5, allow_nan=False), st.integers(0, 4)
)
def test_a_budget_is_never_exceeded(running: int, asked: int, more: int, work: float, joining: int):
    queries, spent = asked + more, 0
    while (rung := next_rung([1.0] * running, asked, queries, work - spent, joining=joining)) is not None:
        assert 1 <= rung.keep <= running
        assert asked < rung.queries <= queries
        spent += rung.keep * joining * asked + rung.keep * (1 + joining) * (rung.queries - asked)
        running, asked, joining = rung.keep * (1 + joining), rung.queries, 0
        assert spent <= work


@given(st.integers(1, 300), st.integers(1, 40), st.lists(st.just(6), min_size=2), st.integers(1, 6), st.floats(0, 1e5))
def test_the_first_rung_is_within_the_budget(systems: int, wanted: int, full: list[int], rest: int, work: float):
    sizes = [rest, *full]
    many = first_rung(systems, wanted, sizes, work)
    least = sum(sizes[: 1 if rest == 6 else 2])
    if many is None:
        assert work < systems * least
        return
    assert 1 <= many < len(sizes)
    assert systems * sum(sizes[:many]) <= max(work / 2, systems * least) <= max(work, work / 2)
    assert least <= sum(sizes[:many]) <= max(least, wanted + 3)


def test_without_a_limit_the_first_rung_has_the_wanted_queries():
    assert first_rung(1000, 12, [4, 6, 6, 6, 6, 6], math.inf) == 2  # 10 are nearer than 16
    assert first_rung(1000, 12, [6, 6, 6, 6, 6], math.inf) == 2


def test_a_budget_that_lasts_keeps_all():
    assert next_rung([1.0] * 10, 2, 4, 20) == Rung(10, 3)
    assert next_rung([1.0] * 10, 3, 4, 10) == Rung(10, 4)


def test_a_smaller_budget_keeps_fewer_so_that_the_last_are_asked_all():
    rung = next_rung([1.0] * 100, 4, 16, 300)
    assert rung is not None
    assert rung.queries == 6
    assert 1 < rung.keep < 100
    asked, running, spent = 4, 100, 0
    while (rung := next_rung([1.0] * running, asked, 16, 300 - spent)) is not None:
        spent += rung.keep * (rung.queries - asked)
        running, asked = rung.keep, rung.queries
    assert asked == 16
    assert spent > 240


def test_nothing_is_next_once_all_is_asked_or_spent():
    assert next_rung([1.0] * 5, 10, 10, 100) is None
    assert next_rung([1.0] * 5, 5, 10, 0) is None
    assert next_rung([1.0] * 0, 5, 10, 100) is None


def test_those_that_join_are_asked_the_queries_so_far_too():
    rung = next_rung([1.0] * 4, 2, 4, 100, joining=1)
    assert rung == Rung(4, 3, joins=True)
    assert next_rung([1.0] * 4, 2, 4, 4, joining=1) == Rung(
        1, 3, joins=True
    )  # 2 for the queries so far, 2 for the next
    assert next_rung([1.0] * 4, 2, 4, 3, joining=1) is None


def test_a_system_that_costs_more_counts_more() -> None:
    even, dear = [1.0] * 10, [1.0] * 5 + [9.0] * 5
    assert next_rung(even, 2, 4, 20) == Rung(10, 3)
    found = next_rung(dear, 2, 4, 20)
    assert found is not None
    assert found.keep < 10
    assert sum(dear[: found.keep]) * (found.queries - 2) <= 20


def test_where_a_measured_budget_seems_too_small_for_the_best_half_of_them_go_on() -> None:
    """The best is dear: without it being measured, it alone would go on, and the others that cost nothing would not."""
    prices = [50.0] + [0.1] * 9
    assert next_rung(prices, 2, 40, 100) == Rung(1, 3)
    assert next_rung(prices, 2, 40, 100, is_measured=True) == Rung(5, 3)
    assert next_rung(prices, 2, 40, 0, is_measured=True) is None
