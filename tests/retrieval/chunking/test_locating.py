from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter

from raglift.adapters.splitters import locate_pieces
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.text.tokens import load_encoding
from raglift.types.documents import Document

SIZES = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))
REPETITIVE = st.text(st.sampled_from("ab \n"), max_size=200)


def test_pieces_are_located() -> None:
    assert locate_pieces("one two three", ["one", "two", "three"]) == [(0, 3), (4, 7), (8, 13)]
    assert locate_pieces(" one\n\ntwo ", [" one", "\n\ntwo "]) == [(0, 4), (4, 10)]


def test_a_text_that_comes_again_is_taken_in_order() -> None:
    assert locate_pieces("row\nrow\nrow", ["row", "row", "row"]) == [(0, 3), (4, 7), (8, 11)]
    assert locate_pieces("row\nrow\nrow", ["row\nrow", "row"]) == [(0, 7), (8, 11)]
    assert locate_pieces("row\nrow\nrow", ["row\nrow", "row\nrow"]) == [(0, 7), (4, 11)]


def test_what_follows_decides_between_places() -> None:
    # alone, the second piece could begin at 2 within the overlap; then the third would leave a gap
    assert locate_pieces("a b a b c", ["a b", "a b", "c"]) == [(0, 3), (4, 7), (8, 9)]


def test_a_piece_that_was_rewritten_has_no_place_and_does_not_lose_the_others() -> None:
    text = "one\n\n\n\ntwo and one two"
    assert locate_pieces(text, ["one\n\ntwo", "and", "one two"]) == [None, (11, 14), (15, 22)]
    assert locate_pieces("one two one", ["ONE", "two", "one"]) == [None, (4, 7), (8, 11)]
    assert locate_pieces("one", ["one", "more"]) == [(0, 3), None]


def test_left_out_text_between_pieces_is_passed_over() -> None:
    assert locate_pieces("one <b> two </b> one", ["one", "two", "one"]) == [(0, 3), (8, 11), (17, 20)]


def test_nothing_is_found_in_an_empty_text() -> None:
    assert locate_pieces("", []) == []
    assert locate_pieces(" ", ["a", " "]) == [None, None]


@given(REPETITIVE, SIZES)
def test_places_are_true_and_in_order(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    pieces = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap).split_text(text)
    pieces = [piece for piece in pieces if piece.strip()]
    spans = locate_pieces(text, pieces)
    found = [span for span in spans if span is not None]
    assert all(text[slice(*span)] == piece for span, piece in zip(spans, pieces, strict=True) if span is not None)
    for one, other in pairwise(found):
        assert one[0] <= other[0] <= other[1]
        assert one[1] <= other[1]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "overlap"), [(60, 0), (200, 150)])
@pytest.mark.parametrize("unit", ["characters", "tokens"])
def test_real_chunks_are_where_they_were_cut(real, size: int, overlap: int, unit: str) -> None:
    count = len if unit == "characters" else load_encoding("cl100k_base").count
    for text in (whole[:10_000] for whole in real.texts):
        splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, length_function=count)
        spans = locate_pieces(text, splitter.split_text(text))
        truth = RecursiveChunker(size, overlap, unit).split([Document("d", text)])  # type: ignore[arg-type]
        assert list(dict.fromkeys(spans)) == [(chunk.start, chunk.end) for chunk in truth]
