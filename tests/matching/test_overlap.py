from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from raglift.matching.overlap import SHORTEST_OVERLAP, longest_overlap

LETTERS = st.text("ab", max_size=90)
"""Two letters: nearly every location looks like the beginning of an overlap."""


def longest_by_trying(left: str, right: str) -> int:
    lengths = range(min(len(left), len(right)), SHORTEST_OVERLAP - 1, -1)
    return next((length for length in lengths if left.endswith(right[:length])), 0)


@given(LETTERS, LETTERS, LETTERS)
@example("", "a" * 90, "")
@example("b", "a" * 60, "ab")
@example("ab" * 30, "ab" * 12, "aab")
def test_the_longest_common_edge_is_found(before: str, shared: str, after: str) -> None:
    assert longest_overlap(before + shared, shared + after) == longest_by_trying(before + shared, shared + after)


def test_an_edge_of_fewer_than_twenty_characters_may_be_chance() -> None:
    edge = "said he, and went ou"
    assert longest_overlap(f"“No,” {edge}", f"{edge} again") == 20
    assert longest_overlap(f"“No,” {edge[:-1]}", f"{edge[:-1]} again") == 0
