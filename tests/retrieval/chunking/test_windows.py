from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_text_splitters import TokenTextSplitter

from raglift.retrieval.chunkers import TokenChunker
from raglift.text.tokens import load_encoding
from raglift.types.documents import Document

SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


PLACES = st.integers(0, 10**9)


@pytest.mark.slow
@given(place=st.tuples(PLACES, PLACES), length=st.integers(0, 8000), size=st.integers(1, 300), share=st.floats(0, 0.99))
@settings(SETTINGS, max_examples=60)
def test_the_windows_are_langchains_where_no_edge_falls_inside_a_character(
    real: Any,
    carried_encodings: None,
    place: tuple[int, int],
    length: int,
    size: int,
    share: float,
) -> None:
    text, overlap = real.piece(place, length), int(size * share)
    splitter = TokenTextSplitter("cl100k_base", chunk_size=size, chunk_overlap=overlap)
    expected = splitter.split_text(text)
    found = [chunk.text for chunk in TokenChunker(size, overlap).split([Document("d", text)])]
    if any("\ufffd" in window for window in expected):
        return
    assert found == expected


@pytest.mark.slow
@given(
    text=st.text(st.sampled_from("a é\n😀🜁𝔘ß한\ud800"), max_size=80),
    size=st.integers(1, 12),
    share=st.floats(0, 0.99),
)
@settings(max_examples=300, deadline=None)
def test_windows_are_cut_to_whole_characters_of_the_source(text: str, size: int, share: float) -> None:
    document, chunker = Document("d", text), TokenChunker(size, int(size * share))
    chunks = chunker.split([document])
    assert all(document.text[chunk.start : chunk.end] == chunk.text != "" for chunk in chunks)
    spans = [(chunk.start or 0, chunk.end or 0) for chunk in chunks]
    assert spans == sorted(set(spans))
    assert [end for _, end in spans] == sorted(end for _, end in spans)
    assert {place for span in spans for place in range(*span)} == set(range(len(text)))
    edges = load_encoding("cl100k_base").edges(text)
    for (_, end), (following, _) in pairwise(spans):
        shared = {edge for edge in edges if following < edge <= end}  # the ends of tokens with a character's first byte
        assert len(shared) <= chunker.overlap
        assert chunker.overlap or following == end


def test_a_character_cut_in_two_belongs_to_the_window_that_ends_in_it() -> None:
    document = Document("d", "a🜁b")  # the alchemists' air: four bytes, a token each
    assert load_encoding("cl100k_base").edges(document.text) == [0, 1, 2, 2, 2, 3]
    assert [chunk.text for chunk in TokenChunker(2, 0).split([document])] == ["a🜁", "b"]
    assert [chunk.text for chunk in TokenChunker(1, 0).split([document])] == ["a", "🜁", "b"]
