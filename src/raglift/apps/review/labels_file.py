"""The file of labels under review: every save replaces the whole file, and changes by others are never lost."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.base.limits import is_there, resolved, user_path
from raglift.base.replacing import NOTHING_WRITTEN, replacing_file
from raglift.base.strict_files import decode_lines
from raglift.base.validation import Location, quoted
from raglift.datasets.jsonl import check_queries, passage_value, placed_value, read_queries
from raglift.errors import ConfigurationError, DatasetError, Fault, MissingDependency

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from raglift.records.documents import Document
    from raglift.records.labels import Query


_MOST_COPIES = 1000


class ChangedMeanwhile(DatasetError):
    """Another program changed or removed the file since it was last read or written here."""


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

    def open(self, wanted: Sequence[Query]) -> tuple[Mapping[str, Query], int]:
        """Read the file, and add the queries that it lacks; make it where there is none.

        Args:
            wanted: the queries under review; those of the file have the same texts by the same ids.

        Returns:
            All queries of the file by id, with the file's labels, and how many of them were added.

        Raises:
            DatasetError: the file is malformed, is about other queries, or cannot be written.
        """
        self._content = self.read()
        self.check_same(self._content, wanted)
        known = self._content.queries
        added = {query.id: query for query in wanted if query.id not in known}
        if added:
            self.write({query_id: self.line_of(query) for query_id, query in added.items()})
        return {**known, **added}, len(added)

    def read(self) -> Content:
        """Return what the file holds now.

        Raises:
            DatasetError: it is malformed, or cannot be read.
        """
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
        """Return the line that says what a query is.

        Raises:
            DatasetError: it would not be read back as it is.
        """
        faults: list[Fault] = []
        value = passage_value if self._documents else placed_value
        (entry,) = check_queries([query], self._documents, faults, value)
        if faults:
            raise DatasetError(str(self.path), faults, NOTHING_WRITTEN)
        return json.dumps(entry, ensure_ascii=False)

    def write(self, lines: Mapping[str, str]) -> None:
        """Replace the file by itself with other lines for some queries; new ones stand at the end.

        Raises:
            ChangedMeanwhile: another program changed the file; nothing was written.
            DatasetError: it cannot be written; what was there is unchanged.
        """
        if self._digest() != self._content.digest:
            what = "changed" if is_there(self.path) else "removed"
            fault = Fault(str(self.path), f"a file that another program {what}", "the one that was read or saved last")
            raise ChangedMeanwhile(str(self.path), [fault], NOTHING_WRITTEN)
        self._replace({**self._content.lines, **lines}, self._content.queries)

    def take_in(self, theirs: Content, lines: Mapping[str, str]) -> Path | None:
        """Write what another program left there, with other lines for some queries.

        Args:
            theirs: what `read` returned.
            lines: of the queries that were changed here, by id.

        Returns:
            Where the file as the other program left it is kept, if it and `lines` changed the same queries; else None.

        Raises:
            ChangedMeanwhile: it was changed once more; nothing was written.
            DatasetError: it cannot be written.
        """
        base = self._content.lines
        both = [key for key in lines if key in theirs.lines and theirs.lines[key] not in (base.get(key), lines[key])]
        copy = self.beside("theirs", theirs.lines) if both else None
        kept, self._content = self._content, theirs
        try:
            self.write({**base, **theirs.lines, **lines})
        except DatasetError:
            self._content = kept
            raise
        return copy

    def base(self, query_id: str) -> str | None:
        """Return the line of a query as it was last read or written here."""
        return self._content.lines.get(query_id)

    def check_same(self, content: Content, wanted: Sequence[Query]) -> None:
        """Raise a DatasetError unless the file is about the queries under review, as far as it has them."""
        known, faults = content.queries, []
        for query in wanted:
            if query.id in known and known[query.id].text != query.text:
                found = f"another text of the query {quoted(query.id)}: {quoted(known[query.id].text)}"
                faults.append(Fault(str(self.path), found, f"the one of the runs: {quoted(query.text)}"))
        if known and not any(query.id in known for query in wanted):
            expected = "the runs' queries, or some of them, by the same ids; or the name of a new file"
            faults.append(Fault(str(self.path), f"{len(known)} queries, none of them of the runs", expected))
        if faults:
            raise DatasetError(str(self.path), faults)

    def beside(self, what: str, lines: Mapping[str, str]) -> Path:
        """Write lines to a new file next to this one, as `labels.theirs-1.jsonl`, and return its path.

        Raises:
            DatasetError: it cannot be written.
        """
        names = (self.path.with_name(f"{self.path.stem}.{what}-{n}.jsonl") for n in range(1, _MOST_COPIES))
        location = next(name for name in names if not is_there(name))
        with replacing_file(location) as file:
            file.writelines(line + "\n" for line in lines.values())
        return location

    def _replace(self, lines: Mapping[str, str], queries: Mapping[str, Query]) -> None:
        text = "".join(line + "\n" for line in lines.values())
        with replacing_file(self.path) as file:
            file.write(text)
        self._content = Content(queries, lines, hashlib.sha256(text.encode()).hexdigest())

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

    Raises:
        ConfigurationError: another review holds it, or there is no place for the lock.
        MissingDependency: filelock is not installed.
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
