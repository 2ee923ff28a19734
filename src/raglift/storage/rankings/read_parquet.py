"""Parquet: one row per hit, or one row per label. Only the columns that are needed are read."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.base.validation import nearest, quoted, shown
from raglift.matching.numbered import all_texts
from raglift.records.parsing import read_id
from raglift.storage.rankings.forms import GRADE, ID, QUERY_ID, RANK, SCORE
from raglift.storage.rankings.read_tables import (
    HitCollector,
    Hits,
    Labels,
    encoded_texts,
    has_duplicates,
    has_enough_faults,
    open_unpacked,
    read_grade,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from raglift.base.validation import Location


_ROWS = 10_000
_KINDS = {QUERY_ID: "texts", ID: "texts", SCORE: "numbers", RANK: "integers", GRADE: "integers"}


def read_parquet_run(path: Path, location: Location) -> Hits | None:
    """Return the hits of a Parquet file; None, and faults, where it is malformed.

    They are in the order of their ranks where there is a column of them, else of their scores, else of the rows.
    """
    table = _table(path, location, needed=(QUERY_ID, ID), optional=(RANK, SCORE))
    if table is None:
        return None
    order = next((name for name in (RANK, SCORE) if name in table.column_names), None)
    hits = _hits(table, order)
    if hits is None or has_duplicates(hits) or (order == RANK and _has_equal_ranks(hits)):
        hits = _row_by_row(table, order, location)
    return None if location.faults else hits


def read_parquet_labels(path: Path, location: Location) -> dict[str, dict[str, int]] | None:
    """Return the grade of each judged id of each query; None, and faults, where the file is malformed."""
    table = _table(path, location, needed=(QUERY_ID, ID, GRADE))
    if table is None:
        return None
    found = Labels()
    for here, row in _rows(table, location):
        query, id_ = read_id(row[QUERY_ID], here / QUERY_ID), read_id(row[ID], here / ID)
        grade = read_grade(row[GRADE], here / GRADE)
        if query is not None and id_ is not None and grade is not None:
            found.add(here, query, id_, grade)
        if has_enough_faults(here, "labels"):
            break
    return None if location.faults else found.grades


def _table(
    path: Path, location: Location, *, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> pa.Table | None:
    """Return the columns that there are; None, and faults, where one is missing or of another kind."""
    import pyarrow as pa
    from pyarrow import parquet

    with open_unpacked(path, location) as file:
        if file is None:
            return None
    try:
        source = parquet.ParquetFile(path)
        schema = source.schema_arrow
        for name in needed:
            if name not in schema.names:
                location.fault(f"no column {quoted(name)}", nearest(name, schema.names))
        present = [name for name in (*needed, *optional) if name in schema.names]
        for name in present:
            if schema.names.count(name) > 1:
                (location / name).fault(f"{schema.names.count(name)} columns of this name", "one column of each name")
            elif not _is_of_kind(schema.field(name).type, _KINDS[name]):
                (location / name).fault(f"a column of {schema.field(name).type}", f"a column of {_KINDS[name]}")
        if location.faults:
            return None
        # Dictionary-encoded, equal texts are stored once
        source = parquet.ParquetFile(path, read_dictionary=present)
        table = source.read(columns=present)
        table.validate(full=True)  # a damaged file may hold texts that are no UTF-8
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        location.fault(f"no Parquet file that can be read ({str(error).partition(chr(10))[0]})", "a Parquet file")
        return None
    if not table.num_rows:
        location.fault("no rows", "at least one")
        return None
    return table


def _is_of_kind(found: pa.DataType, kind: str) -> bool:
    from pyarrow import types

    value = found.value_type if types.is_dictionary(found) else found
    is_text = types.is_string(value) or types.is_large_string(value) or types.is_string_view(value)
    integers = types.is_integer(found)
    if kind == "texts":
        return bool(is_text or integers)  # many files number what they hold
    return bool(integers or (kind == "numbers" and types.is_floating(found)))


def _hits(table: pa.Table, order: str | None) -> Hits | None:
    """Return the hits of a table; None if its rows must be looked at one by one."""
    if any(column.null_count for column in table.columns):
        return None
    query, queries = encoded_texts(_texts(table.column(QUERY_ID)))
    id_, names = encoded_texts(_texts(table.column(ID)))
    if not all(map(str.strip, (*all_texts(queries), *all_texts(names)))):
        return None
    score = None if order is None else table.column(order).to_numpy().astype(np.float64)
    if score is not None and np.isnan(score).any():
        return None
    return Hits(tuple(all_texts(queries)), names, query, id_, score if order != RANK or score is None else -score)


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    from pyarrow import compute

    is_known = pa.types.is_dictionary(column.type) or pa.types.is_string(column.type)
    return column if is_known else compute.cast(column, pa.string())


def _has_equal_ranks(hits: Hits) -> bool:
    ranks = np.asarray(hits.score)
    order = np.lexsort((ranks, hits.query))
    query, rank = hits.query[order], ranks[order]
    return bool(((query[1:] == query[:-1]) & (rank[1:] == rank[:-1])).any())


def _rows(table: pa.Table, location: Location) -> Iterator[tuple[Location, dict[str, Any]]]:
    number = 0
    for batch in table.to_batches(max_chunksize=_ROWS):
        for row in batch.to_pylist():
            number += 1
            yield location / f"row {number}", row


def _row_by_row(table: pa.Table, order: str | None, location: Location) -> Hits:
    """Return what the rows say, one by one; note every fault."""
    found = HitCollector(location)
    ranks: dict[tuple[str, int], Location] = {}
    for here, row in _rows(table, location):
        query, id_ = read_id(row[QUERY_ID], here / QUERY_ID), read_id(row[ID], here / ID)
        value: Any = None if order is None else row[order]
        if order is not None and (value is None or isnan(value)):
            (here / order).fault(shown(value), f"a {order} in each row")
        elif query is not None and id_ is not None:
            first = ranks.setdefault((query, value), here) if order == RANK else here
            if first is not here:
                (here / RANK).fault(f"the rank {value} of {first.field}", "each rank once in a ranking")
            found.add(here, query, id_, -value if order == RANK else value)
        if has_enough_faults(here, "rankings"):
            break
    return found.hits()
