"""Intervals of a passage's characters: how much they cover together, and how few of them cover enough.

White space holds no words: a run of it counts as covered when what stands before it and what stands after it is
covered, and at the ends of the passage with the word beside it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NO_SPACES", "Interval", "Spaces", "covered_length", "fewest_intervals"]

Interval: TypeAlias = "tuple[int, int]"
"""Start and end, the end not included."""

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Spaces:
    """Where the white space of a passage is."""

    length: int = 0
    """How long the passage is."""
    runs: tuple[Interval, ...] = ()
    """Its runs of white space, in order."""

    @classmethod
    def of(cls, text: str) -> Spaces:
        """Return the white space of a text."""
        return cls(len(text), tuple(found.span() for found in _SPACE.finditer(text)))

    def reach(self, position: int) -> int:
        """Return how far the white space after a position goes; the position itself where there is none."""
        row = bisect_right(self.runs, (position, position)) - 1
        for start, end in self.runs[max(row, 0) : row + 2]:
            if start <= position <= end:
                return end
        return position

    def trimmed(self, intervals: Iterable[Interval]) -> list[Interval]:
        """Return the intervals with the white space at the ends of the passage, where they reach it."""
        runs, length = self.runs, self.length
        head = runs[0][1] if runs and runs[0][0] == 0 else 0
        tail = runs[-1][0] if runs and runs[-1][1] == length else length
        return [(0 if start <= head else start, length if tail <= end <= length else end) for start, end in intervals]


NO_SPACES = Spaces()
"""For what is not text."""


def covered_length(intervals: Iterable[Interval], spaces: Spaces = NO_SPACES) -> int:
    """Return how many characters intervals cover together."""
    covered, reached = 0, None
    for start, end in sorted(spaces.trimmed(intervals) if spaces.runs else intervals):
        if reached is None or start > spaces.reach(reached):
            covered, reached = covered + end - start, end
        elif end > reached:
            covered, reached = covered + end - reached, end
    return covered


def fewest_intervals(intervals: Iterable[Interval], needed: int, at_most: int, spaces: Spaces = NO_SPACES) -> int:
    """Return how few of some intervals cover a length together.

    By dynamic programming over the intervals that lie in no other one, in their order on the line: what m intervals
    cover at most when the last of them is a given one comes from what m − 1 cover up to any one before it.

    Args:
        intervals: together they must cover as much as is needed.
        needed: the length to cover, 1 or more.
        at_most: when this many are not enough, `at_most + 1` is returned.
        spaces: the white space of the passage.
    """
    start, end = np.array(_maximal(spaces.trimmed(intervals) if spaces.runs else intervals), dtype=np.int64).T
    reach = np.array([spaces.reach(position) for position in end.tolist()], dtype=np.int64)
    # What the i-th adds after the j-th, for j before i: with no other between them, this is all they share
    added = end[:, None] - np.where(start[:, None] <= reach[None, :], end[None, :], start[:, None])
    before = np.tri(len(start), k=-1, dtype=np.bool_)
    covered = end - start
    count = 1
    while count <= at_most and covered.max() < needed:
        count += 1
        covered = np.where(before, covered[None, :] + added, 0).max(axis=1)
    return count


def _maximal(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the intervals that lie in no other one, by start and so by end."""
    kept: list[Interval] = []
    for start, end in sorted(set(intervals), key=lambda interval: (interval[0], -interval[1])):
        if not kept or end > kept[-1][1]:
            kept.append((start, end))
    return kept
