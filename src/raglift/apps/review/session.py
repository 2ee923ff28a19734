"""A review session: the current queries, who may change what, and unsaved changes."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import threading
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from raglift.apps.review.labels_file import ChangedMeanwhile
from raglift.errors import ConfigurationError, DatasetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from raglift.apps.review.labels_file import Content, LabelsFile
    from raglift.records.labels import Query


_REMEMBERED = 1000
"""How many changes of a tab can be undone."""
_MOST_TABS = 200


class StaleChange(ConfigurationError):
    """A change was made on a version of a query that is not the newest any more."""


class NothingToUndo(ConfigurationError):
    """A tab made no change that could be undone."""


@dataclass(frozen=True)
class Saving:
    """What is on disk, and what is not."""

    at: str
    """When the file was last saved, as `14:02:11`; empty for not yet."""
    unsaved: int = 0
    """How many queries differ from the file."""
    problem: str = ""
    """Why they do; empty when all is saved."""
    changed_meanwhile: bool = False
    """Whether the reason is that another program changed the file."""

    def as_json(self) -> dict[str, Any]:
        """Return it as the page reads it."""
        return asdict(self)


@dataclass(frozen=True)
class _State:
    query: Query
    version: int = 0
    """Grows with each change."""
    change: int = 0
    """The number of the change of the whole review that was this query's last."""


@dataclass(frozen=True)
class _Change:
    index: int
    before: Query
    base: int
    """The version that it was made on."""
    version: int
    """The version that it made."""


class Session:
    """The queries of a review and their file; every method is safe to call from several threads.

    Args:
        queries: the queries under review, as the file has them.
        file: where they are saved.
    """

    def __init__(self, queries: Sequence[Query], file: LabelsFile) -> None:
        self._states = [_State(query) for query in queries]
        self._index = {query.id: number for number, query in enumerate(queries)}
        self._file = file
        self._pending: dict[str, str] = {}
        self._undoable: dict[str, list[_Change]] = defaultdict(list)
        self._lock = threading.RLock()
        self._saving = Saving("")
        self._changes = 0
        self.start = secrets.token_hex(8)
        """The name of this start: versions and changes are counted anew at each."""
        self.decisions = 0
        """How many changes were made in all."""

    @property
    def saving(self) -> Saving:
        """What is saved, and what is not."""
        return self._saving

    @property
    def changes(self) -> int:
        """The number of the last change."""
        return self._changes

    def __len__(self) -> int:
        return len(self._states)

    def query(self, index: int) -> Query:
        """Return a query as it is now."""
        return self._states[index].query

    def version(self, index: int) -> int:
        """Return the version of a query."""
        return self._states[index].version

    def changed_since(self, change: int) -> list[int]:
        """Return the queries that were changed after the change of this number."""
        return [index for index, state in enumerate(self._states) if state.change > change]

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Keep everything as it is for the block, but for what the block itself does."""
        with self._lock:
            yield

    def touch(self, index: int) -> None:
        """Have every page look at a query again."""
        with self._lock:
            self._changes += 1
            self._states[index] = replace(self._states[index], change=self._changes)

    def check_version(self, index: int, version: int) -> None:
        """Raise a StaleChange unless that is the version of the query."""
        if version != self._states[index].version:
            raise StaleChange("the query was changed elsewhere meanwhile; nothing was done here: look, and decide")

    def apply(self, index: int, version: int, tab: str, operation: Callable[[Query], Query]) -> None:
        """Change a query, and save the file.

        Args:
            index: which.
            version: of the query, as whoever decides has seen it.
            tab: who decides; they alone can undo it.
            operation: from the query to the changed one.

        Raises:
            StaleChange: the query was changed since.
            ConfigurationError: the operation refuses; nothing was changed.
            DatasetError: the changed query could not be read back; nothing was changed.
        """
        with self._lock:
            state = self._states[index]
            self.check_version(index, version)
            after = operation(state.query)
            if after != state.query:
                made = self._become(index, after)
                undoable = self._undoable[tab]
                undoable.append(_Change(index, state.query, state.version, made.version))
                del undoable[:-_REMEMBERED]
                self._forget_tabs()
                self.save()

    def undo(self, tab: str) -> int:
        """Take back the last change of a tab, save, and return the number of the query.

        Raises:
            NothingToUndo: there is none left.
            StaleChange: its query was changed by others since; the change can be undone no more.
        """
        with self._lock:
            undoable = self._undoable[tab]
            if not undoable:
                raise NothingToUndo("nothing to undo: this tab made no change that is not undone yet")
            last = undoable.pop()
            if self._states[last.index].version != last.version:
                query = self._states[last.index].query.id
                raise StaleChange(f"not undone: the query {query!r} was changed elsewhere since")
            made = self._become(last.index, last.before)
            # The change before it may be undone too: its query is again as it left it
            for place in range(len(undoable) - 1, -1, -1):
                if undoable[place].index == last.index:
                    if undoable[place].version == last.base:
                        undoable[place] = replace(undoable[place], version=made.version)
                    break
            self.save()
            return last.index

    def save(self) -> None:
        """Write what is not saved yet; why that fails is in `saving`."""
        with self._lock:
            if not self._pending:
                return
            try:
                self._file.write(self._pending)
            except DatasetError as error:
                self._note_problem(error)
            else:
                self._pending.clear()
                self._saving = Saving(_now())

    def take_in(self) -> str:
        """Take in what another program wrote to the file, save, and return the outcome of it in words.

        A query that only one side changed is as that side has it. One that both changed is as it is here, and the file
        as the other program left it is kept next to it.

        Raises:
            DatasetError: the file is malformed now, or cannot be written; nothing was changed.
        """
        with self._lock:
            theirs = self._file.read()
            if theirs.queries:
                self._file.check_same(theirs, [state.query for state in self._states])
            taken = self._taken(theirs)
            copy = self._file.take_in(theirs, self._pending)
            for index, query in taken:
                self._become(index, query, pending=False)
            self._pending.clear()
            self._saving = Saving(_now())
        told = f"saved your changes, and took in those of the other program ({len(taken):,} of these queries)"
        if copy is None:
            return told
        return f"{told}; where both changed a query yours was kept, and the other file is {copy.name}"

    def rescue(self) -> str:
        """Save what can be saved when the review ends, and return the outcome of it in words."""
        with self._lock:
            self.save()
            if not self._pending:
                return f"{self.decisions:,} change{'s' * (self.decisions != 1)}, saved in {self._file.path}"
            copy = self._rescued()
            unsaved = f"{len(self._pending):,} changed quer{'ies' if len(self._pending) != 1 else 'y'}"
            return f"not saved in {self._file.path}: found {self._saving.problem}; {unsaved}: see {copy}"

    def _rescued(self) -> str:
        """Write what is not saved where there is a place for it, and return where; the lines themselves at worst."""
        try:
            return str(self._file.beside("unsaved", self._pending))
        except DatasetError:
            pass  # often the reason is the same: a full disk, a folder that is gone
        try:
            descriptor, place = tempfile.mkstemp(prefix=f"{self._file.path.stem}.unsaved-", suffix=".jsonl")
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(line + "\n" for line in self._pending.values())
        except OSError:
            # as ASCII, so that a terminal shows it and does nothing else
            return "\n".join(
                ["the lines that follow", *(json.dumps(json.loads(line)) for line in self._pending.values())]
            )
        return place

    def _taken(self, theirs: Content) -> list[tuple[int, Query]]:
        """Return the queries that only the other program changed, as it left them."""
        return [
            (self._index[key], query)
            for key, query in theirs.queries.items()
            if key in self._index
            and key not in self._pending
            and theirs.lines[key] != self._file.base(key)
            and query.text == self._states[self._index[key]].query.text
        ]

    def _become(self, index: int, query: Query, *, pending: bool = True) -> _State:
        if pending:
            self._pending[query.id] = self._file.line_of(query)
            self.decisions += 1
        self._changes += 1
        self._states[index] = _State(query, self._states[index].version + 1, self._changes)
        return self._states[index]

    def _note_problem(self, error: DatasetError) -> None:
        faults: Iterable[str] = (f"{fault.found}" for fault in error.faults)
        changed = isinstance(error, ChangedMeanwhile)
        self._saving = Saving(self._saving.at, len(self._pending), "; ".join(faults), changed)

    def _forget_tabs(self) -> None:
        while len(self._undoable) > _MOST_TABS:
            del self._undoable[next(iter(self._undoable))]


def _now() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")
