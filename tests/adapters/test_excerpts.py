"""Where a piece that was cut out of a chunk is in the document."""

import pytest

from raglift.adapters.stages import place_in
from raglift.types.documents import Chunk

TEXT = "The lamp. The lens. The lamp."


@pytest.mark.parametrize(
    ("piece", "place"),
    [
        ("The lens.", (110, 119)),
        (TEXT, (100, 129)),
        ("The lamp.", (None, None)),  # it stands there twice
        ("The horn.", (None, None)),
        ("", (None, None)),
    ],
)
def test_a_piece_has_a_place_where_it_occurs_once(piece, place):
    assert place_in(Chunk(TEXT, start=100, end=129), piece) == place


@pytest.mark.parametrize(("start", "end"), [(None, None), (100, 140)])  # 40 characters of the document, 29 here
def test_a_piece_of_a_chunk_whose_place_is_not_its_text_has_none(start, end):
    assert place_in(Chunk(TEXT, start=start, end=end), "The lens.") == (None, None)


def test_an_end_need_not_be_known():
    assert place_in(Chunk(TEXT, start=100), "The lens.") == (110, 119)
