"""At which rank the hits so far together cover enough of a passage."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.judgements import Matches, PassageTable

__all__ = ["Covered", "covered_matches"]

_TOLERANCE = 1e-9


class Covered:
    """The covered part of one passage: a growing union of intervals of its characters.

    White space between two covered parts, or at the ends, holds no words: it counts as covered with them, so that a
    splitter that strips its chunks can still cover all of a passage.

    Args:
        text: the passage's text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        """Cover the characters from `start` to `end`."""
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    @property
    def characters(self) -> int:
        """How many characters are covered, each once, white space between and around covered parts included."""
        covered = sum(self._ends) - sum(self._starts)
        gaps = zip([0, *self._ends], [*self._starts, len(self._text)], strict=True)
        return covered + sum(end - start for start, end in gaps if not self._text[start:end].strip())

    def reaches(self, threshold: float) -> bool:
        """Whether at least this part of the passage is covered."""
        return self.characters >= threshold * len(self._text) - _TOLERANCE


def covered_matches(passages: PassageTable, pieces: Matches, threshold: float) -> NDArray[np.int64]:
    """Return the rows of `pieces` at which a passage first reaches the threshold, at most one a passage.

    Coverage never mixes the alternatives of a fact: each passage is covered by itself. A chunk-id label is covered by
    its chunk.

    Args:
        passages: the texts of all passages.
        pieces: which hit covers which part of which passage.
        threshold: the part that must be covered.
    """
    row = passages.rows(pieces.fact, pieces.passage)
    order = np.lexsort((pieces.rank, row))
    reached: list[int] = []
    current, covered = -1, Covered("")
    done = False
    for place, passage, start, end in zip(
        order.tolist(), row[order].tolist(), pieces.start[order].tolist(), pieces.end[order].tolist(), strict=True
    ):
        if passage != current:
            current, covered, done = passage, Covered(passages.texts[passage] or ""), False
        if done:
            continue
        covered.add(start, end)
        if covered.reaches(threshold):
            reached.append(place)
            done = True
    return np.array(reached, dtype=np.int64)
