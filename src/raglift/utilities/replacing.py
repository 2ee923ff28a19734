"""Atomic replacement of files and folders (written next to their destination, then moved there), and locks on folders.

A process that is killed leaves at most a hidden folder next to the place, which the next one that writes there removes.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from raglift.errors import DatasetError, Fault, RunError
from raglift.utilities.limits import is_folder, is_stream, is_there, resolved

NOTHING_WRITTEN = "nothing was written"
"""What a DatasetError ends its first line with when it stops a writer."""

_MARK = "raglift-is-writing-here"
"""A file that says whose a folder is, and is locked for as long as its process lives."""
_RETIRED = "retired"
_LONGEST_NAME = 40
_RANDOM_LENGTH = 8
_RANDOM_END = re.compile(r"[a-z0-9_]+")
"""What `tempfile` ends a name with."""

_LOCKED_BY_ANOTHER = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

    def _lock_folder(file: int) -> None:  # noqa: ARG001 — an open file there cannot be removed
        raise OSError("no locks")

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    _lock_folder = _lock


def unwritable(path: Path) -> Path | None:
    """Return the folder in which `path` would be made where that cannot be written; None if it can.

    Args:
        path: a file or folder that may not be there yet, nor the folders above it.
    """
    try:
        folders = path.absolute().parents
    except FileNotFoundError:  # the working folder was removed
        return Path()
    above = next(folder for folder in folders if _can_be_seen(folder))
    return None if is_folder(above) and os.access(above, os.W_OK | os.X_OK) else above


def _can_be_seen(folder: Path) -> bool:
    """Whether a folder is there; False in one that may not be looked into, which then is the one that hinders."""
    try:
        return is_there(folder)
    except PermissionError:
        return False


@contextmanager
def replacing_file(path: Path, *, overwrite: bool = True) -> Iterator[TextIO]:
    """Open a text file that takes the place of `path` when the block ends, and never if it fails.

    Args:
        path: the file; its parents are made when missing.
        overwrite: whether a file that is there when the block ends may be replaced.
    """
    try:
        if is_stream(path):
            whole = io.StringIO(newline="\n")
            yield whole
            with suppress(BrokenPipeError), path.open("a", encoding="utf-8", newline="\n") as file:  # as `head` stops
                file.write(whole.getvalue())
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with staging_folder(path) as temporary:
            written = temporary / "written"
            with written.open("w", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _move(written, path, overwrite=overwrite)
    except OSError as error:
        if isinstance(error, FileExistsError) and os.path.lexists(path):  # else it is a file among the folders above
            fault = Fault(str(path), "a file that is there already", "a free name, or overwrite=True")
            raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error
        fault = Fault(str(path), f"a file that cannot be written ({error.strerror or error})", "a place to write to")
        raise DatasetError(str(path), [fault], NOTHING_WRITTEN) from error


def _move(written: Path, path: Path, *, overwrite: bool) -> None:
    if not overwrite:
        try:
            os.link(written, path)  # in one step, so that of two programs one is told
        except FileExistsError:
            raise
        except OSError:  # some file systems have no links
            if is_there(path):
                raise FileExistsError(path) from None
        else:
            return
    written.replace(path)


@contextmanager
def staging_folder(target: Path) -> Iterator[Path]:
    """Give a folder to write in, next to a file or folder that is to be replaced; it is gone when the block ends.

    What processes that were killed left there is removed first.

    Raises:
        OSError: nothing can be written there.
    """
    remove_leftovers([target])
    folder, lock = _new_folder(target.parent, _prefix(target))
    try:
        yield folder
    finally:
        if sys.platform == "win32":
            os.close(lock)
            _remove(folder)
        else:
            _remove(folder)
            os.close(lock)


def remove_leftovers(targets: Iterable[Path]) -> None:
    """Remove what killed processes left next to files or folders, and put back what they were about to replace."""
    by_prefix = {(target.parent, _prefix(target)): target for target in targets}
    for parent in {parent for parent, _ in by_prefix}:
        for left in list(parent.iterdir()) if is_folder(parent) else ():
            target = by_prefix.get((parent, left.name[:-_RANDOM_LENGTH]))
            if target is not None and _RANDOM_END.fullmatch(left.name[-_RANDOM_LENGTH:]):
                with suppress(OSError):  # what cannot be removed is in nobody's way
                    _remove_dead(left, target)


def move_folder(written: Path, target: Path, *, overwrite: bool) -> None:
    """Move a folder to its place; whatever is there comes back when that fails.

    A process can be killed in between; then `staging_folder` puts back what was there.

    Raises:
        OSError: it cannot be moved.
    """
    if not overwrite:
        if is_folder(target):
            target.rmdir()  # Windows puts no folder in an empty one's place
        written.replace(target)  # what another program put there in between is not replaced
        return
    retired = written.with_name(_RETIRED)
    if is_there(target):
        target.replace(retired)
    try:
        written.replace(target)
    except BaseException:
        if is_there(retired):
            retired.replace(target)
        raise


@contextmanager
def replacing_folder(target: Path, check_free: Callable[[], None], *, overwrite: bool) -> Iterator[Path]:
    """Give a new folder that takes the place of another one when the block ends, and never if it fails.

    Args:
        target: its location, a link or what it leads to; its parents are made when missing.
        check_free: raises where it may not be written; called before the work, and after it for whoever came meanwhile.
        overwrite: whether what is there may be replaced.

    Raises:
        OSError: it cannot be written; what was there is unchanged.
    """
    check_free()
    place = resolved(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    with staging_folder(place) as temporary:
        written = temporary / "written"
        written.mkdir()
        yield written
        check_free()
        move_folder(written, place, overwrite=overwrite)


def _prefix(target: Path) -> str:
    """Return what the names of folders next to a target begin with: no other target's do."""
    name = target.name
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 9]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"
    return f".{name}."


def _new_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    """Make a folder that is known as one in use, and return it with the open file that is locked."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        try:
            file = os.open(folder / _MARK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:  # it was taken for an empty one that was left
            continue
        except BaseException:
            with suppress(OSError):
                folder.rmdir()
            raise
        try:
            _lock_folder(file)
        except BlockingIOError:  # it was taken for one of a process that was killed, and is about to go
            os.close(file)
            continue
        except OSError:
            return folder, file  # a file system without locks
        if is_there(folder / _MARK):
            return folder, file
        os.close(file)


def _remove_dead(left: Path, target: Path) -> None:
    """Remove a folder that a killed process left; put back first what it was about to replace."""
    if left.is_symlink() or not is_folder(left):
        return
    try:
        file = os.open(left / _MARK, os.O_RDWR)
    except FileNotFoundError:
        left.rmdir()  # fails where it is not empty: it is not ours
        return
    try:
        _lock_folder(file)
        if is_there(left / _MARK):
            if is_there(left / _RETIRED) and not is_there(target):
                (left / _RETIRED).replace(target)
            _remove(left)
    finally:
        os.close(file)


def _remove(folder: Path) -> None:
    """Remove a folder of ours as far as that is possible; its mark goes last, so that another process can continue."""
    with suppress(OSError):
        for path in folder.iterdir():
            if is_folder(path) and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _MARK:
                path.unlink()
        if {path.name for path in folder.iterdir()} <= {_MARK}:
            (folder / _MARK).unlink(missing_ok=True)
            folder.rmdir()


@contextmanager
def hold_lock(path: Path, work: str) -> Iterator[None]:
    """Hold a lock until the end of the block.

    The file stays: to remove it would let two processes hold a file of the same name. Where a file system knows no
    locks, nothing is held.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise RunError(f"{path.parent}: cannot be written: {error}") from error
    try:
        try:
            _lock(file)
        except OSError as error:
            if error.errno in _LOCKED_BY_ANOTHER:
                raise RunError(
                    f"{path.parent}: another process is working on {work}; expected one at a time: "
                    "wait until it is done, or stop it and continue with --resume"
                ) from None
        yield
    finally:
        os.close(file)
