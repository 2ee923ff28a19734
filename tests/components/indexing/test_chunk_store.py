"""Very many chunks in a file: the same as in memory, but for the memory."""

from __future__ import annotations

import datetime as dt
import errno
import pickle
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.base.cache import cache_folder
from raglift.components import chunk_store
from raglift.components.chunk_store import StoredChunks, hold_chunks
from raglift.errors import CacheError
from raglift.records.documents import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHUNKS = tuple(
    Chunk(f"text {number}", id=str(number), doc_id="a.md", start=number, end=number + 6) for number in range(9)
)

_texts = st.text(st.characters(codec=None), max_size=8)  # lone surrogates are among them
_plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _texts
_others = st.binary() | st.dates() | st.sets(st.integers()) | st.floats(allow_nan=False).map(np.float64)
_values = st.recursive(
    _plain | _others, lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(_texts, inner)
)
_chunks = st.builds(
    Chunk,
    _texts,
    id=_texts,
    doc_id=st.none() | _texts,
    start=st.none() | st.integers(),
    end=st.none() | st.integers(),
    metadata=st.dictionaries(_texts, _values, max_size=3),
    context=_texts,
)


def all_of(chunk: Chunk) -> list[Any]:
    return [(type(value), repr(value), value) for value in vars(chunk).values()]


@given(st.lists(_chunks, max_size=5))
def test_chunks_are_read_as_they_were(chunks: list[Chunk]) -> None:
    stored = StoredChunks(chunks)
    assert len(stored) == len(chunks)
    for found in ([*stored], [stored[number] for number in range(len(chunks))], [*stored[:]]):
        assert [*map(all_of, found)] == [*map(all_of, chunks)]
    assert [*stored.indexed_texts] == [chunk.indexed_text for chunk in chunks]


def test_it_is_a_sequence_like_any_other() -> None:
    stored = StoredChunks(CHUNKS)
    assert (stored[0], stored[-1], stored[np.int64(3)]) == (CHUNKS[0], CHUNKS[-1], CHUNKS[3])
    assert stored[2:7:2] == CHUNKS[2:7:2]
    assert stored[::-1] == CHUNKS[::-1]
    assert stored.indexed_texts[1:3] == ["text 1", "text 2"]
    assert CHUNKS[4] in stored
    assert stored.index(CHUNKS[4]) == 4
    for beyond in (9, -10):
        with pytest.raises(IndexError):
            stored[beyond]


def test_a_chunk_that_somebody_has_is_the_same_one_again() -> None:
    stored = StoredChunks(CHUNKS)
    kept = stored[3]
    assert stored[3] is kept
    assert [*stored][3] is kept


def test_what_no_file_can_hold_stays_in_memory() -> None:
    framework, moment = object(), dt.datetime(2026, 11, 23, tzinfo=dt.UTC)
    chunks = [Chunk("a", origin=framework), CHUNKS[0], Chunk("b", metadata={"at": [moment]})]
    stored = StoredChunks(chunks)
    assert stored[0].origin is framework
    assert stored[1] == CHUNKS[0]
    assert stored[2].metadata == {"at": [moment]}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


# 200 lists are more than pydantic reads, 5,000 more than Python's stack holds
@pytest.mark.parametrize(
    "value",
    [nested(90), nested(200), nested(5_000), 10**3_000, -(10**5_000)],
    ids=["90 lists", "200 lists", "5,000 lists", "3,001 digits", "5,001 digits"],
)
def test_what_json_cannot_be_read_with_is_found_again(value: object) -> None:
    found = StoredChunks([Chunk("a", metadata={"value": value})])[0].metadata["value"]
    assert found is value or found == value


def test_a_chunk_that_counts_as_false_is_found() -> None:
    class Empty(Chunk):
        def __len__(self) -> int:
            return 0

    chunk = Empty("")
    stored = StoredChunks([CHUNKS[0], chunk])
    assert stored[1] is chunk
    assert [*stored][1] is chunk


def test_it_travels_with_its_chunks() -> None:
    travelled = pickle.loads(pickle.dumps(StoredChunks(CHUNKS)))  # noqa: S301 — as Ray sends it
    assert tuple(travelled) == CHUNKS


@pytest.mark.parametrize("count", [0, 4, 5, 9])
def test_only_many_chunks_of_an_iterator_are_kept_in_a_file(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_store, "MOST_IN_MEMORY", 4)
    held = hold_chunks(iter(CHUNKS[:count]))
    assert isinstance(held, StoredChunks) == (count > 4)
    assert tuple(held) == CHUNKS[:count]
    assert hold_chunks(held) is held
    assert hold_chunks(CHUNKS) is CHUNKS


@pytest.fixture
def file_limit() -> Iterator[None]:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("file_limit")
def test_a_disk_without_room_is_an_error_that_says_what_to_do() -> None:
    large = (Chunk("x" * 10_000, id=str(number)) for number in range(20))
    with pytest.raises(CacheError, match=r"cannot keep chunks in .*: .*Free some space, or set RAGLIFT_CACHE"):
        StoredChunks(large)


def test_a_cache_folder_that_cannot_be_written_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "file" / "cache"))
    assert tuple(StoredChunks(CHUNKS)) == CHUNKS


def test_no_folder_that_can_be_written_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found_none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(tempfile, "gettempdir", found_none)
    with pytest.raises(CacheError, match=r"cannot keep chunks in .*: .*set RAGLIFT_CACHE"):
        StoredChunks(CHUNKS)


@pytest.mark.skipif(sys.platform == "win32", reason="a file there has a name as long as it is open")
def test_the_file_has_no_name_so_that_nothing_is_left_of_a_killed_process() -> None:
    before = {*cache_folder().glob("raglift-*")}
    stored = StoredChunks(CHUNKS)
    assert {*cache_folder().glob("raglift-*")} == before
    assert stored[0] == CHUNKS[0]
