"""Files in blocks of whole lines, unpacked on the way, so that a large one never lies in memory as text."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from raglift.limits import allowed, most_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from raglift.faults import Place

__all__ = [
    "BLOCK",
    "LONGEST_OBJECT",
    "LONGEST_ROW",
    "MOST_FAULTS",
    "arrow_copy",
    "blocks_of",
    "enough",
    "is_evenly_spaced",
    "opened",
]

BLOCK = 2**21
"""So many bytes are read at a time; larger ones are slower, as their memory is new each time."""
LONGEST_ROW, LONGEST_OBJECT = 2**20, 2**27
"""So many bytes may a line of columns have, and one of JSON, which may hold all hits of a query."""
MOST_FAULTS = 1000
"""After so many faults the rest of a file is not looked at."""
_GZIP = b"\x1f\x8b"
_SPACE, _LINE_FEED = 32, 10


@contextmanager
def opened(path: Path, place: Place) -> Iterator[IO[bytes] | None]:
    """Open a file, unpacking what is compressed with gzip, whatever its name; None, and a fault, without one.

    What goes wrong while it is read is noted as well.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        _note(error, path, place)
        yield None
        return
    with file:
        try:
            packed = file.read(2) == _GZIP
            file.seek(0)
            yield cast("IO[bytes]", io.BufferedReader(_Unpacked(file), BLOCK)) if packed else file
        except _TooMuch:
            place.fault(f"a compressed file that unpacks to more than {most_bytes():,} bytes", allowed())
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            place.fault(f"a compressed file that is damaged ({error})", "a file that gzip can unpack")
        except OSError as error:
            _note(error, path, place)


class _TooMuch(Exception):
    """A compressed file unpacks to more than what is taken."""


class _Unpacked(io.RawIOBase):
    """What a file compressed with gzip holds, up to as much as is taken of one input.

    Args:
        file: the compressed file, at its beginning.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = gzip.GzipFile(fileobj=file)
        self._left = most_bytes()

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Put the next bytes into a buffer, and return how many.

        Raises:
            _TooMuch: it unpacks to more than what is taken.
        """
        count = self._file.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise _TooMuch
        return count


def _note(error: OSError, path: Path, place: Place) -> None:
    place.fault(f"no readable file ({error.strerror or error})", f"a readable file at {path}")


def blocks_of(file: IO[bytes], longest: int, size: int = BLOCK) -> Iterator[bytes | None]:
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


def arrow_copy(block: bytes) -> pa.Buffer:
    """Return a block in memory that is Arrow's own.

    A thread of Arrow's may let go of what it read only after the reading has returned. Were that memory Python's, it
    would need the interpreter for it, and where that is ending just then, the process is aborted.
    """
    import pyarrow as pa

    copy = pa.allocate_buffer(len(block))
    memoryview(copy).cast("B")[:] = block
    return copy


def is_evenly_spaced(block: bytes) -> bool:
    """Whether all white space is one space or one line feed at a time, and no space begins or ends a line."""
    letters = np.frombuffer(block, dtype=np.uint8)
    blank = letters <= _SPACE
    plain = np.count_nonzero(letters == _SPACE) + np.count_nonzero(letters == _LINE_FEED)
    if blank[0] or letters[-1] == _SPACE or plain != np.count_nonzero(blank):
        return False
    return not (blank[1:] & blank[:-1]).any()


def enough(place: Place, expected: str) -> bool:
    """Whether there are so many faults that the rest need not be looked at; this is noted as the last of them."""
    if len(place.faults) < MOST_FAULTS:
        return False
    if len(place.faults) == MOST_FAULTS:
        place.fault(f"{MOST_FAULTS:,} faults up to here; the rest was not looked at", expected)
    return True
