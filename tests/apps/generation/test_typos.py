from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from raglift.apps.generation.drafts import with_typos

QUESTION = "Who trimmed the lamp before the fog came into the harbour of the island?"


@settings(deadline=None)
@given(st.text(max_size=120), st.integers(0, 50))
def test_mistakes_are_few_small_and_reproducible(text: str, seed: int) -> None:
    mistyped = with_typos(text, seed)
    assert mistyped == with_typos(text, seed)
    assert OSA.distance(text, mistyped) <= max(1, len(text.split()) // 5)
    assert len(mistyped.split()) == len(text.split())


@settings(deadline=None)
@given(st.from_regex(r"[a-z]{4,9}( [a-z]{4,9}){0,12}", fullmatch=True), st.integers(0, 50))
def test_a_text_with_a_long_word_is_changed(text: str, seed: int) -> None:
    assert with_typos(text, seed) != text


def test_words_keep_their_first_letters_and_short_ones_all() -> None:
    for seed in range(100):
        for before, after in zip(QUESTION.split(), with_typos(QUESTION, seed).split(), strict=True):
            assert before[0] == after[0]
            assert before == after or len(before) >= 4


def test_seeds_differ() -> None:
    assert len({with_typos(QUESTION, seed) for seed in range(20)}) > 15


@pytest.mark.parametrize("text", ["", "Who is he?", "1805 2019"])
def test_what_has_no_long_word_stays(text: str) -> None:
    assert with_typos(text, 0) == text
