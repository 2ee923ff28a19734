"""What asking is guessed to cost, and what the ledger lets pass."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from raglift.judging.batch import GuessedUsage, Ledger, dollars_for
from raglift.llm.replies import FilledPrompt, Usage

PROMPT = FilledPrompt("p@1", "the task", "the data")


class Number(BaseModel):
    grade: Literal[0, 1, 2]


class Text(BaseModel):
    reason: str


class Listed(BaseModel):
    reasons: list[str]


class Nested(BaseModel):
    inner: Text | None
    left: Nested | None = None
    right: Nested | None = None


def written(form: type[BaseModel]) -> int:
    return GuessedUsage(form).of(PROMPT).output


def test_a_text_is_longer_than_a_number_and_a_list_of_texts_is_longer_still():
    assert written(Number) < 20 < written(Text) < 80 < written(Listed)


def test_a_form_that_holds_itself_is_guessed_too():
    assert written(Nested) > written(Text)


def test_more_words_to_read_are_more_tokens():
    longer = FilledPrompt("p@1", "the task", "the data " * 100)
    guess = GuessedUsage(Number)
    assert guess.of(longer).input - guess.of(PROMPT).input > 150
    assert guess.of(longer).output == guess.of(PROMPT).output


def test_dollars_are_for_a_million_tokens():
    assert dollars_for(Usage(2_000_000, 1_000_000), (0.15, 0.60)) == pytest.approx(0.90)


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), max_size=40),
    st.integers(1, 2_000),
    st.integers(1, 6),
)
def test_the_limit_is_never_passed_where_no_answer_is_longer_than_guessed(billed, limit, concurrency):
    ledger = Ledger(float(limit), (1e6, 1e6))
    guess = Usage(50, 50)
    left, underway = list(billed), []
    while left or underway:
        while left and len(underway) < concurrency and ledger.allows(guess):
            ledger.begin(guess)
            underway.append(left.pop())
        if not underway:
            break
        ledger.end(guess, Usage(*underway.pop(0)))
    assert ledger.dollars <= limit
    if left:
        assert ledger.dollars + 100 > limit  # it did not stop early
