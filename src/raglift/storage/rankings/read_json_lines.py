"""JSON Lines: one object per query with its hits, or one object per hit; and labels, one object each.

As in the other text format, Arrow reads regular files, and other files are read line by line.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.base.strict_files import lines_of, parse_object
from raglift.base.validation import Location, check_fields, shown
from raglift.matching.numbered import all_texts
from raglift.records.parsing import read_id
from raglift.storage.rankings.forms import GRADE, HITS, ID, QUERY_ID, SCORE
from raglift.storage.rankings.read_tables import (
    LONGEST_OBJECT,
    HitCollector,
    Hits,
    Labels,
    arrow_copy,
    blocks_of,
    encoded_texts,
    has_duplicates,
    has_enough_faults,
    open_unpacked,
    read_grade,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import IO

    import pyarrow as pa
    from numpy.typing import NDArray


_BLOCK = 2**21
"""So many bytes are read at a time: each block has texts of its own, which are numbered together at the end."""
_RUN = (
    f'{{"{QUERY_ID}": "q1", "{HITS}": [{{"{ID}": "c7", "{SCORE}": 12.3}}, …]}} on each line, '
    f'or {{"{QUERY_ID}": "q1", "{ID}": "c7", "{SCORE}": 12.3}}'
)
_LABEL = f'{{"{QUERY_ID}": "q1", "{ID}": "c7", "{GRADE}": 1}} on each line'


def read_json_run(path: Path, location: Location) -> Hits | None:
    """Return the hits of a file of JSON Lines; None, and faults, where it is malformed.

    A list of hits is in its own order, best first; objects of one hit are in the order of their scores, or in the
    file's where they have none.
    """
    found = None
    with open_unpacked(path, location) as file:
        found = None if file is None else _in_bulk(file, first_object(path, with_hits=True))
    if location.faults:
        return None
    if found is None or has_duplicates(found):
        with open_unpacked(path, location) as file:
            found = None if file is None else _line_by_line(file, location)
    return None if location.faults else found


def first_object(path: Path, *, with_hits: bool = False) -> dict[str, Any]:
    """Return the object on the first line of a file; an empty one where there is none.

    Args:
        path: the file.
        with_hits: pass over queries whose list of hits is empty, which does not show what hits look like.
    """
    ignored = Location(path.name, [])
    with open_unpacked(path, ignored) as file:
        for here, line in lines_of(file, ignored, longest=LONGEST_OBJECT) if file is not None else ():
            found = parse_object(line, here) or {}
            if not with_hits or found.get(HITS) != []:
                return found
    return {}


def _in_bulk(file: IO[bytes], first: dict[str, Any]) -> Hits | None:
    """Return the hits of a file whose lines are all like the first; None if they must be looked at one by one."""
    import pyarrow as pa

    text = pa.string()
    hits = first.get(HITS)
    if set(first) == {QUERY_ID, HITS} and isinstance(hits, list) and hits:
        bare = isinstance(hits[0], str)
        of_hit = text if bare else pa.struct([(ID, text), (SCORE, pa.float64())])
        schema, columns = pa.schema([(QUERY_ID, text), (HITS, pa.list_(of_hit))]), _columns_of_lists
    elif set(first) == {QUERY_ID, ID, SCORE}:
        schema, columns = pa.schema([(QUERY_ID, text), (ID, text), (SCORE, pa.float64())]), _columns_of_hits
    else:
        return None
    parts = []
    for block in blocks_of(file, LONGEST_OBJECT, _BLOCK):
        if block is None:
            return None
        if block.strip():
            table = _bulk_table(block, schema)
            part = None if table is None else columns(table)
            if part is None:
                return None
            parts.append(part)
    return _joined(parts)


def _bulk_table(block: bytes, schema: pa.Schema) -> pa.Table | None:
    """Return the objects of a block; None unless there is just one on each line, of just these fields."""
    import pyarrow as pa
    from pyarrow import json

    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    if b"\0" in block or b"\r" in block or b"\n\n" in block or block.startswith(b"\n"):
        return None
    try:
        block.decode()
        table = json.read_json(
            arrow_copy(block),
            json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    return table if table.num_rows == lines else None


_Part = tuple["pa.ChunkedArray", "NDArray[np.int64] | None", "pa.ChunkedArray", "NDArray[np.float64] | None"]
"""The queries; how many hits each has, or None for one each; the ids of the hits; their scores, where they count."""


def _columns_of_lists(table: pa.Table) -> _Part | None:
    from pyarrow import compute, types

    queries, lists = table.column(QUERY_ID), table.column(HITS)
    if queries.null_count or lists.null_count:
        return None
    items = compute.list_flatten(lists)
    if items.null_count:
        return None
    ids = items
    if types.is_struct(items.type):
        ids = compute.struct_field(items, ID)
        if not _are_finite(compute.struct_field(items, SCORE)):
            return None
    lengths = compute.list_value_length(lists).to_numpy().astype(np.int64)
    return None if ids.null_count else (queries, lengths, ids, None)


def _columns_of_hits(table: pa.Table) -> _Part | None:
    queries, ids, scores = (table.column(name) for name in (QUERY_ID, ID, SCORE))
    if queries.null_count or ids.null_count or scores.null_count or not _are_finite(scores):
        return None
    return queries, None, ids, scores.to_numpy()


def _are_finite(scores: pa.ChunkedArray) -> bool:
    from pyarrow import compute

    return bool(compute.all(compute.is_finite(scores), min_count=0).as_py())


def _joined(parts: list[_Part]) -> Hits | None:
    """Return the hits of all blocks; None if a query has two lists, or something has no id."""
    if not parts:
        return None
    query, queries = encoded_texts(_chunked([part[0] for part in parts]))
    id_, names = encoded_texts(_chunked([part[2] for part in parts]))
    if any(part[1] is not None for part in parts):
        if len(queries) != len(query):
            return None
        query = np.repeat(query, np.concatenate([part[1] for part in parts if part[1] is not None]))
    known = [*all_texts(queries), *all_texts(names)]
    if not all(map(str.strip, known)):
        return None
    scores = [part[3] for part in parts if part[3] is not None]
    return Hits(tuple(all_texts(queries)), names, query, id_, np.concatenate(scores) if scores else None)


def _chunked(columns: list[Any]) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([chunk for column in columns for chunk in getattr(column, "chunks", [column])], pa.string())


def _line_by_line(file: IO[bytes], location: Location) -> Hits:
    """Return what a run says, reading it line by line; note every fault."""
    found = HitCollector(location)
    shapes: dict[str, Location] = {}
    scored: dict[bool, Location] = {}
    for here, entry in _objects(file, location, _RUN):
        shape = HITS if HITS in entry else ID
        first = shapes.setdefault(shape, here)
        if len(shapes) > 1 and first is here:
            here.fault(shown(entry), f"objects like that on line {next(iter(shapes.values())).line}")
        if shape == HITS:
            _add_list(entry, here, found)
        else:
            _add_hit(entry, here, found, scored)
    return found.hits(by_score=HITS not in shapes)


def _objects(file: IO[bytes], location: Location, expected: str) -> Iterator[tuple[Location, dict[str, Any]]]:
    any_line = False
    for here, line in lines_of(file, location, longest=LONGEST_OBJECT):
        any_line = True
        entry = parse_object(line, here)
        if entry is not None:
            yield here, entry
        if has_enough_faults(here, expected):
            return
    if not any_line and not location.faults:
        location.fault("no lines", expected)


def _add_list(entry: dict[str, Any], here: Location, found: HitCollector) -> None:
    if not check_fields(entry, (QUERY_ID, HITS), here):
        return
    query = _read(entry, QUERY_ID, here, read_id)
    hits = entry[HITS]
    if not isinstance(hits, list):
        (here / HITS).fault(shown(hits), "a list of hits, best first")
        return
    if query is None or not found.begin(here, query):
        return
    for number, hit in enumerate(hits):
        at = here / HITS / number
        if isinstance(hit, dict):
            if check_fields(hit, (ID, SCORE), at):
                id_, _ = _read(hit, ID, at, read_id), _read_score(hit, at)
                if id_ is not None:
                    found.add(at, query, id_, None)
        elif (id_ := read_id(hit, at)) is not None:
            found.add(at, query, id_, None)


def _add_hit(entry: dict[str, Any], here: Location, found: HitCollector, scored: dict[bool, Location]) -> None:
    if not check_fields(entry, (QUERY_ID, ID, SCORE), here):
        return
    query, id_ = _read(entry, QUERY_ID, here, read_id), _read(entry, ID, here, read_id)
    faults = len(here.faults)
    score = _read_score(entry, here)
    if len(here.faults) > faults:
        return
    first = scored.setdefault(score is not None, here)
    if len(scored) > 1 and first is here:
        other = next(iter(scored.values())).line
        (here / SCORE).fault(
            "none" if score is None else shown(score), f"a score in each line or in none; see line {other}"
        )
    if query is not None and id_ is not None:
        found.add(here, query, id_, score)


def _read(entry: dict[str, Any], field: str, here: Location, read: Callable[[Any, Location], str | None]) -> str | None:
    if field not in entry:
        (here / field).fault("no such field", f"the field {field!r}")
        return None
    return read(entry[field], here / field)


def _read_score(entry: dict[str, Any], here: Location) -> float | None:
    """Return a score; None if there is none, and a fault where it is not a number."""
    score = entry.get(SCORE)
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not isfinite(score):
        (here / SCORE).fault(shown(score), "a number, as 12.34")
        return None
    return float(score)


def read_json_labels(path: Path, location: Location) -> dict[str, dict[str, int]] | None:
    """Return the grade of each judged id of each query; None, and faults, where a line is malformed."""
    found = Labels()
    with open_unpacked(path, location) as file:
        for here, entry in _objects(file, location, _LABEL) if file is not None else ():
            if not check_fields(entry, (QUERY_ID, ID, GRADE), here):
                continue
            query, id_ = _read(entry, QUERY_ID, here, read_id), _read(entry, ID, here, read_id)
            grade = read_grade(entry.get(GRADE, 1), here / GRADE)
            if query is not None and id_ is not None and grade is not None:
                found.add(here, query, id_, grade)
    return None if location.faults else found.grades
