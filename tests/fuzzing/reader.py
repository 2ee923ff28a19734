"""What a reader is, what it must hold to whatever it is given, and one attempt on it."""

from __future__ import annotations

import re
import shutil
import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from raglift.base.display import UNPRINTABLE
from raglift.errors import DatasetError, RagliftError

from .limits import TooMuchError, within
from .trees import Codec, codec_of

__all__ = ["CANARY", "Bench", "BrokenError", "Outcome", "Reader"]

Outcome = Literal["returned", "refused"]
Damage = Mapping[str, bytes | None]
"""The new bytes of files by their paths in the folder; None for one that is gone."""

CANARY = "canary-7f3a"
"""What is in `canary.txt` next to the folder: nothing that is read may lead there."""
_LONGEST_MESSAGE = 40_000
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|File \"[^\"]+\", line \d+, in ")


class BrokenError(AssertionError):
    """A reader did what none may.

    Attributes:
        kind: what it did, in the same text for the same bug.
    """

    def __init__(self, kind: str, detail: str = "") -> None:
        self.kind = kind
        super().__init__(f"{kind}\n{detail}" if detail else kind)


@dataclass(frozen=True)
class Reader:
    """One thing that raglift reads."""

    name: str
    """Of the format, as the table says it; each once."""
    write: Callable[[Path], object]
    """Writes a well-formed input into an empty folder; called once in a process."""
    read: Callable[[Path], object]
    """Reads the folder, by raglift's own function."""
    errors: tuple[type[RagliftError], ...] = (DatasetError,)
    """What it may raise."""
    check: Callable[[Any], object] | None = None
    """Raises AssertionError where a result is none that may be returned."""
    targets: tuple[str, ...] = ("*",)
    """Patterns of the files that are damaged: their paths in the folder, `*` also across `/`."""
    codecs: Mapping[str, str] = field(default_factory=dict)
    """For patterns of files what they are written in (`trees.CODECS`), where their endings do not tell."""
    changes: tuple[str, ...] = ()
    """Patterns of the files that reading may change or make, as SQLite's journal; any other must stay as it is."""
    seconds: float = 5.0
    """So much processor time may an attempt take."""
    megabytes: int = 400
    """So much more memory than before may it hold at a time."""
    modules: tuple[str, ...] = ()
    """What of raglift it is there for, to tell readers of this file; `test_reach.py` measures what it drives."""


class Bench:
    """A reader with its well-formed input in a folder, ready for attempts.

    Args:
        reader: the reader.
        folder: where its files go; a temporary one where None.
    """

    def __init__(self, reader: Reader, folder: Path | None = None) -> None:
        self.reader = reader
        self._outside = folder or Path(tempfile.mkdtemp(prefix="raglift-fuzzing-"))
        self.folder = self._outside / "input"
        self.folder.mkdir(parents=True)
        (self._outside / "canary.txt").write_text(CANARY, encoding="utf-8")
        reader.write(self.folder)
        self.seed = _files(self.folder)
        self.targets = [path for path in self.seed if _is_like(path, reader.targets)]
        if not self.targets:
            raise ValueError(f"{reader.name}: no file is like {reader.targets}; there are {list(self.seed)}")

    @cached_property
    def trees(self) -> dict[str, tuple[Codec, Any]]:
        """For each target that has a structure, how that is written, and what it is."""
        found = {}
        for path in self.targets:
            named = next((name for pattern, name in self.reader.codecs.items() if fnmatch(path, pattern)), None)
            codec = codec_of(path, named)
            if codec is not None:
                found[path] = (codec, codec.decode(self.seed[path]))
        return found

    def attempt(self, damage: Damage) -> Outcome:
        """Read the input with some files damaged, and put them right again.

        Raises:
            BrokenError: the reader did what none may.
        """
        expected = {path: data for path, data in {**self.seed, **damage}.items() if data is not None}
        try:
            for path, data in damage.items():
                _put(self.folder / path, data)
            outcome = self._read()
            self._check_files(expected)
        finally:
            self._restore()
        return outcome

    def remove(self) -> None:
        """Delete all that the bench has written."""
        shutil.rmtree(self._outside, ignore_errors=True)

    def _read(self) -> Outcome:
        reader = self.reader
        try:
            with within(reader.seconds, reader.megabytes):
                result = reader.read(self.folder)
        except reader.errors as error:
            _check_message(error)
            return "refused"
        except TooMuchError as error:
            raise BrokenError(f"{error} {_where(error)}", _told(error)) from error
        except Exception as error:
            raise BrokenError(f"{type(error).__name__} {_where(error)}", _told(error)) from error
        if reader.check is not None:
            try:
                reader.check(result)
            except AssertionError as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                raise BrokenError(f"a result that is not valid: {where.line}", f"{error}\n{result!r:.2000}") from error
            except Exception as error:
                raise BrokenError(
                    f"what became of a result: {type(error).__name__} {_where(error)}", _told(error)
                ) from error
        if CANARY in repr(result):
            raise BrokenError("a file outside the folder was read", f"{result!r:.2000}")
        return "returned"

    def _check_files(self, expected: Mapping[str, bytes]) -> None:
        found = _files(self.folder)
        for path in found.keys() | expected.keys():
            if found.get(path) != expected.get(path) and not _is_like(path, self.reader.changes):
                did = "made" if path not in expected else "deleted" if path not in found else "changed"
                raise BrokenError(f"reading {did} the file {path}")
        beside = sorted(path.name for path in self._outside.iterdir())
        if beside != ["canary.txt", "input"]:
            raise BrokenError(f"reading made files outside the folder: {beside}")

    def _restore(self) -> None:
        found = _files(self.folder)
        for path in found.keys() - self.seed.keys():
            _put(self.folder / path, None)
        for path, data in self.seed.items():
            if found.get(path) != data:
                _put(self.folder / path, data)


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


def _check_message(error: RagliftError) -> None:
    """Refuse a message that is empty, endless, or holds what no terminal should get."""
    message = str(error)
    if not message.strip():
        raise BrokenError(f"{type(error).__name__} without a message {_where(error)}") from error
    if len(message) > _LONGEST_MESSAGE:
        raise BrokenError(
            f"a message of {len(message) // 1000:,}k characters {_where(error)}", message[:500]
        ) from error
    if _TRACEBACK.search(message):
        raise BrokenError(f"a message with a traceback {_where(error)}", message[:2000]) from error
    if found := UNPRINTABLE.search(message):
        raise BrokenError(f"a message that cannot be printed {_where(error)}", f"{found[0]!r} in {message!r:.2000}")
    if CANARY in message:
        raise BrokenError(f"a message that tells of a file outside the folder {_where(error)}", message[:2000])


def _where(error: BaseException) -> str:
    """Return the innermost line of raglift that an error came from: the same for the same bug."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/src/raglift/" in frame.filename]
    if not frames:
        return "outside raglift"
    last = frames[-1]
    return f"at {last.filename.rpartition('/src/')[2]}:{last.lineno} ({last.name})"


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-4000:]
