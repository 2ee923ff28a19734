from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter

from raglift.errors import ConfigurationError
from raglift.retrieval.chunkers import SEPARATORS, RecursiveChunker
from raglift.text.tokens import load_encoding
from raglift.types.documents import Chunk, Document

SENTENCES = ("\n\n", "\n", ".", "?", "!", " ", "")
ROW = "| 0.05 | n.s. | 12 |\n"
REPEATING = st.lists(
    st.sampled_from([ROW, "the ", "the lamp ", "\n\n\n", "  ", "aaaa", "!?", "Methods. ", "é", "😀", "a\nboat"]),
    max_size=120,
).map("".join)
PLACES = st.integers(0, 10**9)
FIRST_LETTER = 0xF0000  # private use: no text has them


def tokens(text: str) -> int:
    return load_encoding("cl100k_base").count(text)


LENGTHS: dict[Any, Callable[[str], int]] = {"characters": len, "tokens": tokens}


def langchain(chunker: RecursiveChunker, length: Callable[[str], int]) -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter(
        list(chunker.separators or SEPARATORS),
        chunk_size=chunker.size,
        chunk_overlap=chunker.overlap,
        length_function=length,
    )


def places(chunks: tuple[Chunk, ...]) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in chunks if chunk.start is not None and chunk.end is not None]


def without_repeats(items: list[Any]) -> list[Any]:
    return [item for item, _ in groupby(items)]


def has_letter(piece: str) -> bool:
    return any(ord(mark) >= FIRST_LETTER for mark in piece)


def with_unique_letters(text: str, separators: tuple[str, ...]) -> str:
    """Make every character another one, but for white space and what separators are made of."""
    kept = set("".join(separators))
    return "".join(
        mark if mark.isspace() or mark in kept else chr(FIRST_LETTER + index) for index, mark in enumerate(text)
    )


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["characters", "tokens"])
@given(
    text=REPEATING,
    size=st.integers(1, 60),
    share=st.floats(0, 0.99),
    separators=st.sampled_from([SEPARATORS, SENTENCES]),
)
@settings(max_examples=150, deadline=None)
def test_chunks_of_text_that_repeats_stand_where_langchain_took_them(
    unit: Any, text: str, size: int, share: float, separators: tuple[str, ...]
) -> None:
    chunker = RecursiveChunker(size, int(size * share), unit, separators)
    unique = with_unique_letters(text, separators)
    original = dict(zip(unique, text, strict=True))
    splitter = langchain(chunker, lambda piece: LENGTHS[unit]("".join(map(original.__getitem__, piece))))
    pieces = [piece for piece in splitter.split_text(unique) if has_letter(piece)]
    expected = without_repeats([(unique.index(piece), unique.index(piece) + len(piece)) for piece in pieces])
    found = [place for place in places(chunker.split([Document("d", text)])) if has_letter(unique[slice(*place)])]
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["characters", "tokens"])
@given(place=st.tuples(PLACES, PLACES), length=st.integers(0, 8000), size=st.integers(8, 300), share=st.floats(0, 0.9))
@settings(max_examples=60, deadline=None)
def test_chunks_of_real_text_are_langchains_in_order_and_leave_out_only_white_space(
    real: Any, unit: Any, place: tuple[int, int], length: int, size: int, share: float
) -> None:
    document = Document("d", real.piece(place, length))
    chunker = RecursiveChunker(size, int(size * share), unit)
    chunks = chunker.split([document])
    expected = langchain(chunker, LENGTHS[unit]).split_text(document.text)
    assert without_repeats([chunk.text for chunk in chunks]) == without_repeats(expected)
    check_places(document, chunks)
    for (_, end), (following, _) in pairwise(places(chunks)):
        shared = document.text[following:end]
        # tokens are counted piece by piece: where pieces are joined, the text may have a few more
        assert LENGTHS[unit](shared) <= chunker.overlap + (4 if unit == "tokens" else 0)


def check_places(document: Document, chunks: tuple[Chunk, ...]) -> None:
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    spans = places(chunks)
    assert len(spans) == len(chunks) == len({chunk.id for chunk in chunks})
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert start <= next_start
        assert end <= next_end
    left_out = set(range(len(document.text))) - {place for span in spans for place in range(*span)}
    assert not "".join(document.text[place] for place in left_out).strip()


def test_a_place_that_langchain_returns_twice_is_one_chunk() -> None:
    text, chunker = "  a ", RecursiveChunker(3, 2)
    assert langchain(chunker, len).split_text(text) == ["a", "a"]
    assert places(chunker.split([Document("d", text)])) == [(2, 3)]


def test_a_text_without_any_of_the_separators_stays_whole() -> None:
    chunks = RecursiveChunker(5, 0, separators=("\n\n", "|")).split([Document("d", "the lamp|is")])
    assert [chunk.text for chunk in chunks] == ["the lamp", "|is"]
    assert [chunk.text for chunk in RecursiveChunker(5, 0, separators=("|",)).split([Document("d", "a lamp")])] == [
        "a lamp"
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "chunk size: found 0; expected 1 or more characters"),
        ({"size": 10, "overlap": 10}, "less than the chunk size 10"),
        ({"size": 10, "overlap": -1}, "chunk overlap: found -1"),
        ({"unit": "words"}, "chunk unit: found 'words'; expected one of characters, tokens"),
        ({"separators": "\n"}, "separators: found '\\\\n'"),
        ({"separators": ()}, "separators: found"),
        ({"encoding": "o200k_base"}, "expected it with unit='tokens'"),
    ],
)
def test_settings_that_make_no_sense_are_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RecursiveChunker(**settings)
