from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.apps.generation.questions import locate
from raglift.types.documents import Chunk
from raglift.types.labels import Passage

TEXT = (
    "“Don’t trouble,” said the keeper—and he trimmed\nthe wick twice before the fog came in. By midnight the horn "
    "sounded every ninety seconds. No boat left the harbour."
)
CHUNK = Chunk(TEXT, doc_id="a.md", start=100, end=100 + len(TEXT))


def label(quote: str) -> Passage | str:
    return locate(quote, CHUNK, longest=300)


def found(text: str) -> Passage:
    at = TEXT.index(text)
    return Passage(text, "a.md", 100 + at, 100 + at + len(text))


def test_a_quote_as_it_is() -> None:
    sentence = "By midnight the horn sounded every ninety seconds."
    assert label(sentence) == found(sentence)
    assert label(f"  {sentence}\n") == found(sentence)


def test_a_quote_with_other_white_space_quotes_and_dashes() -> None:
    expected = found("“Don’t trouble,” said the keeper—and he trimmed\nthe wick twice before the fog came in.")
    assert label('"Don\'t trouble," said the KEEPER-and he trimmed the wick twice before the fog came in.') == expected


def test_a_quote_with_a_slip_is_found_by_likeness_in_the_words_of_the_document() -> None:
    expected = found("By midnight the horn sounded every ninety seconds.")
    assert label("By midnight the horn sounded evry ninety seconds.") == expected


@pytest.mark.parametrize(
    "quote",
    ["The lamp was lit by the youngest of the boys.", "By midnight he had sounded the horn for the ninth time."],
)
def test_a_quote_that_is_not_there(quote: str) -> None:
    assert label(quote) == "quote not found"


@pytest.mark.parametrize("quote", ["", "n", "   ", "the horn", "\u00ad" * 50])
def test_a_quote_that_says_nothing(quote: str) -> None:
    assert label(quote) == "quote too short"


def test_a_quote_that_is_too_long() -> None:
    assert locate(TEXT, CHUNK, longest=100) == "quote too long"
    assert label("By midnight " * 1000) == "quote not found"


def test_half_words_are_made_whole() -> None:
    assert label("y midnight the horn sounded every ninety secon") == found(
        "By midnight the horn sounded every ninety seconds"
    )


@settings(deadline=None)
@given(st.text(max_size=400))
def test_whatever_is_quoted_the_label_is_the_text_there(quote: str) -> None:
    passage = label(quote)
    if isinstance(passage, Passage):
        assert passage.start is not None
        assert passage.end is not None
        assert passage.text == TEXT[passage.start - 100 : passage.end - 100]


@settings(deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_every_part_of_the_passage_is_found(start: int, end: int) -> None:
    passage = label(TEXT[start:end])
    if isinstance(passage, Passage):
        assert " ".join(TEXT[start:end].split()).lower() in " ".join((passage.text or "").split()).lower()
    else:
        assert passage == "quote too short"
