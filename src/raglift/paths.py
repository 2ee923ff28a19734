"""Paths that users write: what a name leads to, also one that no file can have."""

from __future__ import annotations

import errno
import os
from pathlib import Path

__all__ = ["can_be", "is_file", "is_folder", "is_there", "user_path"]


def user_path(given: str | os.PathLike[str]) -> Path:
    """Return a path with `~` as the home it stands for; as it is where there is no such user."""
    path = Path(given)
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def is_there(path: Path) -> bool:
    """Whether there is a file or folder; False for a name too long, or with a NUL, at which pathlib raises."""
    return os.path.exists(path)  # noqa: PTH110 — see above


def is_file(path: Path) -> bool:
    """Whether there is a file, as `is_there`."""
    return os.path.isfile(path)  # noqa: PTH113 — see above


def is_folder(path: Path) -> bool:
    """Whether there is a folder, as `is_there`."""
    return os.path.isdir(path)  # noqa: PTH112 — see above


def can_be(path: Path) -> bool:
    """Whether a file could have the path at all: a name may be too long, or hold a NUL."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    except ValueError:
        return False
    return True
