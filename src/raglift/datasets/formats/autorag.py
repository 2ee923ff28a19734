"""AutoRAG: `qa.parquet`, and `corpus.parquet` next to it."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from raglift.base.limits import is_file, is_folder
from raglift.base.validation import Location, quoted, shown
from raglift.datasets.documents import read_documents
from raglift.datasets.formats.capabilities import Capabilities, any_metadata
from raglift.datasets.formats.judged_documents import judged_document
from raglift.datasets.formats.parquet_rows import parquet_rows
from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.records.anchors import whole_document
from raglift.records.checking import has_words
from raglift.records.documents import Document
from raglift.records.labels import Fact, Passage, Query, distinct_facts
from raglift.records.parsing import read_characters, read_name, read_string

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from raglift.datasets.documents import DocumentSource
    from raglift.records.dataset import Dataset


QA, CORPUS = "qa.parquet", "corpus.parquet"
LABELS = ("spans", "texts", "ids")
"""What a chunk of the ground truth becomes: all of a document, a literal text, or a chunk id."""
_BESIDE = ("path", "start_end_idx")
_MODIFIED = "last_modified_datetime"  # which AutoRAG asks for in the metadata of each row

CAPABILITIES = Capabilities(
    title="AutoRAG",
    holds=lambda passage, documents: (
        judged_document(passage, documents) is not None or (passage.chunk_id or "") in documents
    ),
    form="a whole document, or a chunk id",
    alternatives=True,
    documents="optional",
    metadata=any_metadata,
)


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
            there = here / number if isinstance(group, list) else here
            if documents and doc_id not in documents:
                there.fault(f"the unknown id {quoted(doc_id)}", f"a doc_id of {CORPUS}")
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


def write_autorag(dataset: Dataset, folder: Path) -> None:
    """Write `qa.parquet` and, where there are documents, `corpus.parquet`.

    The answers of `generation_gt`, which datasets of raglift's do not have, are empty lists.

    Args:
        dataset: what fits `CAPABILITIES`.
        folder: an empty folder.

    Raises:
        DatasetError: Parquet cannot hold the metadata of the documents.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    groups = [
        [[passage.chunk_id or passage.doc_id for passage in fact.passages] for fact in query.facts]
        for query in dataset.queries
    ]
    qa = {
        "qid": pa.array([query.id for query in dataset.queries], pa.string()),
        "query": pa.array([query.text for query in dataset.queries], pa.string()),
        "retrieval_gt": pa.array(groups, pa.list_(pa.list_(pa.string()))),
        "generation_gt": pa.array([[]] * len(groups), pa.list_(pa.string())),
    }
    pq.write_table(pa.table(qa), folder / QA)
    if dataset.documents:
        corpus = {
            "doc_id": pa.array([document.id for document in dataset.documents], pa.string()),
            "contents": pa.array([document.text for document in dataset.documents], pa.string()),
            **_metadata_columns(dataset.documents),
        }
        pq.write_table(pa.table(corpus), folder / CORPUS)


def _metadata_columns(documents: tuple[Document, ...]) -> dict[str, pa.Array]:
    import pyarrow as pa

    beside = [name for name in _BESIDE if any(name in document.metadata for document in documents)]
    inside = [
        {name: part for name, part in document.metadata.items() if name not in beside}
        | {_MODIFIED: _moment(document.metadata.get(_MODIFIED))}
        for document in documents
    ]
    try:
        columns = {"metadata": pa.array(inside)}
        columns |= {name: pa.array([document.metadata.get(name) for document in documents]) for name in beside}
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _no_metadata(str(error).splitlines()[0]) from error
    for row, document in enumerate(documents):
        read = {key: part for name, column in columns.items() for key, part in _parts(name, column[row].as_py())}
        if _plain(read) != dict(document.metadata):
            raise _no_metadata(f"that of {quoted(document.id)} would be read back as another")
    return columns


def _moment(value: Any) -> Any:
    """Return the time that a text gives, as AutoRAG wants one; anything else as it is."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if name == "metadata" else [(name, value)]


def _no_metadata(found: str) -> DatasetError:
    expected = "metadata that Parquet can hold; to leave it out: drop=('metadata',)"
    return DatasetError(CORPUS, [Fault(f"{CORPUS}: metadata", found, expected)], "nothing was written")
