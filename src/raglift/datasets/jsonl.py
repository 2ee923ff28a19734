"""Queries as JSON Lines: read strictly, and written so that they are read back equal."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.datasets.formats.rows import PACKED, read_packed
from raglift.errors import DatasetError, Fault
from raglift.types.anchors import InexactQuote, Resolution, Sources, UnresolvedLabel
from raglift.types.labels import IRRELEVANT, RELEVANT, Fact, Passage, Query
from raglift.types.parsing import read_query
from raglift.utilities.limits import user_path
from raglift.utilities.replacing import NOTHING_WRITTEN, replacing_file
from raglift.utilities.strict_files import decode_lines, parse_object, read_bytes
from raglift.utilities.validation import Location, quoted

if TYPE_CHECKING:
    from raglift.types.documents import Document


# The queries file: JSON Lines, one query on each line, read strictly.


def read_queries(path: Path, documents: Sequence[Document] = ()) -> tuple[Query, ...]:
    """Return the queries of a JSON Lines file, with every label resolved.

    Args:
        path: the file.
        documents: the source texts that spans and quote anchors point into.

    Raises:
        DatasetError: anything in the file is malformed or does not resolve; every fault is listed.
    """
    return resolve_queries(path, documents, tolerant=False)[0]


def resolve_queries(
    path: Path, documents: Sequence[Document] = (), *, tolerant: bool = True, partly: bool = False
) -> tuple[tuple[Query, ...], Resolution]:
    """Return the queries of a JSON Lines file, and how their labels were resolved.

    Args:
        path: the file.
        documents: the source texts that spans and quote anchors point into.
        tolerant: whether an anchor may be resolved to words that differ from it a little.
        partly: whether labels that do not resolve are left out, with the facts and queries that lose all of theirs;
            otherwise they are faults.
    """
    faults: list[Fault] = []
    location = Location(path.name, faults)
    sources = Sources(documents, tolerant=tolerant, partly=partly)
    queries: list[Query] = []
    inexact: list[InexactQuote] = []
    left_out: list[UnresolvedLabel] = []
    lost: list[str] = []
    first_line: dict[str, int | None] = {}
    data = (read_packed if path.name.lower().endswith(PACKED) else read_bytes)(path, location)
    for number, (here, line) in enumerate(decode_lines(data or b"", location), start=1):
        entry = parse_object(line, here)
        if entry is None:
            continue
        query = read_query(entry, here, sources, number)
        if query.id in first_line:
            (here / "id").fault(f"the id {quoted(query.id)} of line {first_line[query.id]}", "a unique id")
        elif query.id:
            first_line[query.id] = here.line
        nearly, missing = sources.take_notes(query.id)
        inexact += nearly
        left_out += missing
        if missing and not query.facts:
            lost.append(query.id)
        else:
            queries.append(query)
    sources.note_missing_documents()
    if not queries and not faults and not left_out:
        location.fault("no queries", "one JSON object on each line")
    resolved = sum(len(fact.passages) for query in queries for fact in query.facts)
    if faults or (left_out and not resolved):
        raise DatasetError(str(path), [*faults, *(each.fault for each in left_out)])
    resolved += sum(len(query.judged_irrelevant) for query in queries)
    return tuple(queries), Resolution(tuple(inexact), tuple(left_out), tuple(lost), resolved + len(left_out))


# Writing queries as JSON Lines, which `read_queries` reads back as equal records.


def passage_value(passage: Passage, *, default_grade: int = RELEVANT.start) -> str | dict[str, Any]:
    """Return the JSON value that `read_queries` reads as a passage.

    A span is `{"doc", "start", "end"}`, and its text is left to the document; a text with a document is
    `{"text", "doc"}`; a chunk id is `{"chunk"}`; a literal text is itself.
    """
    value = placed_value(passage, default_grade=default_grade)
    if isinstance(value, dict) and {"text", "doc", "start", "end"} <= value.keys():
        del value["text"]
    return value


def placed_value(passage: Passage, *, default_grade: int = RELEVANT.start) -> str | dict[str, Any]:
    """Return the JSON value likewise, with the text of a span: it can be read where its document is not at hand."""
    fields: dict[str, Any] = {
        "text": passage.text,
        "chunk": passage.chunk_id,
        "doc": passage.doc_id,
        "start": passage.start,
        "end": passage.end,
    }
    value = {name: field for name, field in fields.items() if field is not None}
    if passage.grade != default_grade:
        value["grade"] = passage.grade
    if passage.annotator is not None:
        value["annotator"] = asdict(passage.annotator)
    return passage.text if passage.text is not None and value.keys() == {"text"} else value


def query_value(query: Query, passage_value: Callable[..., Any] = passage_value) -> dict[str, Any]:
    """Return the JSON object that `read_queries` reads as a query.

    Args:
        query: the query.
        passage_value: what turns a passage into its value, for another form of some of them; it is called as
            `passage_value(passage, default_grade=0 or 1)`.
    """

    def fact_value(fact: Fact) -> Any:
        values = [passage_value(passage, default_grade=RELEVANT.start) for passage in fact.passages]
        return values[0] if len(values) == 1 else values

    value: dict[str, Any] = {"id": query.id, "query": query.text}
    value["relevant"] = [fact_value(fact) for fact in query.facts]
    if query.tags:
        value["tags"] = list(query.tags)
    if not query.answerable:
        value["answerable"] = False
    if query.judged_irrelevant:
        value["judged_irrelevant"] = [
            passage_value(passage, default_grade=IRRELEVANT.start) for passage in query.judged_irrelevant
        ]
    if query.annotator is not None:
        value["annotator"] = asdict(query.annotator)
    if query.filter is not None:
        value["filter"] = query.filter.to_dict()
    return value


def write_queries(
    queries: Iterable[Query],
    path: str | os.PathLike[str],
    documents: Sequence[Document] = (),
    *,
    passage_value: Callable[..., Any] | None = None,
    overwrite: bool = True,
) -> Path:
    """Write queries as raglift's own `queries.jsonl`, all of them or nothing.

    `read_queries(path, documents)` gives equal queries back.

    Args:
        queries: the queries, at least one.
        path: the file; its folder is made when missing.
        documents: the source texts. When they are given, every span and document id is resolved in them before
            anything is written; without them a span is written with its text, and can be read without them.
        passage_value: what turns a passage into its JSON value, for another form of some of them, as
            `{"doc", "from", "to"}`; it is called as `passage_value(passage, default_grade=0 or 1)`.
        overwrite: whether a file that is there may be replaced.

    Returns:
        The path.

    Raises:
        DatasetError: a query would not be read back as it is, two have one id, there is none, or the file cannot
            be written; every fault is listed.
    """
    target = user_path(path)
    faults: list[Fault] = []
    values = check_queries(queries, documents, faults, passage_value or _default_value(documents))
    if faults:
        raise DatasetError(str(target), faults, NOTHING_WRITTEN)
    with replacing_file(target, overwrite=overwrite) as file:
        file.writelines(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    return target


def _default_value(documents: Sequence[Document]) -> Callable[..., Any]:
    return passage_value if documents else placed_value


def check_queries(
    queries: Iterable[Query],
    documents: Sequence[Document],
    faults: list[Fault],
    passage_value: Callable[..., Any] = passage_value,
) -> list[dict[str, Any]]:
    """Return the JSON objects of the queries; what would not be read back as it is becomes a fault."""
    sources = Sources(documents)
    values: list[dict[str, Any]] = []
    first: dict[str, int] = {}
    for index, query in enumerate(queries):
        location = Location("queries", faults, field=f"[{index}]")
        value = query_value(query, passage_value)
        known = len(faults)
        read = read_query(value, location, sources, index + 1)
        if documents and len(faults) == known and read != query:
            expected = "a query that is read back as it is: do its spans have the text of their documents?"
            location.fault(f"the query {quoted(query.id)}, which would be read back as another", expected)
        if query.id in first:
            (location / "id").fault(f"the id {quoted(query.id)} of queries[{first[query.id]}]", "a unique id")
        first.setdefault(query.id, index)
        values.append(value)
    if not values:
        Location("queries", faults).fault("no queries", "at least one")
    return values
