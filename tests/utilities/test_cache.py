"""The cache: keys, several writers, crashes, and files that are not cache."""

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import CacheError
from raglift.utilities import cache as module
from raglift.utilities.cache import Cache, bypassed, cache_folder, content_key, counted, default_cache

PARTS = st.lists(st.text(alphabet=st.characters(), max_size=5), max_size=4).map(tuple)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "cache.sqlite"


@pytest.fixture
def _fresh(monkeypatch):
    """No cache is open yet in this process."""
    monkeypatch.setattr(module, "_open", {})


@given(PARTS, PARTS)
def test_no_two_tuples_of_parts_share_a_key(one, other):
    assert (content_key(*one) == content_key(*other)) == (one == other)
    assert len(content_key(*one)) == 16


@pytest.mark.slow
def test_what_is_put_is_got(path):
    cache = Cache(path)
    entries = {content_key(str(number)): bytes([number % 256]) * number for number in range(1200)}
    cache.put_many(entries)
    assert cache.get_many(entries) == entries
    assert cache.get_many([*entries, *entries, b"absent"]) == entries
    assert cache.get_many([]) == {}
    cache.put_many({})
    cache.close()
    assert Cache(path).get_many(entries) == entries


def test_a_cache_that_nothing_refers_to_any_more_closes_its_file(path):
    cache = Cache(path)
    connection = cache._connection
    del cache
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("SELECT 1")


def test_a_failed_batch_leaves_nothing_and_the_cache_continues(path):
    cache = Cache(path)
    with pytest.raises(CacheError, match="cannot write to the cache"):
        cache.put_many({b"a": b"1", b"b": object()})
    assert cache.get_many([b"a", b"b"]) == {}
    cache.put_many({b"a": b"2"})
    assert cache.get_many([b"a"]) == {b"a": b"2"}


@pytest.mark.slow
def test_threads_share_one_cache(path):
    cache = Cache(path)
    failures = []

    def write(writer):
        try:
            for batch in range(30):
                entries = {content_key(str(writer), str(batch), str(n)): b"x" * 100 for n in range(20)}
                cache.put_many(entries)
                assert cache.get_many(entries) == entries
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


WRITER = """
import sys
from pathlib import Path
from raglift.utilities.cache import Cache, content_key

path, writer, batches = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
cache = Cache(path)
print("open", flush=True)
for batch in range(batches):
    cache.put_many({content_key(writer, str(batch), str(n)): b"v" * 200 for n in range(50)})
    print(batch, flush=True)
"""


def writer(path, name, batches):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(batches)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def keys_of(name, batch):
    return [content_key(name, str(batch), str(number)) for number in range(50)]


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_whole_batches(path):
    process = writer(path, "a", 1_000_000)
    for line in process.stdout:
        if line.strip() == "20":
            break
    time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    told, _ = process.communicate(timeout=60)
    last = int((told.split() or ["20"])[-1])
    cache = Cache(path)
    counts = {len(cache.get_many(keys_of("a", batch))) for batch in range(last - 1)}
    assert counts == {50}
    assert len(cache.get_many(keys_of("a", last + 1))) in (0, 50)
    cache.put_many({b"new": b"entry"})
    assert cache.get_many([b"new"]) == {b"new": b"entry"}


def test_a_file_that_is_no_cache_is_told_with_what_to_do(path):
    path.parent.mkdir()
    path.write_bytes(b"a shopping list, " * 100)
    with pytest.raises(
        CacheError, match=r"cannot be made again: .*delete the file and run again, or set RAGLIFT_CACHE"
    ):
        Cache(path)
    assert path.read_bytes().startswith(b"a shopping list")
    path.unlink()
    assert Cache(path).get_many([b"k"]) == {}


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv("RAGLIFT_CACHE", "~/kept")
    assert cache_folder() == Path.home() / "kept"
    monkeypatch.delenv("RAGLIFT_CACHE")
    assert cache_folder().name == "raglift"


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("how", ["a file in the way", "not allowed"])
def test_a_folder_that_cannot_be_written_keeps_everything_in_memory(monkeypatch, tmp_path, capsys, how):
    folder = tmp_path / "in the way"
    if how == "a file in the way":
        folder.write_text("", encoding="utf-8")
    else:  # to root, everything is allowed
        monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("RAGLIFT_CACHE", str(folder))
    cache = default_cache()
    assert cache.path is None
    cache.put_many({b"k": b"v"})
    assert default_cache().get_many([b"k"]) == {b"k": b"v"}
    (said,) = capsys.readouterr().err.splitlines()  # once, as a line of raglift's and not of its source
    assert said.startswith(f"raglift: {folder} cannot be written: vectors, scores and answers are kept in memory")
    assert said.endswith("set RAGLIFT_CACHE to a folder that can")


def test_a_bypassed_cache_finds_nothing_and_keeps_nothing(path):
    cache = Cache(path)
    cache.put_many({b"k": b"v"})
    with bypassed():
        assert cache.get_many([b"k"]) == {}
        cache.put_many({b"new": b"entry"})
        with bypassed():
            assert Cache(None).get_many([b"k"]) == {}
        assert cache.get_many([b"k"]) == {}
    assert cache.get_many([b"k", b"new"]) == {b"k": b"v"}


def test_lookups_are_counted_in_every_cache_and_every_block_around_them():
    one, other = Cache(None), Cache(None)
    one.put_many({b"a": b"1", b"b": b"2"})
    with counted() as outer:
        one.get_many([b"a", b"b", b"b", b"c"])
        with counted() as inner:
            other.get_many([b"a"])
        with bypassed():
            one.get_many([b"a"])
    one.get_many([b"a"])
    assert (outer.asked, outer.found) == (4, 2)
    assert (inner.asked, inner.found) == (1, 0)


def test_what_is_removed_is_not_found_and_can_be_stored_anew(tmp_path):
    cache = Cache(tmp_path / "cache.sqlite")
    cache.put_many({b"a": b"1", b"b": b"2"})
    cache.remove_many([b"a", b"never there"])
    assert cache.get_many([b"a", b"b"]) == {b"b": b"2"}
    cache.put_many({b"a": b"3"})
    assert cache.get_many([b"a"]) == {b"a": b"3"}
