from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from raglift.text.normalization import normalize
from raglift.types.anchors import Sources
from raglift.types.documents import Document
from raglift.utilities.validation import Location

WORDS = ["the", "sea", "Éclair", "straße", "ΣΟΦΟΣ", "naïve", "“quoted”", "lamp—light", "İzmir", "1805", "a"]


def find(text: str, first: str, last: str) -> str | None:
    location = Location("labels", [])
    span = Sources([Document("doc", text)]).find_quote("doc", first, last, location)
    assert (span is None) == bool(location.faults)
    return None if span is None else text[slice(*span)]


TEXT = "It was late.  The lamp\r\nwas lit, and the\nCafé was shut. The end."


@pytest.mark.parametrize(
    ("first", "last", "passage"),
    [
        ("The lamp was", "shut.", "The lamp\r\nwas lit, and the\nCafé was shut."),
        (" the  LAMP\n", "lit,", "The lamp\r\nwas lit,"),
        ("the cafe\u0301", "was shut.", "the\nCafé was shut."),
        ("lamp was lit", "lamp was lit", "lamp\r\nwas lit"),
        ("lamp was lit", "was lit, and", "lamp\r\nwas lit, and"),
        # inside `from`: the passage still holds the whole of it
        ("It was late", "late", "It was late"),
        # occurs inside `from` and after it: must end where `from` does, or later
        ("It was late. The lamp", "was", "It was late.  The lamp\r\nwas"),
        ("The end", ".", "The end."),
    ],
)
def test_resolves(first: str, last: str, passage: str) -> None:
    assert find(TEXT, first, last) == passage


@pytest.mark.slow
def test_resolves_in_decomposed_text() -> None:
    text = unicodedata.normalize("NFD", TEXT)
    assert find(text, "Café", "shut.") == unicodedata.normalize("NFD", "Café was shut.")


@pytest.mark.parametrize(
    ("text", "first"),
    [("aXaXa tail", "aXa"), ("The cat. the\nCat. tail", "the cat."), ("thethe tail", "the")],
)
def test_a_quote_that_occurs_twice(text: str, first: str) -> None:
    assert find(text, first, "tail") is None


@st.composite
def wrapped_texts(draw: st.DrawFn) -> tuple[str, int, int]:
    """A text of random words between random white space, and a span that begins and ends with words."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=40))
    gaps = draw(st.lists(st.sampled_from([" ", "\n", "\n\n", "  ", "\t"]), min_size=len(words), max_size=len(words)))
    begin = draw(st.integers(0, len(words) - 1))
    stop = draw(st.integers(begin + 1, len(words)))
    starts, text = [], ""
    for word, gap in zip(words, gaps, strict=True):
        starts.append(len(text))
        text += word + gap
    return text, starts[begin], starts[stop - 1] + len(words[stop - 1])


def occurs_once(quote: str, text: str) -> bool:
    return sum(text.startswith(quote, offset) for offset in range(len(text))) == 1


@pytest.mark.slow
@given(wrapped_texts(), st.integers(1, 30), st.integers(1, 30), st.sampled_from(["NFC", "NFD"]))
def test_a_span_with_unique_quotes_resolves_to_itself(
    wrapped: tuple[str, int, int], head: int, tail: int, form: str
) -> None:
    text, start, end = wrapped
    passage = text[start:end]
    first, last = passage[:head], passage[-tail:]
    assume(first.strip() and last.strip())
    assume(occurs_once(normalize(first), normalize(text)) and occurs_once(normalize(last), normalize(text)))
    quote = unicodedata.normalize(form, first.upper() if first.upper().lower() == first.lower() else first)
    assert find(text, quote, last) == passage
