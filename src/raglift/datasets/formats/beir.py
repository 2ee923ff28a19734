"""BEIR folders: `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from raglift.base.strict_files import parse_object, stream_lines
from raglift.base.validation import Location, quoted
from raglift.datasets.documents import read_document_lines, read_documents, write_document_lines
from raglift.datasets.formats.judged_documents import Judgments, Topic, judged_documents, read_grade
from raglift.records.parsing import read_id, read_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from raglift.datasets.documents import DocumentSource
    from raglift.errors import Fault
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Document
    from raglift.records.labels import Query


CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
_HEADER = "query-id\tcorpus-id\tscore"
_COLUMNS = "query-id, corpus-id and score with tabs between them"


def read_beir(
    folder: Path, faults: list[Fault], *, documents: DocumentSource = None, split: str = "test"
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries and documents of a BEIR folder.

    Each document with a score of 1 or more is a fact, and its score the grade; a score of 0 or less is judged
    irrelevant. A query that is judged only in another split is left out; one that is judged in none is unlabelled.

    Args:
        folder: the folder.
        faults: where what is wrong is noted.
        documents: the documents, in place of `corpus.jsonl`.
        split: which file of `qrels/` to read.
    """
    judged = _read_qrels(folder, split, faults)
    if judged is None:
        return (), ()
    given = read_document_lines(folder / CORPUS, faults) if documents is None else read_documents(documents)
    elsewhere = _judged_elsewhere(folder / QRELS, split)
    topics = [
        topic for topic in _read_topics(folder / QUERIES, faults) if topic.id in judged or topic.id not in elsewhere
    ]
    by_id = {document.id: document for document in given}
    return judged.to_queries(topics, by_id, topics_name=QUERIES, documents_name=CORPUS), given


def _read_topics(path: Path, faults: list[Fault]) -> Iterator[Topic]:
    for here, line in stream_lines(path, Location(path.name, faults)):
        entry = parse_object(line, here)
        if entry is None:
            continue
        for field in ("_id", "text"):
            if field not in entry:
                (here / field).fault("no such field", f"the field {field!r} on every line")
        query_id = read_id(entry["_id"], here / "_id") if "_id" in entry else None
        text = read_string(entry["text"], here / "text") if "text" in entry else None
        if query_id and text:
            yield Topic(here, query_id, text, read_tags(entry.get("metadata")))


def read_tags(metadata: Any) -> tuple[str, ...]:
    """Return the tags that `write_beir` wrote; other metadata is left alone."""
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    given = isinstance(tags, list) and all(isinstance(tag, str) and tag.strip() for tag in tags)
    return tuple(tags) if given and tags else ()


def _read_qrels(folder: Path, split: str, faults: list[Fault]) -> Judgments | None:
    path = folder / QRELS / f"{split}.tsv"
    splits = {file.stem: file for file in (folder / QRELS).glob("*.tsv")}
    if split not in splits:
        known = ", ".join(f"split={quoted(name)}" for name in sorted(splits)) or "a file qrels/<split>.tsv"
        Location(str(folder), faults).fault(f"no {QRELS}/{split}.tsv", f"one of {known}" if splits else known)
        return None
    judged = Judgments()
    location = Location(f"{QRELS}/{path.name}", faults)
    for here, line in stream_lines(path, location):
        columns = line.split("\t")
        if len(columns) != 3:
            here.fault(f"{len(columns)} columns", f"3 columns: {_COLUMNS}")
        elif here.line == 1:
            if columns[2].strip().lstrip("+-").isdigit():
                here.fault(f"the judgement {quoted(line)}", f"a first line with the names of the columns: {_COLUMNS}")
        elif (grade := read_grade(columns[2].strip(), here / "score")) is not None:
            judged.add(columns[0], columns[1], grade, here)
    return judged


def _judged_elsewhere(folder: Path, split: str) -> set[str]:
    """Return the ids of the queries that other splits judge; what is wrong there is no fault of this one."""
    ignored: list[Fault] = []
    ids = set()
    for path in sorted(folder.glob("*.tsv")):
        if path.stem != split:
            lines = stream_lines(path, Location(path.name, ignored))
            ids |= {line.split("\t", 1)[0] for here, line in lines if here.line != 1}
    return ids


def write_beir(dataset: Dataset, folder: Path, *, split: str = "test") -> None:
    """Write the files of a BEIR folder.

    Args:
        dataset: one whose labels are whole documents.
        folder: an empty folder.
        split: the name of the file in `qrels/`.
    """
    with (folder / CORPUS).open("w", encoding="utf-8", newline="\n") as file:
        write_document_lines(dataset.documents, file)
    with (folder / QUERIES).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(topic_value(query), ensure_ascii=False) + "\n" for query in dataset.queries)
    (folder / QRELS).mkdir()
    with (folder / QRELS / f"{split}.tsv").open("w", encoding="utf-8", newline="\n") as file:
        file.write(_HEADER + "\n")
        file.writelines(_judgement_lines(dataset.queries, dataset.document_by_id))


def topic_value(query: Query) -> dict[str, Any]:
    """Return the line of `queries.jsonl` for a query; its tags, if any, are in `metadata`."""
    value: dict[str, Any] = {"_id": query.id, "text": query.text}
    return {**value, "metadata": {"tags": list(query.tags)}} if query.tags else value


def _judgement_lines(queries: tuple[Query, ...], documents: Mapping[str, Document]) -> Iterator[str]:
    for query in queries:
        for doc_id, grade in judged_documents(query, documents):
            yield f"{query.id}\t{doc_id}\t{grade}\n"
