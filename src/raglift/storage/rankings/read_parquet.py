"""Parquet: one row per hit, or one row per label. Only the columns that are needed are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute, parquet, types

from raglift.storage.rankings.columns import Row
from raglift.storage.rankings.files import Parser, has_enough_faults, read_grade
from raglift.storage.rankings.forms import GRADE, ID, QUERY_ID, RANK, SCORE
from raglift.types.parsing import read_id
from raglift.utilities.validation import Location, nearest, quoted, shown

_ROWS = 10_000
_KINDS = {QUERY_ID: "texts", ID: "texts", SCORE: "numbers", RANK: "integers", GRADE: "integers"}
_OF_RUN, _OF_LABELS = ((QUERY_ID, ID), (RANK, SCORE)), ((QUERY_ID, ID, GRADE), ())
"""The columns that must be there, and those that may."""


def _run_table(path: Path) -> pa.Table | None:
    """Return the columns of a run, with ranks, if there are any, as scores that fall."""
    table = _columns(path, Location(path.name, []), *_OF_RUN)
    if table is None or RANK not in table.column_names:
        return table
    if table.unify_dictionaries().group_by([QUERY_ID, RANK]).aggregate([]).num_rows < table.num_rows:
        return None
    fall = compute.negate(compute.cast(table.column(RANK), "float64"))
    return table.select([QUERY_ID, ID]).append_column(SCORE, fall)


def _run_rows(path: Path, location: Location) -> Iterator[Row]:
    """Yield the hits, whose order is that of their ranks if there is such a column, else of scores, else of rows."""
    table = _columns(path, location, *_OF_RUN)
    first: dict[tuple[str, int], Location] = {}
    for here, row in _rows(table, location, "rankings"):
        order = next((name for name in (RANK, SCORE) if name in row), None)
        query, id_ = read_id(row[QUERY_ID], here / QUERY_ID), read_id(row[ID], here / ID)
        value: Any = None if order is None else row[order]
        if order is not None and (value is None or isnan(value)):
            (here / order).fault(shown(value), f"a {order} in each row")
        elif query is not None and id_ is not None:
            earlier = first.setdefault((query, value), here) if order == RANK else here
            if earlier is not here:
                (here / RANK).fault(f"the rank {value} of {earlier.field}", "each rank once in a ranking")
            yield Row(here, query, id_, -value if order == RANK else value)


def _label_table(path: Path) -> pa.Table | None:
    return _columns(path, Location(path.name, []), *_OF_LABELS)


def _label_rows(path: Path, location: Location) -> Iterator[Row]:
    for here, row in _rows(_columns(path, location, *_OF_LABELS), location, "labels"):
        query, id_ = read_id(row[QUERY_ID], here / QUERY_ID), read_id(row[ID], here / ID)
        grade = read_grade(row[GRADE], here / GRADE)
        if query is not None and id_ is not None and grade is not None:
            yield Row(here, query, id_, grade)


RUN, LABELS = Parser(_run_table, _run_rows), Parser(_label_table, _label_rows)


def _columns(path: Path, location: Location, needed: Sequence[str], optional: Sequence[str]) -> pa.Table | None:
    """Return the columns that there are; None, and faults, if one is missing or of another kind."""
    with path.open("rb"):  # what the system says of a file that cannot be opened is clearer than what Arrow does
        pass
    try:
        schema = parquet.read_schema(path)
        present = [name for name in (*needed, *optional) if name in schema.names]
        _check_columns(schema, needed, present, location)
        if location.faults:
            return None
        # Dictionary-encoded, equal texts are stored once
        table = parquet.ParquetFile(path, read_dictionary=present).read(columns=present)
        table.validate(full=True)  # a damaged file may hold texts that are no UTF-8
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        location.fault(f"no Parquet file that can be read ({str(error).partition(chr(10))[0]})", "a Parquet file")
        return None
    if not table.num_rows:
        location.fault("no rows", "at least one")
        return None
    for place, name in enumerate(present):
        if _KINDS[name] == "texts" and not pa.types.is_dictionary(table.column(place).type):
            table = table.set_column(place, name, table.column(place).cast(pa.string()))
    return table


def _check_columns(schema: pa.Schema, needed: Sequence[str], present: Sequence[str], location: Location) -> None:
    for name in needed:
        if name not in schema.names:
            location.fault(f"no column {quoted(name)}", nearest(name, schema.names))
    for name in present:
        if schema.names.count(name) > 1:
            (location / name).fault(f"{schema.names.count(name)} columns of this name", "one column of each name")
        elif not _is_of_kind(schema.field(name).type, _KINDS[name]):
            (location / name).fault(f"a column of {schema.field(name).type}", f"a column of {_KINDS[name]}")


def _is_of_kind(found: pa.DataType, kind: str) -> bool:
    value = found.value_type if types.is_dictionary(found) else found
    is_text = types.is_string(value) or types.is_large_string(value) or types.is_string_view(value)
    integers = types.is_integer(found)
    if kind == "texts":
        return bool(is_text or integers)  # many files number what they hold
    return bool(integers or (kind == "numbers" and types.is_floating(found)))


def _rows(table: pa.Table | None, location: Location, expected: str) -> Iterator[tuple[Location, dict[str, Any]]]:
    number = 0
    for batch in () if table is None else table.to_batches(max_chunksize=_ROWS):
        for row in batch.to_pylist():
            number += 1
            yield location / f"row {number}", row
            if has_enough_faults(location, expected):
                return
