"""Judgements of whole documents, as benchmarks make them, to facts and back.

A relevant document is a fact, and its passage is the document from its first character to its last: under
containment every chunk of the document (of 20 characters or more) then lies inside the passage and matches. Under
coverage the hits must together cover a part of the document, by default half of it, which suits short documents only.

A judged document without words cannot be matched by its text, so its label is its id, as a chunk id; and so are all
labels when no documents are at hand: the hits are then taken to be the documents themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.faults import quoted
from raglift.records import Fact, Passage, Query
from raglift.records.passages import RELEVANT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from raglift.faults import Place
    from raglift.records import Document

__all__ = ["Judgements", "Topic", "judged_document", "judged_documents", "read_grade", "whole_document"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Topic:
    """A question that documents are judged for."""

    place: Place
    """Where it stands."""
    id: str
    """What judgements call it."""
    text: str
    """The question."""
    tags: tuple[str, ...] = ()
    """Free labels."""


def whole_document(document: Document, grade: int = 1) -> Passage:
    """Return the passage that is all of a document; for one without words, its id."""
    if not document.text.strip():
        return Passage(chunk_id=document.id, grade=grade)
    return Passage(document.text, document.id, 0, len(document.text), grade=grade)


def judged_document(passage: Passage, documents: Mapping[str, Document]) -> str | None:
    """Return the id of the document that a passage is all of; None when it is something else.

    Args:
        passage: the passage.
        documents: the documents by id; without any, a chunk id is taken for the id of a document.
    """
    if passage.chunk_id is not None and not documents:
        return passage.chunk_id
    doc_id = passage.doc_id if passage.chunk_id is None else passage.chunk_id
    document = documents.get(doc_id or "")
    return doc_id if document is not None and passage == whole_document(document, passage.grade) else None


def judged_documents(query: Query, documents: Mapping[str, Document]) -> Iterator[tuple[str, int]]:
    """Yield the id and grade of each document that is judged for a query whose labels are whole documents."""
    for passage in (*(fact.passages[0] for fact in query.facts), *query.judged_irrelevant):
        doc_id = judged_document(passage, documents)
        if doc_id is not None:
            yield doc_id, passage.grade


def read_grade(text: str, place: Place) -> int | None:
    """Return a judgement's grade, a negative one as 0; None, and a fault, when it is no grade."""
    grade = int(text) if _INTEGER.fullmatch(text) else None
    if grade is None or grade >= RELEVANT.stop:
        place.fault(quoted(text), f"an integer of at most {RELEVANT.stop - 1}: how relevant the document is")
        return None
    return max(0, grade)


def _an_id_of(name: str, ids: Iterable[str]) -> str:
    """Return `an id of NAME, as "…"`: what ids look like there tells of leading zeros and endings."""
    example = next(iter(ids), None)
    return f"an id of {name}" + ("" if example is None else f", as {quoted(example)}")


class Judgements:
    """Which documents are judged for which query, and how relevant they are."""

    def __init__(self) -> None:
        self._by_query: dict[str, dict[str, tuple[int, Place]]] = {}

    def __contains__(self, query_id: str) -> bool:
        return query_id in self._by_query

    def add(self, query_id: str, doc_id: str, grade: int, place: Place) -> None:
        """Note one judgement; the same one again changes nothing, and another of the same pair is a fault."""
        of_query = self._by_query.setdefault(query_id, {})
        first = of_query.setdefault(doc_id, (grade, place))
        if first[0] != grade:
            found = f"the grade {grade} for {quoted(doc_id)}, which has {first[0]} on line {first[1].line}"
            place.fault(found, "one grade for each query and document")

    def to_queries(
        self, topics: Iterable[Topic], documents: Mapping[str, Document], *, topics_name: str, documents_name: str
    ) -> tuple[Query, ...]:
        """Return the queries, in the order of the topics; a topic without judgements is unlabelled.

        Args:
            topics: the questions.
            documents: the documents by id; without any, the labels are ids.
            topics_name: what the questions stand in, for faults.
            documents_name: what the documents stand in, for faults.
        """
        first: dict[str, Topic] = {}
        for topic in topics:
            if topic.id in first:
                earlier = first[topic.id].place
                topic.place.fault(f"the id {quoted(topic.id)} of {earlier}", "a unique id")
            first.setdefault(topic.id, topic)
        for query_id, of_query in self._by_query.items():
            if query_id not in first:
                place = next(iter(of_query.values()))[1]
                place.fault(f"the unknown query id {quoted(query_id)}", _an_id_of(topics_name, first))
        expected = _an_id_of(documents_name, documents)
        return tuple(self._query(topic, documents, expected) for topic in first.values())

    def _query(self, topic: Topic, documents: Mapping[str, Document], expected: str) -> Query:
        passages = []
        for doc_id, (grade, place) in self._by_query.get(topic.id, {}).items():
            if not documents:
                passages.append(Passage(chunk_id=doc_id, grade=grade))
            elif doc_id in documents:
                passages.append(whole_document(documents[doc_id], grade))
            else:
                place.fault(f"the unknown document id {quoted(doc_id)}", expected)
        return Query(
            topic.id,
            topic.text,
            tuple(Fact((passage,)) for passage in passages if passage.grade > 0),
            topic.tags,
            judged_irrelevant=tuple(passage for passage in passages if passage.grade == 0),
        )
