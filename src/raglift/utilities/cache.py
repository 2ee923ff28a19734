"""One content-addressed cache: the outputs of models for texts, in one SQLite file.

A key is a hash of everything that decides the value (model, revision, dtype, settings, text), so an entry can
never be stale and the file is always safe to delete. Several processes may share it (WAL).
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from raglift.errors import CacheError
from raglift.utilities.display import printable
from raglift.utilities.limits import is_there, user_path
from raglift.utilities.progress import notice

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

    Holds for what the block calls, in the threads and on the event loop of `raglift.running.execution` too, and for
    nothing else in the process. It does not affect a thread that a system starts without its caller's context.
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

    Raises:
        CacheError: the file exists and is not a cache, or cannot be opened.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
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
            # Rows lie in the order in which they came: sorted by their keys, a million vectors take five times as long
            # to write and almost four times the space
            connection.execute("CREATE TABLE IF NOT EXISTS outputs (key BLOB PRIMARY KEY, value BLOB NOT NULL)")
        except (*_DAMAGE, OSError) as error:
            if connection is not None:
                connection.close()
            raise self._error("open", error) from error
        self._connection = connection
        # Python 3.13 warns of a connection that is collected while open. At exit a thread may still be writing
        weakref.finalize(self, connection.close).atexit = False

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the values of the keys that are there; none while caches are bypassed."""
        if _is_bypassed.get():
            return {}
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}
        try:
            for begin in range(0, len(wanted), _KEYS_PER_SELECT):
                part = wanted[begin : begin + _KEYS_PER_SELECT]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, value FROM outputs WHERE key IN ({marks})"  # noqa: S608 — question marks
                found.update(self._connection.execute(query, part).fetchall())
        except _DAMAGE as error:
            raise self._error("read", error) from error
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
        except _DAMAGE as error:
            raise self._error("write to", error) from error

    def remove_many(self, keys: Iterable[bytes]) -> None:
        """Forget what is kept under the keys, if anything."""
        try:
            with self._writing:
                self._connection.executemany("DELETE FROM outputs WHERE key = ?", [(key,) for key in keys])
        except _DAMAGE as error:
            raise self._error("write to", error) from error

    def _write(self, rows: list[tuple[bytes, bytes]]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("INSERT OR IGNORE INTO outputs (key, value) VALUES (?, ?)", rows)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # on a full disk, SQLite has rolled back by itself
                self._connection.execute("ROLLBACK")
            raise

    def count(self) -> int:
        """Return how many entries there are."""
        try:
            (count,) = self._connection.execute("SELECT COUNT(*) FROM outputs").fetchone()
        except _DAMAGE as error:
            raise self._error("read", error) from error
        return int(count)

    def close(self) -> None:
        """Close the file; a thread that is writing is waited for: SQLite would crash the process."""
        with self._writing:
            self._connection.close()

    def _error(self, action: str, error: Exception) -> CacheError:
        said = printable(str(error))  # SQLite quotes what it found in a damaged file
        return CacheError(
            f"cannot {action} the cache {self.path}: {said}. It holds nothing that cannot be made again: "
            "free some space or delete the file and run again, or set RAGLIFT_CACHE to another folder"
        )


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


_open: dict[Path, Cache] = {}


def is_kept_on_disk() -> bool:
    """Whether this process has opened the cache of this user, and it outlives the process."""
    return any(cache.path is not None for cache in _open.values())


def default_cache() -> Cache:
    """Return the cache that all runs of this user share, opened once per process.

    If its folder cannot be written, a line on standard error says so, and everything is kept in memory.
    """
    path = cache_folder() / "cache.sqlite"
    if path not in _open:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            writable = os.access(path.parent, os.W_OK) and (not is_there(path) or os.access(path, os.W_OK))
        except OSError:
            writable = False
        if not writable:
            notice(
                f"raglift: {printable(str(path.parent))} cannot be written: vectors, scores and answers are kept in "
                "memory, and made again next time; set RAGLIFT_CACHE to a folder that can",
                show=True,
            )
        _open[path] = Cache(path if writable else None)
    return _open[path]
