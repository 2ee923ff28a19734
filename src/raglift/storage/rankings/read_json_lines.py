"""JSON Lines: one object per query with its hits, or one object per hit; and labels, one object each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import compute, json, types

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
from raglift.storage.rankings.forms import (
    DOC,
    END,
    GRADE,
    HITS,
    ID,
    IDS,
    QUERY_ID,
    QUESTIONS,
    SCORE,
    START,
    TEXT,
    TEXTS,
)
from raglift.types.checking import FARTHEST
from raglift.types.documents import Chunk
from raglift.types.parsing import field_of, read_characters, read_id, read_string
from raglift.utilities.strict_files import lines_of, parse_object
from raglift.utilities.validation import Location, check_fields, quoted, shown

_LISTS = (HITS, TEXTS, IDS)
_RUN_EXPECTED = (
    f'{{"{QUERY_ID}": "q1", "{HITS}": [{{"{ID}": "c7", "{SCORE}": 12.3}}, …]}} on each line, '
    f'or {{"{QUERY_ID}": "q1", "{ID}": "c7", "{SCORE}": 12.3}}'
)
_LINE_EXPECTED = f'{{"{QUESTIONS[0]}": "…", "{TEXTS}": ["…", …]}} on each line, or {{"{ID}": "q1", "{IDS}": ["c7", …]}}'
_LABEL_EXPECTED = (
    f'{{"{QUERY_ID}": "q1", "{ID}": "c7", "{GRADE}": 1}} on each line, '
    f'or {{"{QUESTIONS[0]}": "…", "passages": ["…", …]}}'
)


def first_object(path: Path, *, with_hits: bool = False) -> dict[str, Any]:
    """Return the object on the first line of a file that holds one; an empty one where there is none.

    Args:
        path: the file.
        with_hits: pass over queries whose list of hits is empty, which does not show what hits look like, and over no
            line that holds no object: Arrow, which would read the file, can crash at one.

    Raises:
        OSError, EOFError, zlib.error: the file cannot be read, or not unpacked.
    """
    with open_unpacked(path) as file:
        for here, line in lines_of(file, Location(path.name, []), longest=LONGEST_OBJECT):
            found = parse_object(line, here)
            if found is not None and not (with_hits and found.get(HITS) == []):
                return found
            if (with_hits and found is None) or has_enough_faults(here, _LINE_EXPECTED):
                break
    return {}


# In bulk, if all lines are like the first.


def _run_table(path: Path) -> pa.Table | None:
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
        shape = HITS if holds_list(entry) else ID
        first = shapes.setdefault(shape, here)
        if len(shapes) > 1 and first is here:
            here.fault(shown(entry), f"objects like that on line {next(iter(shapes.values())).line}")
        yield from _ids_of_list(entry, here, queries) if shape == HITS else _hit_of_object(entry, here, scored)


def _ids_of_list(entry: dict[str, Any], here: Location, queries: dict[str, Location]) -> Iterator[Row]:
    line = _read_line(entry, here)
    if line is None:
        return
    if line.id is None:
        (here / QUERY_ID).fault("no such field", f"the field {QUERY_ID!r}: the labels have ids, and no questions")
    elif queries.setdefault(line.id, here) is not here:
        here.fault(f"the query {quoted(line.id)} a second time", "one list of hits for each query")
    else:
        yield Row(here, line.id, None, None)
        for hit in line.hits:
            if hit.id is None:
                hit.location.fault("a text without an id", "an id of each hit: the labels are ids")
            else:
                yield Row(hit.location, line.id, hit.id, None)


# The hits of one question on each line.


class GivenHit(NamedTuple):
    """A hit of a list."""

    location: Location
    id: str | None
    """Its id, if it has one."""
    chunk: Chunk
    """Its text, which is empty where there is only an id, and where that stands."""
    score: float | None


class Line(NamedTuple):
    """The hits of one query."""

    location: Location
    id: str | None
    """The id of the query, if it is named by one."""
    question: str | None
    """Its text, if the line has it."""
    hits: Iterable[GivenHit]
    """Best first; each is read, and its faults noted, when it is asked for."""


def holds_list(entry: dict[str, Any]) -> bool:
    """Whether an object is the hits of one query; else it is one hit of a query."""
    return QUERY_ID not in entry or any(name in entry for name in (*_LISTS, *QUESTIONS))


def read_lines(path: Path, location: Location) -> Iterator[Line]:
    """Yield the hits of each query, of a file that has an object for each query."""
    for here, entry in _objects(path, location, _LINE_EXPECTED):
        line = _read_line(entry, here)
        if line is not None:
            yield line


def _read_line(entry: dict[str, Any], here: Location) -> Line | None:
    """Return the hits of one query; None, and a fault, where they cannot be read."""
    known = len(here.faults)
    check_fields(entry, (QUERY_ID, ID, *QUESTIONS, *_LISTS), here)
    name, question, hits = (field_of(entry, names, here) for names in ((QUERY_ID, ID), QUESTIONS, _LISTS))
    if name is None and question is None:
        (here / ID).fault("no such field", f"the field {ID!r}, {QUERY_ID!r} or {QUESTIONS[0]!r}")
    if hits is None:
        (here / HITS).fault("no such field", f"one of the fields {', '.join(map(repr, _LISTS))}")
    elif not isinstance(entry[hits], list):
        (here / hits).fault(shown(entry[hits]), "a list of hits, best first")
    id_ = None if name is None else read_id(entry[name], here / name)
    text = None if question is None else read_string(entry[question], here / question)
    if len(here.faults) > known or hits is None:
        return None
    found = (_read_hit(hit, here / hits / number, hits) for number, hit in enumerate(entry[hits]))
    return Line(here, id_, text, (hit for hit in found if hit is not None))


def _read_hit(hit: object, at: Location, name: str) -> GivenHit | None:
    if name == TEXTS:
        text = read_characters(hit, at)
        return None if text is None else GivenHit(at, None, Chunk(text), None)
    if name == IDS or not isinstance(hit, dict):
        id_ = read_id(hit, at)
        return None if id_ is None else GivenHit(at, id_, Chunk("", id_), None)
    known = len(at.faults)
    check_fields(hit, (ID, TEXT, DOC, START, END, SCORE), at)
    fields = {field: value for field, value in hit.items() if value is not None}
    if ID not in fields and TEXT not in fields:
        (at / ID).fault("no such field", f"the field {ID!r} or {TEXT!r}")
    id_, doc = (read_id(fields[field], at / field) if field in fields else None for field in (ID, DOC))
    text = read_characters(fields.get(TEXT, ""), at / TEXT)
    start, end = (_read_offset(fields.get(field), at / field) for field in (START, END))
    if start is not None and end is not None and end < start:
        (at / END).fault(shown(end), f"{start:,}, the start, or more")
    score = _read_score(hit, at)
    return None if len(at.faults) > known else GivenHit(at, id_, Chunk(text or "", id_ or "", doc, start, end), score)


def _read_offset(value: object, here: Location) -> int | None:
    if value is not None and (type(value) is not int or not 0 <= value < FARTHEST):
        here.fault(shown(value), "an integer, 0 or more: a character offset into the document's text")
        return None
    return value


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
