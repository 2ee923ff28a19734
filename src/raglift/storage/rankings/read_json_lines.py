"""JSON Lines: one object per query with its hits, or one object per hit; and labels, one object each."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from raglift.storage.rankings.columns import Row
from raglift.storage.rankings.files import (
    LONGEST_OBJECT,
    Parser,
    arrow_copy,
    has_enough_faults,
    open_unpacked,
    read_grade,
    table_of_blocks,
)
from raglift.storage.rankings.forms import GRADE, HITS, ID, QUERY_ID, SCORE
from raglift.types.parsing import read_id
from raglift.utilities.strict_files import lines_of, parse_object
from raglift.utilities.validation import Location, check_fields, quoted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa


_RUN_EXPECTED = (
    f'{{"{QUERY_ID}": "q1", "{HITS}": [{{"{ID}": "c7", "{SCORE}": 12.3}}, …]}} on each line, '
    f'or {{"{QUERY_ID}": "q1", "{ID}": "c7", "{SCORE}": 12.3}}'
)
_LABEL_EXPECTED = f'{{"{QUERY_ID}": "q1", "{ID}": "c7", "{GRADE}": 1}} on each line'


def first_object(path: Path, *, with_hits: bool = False) -> dict[str, Any]:
    """Return the object on the first line of a file; an empty one where there is none.

    Args:
        path: the file.
        with_hits: pass over queries whose list of hits is empty, which does not show what hits look like.

    Raises:
        OSError, EOFError, zlib.error: the file cannot be read, or not unpacked.
    """
    with open_unpacked(path) as file:
        for here, line in lines_of(file, Location(path.name, []), longest=LONGEST_OBJECT):
            found = parse_object(line, here) or {}
            if not with_hits or found.get(HITS) != []:
                return found
    return {}


# In bulk, if all lines are like the first.


def _run_table(path: Path) -> pa.Table | None:
    import pyarrow as pa

    first, text, number = first_object(path, with_hits=True), pa.string(), pa.float64()
    hits = first.get(HITS)
    if set(first) == {QUERY_ID, HITS} and isinstance(hits, list) and hits:
        hit = text if isinstance(hits[0], str) else pa.struct([(ID, text), (SCORE, number)])
        schema = pa.schema([(QUERY_ID, text), (HITS, pa.list_(hit))])
        table = table_of_blocks(path, LONGEST_OBJECT, lambda block: _parsed(block, schema, _columns_of_lists))
        return None if table is None or _has_two_lists_of_a_query(table) else table
    if set(first) == {QUERY_ID, ID, SCORE}:
        schema = pa.schema([(QUERY_ID, text), (ID, text), (SCORE, number)])
        return table_of_blocks(path, LONGEST_OBJECT, lambda block: _parsed(block, schema, _columns_of_hits))
    return None


def _parsed(block: bytes, schema: pa.Schema, columns: Callable[[pa.Table], pa.Table | None]) -> pa.Table | None:
    """Return the columns of a block; None unless there is just one object on each line, of just these fields."""
    from pyarrow import json

    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    if b"\r" in block or b"\n\n" in block or block.startswith(b"\n"):
        return None
    table = json.read_json(
        arrow_copy(block),
        json.ReadOptions(block_size=len(block) + 1),
        json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
    )
    return columns(table.combine_chunks()) if table.num_rows == lines else None


def _columns_of_lists(table: pa.Table) -> pa.Table | None:
    import pyarrow as pa
    from pyarrow import compute, types

    queries, lists = table.column(QUERY_ID).combine_chunks(), table.column(HITS).combine_chunks()
    ids = hits = compute.list_flatten(lists)
    if queries.null_count or lists.null_count or hits.null_count or len(queries.unique()) < len(queries):
        return None
    if types.is_struct(hits.type):
        ids = compute.struct_field(hits, ID)
        if not _are_finite(compute.struct_field(hits, SCORE)):
            return None
    # The dictionary has the queries without hits too
    query = pa.DictionaryArray.from_arrays(compute.list_parent_indices(lists).cast(pa.int32()), queries)
    return pa.table({QUERY_ID: query, ID: ids})


def _has_two_lists_of_a_query(table: pa.Table) -> bool:
    column = table.column(QUERY_ID)
    lists = sum(len(chunk.dictionary) for chunk in column.chunks)
    return len(column.unify_dictionaries().chunk(0).dictionary) < lists


def _columns_of_hits(table: pa.Table) -> pa.Table | None:
    scores = table.column(SCORE)
    return None if scores.null_count or not _are_finite(scores) else table


def _are_finite(scores: pa.ChunkedArray) -> bool:
    from pyarrow import compute

    return bool(compute.all(compute.is_finite(scores), min_count=0).as_py())


# Row by row.


def _run_rows(path: Path, location: Location) -> Iterator[Row]:
    """Yield the hits.

    A list of hits is in its own order, best first; objects of one hit are in the order of their scores, or in the
    file's where they have none.
    """
    shapes: dict[str, Location] = {}
    scored: dict[bool, Location] = {}
    queries: dict[str, Location] = {}
    for here, entry in _objects(path, location, _RUN_EXPECTED):
        shape = HITS if HITS in entry else ID
        first = shapes.setdefault(shape, here)
        if len(shapes) > 1 and first is here:
            here.fault(shown(entry), f"objects like that on line {next(iter(shapes.values())).line}")
        yield from _hits_of_list(entry, here, queries) if shape == HITS else _hit_of_object(entry, here, scored)


def _hits_of_list(entry: dict[str, Any], here: Location, queries: dict[str, Location]) -> Iterator[Row]:
    if not check_fields(entry, (QUERY_ID, HITS), here):
        return
    query, hits = _read_id(entry, QUERY_ID, here), entry[HITS]
    if not isinstance(hits, list):
        (here / HITS).fault(shown(hits), "a list of hits, best first")
    elif query is not None and queries.setdefault(query, here) is not here:
        here.fault(f"the query {quoted(query)} a second time", "one list of hits for each query")
    elif query is not None:
        yield Row(here, query, None, None)
        for number, hit in enumerate(hits):
            at = here / HITS / number
            id_ = _read_hit(hit, at) if isinstance(hit, dict) else read_id(hit, at)
            if id_ is not None:
                yield Row(at, query, id_, None)


def _read_hit(hit: dict[str, Any], at: Location) -> str | None:
    if not check_fields(hit, (ID, SCORE), at):
        return None
    id_, _ = _read_id(hit, ID, at), _read_score(hit, at)
    return id_


def _hit_of_object(entry: dict[str, Any], here: Location, scored: dict[bool, Location]) -> Iterator[Row]:
    if not check_fields(entry, (QUERY_ID, ID, SCORE), here):
        return
    query, id_ = _read_id(entry, QUERY_ID, here), _read_id(entry, ID, here)
    faults = len(here.faults)
    score = _read_score(entry, here)
    if len(here.faults) > faults:
        return
    first = scored.setdefault(score is not None, here)
    if len(scored) > 1 and first is here:
        found, line = "none" if score is None else shown(score), next(iter(scored.values())).line
        (here / SCORE).fault(found, f"a score in each line or in none; see line {line}")
    if query is not None and id_ is not None:
        yield Row(here, query, id_, score)


def _label_rows(path: Path, location: Location) -> Iterator[Row]:
    for here, entry in _objects(path, location, _LABEL_EXPECTED):
        if not check_fields(entry, (QUERY_ID, ID, GRADE), here):
            continue
        query, id_ = _read_id(entry, QUERY_ID, here), _read_id(entry, ID, here)
        grade = read_grade(entry.get(GRADE, 1), here / GRADE)
        if query is not None and id_ is not None and grade is not None:
            yield Row(here, query, id_, grade)


RUN, LABELS = Parser(_run_table, _run_rows), Parser(lambda _: None, _label_rows)


def _objects(path: Path, location: Location, expected: str) -> Iterator[tuple[Location, dict[str, Any]]]:
    any_line = False
    with open_unpacked(path) as file:
        for here, line in lines_of(file, location, longest=LONGEST_OBJECT):
            any_line = True
            entry = parse_object(line, here)
            if entry is not None:
                yield here, entry
            if has_enough_faults(here, expected):
                return
    if not any_line and not location.faults:
        location.fault("no lines", expected)


def _read_id(entry: dict[str, Any], name: str, here: Location) -> str | None:
    if name not in entry:
        (here / name).fault("no such field", f"the field {name!r}")
        return None
    return read_id(entry[name], here / name)


def _read_score(entry: dict[str, Any], here: Location) -> float | None:
    """Return a score; None if there is none, and a fault where it is not a number."""
    score = entry.get(SCORE)
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not isfinite(score):
        (here / SCORE).fault(shown(score), "a number, as 12.34")
        return None
    return float(score)
