"""What a person decides: any sequence of decisions gives labels that a file can hold, and says what was decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.apps.review.evidence import (
    add_words,
    clear_grade,
    evidence_of,
    fact_like,
    grade_chunk,
    grades_of,
    irrelevant_matches,
    mark_answerable,
    matches_of,
    remove,
    set_grade,
)
from raglift.datasets.jsonl import read_queries, write_queries
from raglift.errors import ConfigurationError
from raglift.grading.labels import labels_of_people
from raglift.grading.pooling import Pool, PooledChunk, PooledQuery, label_grades
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Annotator, Fact, Passage, Query

TEXT = (
    "The keeper lit the lamp at nightfall, and it burned until the tide had turned. 🌊 "
    "In fog the horn gives two blasts every forty-five seconds, as the handbook says. "
    "The boat comes on Tuesdays, when the weather lets it, and takes the post along. "
    "Nobody remembers who painted the door green, nor why it was done at all.\n"
)
DOCUMENT = Document("island.md", TEXT)
DOCUMENTS = {DOCUMENT.id: DOCUMENT}
MODEL = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
QUERY = Query("q1", "how often does the horn sound")


def chunk(start: int, end: int) -> Chunk:
    return Chunk(TEXT[start:end], doc_id="island.md", start=start, end=end)


HORN = TEXT.index("In fog")
CHUNKS = (
    chunk(0, 80),
    chunk(HORN, HORN + 81),
    chunk(HORN - 30, HORN + 90),  # contains the one before
    chunk(HORN + 40, HORN + 160),  # overlaps it by half
    chunk(160, len(TEXT)),
    Chunk("from elsewhere, with\r\nother line ends 🌊🌊"),
    Chunk("a piece that is not where it says", doc_id="island.md", start=3, end=36),
    Chunk("of a document that is not at hand", doc_id="mainland.md", start=0, end=33),
)


def grade_of(query: Query, of: Chunk) -> int | None:
    return grades_of(query, [of])[0]


def test_a_grade_makes_the_chunk_a_passage_at_its_place() -> None:
    after = grade_chunk(QUERY, CHUNKS[1], 2, DOCUMENTS)
    (passage,) = after.facts[0].passages
    assert passage == Passage(CHUNKS[1].text, "island.md", CHUNKS[1].start, CHUNKS[1].end, grade=2)
    assert grade_of(after, CHUNKS[1]) == 2
    assert QUERY.facts == ()


@pytest.mark.parametrize(
    ("of", "passage"),
    [
        (CHUNKS[5], Passage(CHUNKS[5].text, grade=1)),
        (CHUNKS[6], Passage(CHUNKS[6].text, "island.md", grade=1)),
        (CHUNKS[7], Passage(CHUNKS[7].text, grade=1)),
    ],
    ids=["no document", "another text there", "an unknown document"],
)
def test_a_place_is_kept_only_where_the_document_has_the_words(of: Chunk, passage: Passage) -> None:
    assert grade_chunk(QUERY, of, 1, DOCUMENTS).facts == (Fact((passage,)),)


def test_a_chunk_that_does_not_help_is_judged_irrelevant_and_no_evidence_any_more() -> None:
    graded = grade_chunk(QUERY, CHUNKS[1], 3, DOCUMENTS)
    after = grade_chunk(graded, CHUNKS[1], 0, DOCUMENTS)
    assert after.facts == ()
    assert [passage.grade for passage in after.judged_irrelevant] == [0]
    assert grade_chunk(after, CHUNKS[1], 0, DOCUMENTS) == after
    assert grade_chunk(after, CHUNKS[1], 3, DOCUMENTS) == graded


def test_a_grade_changes_the_passage_that_the_chunk_has() -> None:
    exact = add_words(QUERY, CHUNKS[2], (30, 90), DOCUMENTS)
    after = grade_chunk(exact, CHUNKS[2], 3, DOCUMENTS)
    assert [len(fact.passages) for fact in after.facts] == [1]
    assert after.facts[0].passages[0] == replace(exact.facts[0].passages[0], grade=3)


def test_of_several_passages_as_few_are_changed_as_give_the_grade() -> None:
    both = add_words(add_words(QUERY, CHUNKS[2], (0, 25), DOCUMENTS), CHUNKS[2], (30, 90), DOCUMENTS)
    both = set_grade(both, 0, 0, 3)
    assert grade_chunk(both, CHUNKS[2], 3, DOCUMENTS) == both
    lowered = grade_chunk(both, CHUNKS[2], 2, DOCUMENTS)
    assert [fact.passages[0].grade for fact in lowered.facts] == [2, 1]


def passages(query: Query) -> list[list[str | None]]:
    return [[passage.text for passage in fact.passages] for fact in query.facts]


def test_a_chunk_becomes_evidence_of_the_fact_that_is_named() -> None:
    one = grade_chunk(QUERY, CHUNKS[0], 2, DOCUMENTS)
    assert passages(grade_chunk(one, CHUNKS[4], 2, DOCUMENTS, fact=0)) == [[CHUNKS[0].text, CHUNKS[4].text]]
    horn = grade_chunk(one, CHUNKS[1], 2, DOCUMENTS, fact="another")
    # named, it is a fact of its own although it shares half of its words
    assert passages(grade_chunk(horn, CHUNKS[3], 1, DOCUMENTS, fact="another")) == [
        [CHUNKS[0].text],
        [CHUNKS[1].text],
        [CHUNKS[3].text],
    ]
    with pytest.raises(ConfigurationError, match="one of the 1 facts"):
        grade_chunk(one, CHUNKS[4], 2, DOCUMENTS, fact=1)


def test_a_models_passage_that_a_person_grades_goes_to_the_fact_that_is_named() -> None:
    chosen = replace(evidence_of(CHUNKS[1], DOCUMENTS, grade=3), annotator=MODEL)
    other = replace(evidence_of(CHUNKS[4], DOCUMENTS, grade=3), annotator=MODEL)
    query = replace(QUERY, facts=(Fact((chosen, other)), Fact((evidence_of(CHUNKS[0], DOCUMENTS, grade=1),))))
    after = grade_chunk(query, CHUNKS[1], 2, DOCUMENTS, fact=1)
    assert [[(p.text, p.grade, p.annotator) for p in fact.passages] for fact in after.facts] == [
        [(CHUNKS[4].text, 3, MODEL)],
        [(CHUNKS[0].text, 1, None), (CHUNKS[1].text, 2, None)],
    ]


def test_selected_words_take_the_place_of_the_whole_chunk() -> None:
    graded = grade_chunk(QUERY, CHUNKS[1], 3, DOCUMENTS)
    after = add_words(graded, CHUNKS[1], (0, 57), DOCUMENTS)
    assert [passage.text for passage in after.facts[0].passages] == [CHUNKS[1].text[:57].strip()]
    assert after.facts[0].passages[0].grade == 3
    more = add_words(after, CHUNKS[1], (60, 80), DOCUMENTS)
    assert len(more.facts) == 2


def test_selected_words_take_the_place_of_words_that_a_model_chose_there() -> None:
    chosen = replace(evidence_of(CHUNKS[1], DOCUMENTS, grade=2), annotator=MODEL)
    elsewhere = replace(evidence_of(CHUNKS[0], DOCUMENTS, grade=1), annotator=MODEL)
    query = replace(QUERY, facts=(Fact((elsewhere,)), Fact((chosen,))))
    marked = add_words(query, CHUNKS[2], (40, 60), DOCUMENTS)
    assert marked.facts[0] == query.facts[0]
    assert [(p.text, p.grade, p.annotator) for p in marked.facts[1].passages] == [
        (CHUNKS[2].text[40:60].strip(), 1, None)
    ]
    assert len(marked.facts) == 2


def test_selected_words_are_an_alternative_of_the_fact_that_was_named() -> None:
    one = grade_chunk(QUERY, CHUNKS[0], 2, DOCUMENTS)
    after = add_words(one, CHUNKS[1], (2, 40), DOCUMENTS, fact=0)
    assert [passage.grade for passage in after.facts[0].passages] == [2, 1]
    with pytest.raises(ConfigurationError, match="in fact 1 already"):
        add_words(after, CHUNKS[1], (2, 40), DOCUMENTS)
    with pytest.raises(ConfigurationError, match="one of the 1 facts"):
        add_words(after, CHUNKS[1], (2, 30), DOCUMENTS, fact=1)


def test_a_chunk_inside_what_people_labelled_changes_nothing_around_it() -> None:
    wide = grade_chunk(QUERY, CHUNKS[2], 2, DOCUMENTS)
    assert grade_chunk(wide, CHUNKS[1], 2, DOCUMENTS) == wide
    better = grade_chunk(wide, CHUNKS[1], 3, DOCUMENTS)
    assert [passage.grade for passage in better.facts[0].passages] == [2, 3]
    refusals = (
        lambda: grade_chunk(wide, CHUNKS[1], 0, DOCUMENTS),
        lambda: grade_chunk(wide, CHUNKS[1], 1, DOCUMENTS),
        lambda: clear_grade(wide, CHUNKS[1]),
    )
    for refused in refusals:
        with pytest.raises(ConfigurationError, match="inside a longer passage of fact 1"):
            refused()


def test_what_a_model_said_of_the_same_words_is_overruled_and_the_rest_left_alone() -> None:
    said = Query(
        "q1",
        "how often does the horn sound",
        (
            Fact((evidence_of(CHUNKS[1], DOCUMENTS, grade=3),)),
            Fact((evidence_of(CHUNKS[0], DOCUMENTS, grade=2),)),
        ),
        judged_irrelevant=(replace(evidence_of(CHUNKS[4], DOCUMENTS, grade=0), annotator=MODEL),),
    )
    said = replace(said, facts=tuple(Fact((replace(fact.passages[0], annotator=MODEL),)) for fact in said.facts))
    after = grade_chunk(said, CHUNKS[1], 1, DOCUMENTS)
    assert [(p.grade, p.annotator) for fact in after.facts for p in fact.passages] == [(1, None), (2, MODEL)]
    assert grade_chunk(said, CHUNKS[4], 0, DOCUMENTS).judged_irrelevant[0].annotator is None
    wider = grade_chunk(said, CHUNKS[2], 1, DOCUMENTS)  # contains what the model made more of
    assert grade_of(wider, CHUNKS[2]) == 1
    assert clear_grade(said, CHUNKS[1]) == said


MARKED_BY_MODEL = replace(evidence_of(CHUNKS[1], DOCUMENTS, grade=2), annotator=MODEL)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda: evidence_of(CHUNKS[0], DOCUMENTS, grade=1, part=(3, 4)), "found only white space"),
        (lambda: evidence_of(CHUNKS[0], DOCUMENTS, grade=1, part=(0, 81)), "characters 0 to 81; expected .* ≤ 80"),
        (lambda: evidence_of(CHUNKS[0], DOCUMENTS, grade=1, part=(5, 5)), "characters 5 to 5"),
        (lambda: mark_answerable(grade_chunk(QUERY, CHUNKS[0], 1, DOCUMENTS), answerable=False), "remove the facts"),
        (lambda: grade_chunk(replace(QUERY, answerable=False), CHUNKS[0], 1, DOCUMENTS), "mark it as answerable first"),
        (lambda: add_words(replace(QUERY, answerable=False), CHUNKS[0], (0, 9), DOCUMENTS), "mark it as answerable"),
        (lambda: set_grade(grade_chunk(QUERY, CHUNKS[0], 1, DOCUMENTS), 0, 1, 2), "number 2; expected one of 1"),
        (lambda: clear_grade(grade_chunk(QUERY, CHUNKS[2], 0, DOCUMENTS), CHUNKS[1]), "judged not to help"),
    ],
)
def test_a_change_that_is_not_possible_says_what_to_do_first(change: Callable[[], object], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        change()


def test_a_place_whose_length_is_not_the_chunks_is_not_believed() -> None:
    of = Chunk("of the mainland", doc_id="mainland.md", start=10, end=99)
    assert evidence_of(of, {}, grade=2) == Passage("of the mainland", "mainland.md", grade=2)


def test_a_chunk_is_like_the_fact_that_it_matches_or_shares_half_its_words_with() -> None:
    query = replace(QUERY, facts=tuple(Fact((evidence_of(CHUNKS[n], DOCUMENTS, grade=1),)) for n in (0, 1)))
    assert fact_like(query, CHUNKS[1], matches_of(query, CHUNKS[1])) == 1
    assert fact_like(query, CHUNKS[3], ()) == 1
    assert fact_like(query, CHUNKS[4], ()) is None
    assert fact_like(query, Chunk(" \n"), ()) is None


def test_words_beside_what_a_model_chose_are_a_fact_of_their_own() -> None:
    query = replace(QUERY, facts=(Fact((MARKED_BY_MODEL,)), Fact((Passage("elsewhere", annotator=MODEL),))))
    marked = add_words(query, CHUNKS[0], (0, 40), DOCUMENTS)
    assert marked.facts[:2] == query.facts
    assert len(marked.facts) == 3


def test_only_what_contains_the_chunk_was_judged_of_it() -> None:
    judged = grade_chunk(QUERY, CHUNKS[1], 0, DOCUMENTS)
    assert [match.alternative for match in irrelevant_matches(judged, CHUNKS[1])] == [0]
    assert list(irrelevant_matches(judged, CHUNKS[2])) == []


numbers = st.integers(0, 4)
decisions = st.lists(
    st.one_of(
        st.tuples(
            st.just("grade"),
            st.integers(0, len(CHUNKS) - 1),
            st.integers(0, 3),
            st.none() | numbers | st.just("another"),
        ),
        st.tuples(st.just("clear"), st.integers(0, len(CHUNKS) - 1)),
        st.tuples(st.just("words"), st.integers(0, len(CHUNKS) - 1), numbers, st.integers(5, 40), st.none() | numbers),
        st.tuples(st.just("set"), numbers, numbers, st.integers(1, 3)),
        st.tuples(st.just("remove"), numbers, numbers),
        st.tuples(st.just("remove fact"), numbers),
        st.tuples(st.just("answerable"), st.booleans()),
    ),
    max_size=12,
)


def decide(query: Query, decision: tuple) -> Query:
    match decision:
        case ("grade", number, grade, fact):
            return grade_chunk(query, CHUNKS[number], grade, DOCUMENTS, fact=fact)
        case ("clear", number):
            return clear_grade(query, CHUNKS[number])
        case ("words", number, start, end, fact):
            return add_words(query, CHUNKS[number], (start, end), DOCUMENTS, fact=fact)
        case ("set", fact, alternative, grade):
            return set_grade(query, fact, alternative, grade)
        case ("remove", fact, alternative):
            return remove(query, fact, alternative)
        case ("remove fact", fact):
            return remove(query, fact)
        case ("answerable", answerable):
            return mark_answerable(query, answerable=answerable)
    raise AssertionError(decision)


labelled = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3), st.booleans()), max_size=4)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(before=labelled, made=decisions)
def test_any_decisions_give_labels_that_a_file_holds(
    before: list, made: list, tmp_path_factory: pytest.TempPathFactory
) -> None:
    query = QUERY
    for number, grade, by_model in before:  # what models and people left there
        passage = replace(evidence_of(CHUNKS[number], DOCUMENTS, grade=grade), annotator=MODEL if by_model else None)
        if grade:
            query = replace(query, facts=(*query.facts, Fact((passage,))))
        else:
            query = replace(query, judged_irrelevant=(*query.judged_irrelevant, passage))
    for decision in made:
        try:
            query = decide(query, decision)
        except ConfigurationError:
            continue
        if decision[0] == "grade":
            assert grade_of(labels_of_people(query), CHUNKS[decision[1]]) == decision[2]
        elif decision[0] == "clear":
            assert grade_of(labels_of_people(query), CHUNKS[decision[1]]) is None
    path: Path = tmp_path_factory.mktemp("labels") / "queries.jsonl"
    assert read_queries(write_queries([query], path, [DOCUMENT]), [DOCUMENT]) == (query,)


@settings(max_examples=60, deadline=None)
@given(made=decisions)
def test_what_a_chunk_matches_is_what_labels_say_of_it(made: list) -> None:
    query = QUERY
    for decision in made:
        try:
            query = decide(query, decision)
        except ConfigurationError:
            continue
    pool = Pool((PooledQuery(query, tuple(PooledChunk(of, {}) for of in CHUNKS)),), ("retrieve",), 10, "island")
    by_labels = label_grades(pool, [query])[0]
    for of, grade in zip(CHUNKS, by_labels, strict=True):
        matches = matches_of(query, of)
        assert (grade_of(query, of) or 0) == (grade or 0)
        for match in matches:
            if not match.inside:
                words = of.text[match.start : match.end]
                # matching knows no case
                assert " ".join(words.split()).lower() == " ".join((match.passage.text or "").split()).lower()
