"""One content-addressed cache: the outputs of models for texts, in one SQLite file.

A key is a hash of everything that decides the value (model, revision, dtype, settings, text), so an entry can
never be stale and the file is always safe to delete. Several processes may share it (WAL).
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import zlib
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.base.display import printable
from raglift.base.limits import is_file, user_path
from raglift.base.progress import notice
from raglift.errors import CacheError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


KEY_BYTES = 16
"""The length of a key."""
_KEYS_PER_SELECT = 500
_PAGE_BYTES = 16_384
"""Holds several vectors of usual sizes, where SQLite's own 4,096 bytes would spread many over two pages."""
_BUSY_SECONDS = 60.0
_SWITCH_SECONDS = 5.0
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite's errors are; of a damaged schema it cannot even be said what is wrong."""


def cache_folder() -> Path:
    """Return where raglift keeps what it can make again: `$RAGLIFT_CACHE`, else the user's cache folder."""
    named = os.environ.get("RAGLIFT_CACHE")
    if named:
        return user_path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("raglift"))


def content_key(*parts: str) -> bytes:
    """Return a 16-byte key for the parts; no two different tuples of parts are confused."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()[:KEY_BYTES]


class Lookups:
    """What was looked for in caches while they were counted."""

    def __init__(self) -> None:
        self.asked = 0
        """How many distinct keys were looked up; a key counts again in each call."""
        self.found = 0
        """How many of them were there."""
        self._adding = threading.Lock()

    def add(self, asked: int, found: int) -> None:
        """Count one call."""
        with self._adding:
            self.asked += asked
            self.found += found


_is_bypassed: ContextVar[bool] = ContextVar("raglift cache bypassed", default=False)
_counting: ContextVar[tuple[Lookups, ...]] = ContextVar("raglift cache lookups", default=())


@contextmanager
def bypassed() -> Iterator[None]:
    """Pass by every cache: nothing is found in one and nothing is kept, so that each model is really asked.

    Holds for what the block calls, in the threads and on the event loop of `raglift.execution` too, and for nothing
    else in the process. It does not affect a thread that a system starts without its caller's context.
    """
    token = _is_bypassed.set(True)
    try:
        yield
    finally:
        _is_bypassed.reset(token)


def is_bypassed() -> bool:
    """Whether this is called in a block of `bypassed`."""
    return _is_bypassed.get()


@contextmanager
def counted() -> Iterator[Lookups]:
    """Count what the block looks up in any cache, with the same scope as `bypassed`; blocks may be nested.

    Yields:
        The counts, complete when the block ends. A lookup that passed by the cache is none.
    """
    lookups = Lookups()
    token = _counting.set((*_counting.get(), lookups))
    try:
        yield lookups
    finally:
        _counting.reset(token)


class Cache:
    """A key-value store of bytes in one SQLite file.

    Args:
        path: the file; its folder is made when missing. None keeps everything in memory.
        read_only: a file of a cache that may only be read; what is not in this cache is looked up there.

    Raises:
        CacheError: the file exists and is not a cache, or cannot be opened.
    """

    def __init__(self, path: Path | None, *, read_only: Path | None = None) -> None:
        self.path = path
        self._below = None if read_only is None else _opened_read_only(read_only)
        self._writing = threading.Lock()
        connection = None
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                path or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")  # of a new file; another keeps its own
            _use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
            _make_table(connection)
        except (*_DAMAGE, OSError) as error:
            if connection is not None:
                connection.close()
            raise self._error("open", error) from error
        self._connection = connection

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the values of the keys that are there; none while caches are bypassed.

        A value that is not as it was written, since the file was damaged where SQLite does not notice, is forgotten.
        """
        if _is_bypassed.get():
            return {}
        wanted = list(dict.fromkeys(keys))
        try:
            found, damaged = _look_up(self._connection, wanted)
        except _DAMAGE as error:
            raise self._error("read", error) from error
        if damaged:
            self.remove_many(damaged)
        if self._below is not None:
            with suppress(*_DAMAGE):  # what cannot be read there is made again
                found |= _look_up(self._below, [key for key in wanted if key not in found])[0]
        for lookups in _counting.get():
            lookups.add(len(wanted), len(found))
        return found

    def put_many(self, entries: Mapping[bytes, bytes]) -> None:
        """Store all entries in one transaction: after a crash either all of them are there or none.

        While caches are bypassed, nothing is stored.
        """
        if not entries or _is_bypassed.get():
            return
        try:
            with self._writing:  # threads share the connection, and it has one transaction at a time
                self._write(list(entries.items()))
        except (*_DAMAGE, TypeError) as error:  # what is no bytes has no checksum
            raise self._error("write to", error) from error

    def remove_many(self, keys: Iterable[bytes]) -> None:
        """Forget what is kept under the keys, if anything."""
        try:
            with self._writing:
                self._connection.executemany("DELETE FROM entries WHERE key = ?", [(key,) for key in keys])
        except _DAMAGE as error:
            raise self._error("write to", error) from error

    def _write(self, rows: list[tuple[bytes, bytes]]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                "INSERT OR IGNORE INTO entries (key, value, checksum) VALUES (?, ?, ?)",
                ((key, value, _checksum(key, value)) for key, value in rows),
            )
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # on a full disk, SQLite has rolled back by itself
                self._connection.execute("ROLLBACK")
            raise

    def count(self) -> int:
        """Return how many entries there are."""
        try:
            (count,) = self._connection.execute("SELECT COUNT(*) FROM entries").fetchone()
        except _DAMAGE as error:
            raise self._error("read", error) from error
        return int(count)

    def close(self) -> None:
        """Close the file; a thread that is writing is waited for: SQLite would crash the process."""
        with self._writing:
            self._connection.close()
        if self._below is not None:
            self._below.close()

    def _error(self, action: str, error: Exception) -> CacheError:
        said = printable(str(error))  # SQLite quotes what it found in a damaged file
        return CacheError(
            f"cannot {action} the cache {self.path}: {said}. It holds nothing that cannot be made again: "
            "free some space or delete the file and run again, or set RAGLIFT_CACHE to another folder"
        )


def _look_up(connection: sqlite3.Connection, keys: list[bytes]) -> tuple[dict[bytes, bytes], list[bytes]]:
    """Return the values of the keys that are there, and the keys whose values are not as they were written."""
    found: dict[bytes, bytes] = {}
    damaged: list[bytes] = []
    for begin in range(0, len(keys), _KEYS_PER_SELECT):
        part = keys[begin : begin + _KEYS_PER_SELECT]
        marks = ",".join("?" * len(part))
        rows = connection.execute(
            f"SELECT key, value, checksum FROM entries WHERE key IN ({marks})",  # noqa: S608 — question marks
            part,
        )
        for key, value, checksum in rows.fetchall():
            if _is_whole(key, value, checksum):
                found[key] = value
            else:
                damaged.append(key)
    return found, damaged


def _opened_read_only(path: Path) -> sqlite3.Connection | None:
    """Return a cache that may only be read; None where there is none that can be.

    Without the right to write in its folder, SQLite reads a file with a write-ahead log only as one that nobody writes.
    """
    for how in ("mode=ro", "mode=ro&immutable=1"):
        connection = None
        try:
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, check_same_thread=False)
            connection.execute("SELECT key, value, checksum FROM entries LIMIT 1").fetchall()
        except (*_DAMAGE, OSError):
            if connection is not None:
                connection.close()
        else:
            return connection
    return None


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch to WAL. SQLite does not wait here for another process that is switching too, so this tries again."""
    import tenacity

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_busy),  # a full disk is full however often it is tried
        stop=tenacity.stop_after_delay(_SWITCH_SECONDS),
        wait=tenacity.wait_random(0.01, 0.05),
        reraise=True,
    )
    again(connection.execute, "PRAGMA journal_mode=WAL")


def _is_busy(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says in what way
    return isinstance(error, sqlite3.OperationalError) and code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _make_table(connection: sqlite3.Connection) -> None:
    """Make the table if there is none.

    Rows lie in the order in which they came, and only the keys in their own: sorted by their keys, a million vectors
    take five times as long to write and almost four times the space.
    """
    connection.execute(
        "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL)"
    )


def _checksum(key: bytes, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(key))


def _is_whole(key: Any, value: Any, checksum: Any) -> bool:
    """Whether an entry is as it was written."""
    is_of_kind = isinstance(key, bytes) and isinstance(value, bytes)  # a damaged SQLite file may hold anything
    return is_of_kind and checksum == _checksum(key, value)


_open: dict[Path, Cache] = {}


def is_kept_on_disk() -> bool:
    """Whether this process has opened the cache of this user, and it outlives the process."""
    return any(cache.path is not None for cache in _open.values())


def default_cache() -> Cache:
    """Return the cache that all runs of this user share, opened once per process.

    Where its folder cannot be written (a read-only home), says so on standard error, reads what is there, and keeps new
    entries in memory.
    """
    path = cache_folder() / "cache.sqlite"
    if path not in _open:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            there = is_file(path)
            writable = os.access(path.parent, os.W_OK) and (not there or os.access(path, os.W_OK))
        except OSError:
            there = writable = False
        if not writable:
            notice(
                f"raglift: {printable(str(path.parent))} cannot be written: {'what it holds is read, and new ' * there}"
                "vectors, scores and answers are kept in memory, and made again next time; set RAGLIFT_CACHE to a "
                "folder that can",
                show=True,
            )
        _open[path] = Cache(path) if writable else Cache(None, read_only=path)
    return _open[path]
