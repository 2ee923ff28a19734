from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from raglift.matching.overlap import SHORTEST_OVERLAP, longest_overlap, match_passage, may_be_alike
from raglift.matching.rule import MatchRule, Text
from raglift.types.documents import Chunk
from raglift.types.labels import Passage

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


@given(
    st.text("ab c", min_size=1, max_size=30), st.text("ab c", min_size=1, max_size=50), st.sampled_from([0.5, 0.85, 1])
)
def test_what_is_alike_may_be_alike(text: str, other: str, likeness: float) -> None:
    found = fuzz.partial_ratio_alignment(text, other, score_cutoff=100 * likeness)
    assert found is None or may_be_alike(text, other, likeness)


def test_texts_with_little_in_common_are_not_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = np.random.default_rng(0).choice(list("abcdefgh "), size=(2, 400))
    first, other = (" ".join("".join(row).split()) for row in letters)
    aligned: list[str] = []
    usual = fuzz.partial_ratio_alignment
    monkeypatch.setattr(
        fuzz, "partial_ratio_alignment", lambda *texts, **more: aligned.append(texts[1]) or usual(*texts, **more)
    )
    rule, passage = MatchRule("fuzzy", threshold=0.8), Passage(first)
    like = f"{first[:200]}xyz{first[203:]}"
    found = [match_passage(Chunk(text, str(n)), passage, rule, Text(rule)) for n, text in enumerate((other, like))]
    assert [one is not None for one in found] == [False, True]
    assert aligned == [like]
