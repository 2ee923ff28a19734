"""A sweep's folder: the finished cells, and what is kept beside them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Strict, TypeAdapter

from raglift.errors import ConfigurationError, RunError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.storage.forms import Flag, Object, SavedModel, Text
from raglift.storage.layout import read_json, write_json
from raglift.sweep.specification.cells import Cell
from raglift.utilities.display import listed, shorten
from raglift.utilities.limits import is_file, is_folder, is_there
from raglift.utilities.replacing import hold_lock, remove_leftovers
from raglift.utilities.validation import Expected, WrongKind, read_as

if TYPE_CHECKING:
    from raglift.types.dataset import Dataset


# A sweep on disk: the finished cells, from which a stopped sweep resumes.
#
# sweep.json: the specification, and a hash of it and of the dataset
# cells/KEY/: one finished cell, a saved evaluation
# retrieved/KEY/: retrieval that only cells with a reranker use, a saved evaluation without one
# failures.json: the error of each failed cell
# answers/KEY/: what a system of the user's has answered so far, until it has answered every query
# sweep.lock: held by the process that is working on the sweep
#
# A folder gets its name only when it is complete, so existing folders are always complete.


FORMAT = 1
_SWEEP, _FAILURES = "sweep.json", "failures.json"
_CELLS, _RETRIEVED, _ANSWERS = "cells", "retrieved", "answers"
_GONE = ".gone-"
"""Before the names of answers that are being removed."""
_LOCK = "sweep.lock"
_SHOWN = 200


class _Head(SavedModel):
    format: Annotated[Literal[1], Expected(f"{FORMAT}, as this version of raglift writes it")]
    title: Text
    primary: Text
    primary_named: Flag
    seed: Annotated[int, Strict(), Expected("an integer")]
    hash: Text
    sweep: Object
    cells: list[dict[Text, Text]]


_HEAD = TypeAdapter(_Head)


@dataclass(frozen=True)
class SweepFolder:
    """The state of one sweep."""

    path: Path
    """Where it is."""

    @classmethod
    @contextmanager
    def begin(cls, path: Path, head: Mapping[str, Any], *, resume: bool) -> Iterator[SweepFolder]:
        """Begin a sweep in a new folder, or resume a stopped one; the folder is held until the block ends."""
        folder = cls(path)
        try:
            foreign = not folder.exists() and is_there(path) and (not is_folder(path) or bool(_content(path)))
            if not foreign:
                path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path}: cannot be written: {error}") from error
        if foreign:
            raise RunError(f"{path}: found something there that is no sweep; expected a new or empty folder")
        with hold_lock(path / _LOCK, "this sweep"):
            if folder.exists():
                folder.check(head, resume=resume)
                folder.remove_leftovers()
            else:
                write_whole(path / _SWEEP, {"format": FORMAT, **head})
            yield folder

    def exists(self) -> bool:
        """Whether a sweep was begun here."""
        try:
            return is_file(self.path / _SWEEP)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be read: {error}; expected the right to look into it") from error

    def check(self, head: Mapping[str, Any], *, resume: bool) -> None:
        """Raise unless what is here may be gone on with."""
        if not resume:
            raise ConfigurationError(
                f"{self.path}: found a sweep there already ({len(self.finished())} configurations finished); expected "
                "a new folder: continue it (--resume, or resume=True), or choose another folder (--output)"
            )
        found = self.head()
        if found.get("hash") != head["hash"]:
            changed = _changed(found.get("sweep", {}), head["sweep"])
            raise ConfigurationError(
                f"{self.path}: found another sweep there: {changed}; expected the same, to resume it: "
                "choose another folder (--output) — what the models computed is in the cache and is not computed again"
            )

    def head(self) -> dict[str, Any]:
        """Return what is swept over, as it was written."""
        if not self.exists():
            found = f"no {_SWEEP}" if is_there(self.path) else "nothing there"
            raise RunError(f"{self.path}: found {found}; expected the folder of a sweep")
        head: dict[str, Any] = read_json(self.path / _SWEEP)
        try:
            read_as(_HEAD, head)
        except WrongKind as error:
            raise self.damaged(str(error)) from None
        return head

    def cells(self) -> list[Cell]:
        """Return the cells of the sweep, finished or not."""
        try:
            cells = [Cell.of(parts) for parts in self.head()["cells"]]
        except ConfigurationError as error:
            raise self.damaged(str(error)) from None
        if len(set(cells)) < len(cells):
            raise self.damaged("cells: found one twice; expected each once")
        return cells

    def damaged(self, found: str) -> RunError:
        """Return the error of a folder whose description of the sweep is not what was written."""
        return RunError(
            f"{self.path / _SWEEP}: damaged: {found}; as raglift sweep writes it: sweep into another folder "
            "(--output) — what the models computed is in the cache and is not computed again"
        )

    def finished(self) -> set[str]:
        """Return the keys of the cells that are finished."""
        return _names(self.path / _CELLS)

    def place(self, key: str, *, is_cell: bool) -> Path:
        """Return where an evaluation is kept."""
        return self.path / (_CELLS if is_cell else _RETRIEVED) / key

    def save(self, key: str, evaluation: Evaluation, *, is_cell: bool) -> None:
        """Keep an evaluation, whole or not at all."""
        evaluation.save(self.place(key, is_cell=is_cell), overwrite=True)

    def load(self, key: str, dataset: Dataset | None, *, is_cell: bool) -> Evaluation:
        """Return an evaluation that was kept."""
        place = self.place(key, is_cell=is_cell)
        try:
            evaluation = load_evaluation(place)
        except RunError as error:
            reason = str(error).removesuffix("; run the evaluation again")
            raise RunError(f"{reason}; {measure_again(place)}") from None
        if dataset is None:
            return evaluation
        if tuple(query.id for query in dataset.queries) != evaluation.scores.query_ids:
            raise RunError(f"{place}: damaged: found other questions than the sweep's; {measure_again(place)}")
        return replace(evaluation, dataset=dataset)

    def answers(self, key: str) -> Path:
        """Return where the answers of a user's system are kept until it has answered every query."""
        return self.path / _ANSWERS / key

    def unanswered(self) -> set[str]:
        """Return the keys of the cells whose answers are kept: of a finished one, some queries failed."""
        return _names(self.path / _ANSWERS)

    def forget_answers(self, key: str) -> None:
        """Remove the answers of a system that has answered every query."""
        gone = self.answers(key).with_name(f"{_GONE}{key}")
        with suppress(OSError):  # at once: where half of them were there, it would be asked again
            self.answers(key).replace(gone)
        self._clear_answers()

    def _clear_answers(self) -> None:
        """Remove answers that are not needed any more, and the folder of all of them where none are left."""
        for gone in (self.path / _ANSWERS).glob(f"{_GONE}*"):
            shutil.rmtree(gone, ignore_errors=True)
        with suppress(OSError):  # there is none, or those of another system are there
            (self.path / _ANSWERS).rmdir()

    def failures(self) -> dict[str, str]:
        """Return why each cell failed that did, by its key."""
        path = self.path / _FAILURES
        found = read_json(path) if is_file(path) else {}
        if not isinstance(found, dict):
            raise RunError(f"{path}: damaged: found a {type(found).__name__}; expected an object: remove it")
        return {key: str(reason) for key, reason in found.items()}

    def set_failures(self, failures: Mapping[str, str]) -> None:
        """Keep why cells failed."""
        if failures or is_there(self.path / _FAILURES):
            write_whole(self.path / _FAILURES, dict(failures))

    def remove_leftovers(self) -> None:
        """Remove what a killed process had half written or removed, and put back what it was about to replace."""
        self._clear_answers()
        for name in (_SWEEP, _FAILURES):
            (self.path / f".{name}.part").unlink(missing_ok=True)
        remove_leftovers(self.place(cell.key, is_cell=is_cell) for cell in self.cells() for is_cell in (True, False))


def measure_again(place: Path) -> str:
    """Say what to do where a folder of a cell cannot be used."""
    return f"remove the folder {place}, and continue with --resume to measure it again"


def write_whole(path: Path, content: Any) -> None:
    """Write a JSON file, all of it or nothing."""
    part = path.with_name(f".{path.name}.part")
    try:
        write_json(part, content)
        part.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error}") from error


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name[0] != "."} if is_folder(folder) else set()


def _content(folder: Path) -> set[str]:
    """Return what is in a folder, besides what a process that was killed at its first step leaves."""
    return {path.name for path in folder.iterdir()} - {_LOCK, f".{_SWEEP}.part"}


def _changed(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return which settings differ."""
    names = [name for name in {**found, **wanted} if _plain(found.get(name)) != _plain(wanted.get(name))]
    if not names:
        return "the dataset, a mapping file, the code of a metric or raglift itself has changed"
    shown = [f"{name} was {_plain(found.get(name))} and is {_plain(wanted.get(name))}" for name in names]
    return listed(shown, 3, "; ")


def _plain(value: Any) -> str:
    return shorten(json.dumps(value, sort_keys=True, ensure_ascii=False, default=str), _SHOWN)
