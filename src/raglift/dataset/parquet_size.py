"""What a Parquet file unpacks to, before it is unpacked: a billion equal rows take a few kilobytes on disk."""

from __future__ import annotations

from io import FileIO
from typing import TYPE_CHECKING

from raglift.limits import allowed, most_bytes

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pyarrow as pa
    from pyarrow import parquet

    from raglift.faults import Place

__all__ = ["fits", "rows_at_a_time"]

_NUMBER, _OBJECT = 4, 64
"""Bytes that a value takes at least: the number of its text in a dictionary, and as an object of Python's."""


class _Footer(FileIO):
    """A file that ends once its footer was read.

    It raises nothing: Arrow keeps what is raised here for ever, and with it all that the functions on the way have in
    their hands.
    """

    is_read = False
    is_asked_for_more = False

    def read(self, size: int | None = -1, /) -> bytes:
        if not self.is_read:
            return super().read(size)
        self.is_asked_for_more = True
        return b""


def _check_footer(path: Path, columns: Collection[str]) -> None:
    """Raise what Arrow has against the parts of some columns, of which it reads no value.

    Asked for a part's size (`metadata.row_group(0).column(0)`), Arrow 26 ends the whole process where what the footer
    says of the part contradicts the schema; on the way to its values it raises.

    Args:
        path: the file.
        columns: their names.

    Raises:
        OSError: the footer is damaged.
    """
    import pyarrow as pa
    from pyarrow import parquet

    with _Footer(path, "rb") as footer:
        file = parquet.ParquetFile(footer)
        footer.is_read = True
        leaves = [leaf for _, leaf in _leaves(file, columns)]
        for number in range(file.num_row_groups):
            for leaf in leaves:
                footer.is_asked_for_more = False
                try:
                    next(file.iter_batches(batch_size=1, row_groups=[number], columns=[leaf], use_threads=False), None)
                except (OSError, pa.ArrowException):
                    if not footer.is_asked_for_more:
                        raise


def _leaves(file: parquet.ParquetFile, columns: Collection[str]) -> list[tuple[int, str]]:
    """Return the numbers and paths of what some columns consist of."""
    paths = [file.schema.column(number).path for number in range(len(file.schema))]
    wanted = set(columns)
    return [(number, path) for number, path in enumerate(paths) if path.partition(".")[0] in wanted]


def fits(
    path: Path, file: parquet.ParquetFile, columns: Collection[str], place: Place, *, as_objects: bool = False
) -> bool:
    """Whether columns of a file can be taken into memory, by what the file says of itself; if not, a fault.

    Args:
        path: the file.
        file: the same, of which only the footer was read.
        columns: the names of those that are to be read.
        place: the file, for the fault.
        as_objects: whether each value becomes an object of Python's.

    Raises:
        OSError: the footer is damaged.
    """
    _check_footer(path, columns)
    least = _OBJECT if as_objects else _NUMBER
    taken = sum(
        max(part.total_uncompressed_size, least * part.num_values) for group in _parts(file, columns) for part in group
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
    longest = max((part.total_uncompressed_size for group in _parts(file, columns) for part in group), default=1)
    return max(1, min(most, most_bytes() // max(1, longest)))


def _parts(file: parquet.ParquetFile, columns: Collection[str]) -> list[list[pa.parquet.ColumnChunkMetaData]]:
    leaves = [number for number, _ in _leaves(file, columns)]
    groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
    return [[group.column(number) for number in leaves] for group in groups]
