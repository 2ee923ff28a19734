"""Batches in which what a model makes of a text depends on that text alone.

The last bits of a vector, or of a score, change with the length that its batch is padded to: other lengths mean other
orders of summation, and in bfloat16 a ranking can then come out differently. So every text is padded to a length that
follows from its own number of tokens, and only texts padded to the same length share a batch. How many rows a batch
has, what the others are and how many threads compute does not change a bit (seen with MiniLM on x86 processors, in
float32 and bfloat16, and held by tests).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ROWS", "SHAPES", "Shape", "batches_by_shape", "shape_of"]

ROWS = 32
"""The most rows of a batch."""
_STEP = 16
SHAPES = f"padded{_STEP}"
"""How texts are padded: part of the identity of what is computed so."""

Item = TypeVar("Item")


class Shape(NamedTuple):
    """What texts of one batch have in common."""

    length: int
    """The number of tokens that each row is padded to."""
    full: bool
    """Whether no row is padded at all; attention is then computed without a mask, by another kernel."""


def shape_of(tokens: int, limit: int | None) -> Shape:
    """Return how a text is padded: to the next multiple of 16 above its tokens, or to what the model reads.

    Args:
        tokens: how many tokens the text has, the model's marks included.
        limit: how many tokens the model reads; None for any number.
    """
    if limit is not None and tokens >= limit:
        return Shape(limit, full=True)
    above = (tokens // _STEP + 1) * _STEP
    return Shape(above if limit is None else min(above, limit), full=False)


def batches_by_shape(items: Sequence[Item], shapes: Sequence[Shape]) -> list[list[Item]]:
    """Return the items in batches of one shape each; shortest first, within a shape in the given order."""
    groups: dict[Shape, list[Item]] = {}
    for item, shape in zip(items, shapes, strict=True):
        groups.setdefault(shape, []).append(item)
    ordered = [groups[shape] for shape in sorted(groups)]
    return [group[begin : begin + ROWS] for group in ordered for begin in range(0, len(group), ROWS)]
