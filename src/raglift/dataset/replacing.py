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

__all__ = ["NOTHING_WRITTEN", "put_folder", "replacing_file", "unwritable"]

NOTHING_WRITTEN = "nothing was written"
"""What a DatasetError ends its first line with when it stops a writer."""


def unwritable(path: Path) -> Path | None:
    """Return the folder in which `path` would be made where that cannot be written; None where it can.

    Args:
        path: a file or folder that may not be there yet, nor the folders above it.
    """
    above = next(folder for folder in path.absolute().parents if folder.exists())
    return None if above.is_dir() and os.access(above, os.W_OK | os.X_OK) else above


@contextmanager
def replacing_file(path: Path, *, overwrite: bool = True) -> Iterator[TextIO]:
    """Open a text file that takes the place of `path` when the block ends, and never if it fails.

    Args:
        path: the file; its parents are made when missing.
        overwrite: whether a file that is there when the block ends may be replaced.

    Raises:
        DatasetError: it cannot be written, or is there and may not be replaced; what was there is unchanged.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:40]}.") as temporary:
            written = Path(temporary) / "written"
            with written.open("w", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _move(written, path, overwrite=overwrite)
    except FileExistsError as error:
        fault = Fault(str(path), "a file that another program wrote meanwhile", "a free name: choose another")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error
    except OSError as error:
        fault = Fault(str(path), f"a file that cannot be written ({error.strerror or error})", "a place to write to")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error


def _move(written: Path, path: Path, *, overwrite: bool) -> None:
    if not overwrite:
        try:
            os.link(written, path)  # in one step, so that of two programs one is told
        except FileExistsError:
            raise
        except OSError:  # some file systems have no links
            if path.exists():
                raise FileExistsError(path) from None
        else:
            return
    written.replace(path)


def put_folder(written: Path, target: Path, retired: Path | None) -> None:
    """Move a folder to its place; whatever stands there comes back when that fails.

    Args:
        written: the whole folder, on the same file system.
        target: its place.
        retired: where what stands at its place goes; None where nothing may stand there but an empty folder.

    Raises:
        OSError: it cannot be moved.
    """
    if retired is None:
        if target.is_dir():
            target.rmdir()  # Windows puts no folder in an empty one's place
        written.replace(target)  # what another program put there in between is not replaced
        return
    if target.exists():
        target.replace(retired)
    try:
        written.replace(target)
    except BaseException:
        if retired.exists():
            retired.replace(target)
        raise
