"""Documents and chunks: what a system may give for their fields."""

from raglift.types.documents import Chunk


class OddText(str):
    """A text that may be neither compared nor hashed."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("not comparable")


def test_a_text_of_a_subclass_is_a_plain_text():
    chunk = Chunk(OddText("a"), id=OddText("b"), doc_id=OddText("c"))
    assert {type(chunk.text), type(chunk.id), type(chunk.doc_id)} == {str}
    assert chunk == Chunk("a", id="b", doc_id="c")
