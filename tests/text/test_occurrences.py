"""Every occurrence, and no other; and no input that makes the search quadratic."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.text import occurrences
from raglift.text.occurrences import Patterns, find_occurrences

ALPHABET = "ab \U0001f600\ud800"


def found(patterns: list[str], texts: list[str]) -> list[list[tuple[int, int]]]:
    """Return (position, pattern) of what is found in each text."""
    return [
        list(zip(each.position.tolist(), each.pattern.tolist(), strict=True))
        for each in find_occurrences(patterns, texts)
    ]


def naive(patterns: list[str], texts: list[str]) -> list[list[tuple[int, int]]]:
    return [
        [
            (position, number)
            for position in range(len(text))
            for number, pattern in enumerate(patterns)
            if pattern and text.startswith(pattern, position)
        ]
        for text in texts
    ]


@given(st.lists(st.text(ALPHABET, max_size=80), max_size=12), st.lists(st.text(ALPHABET, max_size=200), max_size=8))
def test_finds_what_a_comparison_at_every_position_finds(patterns: list[str], texts: list[str]) -> None:
    assert found(patterns, texts) == naive(patterns, texts)


@pytest.mark.slow
@given(st.data(), st.lists(st.text("ab", min_size=1, max_size=300), min_size=1, max_size=4))
def test_finds_pieces_of_the_texts(data: st.DataObject, texts: list[str]) -> None:
    patterns = []
    for text in texts:
        start = data.draw(st.integers(0, len(text) - 1))
        patterns.append(text[start : data.draw(st.integers(start + 1, len(text)))])
    assert found(patterns, texts) == naive(patterns, texts)


@pytest.mark.slow
@given(st.lists(st.text("ab", max_size=12), max_size=8), st.lists(st.text("ab", max_size=100), max_size=8))
def test_texts_longer_than_a_block_are_cut_without_loss(patterns: list[str], texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(occurrences, "_BLOCK", 16)
        patch.setattr(occurrences, "_MOST_PAIRS", 4)
        assert found(patterns, texts) == naive(patterns, texts)


def test_an_occurrence_does_not_run_from_one_text_into_the_next() -> None:
    assert found(["ab"], ["a", "b", "ab", ""]) == [[], [], [(0, 0)], []]


def test_equal_patterns_occur_together() -> None:
    assert found(["x", "ab", "ab"], ["cab"]) == [[(1, 1), (1, 2)]]


def test_nothing_is_looked_for() -> None:
    assert found([], ["text"]) == [[]]
    assert found([""], ["text"]) == [[]]


def test_texts_are_read_as_they_are_needed() -> None:
    read = []

    def texts() -> Iterator[str]:
        for number in range(1000):
            read.append(number)
            yield "word " * 1000

    search = find_occurrences(["word"], texts())
    assert len(next(search).position) == 1000
    assert len(read) < 200


def test_a_false_hash_is_no_occurrence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occurrences, "_MIX", 0)  # every window hashes to 0
    occurrences._powers_of_two.cache_clear()
    try:
        assert found(["abc", "bcd", "x"], ["abcabd"]) == [[(0, 0)]]
    finally:
        occurrences._powers_of_two.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patterns", "count"),
    [
        (["a" * 20_000], 180_001),
        (["a" * 200 + "b"], 0),
        (["a" * 40 + str(number) for number in range(5_000)], 0),
        (["b" + "a" * 40] * 5_000, 0),
    ],
    ids=["one letter", "all but the end", "one beginning", "equal"],
)
def test_monotonous_text_is_searched_whole(patterns: list[str], count: int) -> None:
    search = Patterns(patterns)
    assert sum(len(each.position) for each in search.find(["a" * 200_000])) == count
