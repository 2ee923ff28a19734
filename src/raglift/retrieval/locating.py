"""The positions of consecutive chunks in a text, from only the chunks in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.retrieval.chunkers import Span


def locate_pieces(text: str, pieces: Sequence[str]) -> list[Span | None]:
    """Return the position of each piece in the text; None for a piece that does not occur there.

    Splitters strip or rewrite white space, so pieces are looked for by their other characters, in order: each at the
    first place at which it ends after the last one, if that leaves no gap. Only then is a piece compared with the text
    at its place, white space and all.
    """
    letters = "".join(text.split())
    places = [place for place, letter in enumerate(text) if not letter.isspace()]
    spans: list[Span | None] = []
    start = end = 0  # of the piece before, in the text without white space
    for piece in pieces:
        wanted = "".join(piece.split())
        found = letters.find(wanted, max(start, end - len(wanted) + 1)) if wanted else -1
        same_end = end - len(wanted)
        if not 0 <= found <= end and start <= same_end and wanted and letters.startswith(wanted, same_end):
            found = same_end  # a part of the piece before, or the same again, rather than one far away
        if found < 0:
            spans.append(None)
            continue
        start, end = found, found + len(wanted)
        first = places[start] - (len(piece) - len(piece.lstrip()))
        last = places[end - 1] + 1 + (len(piece) - len(piece.rstrip()))
        spans.append((first, last) if first >= 0 and text[first:last] == piece else None)
    return spans
