"""AutoRAG: `qa.parquet`, and `corpus.parquet` next to it."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from raglift.datasets.documents import read_documents
from raglift.datasets.formats.rows import parquet_rows
from raglift.errors import ConfigurationError, Fault
from raglift.types.anchors import whole_document
from raglift.types.checking import has_words
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query, distinct_facts
from raglift.types.parsing import read_characters, read_name, read_string
from raglift.utilities.limits import is_file, is_folder
from raglift.utilities.validation import Location, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from raglift.datasets.documents import DocumentSource


QA, CORPUS = "qa.parquet", "corpus.parquet"
LABELS = ("spans", "texts", "ids")
"""What a chunk of the ground truth becomes: all of a document, a literal text, or a chunk id."""
_BESIDE = ("path", "start_end_idx")


def read_autorag(
    source: Path, faults: list[Fault], *, documents: DocumentSource = None, labels: str | None = None
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries of `qa.parquet` and, as documents, the rows of `corpus.parquet`.

    Each group of `retrieval_gt` is a fact, and the ids in it are its alternatives; in a list that is not nested, each
    id is a fact. A query with an empty `retrieval_gt`, or an empty text or group in it, is unlabelled: AutoRAG gives it
    no score. `generation_gt` is not read; times
    in `metadata` become texts.

    Args:
        source: a folder with `qa.parquet` and, optionally, `corpus.parquet`; or the path of the former.
        faults: where what is wrong is noted.
        documents: the sources that the corpus was cut from, in place of its rows; the labels are texts then.
        labels: what an id becomes: `spans` (the row is a document, and all of it the passage; the default where there
            is a corpus), `texts` (the row's contents as a literal text, for other chunkings of the sources), or `ids`
            (a chunk id, as AutoRAG has it; the default without a corpus).

    Raises:
        ConfigurationError: other labels, labels that need the corpus, which is not there, or that are not texts though
            there are other documents than its rows.
    """
    folder = source if is_folder(source) else source.parent
    qa = source / QA if is_folder(source) else source
    corpus = folder / CORPUS
    chosen = labels or ("texts" if documents is not None else "spans" if is_file(corpus) else "ids")
    if chosen not in LABELS:
        raise ConfigurationError(f"labels: found {labels!r}; expected one of {', '.join(map(repr, LABELS))}")
    if chosen != "ids" and not is_file(corpus):
        raise ConfigurationError(f"labels: found {chosen!r}, but no {corpus}; expected 'ids', or the corpus")
    if chosen != "texts" and documents is not None:
        raise ConfigurationError(
            f"labels: found {labels!r} with documents=; expected 'texts': the others are about the rows of {CORPUS}"
        )
    rows = _read_corpus(corpus, faults) if is_file(corpus) else {}
    queries = _read_qa(qa, rows, chosen, faults)
    return queries, tuple(rows.values()) if documents is None else read_documents(documents)


def _read_corpus(path: Path, faults: list[Fault]) -> dict[str, Document]:
    location = Location(path.name, faults)
    documents: dict[str, Document] = {}
    for row, here in _rows(path, ("doc_id", "contents"), ("metadata", *_BESIDE), location):
        doc_id = read_name(row["doc_id"], here / "doc_id")
        text = read_characters(row["contents"], here / "contents")
        metadata = row.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            (here / "metadata").fault(shown(metadata), "a struct")
            metadata = None
        known = _plain({**(metadata or {}), **{name: row[name] for name in _BESIDE if name in row}})
        if doc_id is None or text is None:
            continue
        if doc_id in documents:
            (here / "doc_id").fault(f"the id {quoted(doc_id)} again", "a unique id")
        documents[doc_id] = Document(doc_id, text, known)
    return documents


def _read_qa(path: Path, documents: Mapping[str, Document], labels: str, faults: list[Fault]) -> tuple[Query, ...]:
    queries: dict[str, Query] = {}
    for row, here in _rows(path, ("qid", "query", "retrieval_gt"), (), Location(path.name, faults)):
        query_id = read_name(row["qid"], here / "qid")
        text = read_string(row["query"], here / "query")
        facts = _read_facts(row["retrieval_gt"], documents, labels, here / "retrieval_gt")
        if query_id is None or text is None:
            continue
        if query_id in queries:
            (here / "qid").fault(f"the id {quoted(query_id)} again", "a unique id")
        queries[query_id] = Query(query_id, text, facts)
    return tuple(queries.values())


def _read_facts(value: Any, documents: Mapping[str, Document], labels: str, location: Location) -> tuple[Fact, ...]:
    if _is_empty(value):
        return ()
    facts = []
    for index, group in enumerate(value if isinstance(value, list) else [value]):
        ids = group if isinstance(group, list) else [group]
        here = location / index
        passages = []
        for number, doc_id in enumerate(ids):
            at = here / number if isinstance(group, list) else here
            if documents and doc_id not in documents:
                at.fault(f"the unknown id {quoted(doc_id)}", f"a doc_id of {CORPUS}")
            else:
                passages.append(_passage(doc_id, documents, labels))
        facts.append(tuple(passages))
    return distinct_facts(facts)


def _is_empty(value: Any) -> bool:
    """Whether AutoRAG takes a ground truth as none: `[]`, `[[""]]`, or one with an empty text or group beside others.

    Its `MetricInput.is_fields_notnone` (autorag/schema/metricinput.py) says so, and the query gets no score.
    """
    if isinstance(value, list):
        return not value or any(map(_is_empty, value))
    return value is None or not value.strip()


def _passage(doc_id: str, documents: Mapping[str, Document], labels: str) -> Passage:
    document = documents.get(doc_id)
    if labels == "ids" or document is None:  # there is none where the corpus itself is at fault
        return Passage(chunk_id=doc_id)
    return Passage(document.text) if labels == "texts" and has_words(document.text) else whole_document(document)


def _rows(
    path: Path, needed: Collection[str], optional: Collection[str], location: Location
) -> Iterator[tuple[dict[str, Any], Location]]:
    """Yield the rows of a Parquet file with their row numbers; a column of another type is a fault."""
    found = parquet_rows(
        path,
        location,
        columns=(*needed, *optional),
        check=lambda schema: _has_columns(schema, needed, optional, location),
    )
    for here, row in found:
        yield row, here


def _has_columns(schema: pa.Schema, needed: Collection[str], optional: Collection[str], location: Location) -> bool:
    known = len(location.faults)
    for name in (*needed, *optional):
        if schema.names.count(name) > 1:
            (location / name).fault(f"{schema.names.count(name)} columns of this name", "one column of each name")
    if len(location.faults) > known:
        return False
    for name in needed:
        if name not in schema.names:
            location.fault(f"the columns {', '.join(map(quoted, schema.names))}", f"a column {name}")
            continue
        kind = schema.field(name).type
        depths = (0, 1, 2) if name == "retrieval_gt" else (0,)
        if _depth(kind) not in depths:
            expected = "texts, or lists of texts, or lists of lists of texts" if len(depths) > 1 else "texts"
            (location / name).fault(f"a column of type {quoted(kind)}", expected)
    return len(location.faults) == known


def _depth(kind: pa.DataType) -> int | None:
    """Return how many lists are around texts; None for anything else."""
    from pyarrow import types

    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return 0
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = _depth(kind.value_type)
        return None if inner is None else inner + 1
    return None


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: times as texts, and no nulls, which Parquet puts where a row has no such field."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return [_plain(part) for part in value] if isinstance(value, list) else value
