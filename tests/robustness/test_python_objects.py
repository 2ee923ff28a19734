"""What is built in Python: labels and hits that are made by hand, and errors that travel between processes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from uuid import UUID

import numpy as np
import pytest

from raglift.errors import (
    ConfigurationError,
    DatasetError,
    Fault,
    MetricFailed,
    MissingDependency,
    RagliftError,
    ServiceFailed,
)
from raglift.types import Call, Chunk, Dataset, Document, Fact, Hit, Passage, Query, Ranking, Session, StageTrace

# Errors, pickled: pool.map and Ray send them from one process to another.

FAULTS = [Fault("queries.jsonl:3: grade", "2.5", "an integer"), Fault("queries.jsonl:4", "nothing", "a query")]
ERRORS: list[RagliftError] = [
    RagliftError("what went wrong"),
    DatasetError("queries.jsonl", FAULTS, read_as="csv"),
    MissingDependency("tiktoken", "models", "counting tokens"),
    MetricFailed("recall@5", " raised"),
    ServiceFailed("busy", status_code=429, headers={"retry-after": "1"}),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_pickled_and_copied_with_all_that_it_says(error: RagliftError) -> None:
    error.evaluation = "set later"  # type: ignore[attr-defined]
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 — its own
        assert type(again) is type(error)
        assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


# Labels: what is no label is refused when it is made, with what was found and what was expected.

LAMP = Document("lamp.md", "The lamp is lit at dusk.")
SPAN = Passage("The lamp", "lamp.md", 0, 8)
FACT = Fact((SPAN,))
STAGE = StageTrace("retrieve", Ranking(), 0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Passage, "Passage: found neither a text nor a chunk_id; expected one of the two"),
        (lambda: Passage("a", grade=2.9), "grade: found 2.9; expected an integer from 1 to 1000"),
        (lambda: Passage("\u200b"), r"text: found a text without a visible character '\\u200b'; expected a text with"),
        (lambda: Passage("lamp", "lamp.md", 8, 4), "the span from 8 to 4; expected 0 ≤ start < end"),
        (lambda: Passage(4), "text: found 4; expected a text"),
        (lambda: Passage("lamp", chunk_id="c"), "chunk_id: found a chunk_id and text; expected a chunk_id alone"),
        (lambda: Passage("lamp", "lamp.md", 4, "8"), 'the span from 4 to "8"; expected two integers, start and end'),
        (lambda: Passage("lamp", start=4, end=8), "from 4 to 8 without a doc_id; expected doc_id: the id of the"),
        (lambda: Passage("lamp", "lamp.md", 4, 9), "from 4 to 9; expected an end 4 after the start: the length of"),
        (lambda: Passage("lamp", annotator="gpt"), 'annotator: found "gpt"; expected an Annotator, or None'),
        (lambda: Fact(("lamp",)), r'passages\[0\]: found "lamp"; expected an object of the class Passage'),
        (lambda: Query("q", "When?", answerable="no"), 'answerable: found "no"; expected True or False'),
        (lambda: Query("q", "When?", tags=(7,)), r"tags\[0\]: found 7; expected an object of the class str"),
        (lambda: Dataset((), name=7), "name: found 7; expected a text"),
        (
            lambda: Dataset((Query("q", "a?", judged_irrelevant=(Passage("x", "fog.md"),)),), (LAMP,)),
            r'queries\[0\].judged_irrelevant\[0\]: found an unknown document id "fog.md"',
        ),
        (lambda: Fact(()), "Fact: passages: found none; expected at least one passage"),
        (lambda: Fact((Passage("a", grade=0),)), r"passages\[0\].grade: found 0; expected 1 or more: what was judged"),
        (lambda: Query("", "When?"), 'Query "": id: found ""; expected a text'),
        (lambda: Query("q", "When?", tags="hard"), 'tags: found "hard"; expected a tuple'),
        (
            lambda: Query("q", "When?", judged_irrelevant=(Passage("a", grade=3),)),
            r"judged_irrelevant\[0\].grade: found 3; expected no grade, or 0",
        ),
        (lambda: Dataset((Query("q", "a?"), Query("q", "b?"))), r'queries\[1\].id: found the id "q" of queries\[0\]'),
        (lambda: Dataset((), (LAMP, LAMP)), r'documents: \[1\].id: found the id "lamp.md" of documents\[0\]'),
        (
            lambda: Dataset((Query("q", "a?", (Fact((Passage("lamp", "lamp.md", 30, 34),)),)),), (LAMP,)),
            "the span from 30 to 34; expected 0 ≤ start < end ≤ 24, the length of lamp.md",
        ),
        (
            lambda: Dataset((Query("q", "a?", (Fact((Passage("fog!", "lamp.md", 4, 8),)),)),), (LAMP,)),
            'found "fog!" from 4 to 8 of lamp.md; expected the text of the document there, "lamp"',
        ),
        (
            lambda: Dataset((Query("q", "a?", (Fact((Passage("lamp", "lamb.md"),)),)),), (LAMP,)),
            'unknown document id "lamb.md"; expected one of "lamp.md"; nearest: "lamp.md"',
        ),
    ],
)
def test_a_label_that_is_none_is_refused_when_it_is_made(make: Callable[[], object], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Chunk(None), "Chunk.text: found null; expected a text"),
        (lambda: Chunk("lamp", start="3"), 'Chunk.start: found "3"; expected an integer, or None'),
        (lambda: Hit("lamp", 1), 'Hit.chunk: found "lamp"; expected a Chunk'),
        (lambda: Hit(Chunk("lamp"), 0), "Hit.rank: found 0; expected an integer: 1 is the first"),
        (
            lambda: Hit(Chunk("lamp"), 1, "0.5"),
            'Hit.score: found "0.5"; expected a number that fits into a float, or None',
        ),
        (lambda: Call(7), "Call.query: found 7; expected a text"),
        (lambda: Call("?", [Chunk("lamp")]), "Call.stages: found a list of 1; expected a StageTrace for each stage"),
        (lambda: Call("?", (STAGE, STAGE)), "the stages retrieve, retrieve; expected each name once"),
        (lambda: Call("?", arguments=["k"]), "Call.arguments: found a list of 1; expected a mapping"),
        (lambda: Call("?", tokens=1.5), "Call.tokens: found 1.5; expected an integer, 0 or more"),
        (lambda: Session(7, []), "Session.query_id: found 7; expected a text"),
        (lambda: Session("q", "lamp"), 'Session "q": found "lamp" for calls; expected a list of Call'),
        (lambda: Session("q", ["lamp"]), 'Session "q", call 1: found "lamp"; expected a Call'),
        (lambda: Session("q", [], repetition=True), "found the repetition True; expected an integer, 1 or more"),
        (lambda: Session("q", [], error=7), "found 7 for error; expected a text or None"),
    ],
)
def test_a_result_that_is_none_is_refused_when_it_is_made(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_numbers_for_ids_and_locations_are_written_as_these_are() -> None:
    assert Chunk("lamp", id=7, doc_id=8, start=4.0, end=np.int64(8)) == Chunk("lamp", "7", "8", 4, 8)
    assert Hit(Chunk("lamp"), 1, np.float32(0.5)).score == 0.5
    assert Hit(Chunk("lamp"), np.int64(1)).score is None


def test_lists_are_taken_for_tuples_and_what_is_judged_irrelevant_gets_the_grade_0() -> None:
    query = Query("q", "When?", [Fact([SPAN])], ["hard"], judged_irrelevant=[Passage("fog")])  # type: ignore[arg-type]
    assert query == Query("q", "When?", (FACT,), ("hard",), judged_irrelevant=(Passage("fog", grade=0),))
    assert Dataset([query], [LAMP]) == Dataset((query,), (LAMP,))  # type: ignore[arg-type]
    assert hash(query) == hash(Query("q", "When?", (FACT,), ("hard",), judged_irrelevant=(Passage("fog", grade=0),)))


# Whatever is put into a field: the record is made and says so, or is refused in raglift's own words.


def test_what_drivers_and_numpy_return_is_taken_as_numbers_and_ids() -> None:
    chunk = Chunk("x", id=UUID(int=1), doc_id=PurePosixPath("a/b.md"), metadata=None)  # type: ignore[arg-type]
    assert (chunk.id, chunk.doc_id, chunk.metadata) == (str(UUID(int=1)), "a/b.md", {})
    scores = (Decimal("0.5"), np.array(0.5), np.float32(0.5), np.float64(0.5), Fraction(1, 2))
    hits = [Hit(chunk, np.int64(1), score) for score in scores]  # type: ignore[arg-type]
    assert {(hit.rank, type(hit.rank), hit.score, type(hit.score)) for hit in hits} == {(1, int, 0.5, float)}
