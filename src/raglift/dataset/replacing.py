"""Files and folders that appear whole or not at all: written beside their place, then moved there."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.errors import DatasetError, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

__all__ = ["NOTHING_WRITTEN", "put_folder", "replacing_file"]

NOTHING_WRITTEN = "nothing was written"
"""What a DatasetError ends its first line with when it stops a writer."""


@contextmanager
def replacing_file(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes the place of `path` when the block ends, and never if it fails.

    Args:
        path: the file; its parents are made when missing.

    Raises:
        DatasetError: it cannot be written; what was there is unchanged.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:40]}.") as temporary:
            written = Path(temporary) / "written"
            with written.open("w", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            written.replace(path)
    except OSError as error:
        fault = Fault(str(path), f"a file that cannot be written ({error.strerror or error})", "a place to write to")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error


def put_folder(written: Path, target: Path, retired: Path) -> None:
    """Move a folder to its place; whatever stands there comes back when that fails.

    Args:
        written: the whole folder, on the same file system.
        target: its place.
        retired: where what stands at its place goes.

    Raises:
        OSError: it cannot be moved.
    """
    if target.exists():
        target.replace(retired)
    try:
        written.replace(target)
    except BaseException:
        if retired.exists():
            retired.replace(target)
        raise
