"""What a Parquet file unpacks to, before it is unpacked: a billion equal rows take a few kilobytes on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.limits import allowed, most_bytes

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa
    from pyarrow import parquet

    from raglift.dataset.faults import Place

__all__ = ["fits", "rows_at_a_time"]

_NUMBER, _OBJECT = 4, 64
"""Bytes that a value takes at least: the number of its text in a dictionary, and as an object of Python's."""


def fits(file: parquet.ParquetFile, columns: Collection[str], place: Place, *, as_objects: bool = False) -> bool:
    """Whether columns of a file can be taken into memory, by what the file says of itself; if not, a fault.

    Args:
        file: the file, of which only the footer was read.
        columns: the names of those that are to be read.
        place: the file, for the fault.
        as_objects: whether each value becomes an object of Python's.
    """
    least = _OBJECT if as_objects else _NUMBER
    taken = sum(
        max(part.total_uncompressed_size, least * part.num_values)
        for group in _parts(file.metadata, columns)
        for part in group
    )
    if taken <= most_bytes():
        return True
    place.fault(f"{file.metadata.num_rows:,} rows, which unpack to {taken:,} bytes or more", allowed())
    return False


def rows_at_a_time(file: parquet.ParquetFile, columns: Collection[str], most: int) -> int:
    """Return how many rows of a file can be made into Python's values at a time, however long the longest is.

    Args:
        file: the file.
        columns: the names of those that are read.
        most: rows at a time where values are short.
    """
    # A value is in some part of a column, and so no longer than the longest of these
    longest = max(
        (part.total_uncompressed_size for group in _parts(file.metadata, columns) for part in group), default=1
    )
    return max(1, min(most, most_bytes() // max(1, longest)))


def _parts(metadata: pa.parquet.FileMetaData, columns: Collection[str]) -> list[list[pa.parquet.ColumnChunkMetaData]]:
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    wanted = set(columns)
    return [
        [
            part
            for part in map(group.column, range(group.num_columns))
            if part.path_in_schema.partition(".")[0] in wanted
        ]
        for group in groups
    ]
