"""Intervals on a line: how much they cover together, and how few of them cover enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Interval", "covered_length", "fewest_intervals"]

Interval: TypeAlias = "tuple[int, int]"
"""Start and end, the end not included."""


def covered_length(intervals: Iterable[Interval]) -> int:
    """Return the length of the union of intervals."""
    covered, reached = 0, None
    for start, end in sorted(intervals):
        first = start if reached is None else max(start, reached)
        covered += max(end - first, 0)
        reached = max(end, first)
    return covered


def fewest_intervals(intervals: Iterable[Interval], needed: int, at_most: int) -> int:
    """Return how few of some intervals cover a length together.

    By dynamic programming over the intervals that lie in no other one, in their order on the line: what m intervals
    cover at most when the last of them is a given one comes from what m − 1 cover up to any one before it.

    Args:
        intervals: together they must cover as much as is needed.
        needed: the length to cover, 1 or more.
        at_most: when this many are not enough, `at_most + 1` is returned.
    """
    start, end = np.array(_maximal(intervals), dtype=np.int64).T
    # What the i-th adds after the j-th, for j before i: with no other between them, this is all they share
    added = end[:, None] - np.maximum(start[:, None], end[None, :])
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
