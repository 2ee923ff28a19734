"""The best that k chunks can do: exact where every choice is tried, and never too low where it is a bound."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.analysis import upper_bound as attainable
from raglift.analysis.upper_bound import Alternative, Best, best_facts, best_facts_at
from raglift.matching.coverage import covered_length, fewest_intervals

Facts = list[list[Alternative]]


def is_enough(alternative: Alternative, chosen: set[int]) -> bool:
    points = {p for chunk, start, end in alternative.covers if chunk in chosen for p in range(start, end)}
    return len(points) >= alternative.needed


def brute_force(facts: Facts, k: int) -> int:
    chunks = {chunk for fact in facts for each in fact for chunk, _, _ in each.covers}
    choices = combinations(sorted(chunks), min(k, len(chunks)))
    return max(sum(any(is_enough(each, set(chosen)) for each in fact) for fact in facts) for chosen in choices)


@st.composite
def covers(draw: st.DrawFn, chunks: int) -> tuple[int, int, int]:
    start = draw(st.integers(0, 9))
    return draw(st.integers(0, chunks - 1)), start, draw(st.integers(start + 1, 10))


def facts_over(chunks: int) -> st.SearchStrategy[Facts]:
    alternative = st.builds(Alternative, st.integers(1, 10), st.lists(covers(chunks), max_size=6).map(tuple))
    return st.lists(st.lists(alternative, max_size=3), max_size=4)


@pytest.mark.slow
@settings(deadline=None)
@given(facts_over(9), st.integers(0, 6))
def test_few_chunks_are_exact(facts: Facts, k: int) -> None:
    assert best_facts(facts, k) == Best(brute_force(facts, k), exact=True)


@settings(deadline=None)
@given(facts_over(9), st.integers(0, 6), st.sampled_from([0, 10, 40]))
def test_many_chunks_are_bounded_from_above(facts: Facts, k: int, most_choices: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attainable, "MOST_CHOICES", most_choices)
        best = best_facts(facts, k)
    true = brute_force(facts, k)
    assert best.facts >= true
    assert best.facts == true or not best.exact


@settings(deadline=None)
@given(st.lists(covers(1).map(lambda cover: cover[1:]), min_size=1, max_size=7), st.integers(1, 10))
def test_the_fewest_intervals_are_those_of_trying_them_all(intervals: list[tuple[int, int]], needed: int) -> None:
    enough = (
        count
        for count in range(1, len(intervals) + 1)
        if any(covered_length(chosen) >= needed for chosen in combinations(intervals, count))
    )
    fewest = next(enough, 99)
    for at_most in range(1, 9):
        assert fewest_intervals(intervals, needed, at_most) == min(fewest, at_most + 1)


def test_pieces_of_a_passage_count_together() -> None:
    halves = Alternative(80, ((1, 0, 50), (2, 50, 100), (3, 40, 60)))
    assert [best.facts for best in best_facts_at([[halves]], (1, 2))] == [0, 1]


def test_one_fact_is_exact_however_many_chunks_overlap_it() -> None:
    steps = Alternative(500, tuple((number, number * 10, number * 10 + 30) for number in range(98)))
    assert best_facts_at([[steps]], (16, 17)) == [Best(0, exact=True), Best(1, exact=True)]


def test_few_choices_among_many_chunks_are_all_tried() -> None:
    facts = [[Alternative.any_of(range(number, 60))] for number in range(0, 60, 20)] + [[Alternative.any_of([0, 1])]]
    facts += [[Alternative(2, tuple((chunk, chunk % 2, chunk % 2 + 1) for chunk in range(40)))]]
    assert best_facts_at(facts, (1, 2)) == [Best(3, exact=True), Best(4, exact=True)]


def test_a_chunk_that_covers_two_stretches_of_a_passage_counts_once() -> None:
    torn = Alternative(60, tuple((number, at, at + 2) for number in range(20) for at in (number * 4, number * 4 + 2)))
    assert best_facts([[torn]], 14).facts == 0
    assert best_facts([[torn]], 15).facts == 1
