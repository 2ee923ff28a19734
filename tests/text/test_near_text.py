from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.text.near_text import Letters, letters_in
from raglift.text.normalization import normalize


def found(text: str, quote: str) -> list[str]:
    """The words of a text that are a quote in another spelling."""
    source = normalize(text)
    return [source[near.start : near.end] for near in Letters.of(source).find(normalize(quote))]


@pytest.mark.parametrize(
    ("text", "quote", "words"),
    [
        ("asked the commander in chief, again", "the commander-in-chief,", "the commander in chief,"),
        ("It was Novikov's lamp.", "“Novíkov’s lamp.”", "novikov's lamp."),
        ("He came to-morrow --she said", "tomorrow—she", "to-morrow --she"),
        ("an oeuvre of Ægir, he said", "œuvre of AEgir", "oeuvre of ægir"),
        # scripts without spaces and without letter case
        (
            "灯台の光は夜になると海を照らします、毎晩",
            "光は夜になると、海を照らします",
            "光は夜になると海を照らします",
        ),
    ],
)
def test_a_quote_is_found_in_another_spelling(text: str, quote: str, words: str) -> None:
    assert found(text, quote) == [words]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("the therapist said", "rapist"),  # no whole word
        ("an œuvre of his", "euvre of"),  # half a letter
        ("this is an œuvre", "is an o"),
        ("They trimed the lamp at dusk, as ever", "they trimmed the lamp at dusk"),
        ("नकल की दुकान", "नकली दुकान"),  # vowel signs are no accents
        ("", "words"),
        ("words", "…"),
    ],
)
def test_another_phrase_is_not_found(text: str, quote: str) -> None:
    assert found(text, quote) == []


def test_each_place_is_found_once() -> None:
    text = "They trimmed the lamp at dusk. They sang. They trimmed the lamp, at dusk!"
    assert len(found(text, "they trimmed the lamp at dusk")) == 2


@pytest.mark.slow
@given(st.text())
def test_letters_know_their_places(text: str) -> None:
    letters = Letters.of(normalize(text))
    assert letters.text == letters_in(letters.source)
    assert len(letters.places) == len(letters.text)
    for letter, place in zip(letters.text, letters.places.tolist(), strict=True):
        assert letter in letters_in(letters.source[place])
