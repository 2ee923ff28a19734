"""AutoRAG: `qa.parquet`, and `corpus.parquet` next to it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from raglift.datasets.documents import DocumentSource, read_documents
from raglift.datasets.formats.rows import parquet_rows
from raglift.errors import Fault
from raglift.types.anchors import whole_document
from raglift.types.checking import has_words
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query, distinct_facts
from raglift.types.parsing import read_characters, read_name, read_string
from raglift.utilities.limits import is_file, is_folder
from raglift.utilities.validation import Location, quoted, shown

QA, CORPUS = "qa.parquet", "corpus.parquet"
_BESIDE = ("path", "start_end_idx")


def read_autorag(
    source: Path, faults: list[Fault], *, documents: DocumentSource = None
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries of `qa.parquet` and, as documents, the rows of `corpus.parquet`.

    Each group of `retrieval_gt` is a fact, and the ids in it are its alternatives; in a list that is not nested, each
    id is a fact. An id stands for all of its row: as a span, if the rows are the documents; as a literal text, if
    others are given; as a chunk id, if there is no corpus. A query with an empty `retrieval_gt`, or an empty text or
    group in it, is unlabelled: AutoRAG gives it no score. `generation_gt` is not read; times in `metadata` become
    texts.
    """
    qa = source / QA if is_folder(source) else source
    corpus = qa.with_name(CORPUS)
    rows = _read_corpus(corpus, faults) if is_file(corpus) else {}
    queries = _read_qa(qa, rows, faults, as_texts=documents is not None)
    return queries, tuple(rows.values()) if documents is None else read_documents(documents)


def _read_corpus(path: Path, faults: list[Fault]) -> dict[str, Document]:
    location = Location(path.name, faults)
    documents: dict[str, Document] = {}
    for here, row in parquet_rows(path, location, columns=("doc_id", "contents", "metadata", *_BESIDE)):
        doc_id = read_name(row.get("doc_id"), here / "doc_id")
        text = read_characters(row.get("contents"), here / "contents")
        metadata = row.get("metadata") or {}
        if not isinstance(metadata, dict):
            (here / "metadata").fault(shown(metadata), "a struct")
        elif doc_id is not None and text is not None:
            if doc_id in documents:
                (here / "doc_id").fault(f"the id {quoted(doc_id)} again", "a unique id")
            known = _plain({**metadata, **{name: row[name] for name in _BESIDE if name in row}})
            documents[doc_id] = Document(doc_id, text, known)
    return documents


def _read_qa(
    path: Path, documents: Mapping[str, Document], faults: list[Fault], *, as_texts: bool
) -> tuple[Query, ...]:
    queries: dict[str, Query] = {}
    for here, row in parquet_rows(path, Location(path.name, faults), columns=("qid", "query", "retrieval_gt")):
        query_id = read_name(row.get("qid"), here / "qid")
        text = read_string(row.get("query"), here / "query")
        facts = _read_facts(row.get("retrieval_gt"), documents, here / "retrieval_gt", as_texts=as_texts)
        if query_id is None or text is None:
            continue
        if query_id in queries:
            (here / "qid").fault(f"the id {quoted(query_id)} again", "a unique id")
        queries[query_id] = Query(query_id, text, facts)
    return tuple(queries.values())


def _read_facts(
    value: Any, documents: Mapping[str, Document], location: Location, *, as_texts: bool
) -> tuple[Fact, ...]:
    if _is_empty(value):
        return ()
    facts = []
    for index, group in enumerate(value if isinstance(value, list) else [value]):
        passages = []
        for doc_id in group if isinstance(group, list) else [group]:
            document = documents.get(doc_id) if isinstance(doc_id, str) else None
            if not isinstance(doc_id, str) or (documents and document is None):
                (location / index).fault(f"the unknown id {shown(doc_id)}", f"a doc_id of {CORPUS}")
            elif document is None:
                passages.append(Passage(chunk_id=doc_id))
            elif as_texts and has_words(document.text):
                passages.append(Passage(document.text))
            else:
                passages.append(whole_document(document))
        facts.append(tuple(passages))
    return distinct_facts(facts)


def _is_empty(value: Any) -> bool:
    """Whether AutoRAG takes a ground truth as none: `[]`, `[[""]]`, or one with an empty text or group beside others.

    Its `MetricInput.is_fields_notnone` (autorag/schema/metricinput.py) says so, and the query gets no score.
    """
    if isinstance(value, list):
        return not value or any(map(_is_empty, value))
    return value is None or (isinstance(value, str) and not value.strip())


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: times as texts, and no nulls in structs."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return [_plain(part) for part in value] if isinstance(value, list) else value
