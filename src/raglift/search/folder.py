"""A search's folder: what was decided so far, and the sweeps of its rungs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import TypeAdapter

from raglift.base.limits import is_file, is_folder, is_there
from raglift.base.locks import hold
from raglift.base.plain_values import plain
from raglift.base.replacing import replacing_file
from raglift.base.validation import WrongKind, read_as
from raglift.errors import ConfigurationError, RunError
from raglift.search.budget import Work
from raglift.search.course import FIRST, JOINING
from raglift.search.schedule import Rung
from raglift.storage.forms import AtLeastOne, Count, Number, Object, SavedModel, Several, Text
from raglift.storage.layout import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

# search.json: the search and its dataset as a hash and in full, what was decided rung by rung, and what rungs took
# rungs/NAME/: a sweep over the cells and the queries of one rung; rungs/held-out-…: the winner on queries held out
# search.lock: held by the process that is working on the search

FORMAT = 1
HEAD = "search.json"
HELD_OUT = "held-out"
"""Begins the name of what is measured on queries that took no part."""
_LOCK, _RUNGS = "search.lock", "rungs"


class _Rung(SavedModel):
    keep: AtLeastOne
    queries: AtLeastOne
    joins: bool


class _Work(SavedModel):
    seconds: Number
    questions: Count


class _Saved(SavedModel):
    title: Text
    hash: Text
    search: Object
    sweep: Object
    rungs: Several[_Rung]
    joining: dict[Text, Count]
    work: dict[Text, _Work]
    finished: Several[Text]


_SAVED = TypeAdapter(Annotated[_Saved, "a search"])


@dataclass
class SearchFolder:
    """The state of one search, on disk after each change."""

    path: Path
    """Where it is."""
    title: str
    hash: str
    """Of the search but for its budget, and of the dataset."""
    search: Mapping[str, Any]
    """The settings of the search, as JSON has them."""
    sweep: Mapping[str, Any]
    """The fields of its sweep, likewise."""
    rungs: list[Rung] = field(default_factory=list)
    """What was decided for each rung after the first, in order."""
    joining: dict[str, int] = field(default_factory=dict)
    """How many further systems could join after each group of them, by its name."""
    work: dict[str, Work] = field(default_factory=dict)
    """What each rung took so far, by its name, in the order in which they began."""
    finished: list[str] = field(default_factory=list)
    """The names of the rungs that are done."""

    @property
    def spent(self) -> Work:
        """What counts against a budget: all that the race took, without the check on held-out queries."""
        return sum((work for name, work in self.work.items() if not name.startswith(HELD_OUT)), Work())

    @staticmethod
    def is_of(name: str, joined: bool) -> bool:
        """Return whether a rung asked only cells that joined, or only cells that began: the first."""
        return f"-{JOINING}" in name if joined else name.partition("-")[0] == FIRST

    @classmethod
    @contextmanager
    def begin(cls, head: SearchFolder, *, resume: bool) -> Iterator[SearchFolder]:
        """Begin a search in a new folder, or go on with one; the folder is held until the block ends.

        Args:
            head: what is searched, and where.
            resume: go on with what is there.

        Raises:
            ConfigurationError: the folder holds a search and `resume` is false, or another search.
            RunError: the folder holds something else, cannot be written, or another process works on it.
        """
        path = head.path
        is_begun = is_file(path / HEAD)
        if (
            not is_begun
            and is_there(path)
            and (not is_folder(path) or any(each.name != _LOCK for each in path.iterdir()))
        ):
            raise RunError(f"{path}: found something there that is no search; expected a new or empty folder")
        if is_begun and not resume:
            raise ConfigurationError(
                f"{path}: found a search there already; expected a new folder: continue it (--resume, or resume=True), "
                "or choose another folder (--output)"
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {error}") from error
        with hold(path / _LOCK, "this search"):
            if not is_begun:
                head.write()
                yield head
                return
            found = cls.read(path)
            if found.hash != head.hash:
                raise ConfigurationError(
                    f"{path}: found another search there; expected the same space, settings and dataset, to resume it: "
                    "choose another folder (--output) — what the models computed is in the cache"
                )
            found.search = head.search  # the budget may be another
            yield found

    @classmethod
    def read(cls, path: Path) -> SearchFolder:
        """Return what is kept of a search.

        Raises:
            RunError: there is none, it was written by a newer raglift, or it is damaged.
        """
        file = path / HEAD
        if not is_file(file):
            raise RunError(f"{path}: found no {HEAD}; expected the folder of a search")
        found = read_json(file)
        if not isinstance(found, dict) or type(found.get("format")) is not int:
            raise RunError(f"{file}: damaged: found no format number; search into another folder (--output)")
        if found["format"] > FORMAT:
            raise RunError(
                f"{file}: found format {found['format']}; expected {FORMAT} or lower: it was written by a newer "
                "raglift; upgrade with pip install -U raglift"
            )
        try:
            saved = read_as(_SAVED, found)
        except WrongKind as error:
            raise RunError(f"{file}: damaged: {error}; search into another folder (--output)") from None
        rungs = [Rung(rung.keep, rung.queries, rung.joins) for rung in saved.rungs]
        work = {name: Work(**each.model_dump()) for name, each in saved.work.items()}
        return cls(
            path, saved.title, saved.hash, saved.search, saved.sweep, rungs, saved.joining, work, list(saved.finished)
        )

    def write(self) -> None:
        """Write it down, all at once."""
        import json

        value = {
            "format": FORMAT,
            "title": self.title,
            "hash": self.hash,
            "search": self.search,
            "sweep": self.sweep,
            "rungs": [vars(rung) for rung in self.rungs],
            "joining": self.joining,
            "work": {name: vars(work) for name, work in self.work.items()},
            "finished": self.finished,
        }
        with replacing_file(self.path / HEAD, overwrite=True) as file:
            file.write(json.dumps(plain(value), ensure_ascii=False, indent=2) + "\n")

    def decided(self, number: int, otherwise: Callable[[], Rung | None]) -> Rung | None:
        """Return what is done in a rung: as it was decided before, or else what the function returns, written down."""
        if number < len(self.rungs):
            return self.rungs[number]
        rung = otherwise()
        if rung is not None:
            self.rungs.append(rung)
            self.write()
        return rung

    def joins(self, name: str, otherwise: Callable[[], int]) -> int:
        """Return how many further systems join after a group: as decided before, else as the function says."""
        if name not in self.joining:
            self.joining[name] = otherwise()
            self.write()
        return self.joining[name]

    def took(self, name: str, work: Work, *, is_finished: bool) -> None:
        """Note what the work on a rung took; what was taken before, and stopped, is added."""
        self.work[name] = self.work.get(name, Work()) + work
        if is_finished:
            self.finished.append(name)
        self.write()

    def seconds_of(self, rung: int) -> float:
        """Return how long a rung took, with what joined at it or was chosen for it."""
        return sum(work.seconds for name, work in self.work.items() if name.split("-")[0] == str(rung))

    def rung(self, name: str) -> Path:
        """Return where the sweep of a rung is kept."""
        return self.path / _RUNGS / name
