"""Every chunk that can match a passage touches it, by location or by text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raglift.matching import chunk_index as inventory
from raglift.matching.chunk_index import touching_chunks
from raglift.matching.overlap import match_passage
from raglift.matching.rule import MatchRule, Text
from raglift.types.documents import Chunk, Document
from raglift.types.labels import Fact, Passage, Query

TEXT = (
    "The keeper climbed the tower at dusk, trimmed the wick, and wrote the day into his book.\n"
    "A ship passed far out, and its lamp went up and down.\n"
)
DOCUMENT = Document("tower", TEXT)


def query(*facts: Passage | tuple[Passage, ...], id: str = "q", answerable: bool = True) -> Query:  # noqa: A002
    alternatives = [fact if isinstance(fact, tuple) else (fact,) for fact in facts]
    return Query(id, "?", tuple(Fact(passages) for passages in alternatives), answerable=answerable)


def cut(document: Document, size: int, step: int) -> list[Chunk]:
    spans = [(start, min(start + size, len(document.text))) for start in range(0, len(document.text), step)]
    return [Chunk(document.text[start:end], doc_id=document.id, start=start, end=end) for start, end in spans]


def without_places(chunks: list[Chunk]) -> list[Chunk]:
    return [Chunk(chunk.text, id=chunk.id) for chunk in chunks]


def rows(*arguments: object, **settings: object) -> list[tuple[int, ...]]:
    touches = touching_chunks(*arguments, **settings)  # type: ignore[arg-type]
    table = zip(touches.query, touches.fact, touches.passage, touches.chunk, strict=True)
    return [tuple(int(value) for value in row) for row in table]


def touched(passage: Passage, chunks: list[Chunk], *documents: Document, **settings: object) -> list[int]:
    return [row[-1] for row in rows([query(passage)], chunks, documents, **settings)]


def span(start: int, end: int) -> Passage:
    return Passage(TEXT[start:end], "tower", start, end)


def test_a_chunk_overlaps_a_passage_when_they_share_a_character() -> None:
    chunks = cut(DOCUMENT, 20, 20)
    assert touched(span(20, 40), chunks, DOCUMENT) == [1]
    assert touched(span(19, 41), chunks, DOCUMENT) == [0, 1, 2]


def test_a_literal_text_is_wherever_it_occurs() -> None:
    twice = Document("twice", "the lamp went up and down. " * 2)
    chunks = cut(twice, 27, 27)
    assert touched(Passage("The  lamp\nwent up"), chunks, twice) == [0, 1]


def test_a_literal_text_with_a_document_is_in_that_one_alone() -> None:
    copy = Document("copy", TEXT)
    chunks = [*cut(DOCUMENT, 1000, 1000), *cut(copy, 1000, 1000)]
    assert touched(Passage("trimmed the wick"), chunks, DOCUMENT, copy) == [0, 1]
    assert touched(Passage("trimmed the wick", "copy"), chunks, DOCUMENT, copy) == [1]
    assert touched(Passage("trimmed the wick", "copy"), without_places(chunks), DOCUMENT, copy) == [0, 1]


def test_a_long_chunk_before_many_short_ones_is_not_missed() -> None:
    chunks = [*cut(DOCUMENT, 1000, 1000)[:1], *cut(DOCUMENT, 5, 5)]
    assert touched(span(50, 52), chunks, DOCUMENT) == [0, 11]


def test_false_offsets_count_as_none() -> None:
    false = [Chunk(TEXT[40:80], doc_id="tower", start=0, end=40)]
    assert touched(span(45, 75), false, DOCUMENT) == [0]
    assert touched(span(0, 30), false, DOCUMENT) == []


def test_without_documents_they_overlap_by_text() -> None:
    chunks = without_places(cut(DOCUMENT, 40, 40))
    assert touched(Passage(TEXT[10:70]), chunks) == [0, 1]  # both by 20 or more
    assert touched(Passage(TEXT[22:70]), chunks) == [1]  # the first by 19
    assert touched(Passage("dusk"), chunks) == [0]  # short, and inside
    assert touched(Passage(TEXT), [Chunk("the wick"), Chunk("")]) == []  # too short to tell
    assert touched(Passage(TEXT), [Chunk("the wick"), Chunk("")], minimum_length=0) == [0]


def test_texts_that_occur_elsewhere_overlap_by_text_only() -> None:
    twice = Document(
        "twice", "Signed by the keeper of the tower. It was calm. Signed by the keeper of the tower. It blew."
    )
    chunks = cut(twice, 34, 48)
    passage = Passage("Signed by the keeper of the tower. It blew.")
    assert touched(passage, chunks, twice) == [1]
    assert touched(passage, chunks, twice, also_by_text=True) == [0, 1]


def test_a_chunk_id_overlaps_the_chunks_with_that_id() -> None:
    chunks = [Chunk("a", id="1"), Chunk("b", id="2"), Chunk("c", id="2")]
    assert touched(Passage(chunk_id="2"), chunks) == [1, 2]
    assert touched(Passage(chunk_id="3"), chunks) == []


def test_rows_name_query_fact_and_alternative() -> None:
    queries = [
        query(Passage("dusk"), id="unanswerable", answerable=False),
        query(Passage("dusk"), (Passage("nowhere to be found"), Passage("wick")), id="two facts"),
        query(id="unlabelled"),
        query(Passage("wick"), id="the same passage"),
    ]
    chunks = cut(DOCUMENT, 40, 40)
    assert rows(queries, chunks, [DOCUMENT]) == [(1, 0, 0, 0), (1, 1, 1, 1), (3, 2, 0, 1)]


def test_unicode_folding_is_for_texts() -> None:
    chunk = Chunk("“Quite so,” said the keeper of the light")
    assert touched(Passage('"Quite so," said the keeper'), [chunk]) == []
    assert touched(Passage('"Quite so," said the keeper'), [chunk], unicode_folding=True) == [0]


WORDS = st.lists(st.sampled_from(["keeper", "lamp", "the", "a", "tower\n", "İstanbul"]), max_size=40).map(" ".join)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=3), st.integers(1, 60), st.integers(1, 60), st.data())
def test_locations_overlap_as_their_offsets_say(texts: list[str], size: int, step: int, data: st.DataObject) -> None:
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    chunks = [chunk for document in documents for chunk in [*cut(document, size, step), *cut(document, 3 * size, 50)]]
    passages = []
    for document in documents:
        if document.text.strip():
            start = data.draw(st.integers(0, len(document.text) - 1))
            end = data.draw(st.integers(start + 1, len(document.text)))
            if not document.text[start:end].strip():
                start, end = 0, len(document.text)
            passages.append(Passage(document.text[start:end], document.id, start, end))
    expected = [
        (number, number, 0, other)
        for number, passage in enumerate(passages)
        for other, chunk in enumerate(chunks)
        if chunk.doc_id == passage.doc_id
        and max(passage.start or 0, chunk.start or 0) < min(passage.end or 0, chunk.end or 0)
    ]
    assert rows([query(passage) for passage in passages], chunks, documents) == expected


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=8), st.lists(WORDS, min_size=1, max_size=8), st.booleans(), st.booleans())
def test_whatever_containment_matches_overlaps(
    passages: list[str], texts: list[str], has_documents: bool, small_parts: bool
) -> None:
    passages = [text for text in passages if text]
    documents = [Document(str(number), text) for number, text in enumerate(texts)] if has_documents else []
    chunks = [Chunk(text, doc_id=str(number), start=0, end=len(text)) for number, text in enumerate(texts)]
    queries = [query(Passage(text, str(number) if number % 2 else None)) for number, text in enumerate(passages)]
    rule = MatchRule()
    expected = {
        (number, number, 0, other)
        for number, each in enumerate(queries)
        for other, chunk in enumerate(chunks)
        if match_passage(chunk, each.facts[0].passages[0], rule, Text(rule))
    }
    with pytest.MonkeyPatch.context() as patch:
        if small_parts:
            patch.setattr(inventory, "_BATCH", 2)
            patch.setattr(inventory, "_MOST_PAIRS", 3)
        assert expected <= set(rows(queries, chunks, documents, also_by_text=True))
