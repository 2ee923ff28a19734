"""Relevance judgments of whole documents as facts and back, and TREC's topics."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.types.anchors import whole_document
from raglift.types.labels import RELEVANT, Fact, Passage, Query
from raglift.types.parsing import read_name, read_string
from raglift.utilities.strict_files import read_text, stream_lines
from raglift.utilities.validation import Location, quoted

if TYPE_CHECKING:
    from raglift.errors import Fault
    from raglift.types.documents import Document


# Conversion between document-level relevance judgments (qrels) and facts. A relevant document is a fact, and its
# passage is the whole document: under containment every chunk of the document (of 20 characters or more) lies inside
# the passage and matches. Under coverage the hits must jointly cover a part of the document, by default half of it,
# which suits only short documents. A judged document without text cannot be matched by its text, so its label is its
# id, as a chunk id. The same holds for all labels if no documents are given: the hits are then assumed to be the
# documents themselves.


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Topic:
    """A question that documents are judged for."""

    location: Location
    id: str
    text: str
    tags: tuple[str, ...] = ()


def judged_document(passage: Passage, documents: Mapping[str, Document]) -> str | None:
    """Return the id of the document that a passage is all of; None when it is something else."""
    if passage.chunk_id is not None and not documents:
        return passage.chunk_id
    doc_id = passage.doc_id if passage.chunk_id is None else passage.chunk_id
    document = documents.get(doc_id or "")
    return (
        doc_id
        if document is not None and (replace(passage, annotator=None) == whole_document(document, passage.grade))
        else None
    )


def judged_documents(query: Query, documents: Mapping[str, Document]) -> Iterator[tuple[str, int]]:
    """Yield the id and grade of each document that is judged for a query whose labels are whole documents."""
    for passage in (*(fact.passages[0] for fact in query.facts), *query.judged_irrelevant):
        doc_id = judged_document(passage, documents)
        if doc_id is not None:
            yield doc_id, passage.grade


def read_grade(text: str, location: Location) -> int | None:
    """Return a judgment's grade, a negative one as 0; None, and a fault, if it is not a grade."""
    grade = int(text) if _INTEGER.fullmatch(text) else None
    if grade is None or grade >= RELEVANT.stop:
        location.fault(quoted(text), f"an integer of at most {RELEVANT.stop - 1}: how relevant the document is")
        return None
    return max(0, grade)


def _an_id_of(name: str, ids: Iterable[str]) -> str:
    """Return `an id of NAME, as "…"`: what ids look like there tells of leading zeros and endings."""
    example = next(iter(ids), None)
    return f"an id of {name}" + ("" if example is None else f", as {quoted(example)}")


class Judgments:
    """Which documents are judged for which query, and how relevant they are."""

    def __init__(self) -> None:
        self._by_query: dict[str, dict[str, tuple[int, Location]]] = {}

    def __contains__(self, query_id: str) -> bool:
        return query_id in self._by_query

    @property
    def grades(self) -> dict[str, dict[str, int]]:
        """The grade of each judged document of each query."""
        return {
            query_id: {doc_id: grade for doc_id, (grade, _) in of_query.items()}
            for query_id, of_query in self._by_query.items()
        }

    def add(self, query_id: str, doc_id: str, grade: int, location: Location) -> None:
        """Note one judgment; the same one again changes nothing, and another of the same pair is a fault."""
        if read_name(doc_id, location) is None:
            return
        of_query = self._by_query.setdefault(query_id, {})
        first = of_query.setdefault(doc_id, (grade, location))
        if first[0] != grade:
            where = f"on line {first[1].line}" if first[1].line is not None else f"at {first[1]}"
            found = f"the grade {grade} for {quoted(doc_id)}, which has {first[0]} {where}"
            location.fault(found, "one grade for each query and document")

    def to_queries(
        self, topics: Iterable[Topic], documents: Mapping[str, Document], *, topics_name: str, documents_name: str
    ) -> tuple[Query, ...]:
        """Return the queries, in the order of the topics; a topic without judgments is unlabelled."""
        first: dict[str, Topic] = {}
        for topic in topics:
            if topic.id in first:
                earlier = first[topic.id].location
                topic.location.fault(f"the id {quoted(topic.id)} of {earlier}", "a unique id")
            first.setdefault(topic.id, topic)
        for query_id, of_query in self._by_query.items():
            if query_id not in first:
                location = next(iter(of_query.values()))[1]
                location.fault(f"the unknown query id {quoted(query_id)}", _an_id_of(topics_name, first))
        expected = _an_id_of(documents_name, documents)
        return tuple(self._query(topic, documents, expected) for topic in first.values())

    def _query(self, topic: Topic, documents: Mapping[str, Document], expected: str) -> Query:
        passages = []
        for doc_id, (grade, location) in self._by_query.get(topic.id, {}).items():
            if not documents:
                passages.append(Passage(chunk_id=doc_id, grade=grade))
            elif doc_id in documents:
                passages.append(whole_document(documents[doc_id], grade))
            else:
                location.fault(f"the unknown document id {quoted(doc_id)}", expected)
        return Query(
            topic.id,
            topic.text,
            tuple(Fact((passage,)) for passage in passages if passage.grade > 0),
            topic.tags,
            judged_irrelevant=tuple(passage for passage in passages if passage.grade == 0),
        )


# TREC topics: tab-separated lines, or the classic `<top>` records.


_RECORD = re.compile(r"<top>(.*?)</top>", re.IGNORECASE | re.DOTALL)
# A tag ends where the next one begins: the classic topics have no closing tags
_FIELD = re.compile(r"<(num|title)>([^<]*)", re.IGNORECASE)
_LABEL = {"num": re.compile(r"\s*Number:", re.IGNORECASE), "title": re.compile(r"\s*Topic:", re.IGNORECASE)}
_ENTITY = re.compile(r"&#?\w+;")


def read_topics(path: Path, faults: list[Fault]) -> list[Topic]:
    """Return the topics of a file: `<top>` records with `<num>` and `<title>`, or `id<TAB>question` lines."""
    location = Location(path.name, faults)
    text = read_text(path, location)
    if text is None:
        return []
    if text.lstrip().startswith("<"):
        return list(_from_records(text, location))
    return list(_from_lines(path, location))


def _from_lines(path: Path, location: Location) -> Iterator[Topic]:
    for here, line in stream_lines(path, location):
        topic_id, tab, text = line.partition("\t")
        if not tab:
            here.fault(f"{quoted(line)}, without a tab", "a topic's id, a tab and its question")
        elif read_name(topic_id, here / "id") and read_string(text, here / "question"):
            yield Topic(here, topic_id, text)


def _from_records(text: str, location: Location) -> Iterator[Topic]:
    line, end = 1, 0
    for record in _RECORD.finditer(text):
        line, end = line + text.count("\n", end, record.start()), record.start()
        here = location.at_line(line)
        fields: dict[str, str] = {}
        for match in _FIELD.finditer(record[1]):
            name = match[1].lower()
            words = _LABEL[name].sub("", match[2], count=1)
            value = " ".join(_ENTITY.sub(lambda entity: html.unescape(entity[0]), words).split())
            if value:
                fields.setdefault(name, value)
        for name in ("num", "title"):
            if name not in fields:
                (here / name).fault(f"no <{name}>", "<num> and <title> in each <top>")
        if len(fields) == 2:
            yield Topic(here, fields["num"], fields["title"])
    if text and not _RECORD.search(text):
        location.fault("no <top> … </top>", "topics as <top> records, lines with a tab, or JSON Lines")
