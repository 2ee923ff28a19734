"""From grades to facts: nothing graded is lost, and what one fact consists of."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from raglift.grading.labels import facts_of, labelled_queries, passage_of, same_evidence
from raglift.grading.pooling import Pool, PooledChunk, PooledQuery
from raglift.types.documents import Chunk
from raglift.types.labels import Annotator, Fact, Passage, Query

JUDGE = Annotator("openai:judge", "relevance@00000000", "2026-11-21")
TEXT = "".join(f"Line {number:02d} of the log, as the keeper wrote it.\n" for number in range(40))


def span(start: int, end: int, grade: int = 1) -> Passage:
    return Passage(TEXT[start:end], "log.md", start, end, grade=grade, annotator=JUDGE)


def chunk(start: int, end: int) -> Chunk:
    return Chunk(TEXT[start:end], doc_id="log.md", start=start, end=end)


def pool_of(query: Query, *chunks: Chunk) -> Pool:
    pooled = tuple(PooledChunk(each, {"retrieve": rank}) for rank, each in enumerate(chunks, start=1))
    return Pool((PooledQuery(query, pooled),), ("retrieve",), 10, "log")


@st.composite
def passages(draw: st.DrawFn) -> Passage:
    start = draw(st.integers(0, 300))
    end = start + draw(st.integers(1, 200))
    assume(TEXT[start:end].strip())
    placed = draw(st.booleans())
    passage = span(start, end, draw(st.integers(1, 3)))
    return passage if placed else replace(passage, start=None, end=None, doc_id=draw(st.sampled_from([None, "log.md"])))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(passages(), max_size=12, unique=True), st.randoms())
def test_each_passage_is_in_one_fact_and_like_its_first(given_passages: list[Passage], random: object) -> None:
    facts = facts_of(given_passages)
    held = [passage for fact in facts for passage in fact.passages]
    assert sorted(map(repr, held)) == sorted(map(repr, given_passages))
    for fact in facts:
        assert all(same_evidence(fact.passages[0], passage) for passage in fact.passages)
        assert fact.passages[0].grade == fact.ideal_grade
    assert not any(same_evidence(one.passages[0], other.passages[0]) for one, other in combinations(facts, 2))
    shuffled = list(given_passages)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert facts_of(shuffled) == facts


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (span(0, 100), span(50, 150), True),
        (span(0, 100), span(51, 151), False),
        (span(0, 100), span(80, 100), True),  # all of the shorter
        (span(0, 100), replace(span(0, 100), doc_id="copy.md"), True),  # the same words elsewhere
        (span(0, 100), Passage(TEXT[:100].upper()), True),
        (span(0, 100), Passage(TEXT[:99]), False),  # without a place, words alone tell
    ],
)
def test_what_is_the_same_evidence(one: Passage, other: Passage, expected: bool) -> None:
    assert same_evidence(one, other) is same_evidence(other, one) is expected


def test_grades_become_facts_and_what_was_judged_irrelevant() -> None:
    chunks = [chunk(0, 90), chunk(100, 190), chunk(200, 290), chunk(300, 390)]
    (query,) = labelled_queries(
        pool_of(Query("q", "Who?", (Fact((span(500, 600),)),)), *chunks), [[3, 0, None, 1]], JUDGE
    )
    assert query.facts == (Fact((span(0, 90, 3),)), Fact((span(300, 390, 1),)))
    assert query.judged_irrelevant == (span(100, 190, 0),)


def test_a_query_without_a_relevant_chunk_is_unlabelled() -> None:
    (query,) = labelled_queries(pool_of(Query("q", "Who?"), chunk(0, 90)), [[0]], JUDGE)
    assert not query.is_labelled
    assert query.answerable


@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("grade", [0, 3])
def test_an_unanswerable_query_stays_so_and_gets_no_facts(grade: int, fill: bool) -> None:
    query = Query("q", "Who?", answerable=False)
    (labelled,) = labelled_queries(pool_of(query, chunk(0, 90), chunk(100, 190)), [[grade, 0]], JUDGE, fill=fill)
    irrelevant = [span(0, 90, 0)] if grade == 0 else []
    assert labelled == replace(query, judged_irrelevant=(*irrelevant, span(100, 190, 0)))


@pytest.mark.parametrize("fill", [False, True])
def test_each_label_has_the_day_of_its_grade(fill: bool) -> None:
    chunks = [chunk(0, 90), chunk(100, 190), chunk(200, 290)]
    days = [["2026-11-02", "2026-11-03", ""]]
    (query,) = labelled_queries(pool_of(Query("q", "Who?"), *chunks), [[3, 0, None]], JUDGE, days=days, fill=fill)
    assert query.facts[0].passages[0].annotator == replace(JUDGE, date="2026-11-02")
    assert query.judged_irrelevant[0].annotator == replace(JUDGE, date="2026-11-03")


def test_filling_leaves_the_labels_of_people_as_they_are() -> None:
    mine = Fact((replace(span(10, 60), annotator=None),))
    refused = replace(span(400, 490, 0), annotator=None)
    query = Query("q", "Who?", (mine,), judged_irrelevant=(refused,))
    chunks = [chunk(0, 90), chunk(50, 140), chunk(200, 290), chunk(400, 490), chunk(600, 690)]
    (filled,) = labelled_queries(pool_of(query, *chunks), [[0, 1, 3, 3, 0]], JUDGE, fill=True)
    assert filled.facts == (mine, Fact((span(200, 290, 3),)), Fact((span(50, 140, 1),)))
    assert filled.judged_irrelevant == (refused, span(600, 690, 0))  # nothing of what labels speak of already


def test_filling_joins_evidence_that_a_label_has_in_part() -> None:
    mine = replace(span(0, 100), annotator=None)
    (filled,) = labelled_queries(pool_of(Query("q", "Who?", (Fact((mine,)),)), chunk(40, 140)), [[2]], JUDGE, fill=True)
    assert filled.facts == (Fact((mine, span(40, 140, 2))),)


@pytest.mark.parametrize(
    "odd",
    [
        Chunk("some words", doc_id="", start=0, end=10),
        Chunk("some words", doc_id=" ", start=0, end=10),
        Chunk("some words", doc_id="d", start=10**18, end=10**18 + 10),
        Chunk("some words", doc_id="d", start=10, end=0),
        Chunk("some words", doc_id="d", start=-10, end=0),
        Chunk("some words", doc_id="d", start=0, end=9),
        Chunk("some words", doc_id="d"),
    ],
    ids=["no id", "a blank id", "beyond any text", "reversed", "before the text", "another length", "no offsets"],
)
def test_a_chunk_whose_place_is_none_is_a_label_by_its_text(odd: Chunk) -> None:
    assert passage_of(odd, 2, JUDGE) == Passage(
        "some words", (odd.doc_id or "").strip() or None, grade=2, annotator=JUDGE
    )
