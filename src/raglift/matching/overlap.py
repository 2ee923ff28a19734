"""How two pieces of one text overlap, told from their texts alone, in linear time.

A chunk and a passage are both contiguous pieces of the source. So they overlap as containment, or the end of one is
the beginning of the other.
"""

from __future__ import annotations

__all__ = ["SHORTEST", "longest_overlap"]

SHORTEST = 20
"""Two pieces that share fewer normalized characters than this at an edge may do so by chance."""

_TRIES = 32


def longest_overlap(left: str, right: str) -> int:
    """Return the most characters, `SHORTEST` or more, that end `left` and begin `right`; 0 when there are none.

    Time is linear in the lengths: a few places where the beginning of `right` occurs are compared directly, which
    settles nearly all text; where it occurs more often, as in rows of dashes, the prefix function decides.
    """
    if len(right) < SHORTEST or len(left) < SHORTEST:
        return 0
    anchor = right[:SHORTEST]
    at = left.find(anchor, max(0, len(left) - len(right)))
    for _ in range(_TRIES):
        if at < 0:
            return 0
        if right.startswith(left[at:]):
            return len(left) - at
        at = left.find(anchor, at + 1)
    length = _by_prefix_function(left[-len(right) :], right)
    return length if length >= SHORTEST else 0


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
