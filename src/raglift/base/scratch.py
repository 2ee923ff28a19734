"""Files without a name, for what does not fit into memory: they end with the process, however that ends."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

from raglift.base.cache import cache_folder
from raglift.base.display import printable
from raglift.errors import CacheError


class ScratchFile:
    """A file that grows at its end and is read where it lies, through the system's memory.

    It lies in the cache folder, or where that cannot be written in the system's folder for temporary files, which may
    be kept in memory. Nobody else can reach it, and a process that is killed leaves nothing of it.

    Args:
        holds: what it holds, for the error, as “vectors”.

    Raises:
        CacheError: no file can be made there.
    """

    def __init__(self, holds: str) -> None:
        self._holds = holds
        self._folder = cache_folder()
        self.size = 0
        """How many bytes were written."""
        try:
            self._file = _file_in(self._folder)
        except OSError:
            try:
                self._folder = Path(tempfile.gettempdir())
                self._file = _file_in(self._folder)
            except OSError as error:
                raise self._error(error) from error
        weakref.finalize(self, _closed, self._file)

    def write(self, data: bytes | memoryview) -> None:
        """Write at the end.

        Raises:
            CacheError: the disk is full.
        """
        try:
            self.size += self._file.write(data)
        except OSError as error:
            raise self._error(error) from error

    def mapped(self) -> mmap.mmap:
        """Return what was written, at least one byte; what is written later is not in it.

        Raises:
            CacheError: the disk is full, or the file cannot be mapped.
        """
        try:
            self._file.flush()
            return mmap.mmap(self._file.fileno(), self.size, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> CacheError:
        return CacheError(
            f"cannot keep {self._holds} in {printable(str(self._folder))}: {error}. "
            "Free some space, or set RAGLIFT_CACHE to a folder on a larger disk"
        )


def _file_in(folder: Path) -> IO[bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder, prefix="raglift-")


def _closed(file: IO[bytes]) -> None:
    """Close a file; what could not be written is not wanted any more."""
    with suppress(OSError):
        file.close()
