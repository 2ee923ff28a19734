from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.apps.assistant.engine import answer_of, cited_numbers
from raglift.records.documents import Chunk
from raglift.records.rankings import Hit

SHOWN = [Hit(Chunk(f"passage {number}"), number) for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("The keeper [1].", [1]),
        ("Both [1][3].", [1, 3]),
        ("Both [1, 3]; all [1–3], again [1-3].", [1, 3, 1, 2, 3, 1, 2, 3]),
        ("In [1805-1812] it was war.", [1805, 1806, 1807, 1808, 1809, 1810, 1811, 1812]),
        ("Up to [1-9999].", [1, 9999]),
        ("Backwards [3-1].", [3, 1]),
        ("As some write it: [Passage 2], [passages 1, 3], 灯塔【1】［3］.", [2, 1, 3, 1, 3]),
        ("No [a], no [], no (1), no [1.5], no [123456789].", []),
    ],
)
def test_numbers_in_square_brackets_are_citations(text: str, numbers: list[int]) -> None:
    assert list(cited_numbers(text)) == numbers


@given(st.text(alphabet="[]0123456789,-– a", max_size=60))
def test_no_text_makes_reading_citations_fail_or_endless(text: str) -> None:
    assert len(list(cited_numbers(text))) <= 60 * 51


def test_what_was_shown_is_told_from_what_was_not() -> None:
    answer = answer_of("m", "A [2], B [7] and [0], C [2][1].", SHOWN)
    assert [(each.number, each.hit.chunk.text) for each in answer.citations] == [(2, "passage 2"), (1, "passage 1")]
    assert answer.unknown == (7, 0)


@pytest.mark.parametrize("text", ["I do not know.", "I don’t know. [1] is about fog.", "I  do not\nknow"])
def test_an_answer_may_say_that_it_does_not_know(text: str) -> None:
    assert answer_of("m", text, SHOWN).says_unknown


def test_an_answer_that_knows_does_not_say_so() -> None:
    assert not answer_of("m", "The keeper did not know it [1].", SHOWN).says_unknown
