from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.retrieval.chunkers import SEPARATORS, Chunker, RecursiveChunker, TokenChunker, parse_chunker

SIZES = st.integers(1, 10_000).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))
ENCODINGS = st.sampled_from(["cl100k_base", "o200k_base"])


@st.composite
def chunkers(draw: st.DrawFn) -> Chunker:
    size, overlap = draw(SIZES)
    kind: Any = draw(st.sampled_from(["characters", "tokens", TokenChunker]))
    if kind == "characters":
        return RecursiveChunker(size, overlap)
    if kind == "tokens":
        return RecursiveChunker(size, overlap, "tokens", encoding=draw(ENCODINGS))
    return TokenChunker(size, overlap, draw(ENCODINGS))


@given(chunkers())
def test_a_chunker_is_read_back_from_its_text(chunker: Chunker) -> None:
    assert parse_chunker(str(chunker)) == chunker


@pytest.mark.parametrize(
    ("text", "chunker", "shown"),
    [
        ("recursive:1000/100", RecursiveChunker(1000, 100), "recursive:1000/100:characters"),
        ("recursive:250/125:tokens", RecursiveChunker(250, 125, "tokens"), "recursive:250/125:tokens"),
        (" token:250/125 ", TokenChunker(250, 125), "token:250/125"),
        ("token:9/1:tokens:o200k_base", TokenChunker(9, 1, "o200k_base"), "token:9/1:tokens:o200k_base"),
    ],
)
def test_the_text_form(text: str, chunker: Chunker, shown: str) -> None:
    assert parse_chunker(text) == chunker
    assert str(chunker) == shown


def test_separators_of_ones_own_are_shown_and_not_read() -> None:
    chunker = RecursiveChunker(10, 0, separators=("\n", "."))
    assert str(chunker) == r"recursive:10/0:characters at '\n', '.'"
    assert str(RecursiveChunker(10, 0, separators=SEPARATORS)) == "recursive:10/0:characters"
    with pytest.raises(ConfigurationError, match="chunk unit: found"):
        parse_chunker(str(chunker))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recursive", "chunker: found 'recursive'; expected KIND:SIZE/OVERLAP"),
        ("recursiv:10/1", "found 'recursiv:10/1'; expected KIND"),
        ("recursive:10/1:words", "chunk unit: found 'words'"),
        ("token:10/1:characters", "found 'token:10/1:characters'; expected KIND"),
        ("recursive:10/10", "chunk overlap: found 10"),
        ("token:-1/0", "chunk size: found -1"),
        ("recursive:10/1:characters:o200k_base", "expected it with unit='tokens'"),
    ],
)
def test_what_cannot_be_read_is_named_with_the_grammar(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_chunker(text)
    assert message in str(caught.value)
    assert text in str(caught.value)
