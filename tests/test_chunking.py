from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.chunking import RecursiveChunker, located_chunks
from raglift.errors import ConfigurationError
from raglift.records import Document

WORDS = st.lists(st.sampled_from(["the", "the lamp", "fog\n\n", "horn.", "tide ", "a\nboat"]), min_size=1, max_size=200)


@given(words=WORDS, size=st.integers(5, 80), overlap=st.integers(0, 4))
@settings(max_examples=100, deadline=None)
def test_every_chunk_stands_where_its_offsets_say(words: list[str], size: int, overlap: int) -> None:
    document = Document("d", " ".join(words))
    chunks = RecursiveChunker(size, overlap).split([document])
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    starts = [chunk.start for chunk in chunks if chunk.start is not None]
    assert len(starts) == len(chunks)
    places = [(chunk.start, chunk.end) for chunk in chunks]
    assert places == sorted(set(places))


def test_a_chunk_id_names_the_document_and_the_place() -> None:
    chunks = RecursiveChunker(20, 0).split([Document("log.md", "the lamp was lit and the horn was silent")])
    assert chunks[0].id == f"log.md:{chunks[0].start}-{chunks[0].end}"
    assert len({chunk.id for chunk in chunks}) == len(chunks)


def test_a_piece_that_the_document_does_not_hold_gets_no_offsets() -> None:
    chunks = located_chunks(Document("d", "the lamp is lit"), ["the lamp", "rewritten", "is lit"], overlap=0)
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 8), (None, None), (9, 15)]


@pytest.mark.parametrize(
    ("size", "overlap", "message"),
    [(0, 0, "chunk size: found 0"), (10, 10, "less than the chunk size 10"), (10, -1, "chunk overlap: found -1")],
)
def test_sizes_that_make_no_sense_are_errors(size: int, overlap: int, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RecursiveChunker(size, overlap)
