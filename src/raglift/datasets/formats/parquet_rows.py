"""The rows of a Parquet file as plain values, within what may be taken into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.base.limits import allowed, fits, most_bytes, rows_at_a_time

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    import pyarrow as pa

    from raglift.base.validation import Location


_ROWS = 4096


def parquet_rows(
    path: Path,
    location: Location,
    *,
    columns: Collection[str] | None = None,
    check: Callable[[pa.Schema], bool] = lambda _: True,
) -> Iterator[tuple[Location, dict[str, Any]]]:
    """Yield the rows of a Parquet file with their numbers; what cannot be read is a fault.

    Args:
        path: the file.
        location: the file, for faults.
        columns: those that are read, where the file has them; by default all.
        check: whether the columns are as they should be; it notes its own faults.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if not check(file.schema_arrow):
                return
            if columns is None and len(set(names)) < len(names):
                location.fault("two columns of one name", "one column of each name")
                return
            chosen = [name for name in names if columns is None or name in columns]
            if not chosen or not fits(path, file, chosen, location, as_objects=True):
                return
            number = taken = 0
            for batch in file.iter_batches(batch_size=rows_at_a_time(file, chosen, _ROWS), columns=chosen):
                taken += batch.nbytes
                if taken > most_bytes():
                    location.fault(f"values that unpack to more than {most_bytes():,} bytes", allowed())
                    return
                for row in batch.to_pylist():
                    number += 1
                    yield location / f"row {number}", row
    except (OSError, OverflowError, ValueError, pa.ArrowException) as error:  # ValueError: texts that are not UTF-8
        location.fault(f"no readable Parquet file ({str(error).partition(chr(10))[0]})", f"a Parquet file at {path}")
