"""Datasets of the Hugging Face hub in the layout of BEIR and MTEB: corpus, queries and qrels as tables."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any, cast

import httpx

from raglift.base.limits import allowed, most_bytes
from raglift.base.strict_files import lines_of, parse_object, stream_lines
from raglift.base.validation import Location, quoted, shown
from raglift.datasets.documents import read_document, read_documents, write_document_lines
from raglift.datasets.formats import beir
from raglift.datasets.formats.capabilities import Capabilities, json_metadata
from raglift.datasets.formats.hub_files import HubUnavailable, find_tables, find_tree, parse_hub_name
from raglift.datasets.formats.judged_documents import Judgments, Topic, judged_document, judged_documents, read_grade
from raglift.datasets.formats.parquet_rows import parquet_rows
from raglift.datasets.formats.records import read_records
from raglift.records.parsing import read_id, read_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import IO

    from raglift.datasets.documents import DocumentSource
    from raglift.datasets.formats.hub_files import Tree
    from raglift.errors import Fault
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Document
    from raglift.records.labels import Query


QUERY_ID, DOC_ID, SCORE = "query-id", "corpus-id", "score"
_KNOWN_COLUMNS = {QUERY_ID, DOC_ID, SCORE, "_id", "id", "text", "query", "title"}
_CARD = """---
configs:
- config_name: default
  data_files:
  - split: {split}
    path: qrels/{split}.jsonl
- config_name: corpus
  data_files:
  - split: corpus
    path: corpus.jsonl
- config_name: queries
  data_files:
  - split: queries
    path: queries.jsonl
---
"""

CAPABILITIES = Capabilities(
    title="the Hugging Face hub's layout",
    holds=lambda passage, documents: judged_document(passage, documents) is not None,
    form="a whole document",
    grades=True,
    tags=True,
    irrelevant=True,
    once=True,
    documents="needed",
    metadata=json_metadata,
)


def read_hub(
    source: Path | str,
    faults: list[Fault],
    *,
    documents: DocumentSource = None,
    split: str | None = None,
    subset: str | None = None,
    revision: str | None = None,
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    """Return the queries and documents of a dataset on the Hugging Face hub, or of a folder laid out as one.

    A document with a score of 1 or more is a fact, and its score the grade; a score of 0 or less is judged irrelevant.
    A query that is judged only in another split is left out; one that is judged in none is unlabelled. No code of the
    dataset is ever run.

    Args:
        source: a folder, or an id, as `mteb/scifact`, with its options, if any, after a question mark.
        faults: where what is wrong is noted.
        documents: the documents, in place of the corpus.
        split: of the qrels; by default `test`, or the only one.
        subset: which of several corpora, as a language.
        revision: of the hub: a branch, tag or commit.

    Raises:
        ConfigurationError: the source has an option that there is none of.
        MissingDependency: the package `datasets` is not installed.
    """
    name, given = parse_hub_name(str(source))
    split = split or given.get("split")
    subset = subset or given.get("subset")
    location = Location(name, faults)
    try:
        tree = find_tree(name, revision or given.get("revision"))
        return _read_tree(tree, split, subset, documents, location)
    except HubUnavailable as error:
        location.fault(error.found, error.expected)
    except (OSError, httpx.HTTPError) as error:  # the hub's own errors are of these, and what breaks off
        said = " ".join(str(error).split())[:200] or type(error).__name__
        location.fault(f"a file that cannot be had ({said})", "files that can be read, or a connection to the hub")
    return (), ()


def _read_tree(
    tree: Tree, split: str | None, subset: str | None, documents: DocumentSource, location: Location
) -> tuple[tuple[Query, ...], tuple[Document, ...]]:
    faults = location.faults
    tables = find_tables(tree, subset, location)
    if tables is None:
        return (), ()
    qrels = tables["qrels"]
    chosen = _choose(qrels.splits, split, location, table="qrels")
    asked = _choose(tables["queries"].splits, chosen, location, table="queries") if chosen is not None else None
    held = _choose(tables["corpus"].splits, chosen, location, table="corpus") if asked is not None else None
    if chosen is None or asked is None or held is None:
        return (), ()
    judged = _read_qrels(qrels.tree, qrels.splits[chosen], faults)
    elsewhere = {
        str(row.get(QUERY_ID))
        for other, files in qrels.splits.items()
        if other != chosen
        for _, row in _rows(qrels.tree, files, [])
    }
    topics = [
        topic
        for topic in _read_topics(tree, tables["queries"].splits[asked], faults)
        if topic.id in judged or topic.id not in elsewhere
    ]
    found = (
        _read_corpus(tree, tables["corpus"].splits[held], faults) if documents is None else read_documents(documents)
    )
    by_id = {document.id: document for document in found}
    if not by_id and not faults:
        location.fault("no documents", "at least one in the corpus")
    return judged.to_queries(topics, by_id, topics_name="queries", documents_name="corpus"), found


def _choose(splits: Mapping[str, Sequence[str]], wanted: str | None, location: Location, *, table: str) -> str | None:
    """Return the split to read, as MTEB does: the one that is wanted, else the only one; None, and a fault, if none."""
    if wanted in splits:
        return wanted
    # The queries and the corpus mostly are whole, and their only split is called after them, or train
    if len(splits) == 1 and (wanted is None or table != "qrels"):
        return next(iter(splits))
    if wanted is None and "test" in splits:
        return "test"
    found = "several splits" if wanted is None else f"no split {quoted(wanted)}"
    location.fault(f"{found} of the {table}", f"split= one of {', '.join(map(quoted, splits))}")
    return None


def _rows(tree: Tree, names: Sequence[str], faults: list[Fault]) -> Iterator[tuple[Location, dict[str, Any]]]:
    """Yield the rows of files, each with its location."""
    for name in names:
        location = Location(name, faults)
        path = tree.fetch(name, location)
        if path is None:
            continue
        plain = name.lower().removesuffix(".gz")
        if plain.endswith(".parquet"):
            yield from parquet_rows(path, location)
            continue
        if plain.endswith(".json") and _is_list(path):
            yield from read_records(path, location)
            continue
        lines = _unpacked(path, location) if name.lower().endswith(".gz") else stream_lines(path, location)
        if plain.endswith(".tsv"):
            yield from _of_tabs(lines)
        else:
            for here, line in lines:
                entry = parse_object(line, here)
                if entry is not None:
                    yield here, entry


def _is_list(path: Path) -> bool:
    """Whether a file is one list in JSON, and not lines of JSON."""
    with path.open("rb") as file:
        return file.read(1000).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def _of_tabs(lines: Iterator[tuple[Location, str]]) -> Iterator[tuple[Location, dict[str, Any]]]:
    names: list[str] = []
    for here, line in lines:
        cells = [cell.strip() for cell in line.split("\t")]
        if not names:
            names = cells
            if not set(names) & _KNOWN_COLUMNS:
                here.fault(f"the first line {quoted(line)}", f"the names of columns: {QUERY_ID}, {DOC_ID}, {SCORE}")
                return
        elif len(cells) != len(names):
            here.fault(f"{len(cells)} columns", f"{len(names)} columns with tabs between them: {', '.join(names)}")
        else:
            yield here, dict(zip(names, cells, strict=True))


def _unpacked(path: Path, location: Location) -> Iterator[tuple[Location, str]]:
    """Yield the lines of a file that is packed with gzip, as long as they are not too many."""
    taken = 0
    try:
        with gzip.open(path, "rb") as file:
            for here, line in lines_of(cast("IO[bytes]", file), location, longest=most_bytes()):
                taken += len(line)
                if taken > most_bytes():
                    location.fault(f"a file that unpacks to more than {most_bytes():,} bytes", allowed())
                    return
                yield here, line
    except (OSError, EOFError, zlib.error) as error:
        location.fault(f"no readable gzip file ({error})", f"a file packed with gzip at {path}")


def _field(row: Mapping[str, Any], names: Sequence[str], here: Location) -> tuple[str, Any] | None:
    """Return the first of some fields that a row has, with its name; None, and a fault, if it has none."""
    found = next((name for name in names if name in row), None)
    if found is None:
        (here / names[0]).fault("no such field", f"the field {' or '.join(map(repr, names))} in every row")
        return None
    return found, row[found]


def _read_topics(tree: Tree, names: Sequence[str], faults: list[Fault]) -> Iterator[Topic]:
    for here, row in _rows(tree, names, faults):
        named, said = _field(row, ("_id", "id"), here), _field(row, ("text", "query"), here)
        query_id = None if named is None else read_id(named[1], here / named[0])
        text = None if said is None else read_string(said[1], here / said[0])
        if query_id and text:
            yield Topic(here, query_id, text, beir.read_tags(row.get("metadata")))


def _read_corpus(tree: Tree, names: Sequence[str], faults: list[Fault]) -> tuple[Document, ...]:
    documents: dict[str, Document] = {}
    first: dict[str, Location] = {}
    for here, row in _rows(tree, names, faults):
        metadata = row.get("metadata")
        if isinstance(metadata, dict):  # Parquet has null where a row lacks a field that others have
            row["metadata"] = {name: value for name, value in metadata.items() if value is not None}
        document = read_document(row, here)
        if document is None:
            continue
        if document.id in first:
            here.fault(f"the id {quoted(document.id)} of {first[document.id]}", "a unique id")
        first.setdefault(document.id, here)
        documents.setdefault(document.id, document)
    return tuple(documents.values())


def _read_qrels(tree: Tree, names: Sequence[str], faults: list[Fault]) -> Judgments:
    judged = Judgments()
    for here, row in _rows(tree, names, faults):
        fields = [_field(row, (name,), here) for name in (QUERY_ID, DOC_ID, SCORE)]
        if None in fields:
            continue
        query_id = read_id(row[QUERY_ID], here / QUERY_ID)
        doc_id = read_id(row[DOC_ID], here / DOC_ID)
        grade = _read_score(row[SCORE], here / SCORE)
        if query_id and doc_id and grade is not None:
            judged.add(query_id, doc_id, grade, here)
    return judged


def _read_score(value: Any, location: Location) -> int | None:
    """Return a grade, which tables may have as 1.0; None, and a fault, if it is no grade."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        location.fault(shown(value), "an integer: how relevant the document is")
        return None
    return read_grade(str(value).strip(), location)


def write_hub(dataset: Dataset, folder: Path, *, split: str = "test") -> None:
    """Write a folder that can be uploaded to the hub as it is: tables as JSON Lines, and a card that lists them.

    Args:
        dataset: what fits `CAPABILITIES`.
        folder: an empty folder.
        split: of the qrels.
    """
    (folder / "README.md").write_text(_CARD.format(split=split), encoding="utf-8", newline="\n")
    with (folder / "corpus.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        write_document_lines(dataset.documents, file)
    _write_lines(folder / "queries.jsonl", map(beir.topic_value, dataset.queries))
    (folder / "qrels").mkdir()
    judged = (
        {QUERY_ID: query.id, DOC_ID: doc_id, SCORE: grade}
        for query in dataset.queries
        for doc_id, grade in judged_documents(query, dataset.document_by_id)
    )
    _write_lines(folder / "qrels" / f"{split}.jsonl", judged)


def _write_lines(path: Path, values: Iterator[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
