"""SQuAD 1.1 and 2.0: contexts, questions, and the answers as spans of the contexts."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from raglift.base.strict_files import parse_text, read_text
from raglift.base.validation import Location, quoted, shown
from raglift.datasets.formats.capabilities import Capabilities, is_span, title_only
from raglift.errors import ConfigurationError
from raglift.records.anchors import whole_document
from raglift.records.documents import Document
from raglift.records.labels import Fact, Passage, Query
from raglift.records.parsing import read_characters, read_id, read_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from raglift.errors import Fault
    from raglift.records.dataset import Dataset


EVIDENCE = ("answer", "context")
"""What can be taken for the evidence: the answer's own words, or all of the context they stand in."""


def _in_one_document(query: Query, location: Location) -> None:
    documents = {passage.doc_id for fact in query.facts for passage in fact.passages}
    if len(documents) > 1:
        (location / "relevant").fault(f"answers in {len(documents)} documents", "answers in one, as SQuAD has them")


CAPABILITIES = Capabilities(
    title="SQuAD",
    holds=is_span,
    form="a span of a document",
    alternatives=True,
    most_facts=1,
    unanswerable=True,
    documents="needed",
    metadata=title_only,
    also=_in_one_document,
)


def read_squad(
    path: Path, faults: list[Fault], *, evidence: str = "answer"
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the questions and, as documents, their contexts.

    A document's id is the `document_id` of its paragraph, if it has one, else the article's title and the number of
    the paragraph in it, as `Normans/0`. The answers to a question are one fact: any of them proves it. Questions with
    `is_impossible` are unanswerable, and those without answers are unlabelled.

    Args:
        path: the JSON file.
        faults: where what is wrong is noted.
        evidence: `answer` (the words of the answers) or `context` (all of the context).

    Raises:
        ConfigurationError: another kind of evidence.
    """
    if evidence not in EVIDENCE:
        raise ConfigurationError(f"evidence: found {evidence!r}; expected one of {', '.join(map(repr, EVIDENCE))}")
    location = Location(path.name, faults)
    text = read_text(path, location)
    entry = None if text is None else parse_text(text, location)
    documents: dict[str, Document] = {}
    queries: dict[str, Query] = {}
    paragraphs_of: dict[str, itertools.count[int]] = {}
    for number, (article, here) in enumerate(_objects(entry or {}, "data", location)):
        title = article.get("title")
        name = title if isinstance(title, str) and title.strip() else f"article-{number}"
        numbers = paragraphs_of.setdefault(name, itertools.count())
        for paragraph, there in _objects(article, "paragraphs", here):
            document = _read_context(paragraph, f"{name}/{next(numbers)}", title, there)
            if document is None:
                continue
            if document.id in documents:
                there.fault(f"the document id {quoted(document.id)} again", "a unique id")
            documents[document.id] = document
            for question, where in _objects(paragraph, "qas", there):
                query = _read_question(question, document, evidence, where)
                if query is None:
                    continue
                if query.id in queries:
                    (where / "id").fault(f"the id {quoted(query.id)} again", "a unique id")
                queries[query.id] = query
    return tuple(queries.values()), tuple(documents.values())


def _objects(entry: Mapping[str, Any], name: str, location: Location) -> Iterator[tuple[dict[str, Any], Location]]:
    """Yield the objects of a list with their locations."""
    given = entry.get(name)
    if not isinstance(given, list):
        if entry:
            (location / name).fault("no such field" if name not in entry else shown(given), "a list of objects")
        return
    for index, item in enumerate(given):
        if isinstance(item, dict):
            yield item, location / name / index
        else:
            (location / name / index).fault(shown(item), "an object")


def _read_context(paragraph: Mapping[str, Any], doc_id: str, title: Any, location: Location) -> Document | None:
    text = read_characters(paragraph.get("context"), location / "context")  # a document may be empty
    given = paragraph.get("document_id")
    named = doc_id if given is None else read_id(given, location / "document_id")
    if text is None or named is None:
        return None
    return Document(named, text, {"title": title} if isinstance(title, str) and title.strip() else {})


def _read_question(question: Mapping[str, Any], document: Document, evidence: str, location: Location) -> Query | None:
    """Return a question; None, and a fault, where it is none."""
    known = len(location.faults)
    query_id = read_id(question.get("id"), location / "id") or ""
    text = read_string(question.get("question"), location / "question") or ""
    impossible = question.get("is_impossible", False)
    if not isinstance(impossible, bool):
        (location / "is_impossible").fault(shown(impossible), "true or false")
    answers = [_read_answer(answer, document, here) for answer, here in _objects(question, "answers", location)]
    if impossible is True and answers:
        (location / "is_impossible").fault("true, and answers", "only one of the two")
    passages = tuple(dict.fromkeys(passage for passage in answers if passage is not None))
    if len(location.faults) > known:
        return None
    if passages and evidence == "context":
        passages = (whole_document(document),)
    return Query(query_id, text, (Fact(passages),) if passages else (), answerable=impossible is not True)


def _read_answer(answer: Mapping[str, Any], document: Document, location: Location) -> Passage | None:
    text = read_string(answer.get("text"), location / "text")
    start = answer.get("answer_start")
    if type(start) is not int or start < 0:
        (location / "answer_start").fault(shown(start), "an integer: a character offset into the context")
        return None
    if text is None:
        return None
    end = start + len(text)
    if document.text[start:end] != text:
        nearest = min(_starts(document.text, text), key=lambda found: abs(found - start), default=None)
        hint = "which is not in the context" if nearest is None else f"which stands at {nearest}"
        found = f"{start}, where the context has {quoted(document.text[start:end])}"
        (location / "answer_start").fault(found, f"the offset of {quoted(text)}, {hint}")
        return None
    return Passage(text, document.id, start, end)


def _starts(text: str, words: str) -> Iterator[int]:
    offset = text.find(words)
    while offset >= 0:
        yield offset
        offset = text.find(words, offset + 1)


def write_squad(dataset: Dataset, path: Path) -> None:
    """Write a SQuAD 2.0 file; the questions come in the order of the documents that answer them.

    Args:
        dataset: what fits `CAPABILITIES`.
        path: the file.
    """
    asked: dict[str, list[Query]] = {document.id: [] for document in dataset.documents}
    here = dataset.documents[0].id
    for query in dataset.queries:
        if query.facts:  # a question without an answer stands where the one before it does
            here = str(query.facts[0].passages[0].doc_id)
        asked[here].append(query)
    articles = [
        {"title": title, "paragraphs": [_paragraph(document, asked[document.id]) for document in documents]}
        for title, documents in itertools.groupby(
            dataset.documents, key=lambda document: document.metadata.get("title", "")
        )
    ]
    text = json.dumps({"version": "v2.0", "data": articles}, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def _paragraph(document: Document, queries: list[Query]) -> dict[str, Any]:
    questions = [
        {
            "id": query.id,
            "question": query.text,
            "answers": [
                {"text": passage.text, "answer_start": passage.start}
                for fact in query.facts
                for passage in fact.passages
            ],
            "is_impossible": not query.answerable,
        }
        for query in queries
    ]
    return {"document_id": document.id, "context": document.text, "qas": questions}
