"""What a run of `raglift evaluate --system … --output` has so far: the answers of the system, beside its folder."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.errors import CacheError, RunError
from raglift.running.answers import FILE, LOCK
from raglift.running.systems import identity_of
from raglift.utilities.cache import Cache, content_key
from raglift.utilities.limits import is_file, is_folder, user_path

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.cli.measuring import Evaluate


_NAME = re.compile("[0-9a-f]{16}")
_FILES = (*(f"{FILE}{end}" for end in ("-wal", "-shm", "-journal", "")), LOCK)
"""What raglift writes to the folder of a system: those of SQLite, and the lock."""


@dataclass(frozen=True)
class Unfinished:
    """A folder that is there until the run is saved."""

    folder: Path
    """Beside the folder that the run is saved to."""
    answers: Path
    """Where the answers of the system are kept: another system has another folder."""
    has_new_parent: bool
    """Whether the folder that both are in is made for them."""

    @classmethod
    def of(cls, request: Evaluate) -> Unfinished | None:
        """Return where the answers are kept; None if nothing is saved, or no system of the user's is asked."""
        if request.output is None or (request.system is None and request.mapping is None):
            return None
        output = user_path(request.output)
        folder = output.with_name(f"{output.name}.unfinished")
        answers = folder / content_key(identity_of(request.system, request.mapping)).hex()[:16]
        return cls(folder, answers, not is_folder(folder.parent))

    def begin(self, *, resume: bool, overwrite: bool) -> None:
        """Raise unless the folder is free, or what is in it may be used or removed.

        Raises:
            RunError: a run was stopped that is not to be gone on with.
        """
        if resume or not is_folder(self.folder):
            return
        if overwrite or not self.holds_answers:
            self.remove()
            return
        raise RunError(
            f"{self.folder}: found answers of a run that was stopped; expected none: continue it (--resume), remove "
            "them (--overwrite), or choose another folder"
        )

    @property
    def holds_answers(self) -> bool:
        """Whether there is anything to go on with."""
        return is_folder(self.folder) and any(
            _holds_answers(folder) for folder in self.folder.iterdir() if _is_of_a_system(folder)
        )

    def remove(self) -> None:
        """Remove what raglift keeps there: the run is saved, or there is nothing in it. What is not ours stays."""
        with suppress(OSError):
            for answers in filter(_is_of_a_system, self.folder.iterdir()):
                for name in _FILES:
                    (answers / name).unlink(missing_ok=True)
                with suppress(OSError):  # somebody else's files are there
                    answers.rmdir()
            self.folder.rmdir()
        if self.has_new_parent:
            with suppress(OSError):  # the run is in it
                self.folder.parent.rmdir()


def _is_of_a_system(folder: Path) -> bool:
    """Whether a folder is called as those for answers are; a link leads elsewhere."""
    return _NAME.fullmatch(folder.name) is not None and is_folder(folder) and not folder.is_symlink()


def _holds_answers(folder: Path) -> bool:
    if not is_file(folder / FILE):
        return False
    with suppress(CacheError):
        cache = Cache(folder / FILE)
        try:
            return cache.count() > 0
        finally:
            cache.close()
    return True
