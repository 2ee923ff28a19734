"""The queries file: JSON Lines, one query on each line, read strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.dataset.decoding import decode_lines, read_bytes
from raglift.dataset.strict_json import parse_object
from raglift.errors import DatasetError
from raglift.faults import Place, quoted
from raglift.records.anchors import Sources
from raglift.records.queries import read_query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from raglift.errors import Fault
    from raglift.records import Document, Query

__all__ = ["read_queries"]


def read_queries(path: Path, documents: Sequence[Document] = ()) -> tuple[Query, ...]:
    """Return the queries of a JSON Lines file, with every label resolved.

    Args:
        path: the file.
        documents: the source texts that spans and quote anchors point into.

    Raises:
        DatasetError: anything in the file is malformed or does not resolve; every fault is listed.
    """
    faults: list[Fault] = []
    place = Place(path.name, faults)
    sources = Sources(documents)
    queries: list[Query] = []
    first_line: dict[str, int | None] = {}
    data = read_bytes(path, place)
    for here, line in decode_lines(data or b"", place):
        entry = parse_object(line, here)
        if entry is None:
            continue
        query = read_query(entry, here, sources)
        if query.id in first_line:
            (here / "id").fault(f"the id {quoted(query.id)} of line {first_line[query.id]}", "a unique id")
        elif query.id:
            first_line[query.id] = here.line
        queries.append(query)
    sources.note_missing_documents()
    if not queries and not faults:
        place.fault("no queries", "one JSON object on each line")
    if faults:
        raise DatasetError(str(path), faults)
    return tuple(queries)
