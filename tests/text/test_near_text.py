from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.text.near_text import Letters, letters_in, most_differences
from raglift.text.normalization import normalize


def found(text: str, quote: str) -> list[tuple[str, int]]:
    """Where a quote is in a text: the words there, and in how many letters they differ."""
    source = normalize(text)
    return [(source[near.start : near.end], near.differences) for near in Letters.of(source).find(normalize(quote))]


@pytest.mark.parametrize(
    ("text", "quote", "words", "differences"),
    [
        ("asked the commander in chief, again", "the commander-in-chief,", "the commander in chief,", 0),
        ("It was Novikov's lamp.", "“Novíkov’s lamp.”", "novikov's lamp.", 0),
        ("He came to-morrow --she said", "tomorrow—she", "to-morrow --she", 0),
        ("an oeuvre of Ægir, he said", "œuvre of AEgir", "oeuvre of ægir", 0),
        # one letter of twenty and more
        (
            "They trimmed the lamp at dusc, as ever",
            "they trimmed the lamp at dusk,",
            "they trimmed the lamp at dusc,",
            1,
        ),
        ("They trimed the lamp at dusk, as ever", "they trimmed the lamp at dusk", "they trimed the lamp at dusk", 1),
        # scripts without spaces and without letter case
        (
            "灯台の光は夜になると海を照らします、毎晩",
            "光は夜になると、海を照らします",
            "光は夜になると海を照らします",
            0,
        ),
    ],
)
def test_a_quote_is_found_in_another_spelling(text: str, quote: str, words: str, differences: int) -> None:
    assert found(text, quote) == [(words, differences)]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("the lamp at dawn", "the lamp at dusk"),  # too short for another letter
        ("the therapist said", "rapist"),  # no whole word
        ("They trimmed the lamp in the morning", "they trimmed the lamp at dusk"),
        ("नकल की दुकान", "नकली दुकान"),  # vowel signs are no accents
        ("", "words"),
        ("words", "…"),
    ],
)
def test_another_phrase_is_not_found(text: str, quote: str) -> None:
    assert found(text, quote) == []


def test_each_place_is_found_once() -> None:
    text = "They trimmed the lamp at dusk. They trimed the lamp at dusk. They sang. They trimmed the lamp, at dusk!"
    assert [differences for _, differences in found(text, "they trimmed the lamp at dusk")] == [0, 1, 0]


@given(st.text())
def test_letters_know_their_places(text: str) -> None:
    letters = Letters.of(normalize(text))
    assert letters.text == letters_in(letters.source)
    assert len(letters.places) == len(letters.text)
    for letter, place in zip(letters.text, letters.places.tolist(), strict=True):
        assert letter in letters_in(letters.source[place])


@given(st.text(alphabet="ab ", min_size=20, max_size=60), st.text(alphabet="ab ", max_size=200))
def test_what_is_found_is_within_the_bound(quote: str, text: str) -> None:
    from rapidfuzz.distance import Levenshtein

    source, wanted = normalize(f"{text} {quote} {text}"), normalize(quote)
    most = most_differences(len(letters_in(wanted)))
    places = Letters.of(source).find(wanted)
    assert bool(places) == bool(letters_in(wanted))
    for near in places:
        assert Levenshtein.distance(letters_in(source[near.start : near.end]), letters_in(wanted)) == near.differences
        assert near.differences <= most


@pytest.mark.slow
def test_a_text_that_repeats_itself() -> None:
    letters = Letters.of("aba " * 250_000)
    for _ in range(20):
        assert letters.find("aba " * 6 + "b") == []
