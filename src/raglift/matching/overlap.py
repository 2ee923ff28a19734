"""How two pieces of one text overlap, told from their texts alone, in linear time.

A chunk and a passage are both contiguous pieces of the source. So they overlap as containment, or the end of one is
the beginning of the other.
"""

from __future__ import annotations

__all__ = ["SHORTEST_OVERLAP", "longest_overlap"]

SHORTEST_OVERLAP = 20
"""The fewest normalized characters that tell, by text alone, that a chunk and a passage overlap: fewer may be shared by
chance."""

_TRIES = 32


def longest_overlap(left: str, right: str) -> int:
    """Return the most characters, `SHORTEST_OVERLAP` or more, that end `left` and begin `right`; 0 when there are none.

    Time is linear in the lengths: a few places where the beginning of `right` occurs are compared directly, which
    settles nearly all text; where it occurs more often, as in rows of dashes, the prefix function decides.
    """
    if len(right) < SHORTEST_OVERLAP or len(left) < SHORTEST_OVERLAP:
        return 0
    anchor = right[:SHORTEST_OVERLAP]
    at = left.find(anchor, max(0, len(left) - len(right)))
    for _ in range(_TRIES):
        if at < 0:
            return 0
        if right.startswith(left[at:]):
            return len(left) - at
        at = left.find(anchor, at + 1)
    length = _by_prefix_function(left[-len(right) :], right)
    return length if length >= SHORTEST_OVERLAP else 0


def _by_prefix_function(left: str, right: str) -> int:
    """Return how much of the beginning of `right` ends `left` (Knuth, Morris and Pratt 1977)."""
    border = [0] * len(right)
    length = 0
    for place in range(1, len(right)):
        while length and right[place] != right[length]:
            length = border[length - 1]
        length += right[place] == right[length]
        border[place] = length
    length = 0
    for letter in left:
        # `left` may hold all of `right` before its end
        while length and (length == len(right) or letter != right[length]):
            length = border[length - 1]
        length += letter == right[length]
    return length
