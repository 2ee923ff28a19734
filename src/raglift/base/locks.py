"""Locks on folders: one process at a time works in one, and a lock ends with its process, however that ends."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from raglift.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_TAKEN = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def hold(path: Path, work: str) -> Iterator[None]:
    """Hold a lock until the end of the block.

    The file stays: to remove it would let two processes hold a file of the same name. Where a file system knows no
    locks, nothing is held.

    Args:
        path: of the file that stands for it, which is made when it is missing; its folder is there.
        work: what is worked on, for the error, as “this sweep”.

    Raises:
        RunError: another process holds it, or the file cannot be written.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise RunError(f"{path.parent}: cannot be written: {error}") from error
    try:
        try:
            _lock(file)
        except OSError as error:
            if error.errno in _TAKEN:
                raise RunError(
                    f"{path.parent}: another process is working on {work}; expected one at a time: "
                    "wait until it is done, or stop it and continue with --resume"
                ) from None
        yield
    finally:
        os.close(file)
