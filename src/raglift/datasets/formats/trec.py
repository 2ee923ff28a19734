"""TREC: judgments (qrels) and topics, with or without documents, and ir_datasets, as `ir:beir/scifact/test`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.datasets.documents import DocumentSource, read_documents
from raglift.datasets.formats.judged_documents import Judgments, Topic, read_grade, read_topics
from raglift.errors import ConfigurationError, Fault, MissingDependency
from raglift.types.documents import Document
from raglift.types.parsing import read_characters, read_id, read_string
from raglift.utilities.limits import is_file, is_folder, user_path
from raglift.utilities.strict_files import stream_lines
from raglift.utilities.validation import Location, nearest, quoted

if TYPE_CHECKING:
    from raglift.types.labels import Query


QRELS, TOPICS, DOCUMENTS = "qrels.txt", "topics.tsv", "documents.jsonl"
_COLUMNS = "topic, iteration, document and relevance with white space between them"


def read_trec(
    source: Path,
    faults: list[Fault],
    *,
    documents: DocumentSource = None,
    topics: str | os.PathLike[str] | None = None,
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries, and the documents if they are at hand.

    Each document with a relevance of 1 or more is a fact, and its relevance the grade; 0 and less is judged
    irrelevant. Without documents the labels are chunk ids: the hits are taken to be the documents, by their ids.

    Args:
        source: the qrels file; or a folder with `qrels.txt`, `topics.tsv` and, optionally, `documents.jsonl`.
        faults: where what is wrong is noted.
        documents: the documents.
        topics: the topics (`read_topics`); for a folder, in place of its own.
    """
    folder = source if is_folder(source) else None
    if topics is None and folder is None:
        raise ConfigurationError("load_dataset: found TREC qrels without topics; expected topics='the topics file'")
    topics_path = user_path(topics) if topics is not None else source / TOPICS
    if documents is None and folder is not None and is_file(folder / DOCUMENTS):
        documents = folder / DOCUMENTS
    given = read_documents(documents)
    judged = _read_qrels(source if folder is None else folder / QRELS, faults)
    by_id = {document.id: document for document in given}
    found = read_topics(topics_path, faults)
    return judged.to_queries(found, by_id, topics_name=topics_path.name, documents_name="the documents"), given


def _read_qrels(path: Path, faults: list[Fault]) -> Judgments:
    judged = Judgments()
    for here, line in stream_lines(path, Location(path.name, faults)):
        columns = line.split()
        if len(columns) != 4:
            here.fault(f"{len(columns)} columns", f"4 columns: {_COLUMNS}")
        elif (grade := read_grade(columns[3], here / "relevance")) is not None:
            judged.add(columns[0], columns[2], grade, here)
    return judged


PREFIX = "ir:"


def read_ir_dataset(
    source: Path | str, faults: list[Fault], *, documents: DocumentSource = None
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries and documents of a dataset that ir_datasets knows, which downloads what is not there.

    A document with a relevance of 1 or more is a fact, and its relevance the grade; one with 0 or less is judged
    irrelevant. Texts are those that ir_datasets calls the default text of a document and of a query.
    """
    name = str(source).removeprefix(PREFIX)
    location = Location(name, faults)
    try:
        import ir_datasets
    except ImportError:
        raise MissingDependency("ir_datasets", "ir-datasets", f"reading {PREFIX}{name}") from None
    try:
        found = ir_datasets.load(name)
    except KeyError:
        location.fault(f"no dataset {quoted(name)} in ir_datasets", nearest(name, [*ir_datasets.registry]))
        return (), ()
    parts = {
        "queries": found.has_queries(),
        "qrels": found.has_qrels(),
        "docs": found.has_docs() or documents is not None,
    }
    missing = [part for part, is_known in parts.items() if not is_known]
    if missing:
        below = [each for each in ir_datasets.registry if each.startswith(f"{name}/")][:5]
        expected = "a dataset with docs, queries and qrels" + (f", as {', '.join(below)}" if below else "")
        location.fault(f"a dataset without {' and '.join(missing)}", expected)
        return (), ()
    try:
        return _read(found, location, documents)
    except Exception as error:  # noqa: BLE001 — a download, or any of several hundred parsers, may raise anything
        said = " ".join(str(error).split())[:200]
        location.fault(f"a dataset that ir_datasets cannot read ({type(error).__name__}: {said})", "one that it can")
        return (), ()


def _read(found: Any, location: Location, documents: DocumentSource) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    given = _read_documents(found, location / "docs") if documents is None else read_documents(documents)
    topics = []
    for index, query in enumerate(found.queries_iter()):
        here = location / "queries" / index
        query_id = read_id(query.query_id, here / "query_id")
        text = read_string(query.default_text(), here / "text")
        if query_id and text:
            topics.append(Topic(here, query_id, text))
    judged = Judgments()
    for index, qrel in enumerate(found.qrels_iter()):
        here = location / "qrels" / index
        grade = read_grade(str(qrel.relevance), here / "relevance")
        if grade is not None:
            judged.add(str(qrel.query_id), str(qrel.doc_id), grade, here)
    by_id = {document.id: document for document in given}
    return judged.to_queries(topics, by_id, topics_name="queries", documents_name="docs"), given


def _read_documents(found: Any, location: Location) -> tuple[Document, ...]:
    documents: dict[str, Document] = {}
    for index, document in enumerate(found.docs_iter()):
        here = location / index
        doc_id = read_id(document.doc_id, here / "doc_id")
        text = read_characters(document.default_text(), here / "text")
        if doc_id is None or text is None:
            continue
        if doc_id in documents:
            here.fault(f"the id {quoted(doc_id)} again", "a unique id")
        title = getattr(document, "title", None)
        documents.setdefault(
            doc_id, Document(doc_id, text, {"title": title} if isinstance(title, str) and title else {})
        )
    return tuple(documents.values())
