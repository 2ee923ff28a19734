"""Pipes, FIFOs and devices in place of files: read into a file first, and written to as they are."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.base.limits import allowed, most_bytes
from raglift.errors import DatasetError, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 2**20
_OUTPUTS = ("/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2")
"""Names of the outputs of this process, which may be files too, as after `>`."""


def is_stream(path: Path) -> bool:
    """Whether a path is no file and no folder, but a pipe, a FIFO, a socket, a device, or an output of this process.

    It cannot be read twice, and must not be replaced by a file.
    """
    if str(path) in _OUTPUTS:
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def as_file(path: Path, ending: str = "") -> Iterator[Path]:
    """Give a file that can be read twice: the path itself, or a temporary copy of what a pipe gives.

    Args:
        path: a file, or a pipe as of `<(…)`.
        ending: what the name of a copy ends with.

    Raises:
        DatasetError: the pipe cannot be read, or gives more than is taken of one input.
    """
    if not is_stream(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="raglift-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / f"{path.name}{ending}"
        _copy(path, copy)
        yield copy


def _copy(path: Path, copy: Path) -> None:
    found = expected = ""
    try:
        with path.open("rb") as source, copy.open("wb") as file:
            left = most_bytes()
            while piece := source.read(min(_PIECE, left + 1)):
                left -= len(piece)
                if left < 0:
                    found, expected = f"more than {most_bytes():,} bytes", allowed()
                    break
                file.write(piece)
    except OSError as error:
        found, expected = f"what cannot be read ({error.strerror or error})", "a file, or a pipe to read"
    if found:
        raise DatasetError(str(path), [Fault(str(path), found, expected)])


def write_to_stream(path: Path, content: bytes) -> None:
    """Write to a pipe, a FIFO or a device as it is; what a file behind it holds stays.

    Where its reader stops reading, as `head` does, it has read what it wanted.

    Raises:
        OSError: it cannot be written.
    """
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    with suppress(BrokenPipeError), os.fdopen(file, "wb", buffering=0) as stream:
        left = memoryview(content)
        while left:
            left = left[stream.write(left) or 0 :]
