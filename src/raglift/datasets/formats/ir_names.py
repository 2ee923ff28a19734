"""Datasets of ir_datasets by their names, as `ir:beir/scifact/test`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.datasets.documents import read_documents
from raglift.datasets.formats.judged_documents import Judgments, Topic, read_grade
from raglift.errors import MissingDependency
from raglift.types.documents import Document
from raglift.types.parsing import read_characters, read_id, read_string
from raglift.utilities.validation import Location, nearest, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.types.labels import Query


PREFIX = "ir:"


def read_ir_dataset(
    source: Path | str, faults: list[Fault], *, documents: DocumentSource = None
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries and documents of a dataset that ir_datasets knows, which downloads what is not there.

    A document with a relevance of 1 or more is a fact, and its relevance the grade; one with 0 or less is judged
    irrelevant. Texts are those that ir_datasets calls the default text of a document and of a query.

    Raises:
        MissingDependency: the package `ir_datasets` is not installed.
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
