"""How many tokens asking is guessed to take."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from raglift.grading.batch import GuessedUsage
from raglift.llm.replies import FilledPrompt

PROMPT = FilledPrompt("p@1", "the task", "the data")


class Number(BaseModel):
    grade: Literal[0, 1, 2]


class Text(BaseModel):
    reason: str


class Listed(BaseModel):
    reasons: list[str]


def written(form: type[BaseModel]) -> int:
    return GuessedUsage(form).of(PROMPT).output


def test_a_text_is_longer_than_a_number_and_a_list_of_texts_is_longer_still():
    assert written(Number) < 20 < written(Text) < 80 < written(Listed)


def test_more_words_to_read_are_more_tokens():
    longer = FilledPrompt("p@1", "the task", "the data " * 100)
    guess = GuessedUsage(Number)
    assert guess.of(longer).input - guess.of(PROMPT).input > 150
    assert guess.of(longer).output == guess.of(PROMPT).output
