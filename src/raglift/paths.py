"""Paths that users write: what a name leads to, also one that no file can have."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["can_be", "is_file", "is_folder", "is_there", "user_path"]

_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL)
"""What the system says where there is nothing; EINVAL of characters that a name cannot have on Windows."""


def user_path(given: str | os.PathLike[str]) -> Path:
    """Return a path with `~` as the home it stands for; as it is where there is no such user."""
    path = Path(given)
    try:
        return path.expanduser()
    except RuntimeError:
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
