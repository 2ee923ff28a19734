from __future__ import annotations

import pytest

from raglift.apps.assistant.engine import Questions
from raglift.records.labels import Query

QUERIES = (
    Query("q1", "Who is Anna Pávlovna?"),
    Query("q2", "Who keeps the keeper’s log — and why?"),
    Query("who is anna pávlovna?", "Another question"),
)


def ids(found: tuple[Query, ...]) -> list[str]:
    return [query.id for query in found]


@pytest.mark.parametrize("asked", ["q2", " Q2 ", "who keeps  the keeper's LOG - and why"])
def test_a_question_is_found_by_its_id_or_its_text_however_it_is_typed(asked: str) -> None:
    assert ids(Questions(QUERIES).named(asked)) == ["q2"]


def test_an_id_goes_before_a_text() -> None:
    assert ids(Questions(QUERIES).named("Who is Anna Pávlovna?")) == ["who is anna pávlovna?"]


def test_all_questions_of_one_text_are_found() -> None:
    assert ids(Questions([Query("a", "Why?"), Query("b", "why?")]).named("WHY?")) == ["a", "b"]


@pytest.mark.parametrize("asked", ["", "q", "?", "Who is Anna?", "Who is Anna Pavlovna"])
def test_what_is_only_alike_is_not_it(asked: str) -> None:
    assert Questions(QUERIES).named(asked) == ()


def test_what_reads_almost_the_same_is_near() -> None:
    questions = Questions(QUERIES[:2])
    found = questions.nearest("Who is Anna Pavlovna")
    assert found is not None
    assert found.id == "q1"
    assert questions.nearest("When was the lamp lit?") is None
    assert Questions(()).nearest("anything") is None


def test_words_within_a_question_are_found() -> None:
    assert ids(Questions(QUERIES).containing("ANNA pávlovna")) == ["q1"]
    assert Questions(QUERIES).containing("  ") == ()
