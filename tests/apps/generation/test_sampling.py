from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.apps.generation.passages import Sampler

lines = st.lists(st.integers(0, 10_000), unique=True, max_size=200)


@settings(deadline=None)
@given(lines, st.integers(0, 5), st.lists(st.integers(0, 60), max_size=6))
def test_no_passage_is_drawn_twice_and_all_are_drawn_in_the_end(
    numbers: list[int], seed: int, counts: list[int]
) -> None:
    sampler = Sampler(numbers, seed)
    drawn: list[int] = []
    for count in counts:
        left = len(sampler)
        draw = sampler.draw(count)
        assert len(draw) == min(count, left)
        assert draw == sorted(draw)
        drawn += draw
    drawn += sampler.draw(len(numbers))
    assert sorted(drawn) == sorted(numbers)
    assert len(sampler) == 0


@settings(deadline=None)
@given(lines, st.integers(0, 1000))
def test_the_same_seed_draws_the_same(numbers: list[int], seed: int) -> None:
    first, second = Sampler(numbers, seed), Sampler(reversed(numbers), seed)
    assert [first.draw(5), first.draw(7)] == [second.draw(5), second.draw(7)]


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.data())
def test_each_document_is_drawn_from_in_proportion_to_its_length(lengths: list[int], data: st.DataObject) -> None:
    total = sum(lengths)
    count = data.draw(st.integers(1, total))
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    drawn = Counter(bisect_left(ends, number + 1) for number in Sampler(range(total), 3).draw(count))
    for document, length in enumerate(lengths):
        assert abs(drawn[document] - count * length / total) < 2


def test_every_tenth_of_a_document_is_drawn_from() -> None:
    drawn = Sampler(range(1000), 0).draw(10)
    assert [number // 100 for number in drawn] == list(range(10))


def test_every_passage_has_a_chance() -> None:
    drawn = {Sampler(range(12), seed).draw(3)[part] for seed in range(200) for part in range(3)}
    assert drawn == set(range(12))


def test_one_of_some_is_taken() -> None:
    sampler = Sampler(range(5), 0)
    assert sampler.take([3, 4]) == 3
    assert sampler.take([3, 4]) == 4
    assert sampler.take([3, 4]) is None
    assert sampler.draw(9) == [0, 1, 2]
