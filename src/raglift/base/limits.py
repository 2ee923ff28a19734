"""Limits on what is read into memory, and the paths that users write."""

from __future__ import annotations

import errno
import os
import stat
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa
    from pyarrow import parquet

    from raglift.base.validation import Location


# Limits on the size of one input in memory (a few megabytes can unpack to terabytes) and on scores.


VARIABLE = "RAGLIFT_MAX_BYTES"
"""The environment variable that sets another limit."""
_USUAL = 2 * 2**30
LARGEST_SCORE = 1e100
"""Of larger values the squares, which statistics take, would be no finite numbers."""


def most_bytes() -> int:
    """Return how many bytes one file may have, or unpack to, where it is taken into memory: 2 GiB, or as set.

    Raises:
        ConfigurationError: `RAGLIFT_MAX_BYTES` is not a number of bytes.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return _USUAL
    if not given.isdecimal() or len(given) > len(str(2**63)) or int(given) == 0:
        raise ConfigurationError(f"{VARIABLE}: found {given[:40]!r}; expected a number of bytes, as 4000000000")
    return int(given)


def allowed() -> str:
    """Return what an error about a file that is too large says was expected."""
    return f"at most {most_bytes():,} bytes; if the file is yours, allow more by setting {VARIABLE}"


# Paths that users write, including names that no file can have.


_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL)
"""What the system says where there is nothing; EINVAL of characters that a name cannot have on Windows."""


def user_path(given: str | os.PathLike[str]) -> Path:
    """Return a path with `~` as the home it stands for; as it is where there is no such user."""
    path = Path(given)
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def resolved(path: Path) -> Path:
    """Return where a path leads; the path itself in a circle of links, or where the working folder was removed."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # RuntimeError: of a circle, up to Python 3.12
        return path


def is_there(path: Path) -> bool:
    """Whether there is a file or folder; False for a name that none can have, at which `Path.exists` may raise.

    Raises:
        OSError: it cannot be told, as in a folder that may not be looked into: what is there must not be taken for
            what is not, and be left out or replaced.
    """
    return _status(path) is not None


def is_file(path: Path) -> bool:
    """Whether there is a file, as `is_there`."""
    found = _status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder(path: Path) -> bool:
    """Whether there is a folder, as `is_there`."""
    found = _status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def is_link(path: Path) -> bool:
    """Whether there is a link, wherever it leads; False for a name that none can have."""
    try:
        return path.is_symlink()
    except (OSError, ValueError):
        return False


def is_circle(path: Path) -> bool:
    """Whether a path is a link that leads back to itself, so that nothing can be read or written there."""
    try:
        path.stat()
    except (OSError, ValueError) as error:
        return getattr(error, "errno", None) == errno.ELOOP
    return False


def can_be(path: Path) -> bool:
    """Whether a file could have the path at all: a name may be too long, or hold a NUL."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    except ValueError:
        return False
    return True


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError as error:
        if error.errno in _NOTHING:
            return None
        raise
    except ValueError:
        return None


# The unpacked size of a Parquet file, before it is unpacked: a billion equal rows take a few kilobytes on disk.


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
    path: Path, file: parquet.ParquetFile, columns: Collection[str], location: Location, *, as_objects: bool = False
) -> bool:
    """Whether columns of a file can be taken into memory, by what the file says of itself; if not, a fault.

    Args:
        path: the file.
        file: the same, of which only the footer was read.
        columns: the names of those that are to be read.
        location: the file, for the fault.
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
    location.fault(f"{file.metadata.num_rows:,} rows, which unpack to {taken:,} bytes or more", allowed())
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
