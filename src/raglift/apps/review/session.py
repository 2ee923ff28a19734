"""A review session: the queries as they are now, the undo of changes, and what is not saved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from raglift.datasets.jsonl import placed_value, query_value
from raglift.errors import ConfigurationError, DatasetError
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.apps.review.labels_file import LabelsFile
    from raglift.types.labels import Query


_MOST_UNDONE = 1000
"""How many changes can be undone."""


class StaleChange(ConfigurationError):
    """A change was made on a version of a query that is not the newest any more."""


@dataclass(frozen=True)
class Saving:
    """What is on disk, and what is not."""

    at: str = ""
    """When the file was last saved, as `14:02:11`; empty for not yet."""
    unsaved: int = 0
    """How many queries differ from the file."""
    problem: str = ""
    """Why they do; empty when all is saved."""

    def as_json(self) -> dict[str, Any]:
        """Return it as the page reads it."""
        return asdict(self)


class Session:
    """The queries of a review and their file.

    Args:
        queries: the queries under review, as the file has them.
        file: where they are saved.
    """

    def __init__(self, queries: Sequence[Query], file: LabelsFile) -> None:
        self._queries = list(queries)
        self._file = file
        self._unsaved: dict[str, str] = {}
        self._undoable: list[tuple[int, Query]] = []
        self.saving = Saving()
        self.decisions = 0
        """How many changes were made in all."""

    def __len__(self) -> int:
        return len(self._queries)

    def query(self, index: int) -> Query:
        """Return a query as it is now."""
        return self._queries[index]

    def version(self, index: int) -> str:
        """Return the version of a query, which follows from its labels: a page of an earlier start has no other."""
        labels = json.dumps(query_value(self._queries[index], placed_value))
        return hashlib.sha256(labels.encode()).hexdigest()[:16]

    def apply(self, index: int, version: str, operation: Callable[[Query], Query]) -> None:
        """Change a query, and save the file.

        Args:
            index: which.
            version: of the query, as whoever decides has seen it.
            operation: from the query to the changed one.

        Raises:
            StaleChange: the query was changed since.
            ConfigurationError: the operation refuses; nothing was changed.
            DatasetError: the changed query could not be read back; nothing was changed.
        """
        if version != self.version(index):
            raise StaleChange("the query was changed elsewhere meanwhile; nothing was done here: look, and decide")
        before = self._queries[index]
        after = operation(before)
        if after != before:
            self._change(index, after)
            self._undoable = [*self._undoable[1 - _MOST_UNDONE :], (index, before)]
            self.save()

    def undo(self) -> int:
        """Take back the last change, save, and return the number of the query.

        Raises:
            ConfigurationError: there is none left.
        """
        if not self._undoable:
            raise ConfigurationError("nothing to undo: no change was made that is not undone yet")
        index, before = self._undoable.pop()
        self._change(index, before)
        self.save()
        return index

    def _change(self, index: int, query: Query) -> None:
        self._unsaved[query.id] = self._file.line_of(query)
        self._queries[index] = query
        self.decisions += 1

    def save(self) -> None:
        """Write what is not saved yet; why that fails is in `saving`."""
        if not self._unsaved:
            return
        try:
            self._file.write(self._unsaved)
        except DatasetError as error:
            problem = "; ".join(str(fault.found) for fault in error.faults)
            self.saving = Saving(self.saving.at, len(self._unsaved), problem)
            return
        self._unsaved.clear()
        self.saving = Saving(datetime.now().astimezone().strftime("%H:%M:%S"))

    def rescue(self) -> str:
        """Save what can be saved when the review ends, and return the outcome of it in words."""
        self.save()
        if not self._unsaved:
            return f"{counted(self.decisions, 'change')}, saved in {self._file.path}"
        place = self._rescued()
        queries = counted(len(self._unsaved), "changed query")
        return f"not saved in {self._file.path}: found {self.saving.problem}; {queries}: see {place}"

    def _rescued(self) -> str:
        """Write what is not saved beside the file, and return where; the lines themselves if that cannot be."""
        try:
            return str(self._file.beside("unsaved", self._unsaved))
        except DatasetError:  # often the reason is the same: a full disk, a folder that is gone
            # As ASCII, so that a terminal shows it and does nothing else
            lines = (json.dumps(json.loads(line)) for line in self._unsaved.values())
            return "\n".join(["the lines that follow", *lines])
