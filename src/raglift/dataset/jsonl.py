"""The queries file: JSON Lines, one query on each line, read strictly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from raglift.dataset.anchors import Sources
from raglift.dataset.decoding import decode_lines, read_bytes
from raglift.dataset.faults import Place, quoted, shown
from raglift.dataset.labels import read_query
from raglift.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import NoReturn

    from raglift.errors import Fault
    from raglift.records import Document, Query

__all__ = ["read_queries"]

_MOST_DIGITS = 18


class _NotStrictError(Exception):
    """JSON that Python would accept and raglift does not."""

    def __init__(self, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(found)


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
        entry = _parse_object(line, here)
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


def _parse_object(line: str, place: Place) -> dict[str, Any] | None:
    """Return the object on a line; None, and a fault, when it holds anything else."""
    try:
        value = _STRICT.decode(line)
    except json.JSONDecodeError as error:
        rest = quoted(line[error.pos : error.pos + 20]) if error.pos < len(line) else "the end of the line"
        expected = "one JSON object on each line"
        (place / f"column {error.colno}").fault(f"{rest} ({error.msg[0].lower()}{error.msg[1:]})", expected)
    except _NotStrictError as error:
        place.fault(error.found, error.expected)
    except RecursionError:
        place.fault("lists or objects nested too deeply to read", "facts, and lists of alternatives in them")
    else:
        if isinstance(value, dict):
            return value
        place.fault(shown(value), "a JSON object: {…}")
    return None


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise _NotStrictError(f"the field {quoted(name)} twice in one object", "each field once")
        fields[name] = value
    return fields


def _no_constant(name: str) -> NoReturn:
    raise _NotStrictError(name, "a number: JSON has no NaN and no Infinity")


def _short_integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise _NotStrictError(f"an integer of {len(digits)} digits", f"at most {_MOST_DIGITS} digits")
    return int(digits)


_STRICT = json.JSONDecoder(object_pairs_hook=_unique_fields, parse_constant=_no_constant, parse_int=_short_integer)
