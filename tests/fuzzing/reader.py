"""What a reader is, what it must hold to whatever it is given, and one attempt on it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

from raglift.errors import DatasetError, RagliftError
from raglift.utilities.display import UNPRINTABLE

Damage = Mapping[str, bytes | None]
"""The new bytes of files by their paths in the folder; None for one that is gone."""
CANARY = "canary-7f3a"
"""The content of a file beside the folder: nothing that is read may lead there."""
_LONGEST_MESSAGE = 40_000


@dataclass(frozen=True)
class Reader:
    """One thing that raglift reads."""

    name: str
    """Of the format; each once."""
    write: Callable[[Path], object]
    """Writes a well-formed input into an empty folder."""
    read: Callable[[Path], object]
    """Reads the folder, by raglift's own function."""
    errors: tuple[type[RagliftError], ...] = (DatasetError,)
    """What it may raise; anything else is a fault."""
    check: Callable[[Any], object] | None = None
    """Raises AssertionError if a result is none that may be returned."""
    targets: tuple[str, ...] = ("*",)
    """Patterns of the files that are damaged: their paths in the folder, `*` also across `/`."""
    changes: tuple[str, ...] = ()
    """Patterns of the files that reading may change or make; any other must stay as it is."""


class Bench:
    """A reader with its well-formed input in a folder, ready for attempts."""

    def __init__(self, reader: Reader, outside: Path) -> None:
        self.reader = reader
        self._outside = outside
        self.folder = outside / "input"
        self.folder.mkdir()
        (outside / "canary.txt").write_text(CANARY, encoding="utf-8")
        reader.write(self.folder)
        self.seed = _files(self.folder)
        self.targets = [path for path in self.seed if _is_like(path, reader.targets)]

    def attempt(self, damage: Damage) -> Literal["returned", "refused"]:
        """Read the input with some files damaged, and put them right again."""
        expected = {path: data for path, data in {**self.seed, **damage}.items() if data is not None}
        try:
            for path, data in damage.items():
                _put(self.folder / path, data)
            outcome = self._read()
            found = _files(self.folder)
            changed = {path for path in found.keys() | expected.keys() if found.get(path) != expected.get(path)}
            assert not {path for path in changed if not _is_like(path, self.reader.changes)}
            assert {path.name for path in self._outside.iterdir()} == {"canary.txt", "input"}
        finally:
            for path in _files(self.folder).keys() | self.seed.keys():
                _put(self.folder / path, self.seed.get(path))
        return outcome

    def _read(self) -> Literal["returned", "refused"]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = self.reader.read(self.folder)
        except self.reader.errors as error:
            message = str(error)
            assert message.strip()
            assert len(message) <= _LONGEST_MESSAGE
            assert not re.search(r"Traceback \(most recent call last\)|File \"[^\"]+\", line \d+, in ", message)
            assert not UNPRINTABLE.search(message), repr(message)
            assert CANARY not in message
            return "refused"
        if self.reader.check is not None:
            self.reader.check(result)
        assert CANARY not in repr(result)
        return "returned"


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def _put(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _is_like(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)
