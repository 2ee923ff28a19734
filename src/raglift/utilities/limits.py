"""Limits on what is read into memory, and the paths that users write."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from raglift.errors import ConfigurationError

# Limits on the size of one input in memory (a few megabytes can unpack to terabytes) and on scores.


VARIABLE = "RAGLIFT_MAX_BYTES"
"""The environment variable that sets another limit."""
_USUAL = 2 * 2**30
LARGEST_SCORE = 1e100
"""Of larger values the squares, which statistics take, would be no finite numbers."""


def most_bytes() -> int:
    """Return how many bytes one file may have, or unpack to, where it is taken into memory: 2 GiB, or as set."""
    value = os.environ.get(VARIABLE, "").strip()
    if not value:
        return _USUAL
    if not value.isdecimal() or len(value) > len(str(2**63)) or int(value) == 0:
        raise ConfigurationError(f"{VARIABLE}: found {value[:40]!r}; expected a number of bytes, such as 4000000000")
    return int(value)


def allowed() -> str:
    """Return what an error about a file that is too large says was expected."""
    return f"at most {most_bytes():,} bytes; if the file is yours, allow more by setting {VARIABLE}"


# Paths that users write, including names that no file can have.


_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL)
"""What the system says where there is nothing; EINVAL of characters that a name cannot have on Windows."""

_OUTPUTS = ("/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2")
"""Names of the outputs of this process, which may be files too, as after `>`."""


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
    """Whether there is a file, as `is_there` decides."""
    found = _status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder(path: Path) -> bool:
    """Whether there is a folder, as `is_there` decides."""
    found = _status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def is_valid_path(path: Path) -> bool:
    """Whether a file could have the path at all: a name may be too long, or hold a NUL."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    except ValueError:
        return False
    return True


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


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError as error:
        if error.errno in _NOTHING:
            return None
        raise
    except ValueError:
        return None
