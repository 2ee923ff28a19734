"""Where a piece stands that a compressor or postprocessor cut out of a chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raglift.records import Chunk

__all__ = ["place_in"]


def place_in(chunk: Chunk, piece: str) -> tuple[int | None, int | None]:
    """Return the offsets of a piece that was cut out of a chunk.

    Args:
        chunk: what it was cut out of.
        piece: the text that is left.

    Returns:
        Its first character, and one past its last, in the document's text. Both None where the chunk's own place is
        not known or not as long as its text, and where the piece is empty, is not in it, or is in it more than once.
    """
    at = chunk.text.find(piece) if piece else -1
    if chunk.start is None or at < 0 or chunk.text.find(piece, at + 1) >= 0:
        return None, None
    if chunk.end is not None and chunk.end - chunk.start != len(chunk.text):
        return None, None
    return chunk.start + at, chunk.start + at + len(piece)
