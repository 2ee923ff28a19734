"""TREC: relevance judgments (qrels) and topics, with or without the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.datasets.documents import read_documents
from raglift.datasets.formats.judged_documents import Judgments, read_grade, read_topics
from raglift.errors import ConfigurationError
from raglift.utilities.limits import is_file, is_folder, user_path
from raglift.utilities.strict_files import stream_lines
from raglift.utilities.validation import Location

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.types.documents import Document
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

    Raises:
        ConfigurationError: there are no topics.
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
