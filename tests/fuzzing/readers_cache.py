"""The cache: its SQLite file damaged at any byte, and what is kept in it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from raglift.base.cache import Cache
from raglift.errors import CacheError

from .reader import Reader

__all__ = ["READERS"]

_VALUES = {
    number.to_bytes(16, "big"): struct.pack("<40f", *np.linspace(0, number, 40)) if number % 3 else b"a" * 5000
    for number in range(1, 40)
}
_NEW = {b"n" * 16: b"made anew"}


def _write(folder: Path) -> None:
    with closing(Cache(folder / "cache.sqlite")) as cache:
        cache.put_many(_VALUES)


def _read(folder: Path) -> dict[bytes, bytes]:
    """Look up everything, keep what is missing, and look it up again, as a run does."""
    with closing(Cache(folder / "cache.sqlite")) as cache:
        found = cache.get_many(_VALUES)
        cache.put_many({key: value for key, value in _VALUES.items() if key not in found} | _NEW)
        return found | cache.get_many([*_VALUES, *_NEW])


def _check(found: dict[bytes, bytes]) -> None:
    """Assert that nothing came back that was not put there."""
    assert found == {key: {**_VALUES, **_NEW}[key] for key in found}


READERS: Sequence[Reader] = (
    Reader(
        "cache",
        _write,
        _read,
        (CacheError,),
        _check,
        targets=("cache.sqlite",),
        changes=("cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm", "cache.sqlite-journal"),
    ),
)
"""All of the readers here."""
