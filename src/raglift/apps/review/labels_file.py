"""The file of labels under review: every save replaces the whole file, unless another program changed it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.datasets.jsonl import check_queries, passage_value, placed_value, read_queries
from raglift.errors import ConfigurationError, DatasetError, Fault, MissingDependency
from raglift.utilities.limits import is_there, resolved, user_path
from raglift.utilities.replacing import NOTHING_WRITTEN, replacing_file
from raglift.utilities.strict_files import decode_lines
from raglift.utilities.validation import Location, quoted

if TYPE_CHECKING:
    from raglift.types.documents import Document
    from raglift.types.labels import Query


_MOST_COPIES = 1000


@dataclass(frozen=True)
class Content:
    """What the file holds."""

    queries: Mapping[str, Query]
    """By id, in file order."""
    lines: Mapping[str, str]
    """The line of each, unchanged there, by id."""
    digest: str
    """Of all bytes of the file; empty if there is none."""


_NO_FILE = Content({}, {}, "")


class LabelsFile:
    """A queries file of raglift's own that is saved change by change.

    What was not changed keeps its line, letter by letter, so quote anchors of others stay quote anchors.

    Args:
        path: the file; links are followed once, so that what they point to is what is replaced.
        documents: the source texts. Without them, spans are written with their text.
    """

    def __init__(self, path: Path, documents: Sequence[Document] = ()) -> None:
        self.path = resolved(user_path(path))
        self._documents = tuple(documents)
        self._content = _NO_FILE
        self._wanted: tuple[Query, ...] = ()

    def open(self, wanted: Sequence[Query]) -> tuple[Mapping[str, Query], int]:
        """Read the file, and add the queries that it lacks; make it where there is none.

        Args:
            wanted: the queries under review; those of the file have the same texts by the same ids.

        Returns:
            All queries of the file by id, with the file's labels, and how many of them were added.
        """
        self._wanted = tuple(wanted)
        self._content = self.read()
        self._check_same(self._content)
        known = self._content.queries
        added = {query.id: query for query in wanted if query.id not in known}
        if added:
            self.write({query_id: self.line_of(query) for query_id, query in added.items()})
        return {**known, **added}, len(added)

    def read(self) -> Content:
        """Return what the file holds now."""
        before = self._digest()
        if not before:
            return _NO_FILE
        queries = read_queries(self.path, self._documents)
        data = self.path.read_bytes()
        if hashlib.sha256(data).hexdigest() != before:
            return self.read()  # it was changed between the two
        lines = [line for _, line in decode_lines(data, Location(self.path.name, []))]
        by_id = dict(zip((query.id for query in queries), lines, strict=True))
        return Content({query.id: query for query in queries}, by_id, before)

    def line_of(self, query: Query) -> str:
        """Return the line that says what a query is."""
        faults: list[Fault] = []
        value = passage_value if self._documents else placed_value
        (entry,) = check_queries([query], self._documents, faults, value)
        if faults:
            raise DatasetError(str(self.path), faults, NOTHING_WRITTEN)
        return json.dumps(entry, ensure_ascii=False)

    def write(self, lines: Mapping[str, str]) -> None:
        """Replace the file by itself with other lines for some queries; new ones stand at the end."""
        if self._digest() not in (self._content.digest, ""):
            found = "a file that another program changed since it was read here"
            raise DatasetError(str(self.path), [Fault(str(self.path), found, "the review to be started again")])
        written = {**self._content.lines, **lines}
        text = "".join(line + "\n" for line in written.values())
        with replacing_file(self.path) as file:
            file.write(text)
        self._content = Content(self._content.queries, written, hashlib.sha256(text.encode()).hexdigest())

    def _check_same(self, content: Content) -> None:
        """Raise a DatasetError unless the file is about the queries under review, as far as it has them."""
        known, faults = content.queries, []
        for query in self._wanted:
            if query.id in known and known[query.id].text != query.text:
                found = f"another text of the query {quoted(query.id)}: {quoted(known[query.id].text)}"
                faults.append(Fault(str(self.path), found, f"the one of the runs: {quoted(query.text)}"))
        if known and not any(query.id in known for query in self._wanted):
            expected = "the runs' queries, or some of them, by the same ids; or the name of a new file"
            faults.append(Fault(str(self.path), f"{len(known)} queries, none of them of the runs", expected))
        if faults:
            raise DatasetError(str(self.path), faults)

    def beside(self, what: str, lines: Mapping[str, str]) -> Path:
        """Write lines to a new file next to this one, as `labels.unsaved-1.jsonl`, and return its path."""
        names = (self.path.with_name(f"{self.path.stem}.{what}-{n}.jsonl") for n in range(1, _MOST_COPIES))
        location = next(name for name in names if not is_there(name))
        with replacing_file(location) as file:
            file.writelines(line + "\n" for line in lines.values())
        return location

    def _digest(self) -> str:
        try:
            return hashlib.sha256(self.path.read_bytes()).hexdigest()
        except FileNotFoundError:
            return ""
        except OSError as error:
            fault = Fault(str(self.path), f"no readable file ({error.strerror or error})", "a file of queries")
            raise DatasetError(str(self.path), [fault]) from error


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold a file of labels until the end of the block: no other review can open it meanwhile.

    The lock is the operating system's, so it ends with the process, however that ends. Its file, `.NAME.lock`, stays.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise MissingDependency(error.name or "filelock", "review", "raglift labels review") from None
    location = resolved(user_path(path))
    try:
        location.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(location.with_name(f".{location.name}.lock"))
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigurationError(
            f"{path}: found another review at work on this file; expected one at a time: use its page, or stop it"
        ) from None
    except OSError as error:
        raise ConfigurationError(
            f"{path}: found no place to write beside it ({error.strerror or error}); expected a folder to write to"
        ) from error
    try:
        yield
    finally:
        lock.release()
