"""Coverage: how much of a passage several hits cover jointly, and whether that is enough.

This module alone defines it; matching, attainable recall, upper bounds and exported labels all call it. Lengths and
locations are in characters of the passage's normalized text (`raglift.text.normalization.normalize`), so neither the
white space nor the Unicode form of a label makes a difference.

In normalized text, white space is a single blank between two words. Covered parts begin and end with a character that
is not white space (`trimmed`), and a blank counts as covered exactly when the characters on both sides of it do: it
makes no difference whether a chunker keeps the white space at which it cuts. With “the lamp is lit” and the parts
“the lamp” (0–8) and “is lit” (9–15), all 15 characters are covered.

The same number is computed in four ways, each as fast as its use needs: of one set of parts (`covered_length`), growing
hit by hit (`Covered`), of many sets of chunks at once (`Choices`), and as the fewest parts that are enough
(`fewest_intervals`). `text` is the passage's normalized text in each of them; without one, intervals are of plain
characters.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from raglift.matching.matches import Matches, PassageTable
    from raglift.matching.rule import MatchRule, Text


Interval: TypeAlias = "tuple[int, int]"
"""Start and end, the end not included."""

_BLANK = " "
# Keeps rounding from asking for one character more: 0.07 × 100 is 7.000000000000001
_TOLERANCE = 1e-9


def characters_needed(text: str, rule: MatchRule) -> int:
    """Return how many characters of a passage must be covered for its fact to be satisfied; 1 or more."""
    return max(1, math.ceil((rule.threshold or 0) * len(text) - _TOLERANCE))


def is_enough(parts: Iterable[Interval], text: str, rule: MatchRule) -> bool:
    """Return whether parts of a passage together satisfy its fact."""
    return covered_length(parts, text) >= characters_needed(text, rule)


def trimmed(start: int, end: int, text: str) -> Interval:
    """Return a part of a normalized text without the blanks at its ends; start and end are equal if that is nothing."""
    start += text.startswith(_BLANK, start, end)
    return start, end - (start < end and text.endswith(_BLANK, start, end))


def covered_length(intervals: Iterable[Interval], text: str = "") -> int:
    """Return how many characters intervals cover together, each once."""
    covered, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > _bridged(reached, text):
            covered, reached = covered + end - start, end
        elif end > reached:
            covered, reached = covered + end - reached, end
    return covered


def _bridged(end: int, text: str) -> int:
    """Return where a part may begin that leaves no gap after one that ends here: beyond a blank, if there is one."""
    return end + text.startswith(_BLANK, end)


class Covered:
    """The covered part of one passage: a growing union of intervals."""

    def __init__(self, text: str = "") -> None:
        self._text = text
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._bridged: list[int] = []
        self.characters = 0
        """How many characters are covered, each once."""

    def add(self, start: int, end: int) -> None:
        """Cover the characters from `start` to `end`."""
        bridged = _bridged(end, self._text)
        first, last = bisect_left(self._bridged, start), bisect_right(self._starts, bridged)
        if first < last:
            self.characters -= sum(self._ends[first:last]) - sum(self._starts[first:last])
            start = min(start, self._starts[first])
            if self._ends[last - 1] > end:
                end, bridged = self._ends[last - 1], self._bridged[last - 1]
        self.characters += end - start
        self._starts[first:last], self._ends[first:last], self._bridged[first:last] = [start], [end], [bridged]

    def shared(self, start: int, end: int) -> int:
        """Return how many of the characters from `start` to `end` are covered."""
        touched = slice(bisect_left(self._ends, start), bisect_right(self._starts, end))
        both = zip(self._starts[touched], self._ends[touched], strict=True)
        return sum(min(end, last) - max(start, first) for first, last in both)


def covered_matches(passages: PassageTable, overlaps: Matches, rule: MatchRule, text: Text) -> NDArray[np.int64]:
    """Return the rows of `overlaps` at which enough of a passage is first covered, at most one a passage.

    Coverage never adds up what is covered of different alternatives of a fact. A chunk-id label is covered by its
    chunk.
    """
    row = passages.rows(overlaps.fact, overlaps.passage)
    order = np.lexsort((overlaps.rank, row))
    columns = (order, row[order], overlaps.normalized_start[order], overlaps.normalized_end[order])
    reached: list[int] = []
    current, needed, covered = -1, 0, Covered()
    for place, passage, start, end in zip(*(column.tolist() for column in columns), strict=True):
        if passage != current:
            current, label = passage, passages.texts[passage]
            normalized = "" if label is None else text(label)
            needed, covered = 0 if label is None else characters_needed(normalized, rule), Covered(normalized)
        elif covered.characters >= needed:
            continue
        covered.add(start, end)
        if covered.characters >= needed:
            reached.append(place)
    return np.array(reached, dtype=np.int64)


class Choices:
    """Whether each of many sets of chunks covers enough of a passage.

    The passage falls into stretches between the ends of what chunks cover; a set of chunks covers the stretches that
    one of its chunks covers, and a blank between two of them.

    Args:
        covers: (row, start, end) of each part that a chunk covers; the row stands for the chunk.
        rows: how many rows there are.
        needed: how many characters must be covered.
        text: the normalized text of the passage.
    """

    def __init__(self, covers: Iterable[tuple[int, int, int]], rows: int, needed: int, text: str = "") -> None:
        covers = list(covers)
        self._needed = needed
        edges = np.array(sorted({edge for _, start, end in covers for edge in (start, end)}), dtype=np.int64)
        self._lengths: NDArray[np.int64] = np.diff(edges)
        self._covered = np.zeros((rows, len(self._lengths)), dtype=np.bool_)
        for row, start, end in covers:
            self._covered[row, np.searchsorted(edges, start) : np.searchsorted(edges, end)] = True
        alone = np.flatnonzero(self._lengths == 1)
        self._blanks = np.array([at for at in alone.tolist() if text.startswith(_BLANK, edges[at])], dtype=np.int64)

    def are_enough(self, choices: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each choice covers as much as is needed.

        Args:
            choices: rows of chunks, shape (choices, chunks of each).
        """
        covered = np.asarray(self._covered[choices].any(axis=1))
        blanks = self._blanks
        covered[:, blanks] |= covered[:, blanks - 1] & covered[:, blanks + 1]
        enough: NDArray[np.bool_] = covered @ self._lengths >= self._needed
        return enough


def fewest_intervals(intervals: Sequence[Interval], needed: int, at_most: int, text: str = "") -> int:
    """Return how few of some intervals cover a length together.

    By dynamic programming over the intervals that lie in no other one, in their order on the line: what m intervals
    cover at most when the last of them is a given one comes from what m − 1 cover up to any one before it.

    Args:
        intervals: at least one; together they must cover as much as is needed.
        needed: the length to cover, 1 or more.
        at_most: when this many are not enough, `at_most + 1` is returned.
        text: the normalized text, whose blanks between covered parts count.
    """
    maximal = _maximal(intervals)
    start, end = np.array(maximal, dtype=np.int64).T
    bridged = np.array([_bridged(last, text) for _, last in maximal], dtype=np.int64)
    # What the i-th adds after the j-th, for j before i: with no other between them, this is all they share
    added = end[:, None] - np.where(start[:, None] <= bridged[None, :], end[None, :], start[:, None])
    before = np.tri(len(start), k=-1, dtype=np.bool_)
    covered = end - start
    count = 1
    while count <= at_most and covered.max() < needed:
        count += 1
        covered = np.where(before, covered[None, :] + added, 0).max(axis=1)
    return count


def _maximal(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the intervals that lie in no other one, by start and so by end."""
    maximal: list[Interval] = []
    for start, end in sorted(set(intervals), key=lambda interval: (interval[0], -interval[1])):
        if not maximal or end > maximal[-1][1]:
            maximal.append((start, end))
    return maximal
