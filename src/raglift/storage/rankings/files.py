"""Files of rows: read in bulk, in blocks of whole lines, or row by row where a fault must be found."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, TypeVar, cast

import pyarrow as pa

from raglift.types.labels import RELEVANT
from raglift.utilities.validation import Location, shown

if TYPE_CHECKING:
    from raglift.storage.rankings.columns import Row


T = TypeVar("T")

_BLOCK = 2**22
"""So many bytes are parsed at a time, so that a large file is never in memory as text."""
LONGEST_ROW, LONGEST_OBJECT = 2**20, 2**27
"""So many bytes may a line of columns have, and one of JSON, which may hold all hits of a query."""
_MOST_FAULTS = 1000
"""After so many faults the rest of a file is not looked at."""
_GZIP = b"\x1f\x8b"


class Parser(NamedTuple):
    """What reads rankings or judgments of a form. Both raise OSError, EOFError or zlib.error of an unreadable file."""

    table: Callable[[Path], pa.Table | None]
    """Returns the columns of a regular file, read in bulk; None if it must be read row by row."""
    rows: Callable[[Path, Location], Iterator[Row]]
    """Yields each row that can be used; notes a fault for each other one."""


def read_file(path: Path, location: Location, read: Callable[[], T]) -> T | None:
    """Return what a function reads of a file; None, and a fault, if the file cannot be read."""
    try:
        return read()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        location.fault(f"a compressed file that is damaged ({error})", "a file that gzip can unpack")
    except OSError as error:
        location.fault(f"no readable file ({error.strerror or error})", f"a readable file at {path}")
    return None


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file, unpacking what is compressed with gzip, whatever its name."""
    with path.open("rb") as file:
        is_packed = file.read(len(_GZIP)) == _GZIP
    return cast("IO[bytes]", gzip.open(path)) if is_packed else path.open("rb")


def blocks_of(file: IO[bytes], longest: int, size: int = _BLOCK) -> Iterator[bytes | None]:
    """Yield a file's bytes in blocks that end where a line ends; the byte-order mark of UTF-8 is left out.

    Args:
        file: the file, at its beginning.
        longest: how many bytes a line may have; where one goes on for longer after a block, None is the last block.
        size: how many bytes a block has, and what is missing of its last line.
    """
    first = True
    while block := file.read(size):
        if not block.endswith(b"\n"):
            rest = file.readline(longest + 1)
            if len(rest) > longest:
                yield None
                return
            block += rest
        block = block.removeprefix(b"\xef\xbb\xbf") if first else block
        first = False
        if block:
            yield block


def table_of_blocks(path: Path, longest: int, parse: Callable[[bytes], pa.Table | None]) -> pa.Table | None:
    """Return what the lines of a file say; None if a block must be read line by line."""
    tables = []
    with open_unpacked(path) as file:
        for block in blocks_of(file, longest):
            table = None
            if block is not None and b"\0" not in block and _is_utf8(block):
                try:
                    table = parse(block)
                except pa.ArrowInvalid:
                    table = None
            if table is None:
                return None
            tables.append(table)
    return pa.concat_tables(tables) if tables else None


def _is_utf8(block: bytes) -> bool:
    """Whether bytes are a text: Arrow looks only at the columns that are asked for."""
    try:
        return block.isascii() or block.decode() is not None
    except UnicodeDecodeError:
        return False


def arrow_copy(block: bytes) -> pa.Buffer:
    """Return a block in memory that is Arrow's own.

    A thread of Arrow's may let go of what it read only after the reading has returned. Were that memory Python's, it
    would need the interpreter for it, and where that is ending just then, the process is aborted.
    """
    copy = pa.allocate_buffer(len(block))
    memoryview(copy).cast("B")[:] = block
    return copy


def has_enough_faults(location: Location, expected: str) -> bool:
    """Whether there are so many faults that the rest need not be looked at; this is noted as the last of them."""
    if len(location.faults) < _MOST_FAULTS:
        return False
    if len(location.faults) == _MOST_FAULTS:
        location.fault(f"{_MOST_FAULTS:,} faults up to here; the rest was not looked at", expected)
    return True


_GRADE_EXPECTED = f"an integer of at most {RELEVANT.stop - 1}: 0 for what was judged irrelevant"


def read_grade(value: object, here: Location) -> int | None:
    """Return a grade; None, and a fault, when it is none."""
    if type(value) is not int or value >= RELEVANT.stop:
        here.fault(shown(value), _GRADE_EXPECTED)
        return None
    return value
