"""Scores that bring hits into raglift's order wherever they are sorted by score.

trec_eval sorts by score, which it reads in single precision, and orders equal scores by id. So what is written descends
strictly in single precision: then every tool has the same order, whatever it does about ties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Descending", "by_rank", "descending"]

# Smaller numbers than this some programs take for 0
_SMALLEST = np.finfo(np.float32).smallest_normal


class Descending(NamedTuple):
    """Scores that descend strictly in single precision."""

    scores: list[float]
    lowered: int
    """How many equalled the one before them, and so were lowered by the smallest step."""


def descending(scores: Sequence[float | None]) -> Descending | None:
    """Return a ranking's own scores so that they descend strictly in single precision.

    A score that is equal to the one before it is lowered by the smallest step that single precision has; all others
    stay as they are.

    Args:
        scores: in the order of the ranking, as the stage gave them.

    Returns:
        The scores; None where they do not tell the order: one is missing, is not finite, or is above the one before it.
    """
    given = np.array(scores, dtype=np.float64)  # None becomes NaN
    with np.errstate(over="ignore", under="ignore"):
        single = given.astype(np.float32)
    single[np.abs(single) < _SMALLEST] = 0
    if not np.isfinite(single).all() or (single[1:] > single[:-1]).any():
        return None
    if (single[1:] < single[:-1]).all():
        return Descending(given.tolist(), 0)
    lowered = single.copy()
    for place in range(1, len(lowered)):
        if lowered[place] >= lowered[place - 1]:
            lowered[place] = _below(lowered[place - 1])
    if not np.isfinite(lowered).all():
        return None
    changed = lowered != single
    return Descending(np.where(changed, lowered.astype(np.float64), given).tolist(), int(changed.sum()))


def by_rank(hits: int) -> list[float]:
    """Return scores that say nothing but the order: as many as there are hits, down to 1."""
    return list(map(float, range(hits, 0, -1)))


def _below(score: np.float32) -> np.float32:
    """Return the next lower score that is no subnormal number."""
    with np.errstate(over="ignore", under="ignore"):
        below: np.float32 = np.nextafter(score, np.float32(-np.inf))
    if abs(below) < _SMALLEST:
        return np.float32(0) if score > 0 else -_SMALLEST
    return below
