"""Who labelled a dataset, counted and said in a sentence."""

import pytest

from raglift.types.dataset import Dataset
from raglift.types.labels import PEOPLE, Annotator, Fact, LabelSources, Passage, Query

MINI = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
LATER = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-22")
NAME = "openai:gpt-4o-mini (relevance@3f9a1c07)"


def passage(annotator=None, grade=1):
    return Passage("some words", grade=grade, annotator=annotator)


def dataset(*queries):
    return Dataset(tuple(queries))


def test_labels_of_people_are_counted_and_not_worth_a_sentence():
    found = dataset(
        Query("q", "?", (Fact((passage(), passage())),), judged_irrelevant=(passage(grade=0),))
    ).label_sources
    assert found == LabelSources({None: 3}, {None: 1})
    assert (found.by_model, found.is_mixed, str(found)) == (False, False, "")
    assert (PEOPLE.by_model, str(PEOPLE)) == (False, "")
    assert str(dataset().label_sources) == ""


def test_a_model_is_named_with_its_prompt_whatever_the_day():
    first = Query("a", "?", (Fact((passage(MINI), passage(LATER))),), judged_irrelevant=(passage(LATER, 0),))
    found = dataset(first, Query("b", "?", (Fact((passage(),)),))).label_sources
    assert found.passages == {NAME: 3, None: 1}
    assert found.by_model
    assert found.is_mixed
    assert str(found) == f"labels: 3 passages judged by {NAME}, 1 by people"


def test_queries_that_a_model_wrote():
    queries = [Query(str(n), "?", (Fact((passage(),)),), annotator=MINI if n else None) for n in range(3)]
    found = dataset(*queries).label_sources
    assert not found.is_mixed
    assert str(found) == f"queries: 2 written by {NAME}, 1 by people"
    assert found.to_dict() == {"passages": {"people": 3}, "queries": {NAME: 2, "people": 1}}


@pytest.mark.slow
def test_both_are_said_the_more_first():
    queries = [Query(str(n), "?", (Fact((passage(MINI if n == 0 else None),)),), annotator=MINI) for n in range(1200)]
    expected = f"labels: 1,199 passages judged by people, 1 by {NAME}; queries: 1,200 written by {NAME}"
    assert str(dataset(*queries).label_sources) == expected


def test_a_hostile_name_stays_on_one_line_and_short():
    found = dataset(Query("q", "?", (Fact((passage(Annotator("x\ny" * 999, "p", "d")),)),))).label_sources
    assert "\n" not in str(found)
    assert len(str(found)) < 200


@pytest.mark.parametrize(
    ("query", "shows"),
    [
        (Query("q", "?", (Fact((passage(),)),)), False),
        (Query("q", "?", (Fact((passage(),)),), judged_irrelevant=(passage(grade=0),)), True),
        (Query("q", "?", (Fact((passage(MINI),)),)), True),
        (Query("q", "?", (Fact((passage(),)),), annotator=MINI), True),
    ],
)
def test_when_judged_is_worth_showing(query, shows):
    assert dataset(query).shows_judged is shows
