"""Indexes that do not fit into memory: the same bits as in memory, block by block, and after a stop."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import raglift as rl
from raglift.base.cache import KEY_BYTES, Cache, bypassed, content_key
from raglift.components import chunk_store, embedding, exact_search, vector_rows
from raglift.components.approximate_index import approximate
from raglift.components.bm25 import BM25Retriever
from raglift.components.chunk_store import StoredChunks
from raglift.components.embedding import build_index, embed
from raglift.components.retrievers import DenseRetriever, HybridRetriever
from raglift.components.vector_rows import VectorRows, first_rows
from raglift.errors import CacheError, ModelOutputError
from raglift.records.documents import Chunk
from raglift.running import systems

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from raglift.components import DenseIndex


class Letters:
    """Counts letters, in batches of three texts."""

    identity = "letters"

    def __init__(self, fail_after: int | None = None) -> None:
        self.batches: list[list[str]] = []
        self.fail_after = fail_after

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        return [[*texts[begin : begin + 3]] for begin in range(0, len(texts), 3)]

    def embed(self, texts: Sequence[str], kind: str) -> np.ndarray:
        if len(self.batches) == self.fail_after:
            raise KeyboardInterrupt
        self.batches.append(list(texts))
        return np.array([[text.count(letter) + 0.5 for letter in "abc"] for text in texts], dtype=np.float32)

    def read_in_part(self, texts: Sequence[str]) -> list[bool]:
        return [len(text) > 8 for text in texts]


RANDOM = random.Random(0)  # noqa: S311 — texts for a test
TEXTS = ["".join(RANDOM.choices("abc", k=RANDOM.choice((1, 2, 3, 12)))) for _ in range(60)]


def use_files(patch: pytest.MonkeyPatch, texts: int = 7) -> None:
    """Make even a small index a large one: nothing is kept in memory, and few texts are taken at a time."""
    patch.setattr(embedding, "_AT_ONCE", texts)
    patch.setattr(vector_rows, "MOST_IN_MEMORY", 0)
    patch.setattr(chunk_store, "MOST_IN_MEMORY", 5)
    patch.setattr(systems, "_AT_ONCE", 1_000)


@pytest.mark.parametrize("texts", [1, 7, 59, 60, 61])
@pytest.mark.parametrize("passing_by", [False, True])
def test_vectors_and_counts_do_not_depend_on_files_and_blocks(
    texts: int, passing_by: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = embed(Letters(), TEXTS, "document", Cache(None))
    assert expected.distinct == len({*TEXTS}) < len(TEXTS)
    use_files(monkeypatch, texts)
    letters = Letters()
    if passing_by:
        with bypassed():
            found = embed(letters, TEXTS, "document", Cache(None))
    else:
        found = embed(letters, TEXTS, "document", Cache(None))
    assert found.vectors.tobytes() == expected.vectors.tobytes()
    counts = ("read_in_part", "computed", "distinct")
    assert [getattr(found, name) for name in counts] == [getattr(expected, name) for name in counts]
    assert sum(map(len, letters.batches)) == expected.distinct


def test_a_stopped_build_repeats_no_finished_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_files(monkeypatch)
    whole = Letters()
    expected = embed(whole, TEXTS, "document", Cache(None))
    path = tmp_path / "cache.sqlite"
    stopped = Letters(fail_after=5)
    with pytest.raises(KeyboardInterrupt):
        embed(stopped, TEXTS, "document", Cache(path))
    again = Letters()
    found = embed(again, TEXTS, "document", Cache(path))
    assert found.vectors.tobytes() == expected.vectors.tobytes()
    assert {*chain(*stopped.batches)}.isdisjoint(chain(*again.batches))
    assert found.computed == expected.computed - sum(map(len, stopped.batches))


def test_a_damaged_cache_is_noticed_and_its_vectors_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_files(monkeypatch)
    cache = Cache(tmp_path / "cache.sqlite")
    expected = embed(Letters(), TEXTS, "document", cache)
    cache._connection.execute("UPDATE entries SET value = zeroblob(length(value)) WHERE rowid % 4 = 0")
    again = Letters()
    assert embed(again, TEXTS, "document", cache).vectors.tobytes() == expected.vectors.tobytes()
    assert sum(map(len, again.batches)) == expected.distinct // 4


class Widening(Letters):
    """Has a dimension more in each batch."""

    def embed(self, texts: Sequence[str], kind: str) -> np.ndarray:
        vectors = super().embed(texts, kind)
        return np.hstack([vectors, np.ones((len(texts), len(self.batches)), dtype=np.float32)])


@pytest.mark.parametrize("texts", [3, 7, 60])
@pytest.mark.parametrize("in_a_file", [False, True])
def test_vectors_of_different_lengths_are_an_error(
    texts: int, in_a_file: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_a_file:
        use_files(monkeypatch)
    monkeypatch.setattr(embedding, "_AT_ONCE", texts)
    with pytest.raises(ModelOutputError, match=r"letters: found vectors of 4 and 5.* dimensions; expected as many"):
        embed(Widening(), TEXTS, "document", Cache(None))


def test_queries_of_another_length_than_the_chunks_are_an_error() -> None:
    index = build_index([Chunk("abc")], Widening(), cache=Cache(None), progress=False)
    for search in (index, approximate(index)):
        with pytest.raises(ModelOutputError, match="letters: found vectors of 4 and 5 dimensions"):
            DenseRetriever(search).retrieve(["abc"], 1)


@given(st.lists(st.integers(0, 12)))
def test_the_first_of_equal_keys_is_found(values: list[int]) -> None:
    keys = [content_key(str(value)) for value in values]
    assert all(len(key) == KEY_BYTES for key in keys)
    assert first_rows(b"".join(keys)).tolist() == [keys.index(key) for key in keys]


@given(st.lists(st.integers(0, 12), min_size=1), st.integers(1, 9), st.booleans())
def test_rows_that_repeat_earlier_ones_are_filled_in(values: list[int], size: int, in_a_file: bool) -> None:
    source = np.array([values.index(value) for value in values])
    vectors = np.array([[value, value / 7] for value in values], dtype=np.float32)
    with pytest.MonkeyPatch.context() as patch:
        if in_a_file:
            patch.setattr(vector_rows, "MOST_IN_MEMORY", 0)
        rows = VectorRows(len(values))
        for begin in range(0, len(values), size):
            part = source[begin : begin + size]
            rows.append(vectors[begin : begin + size][part == np.arange(begin, begin + len(part))], part)
        assert np.array_equal(rows.so_far(), vectors)


def test_a_disk_without_room_for_vectors_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    use_files(monkeypatch)
    rows = VectorRows(10_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(CacheError, match=r"cannot keep vectors in .*Free some space"):
            rows.append(np.zeros((10_000, 3), dtype=np.float32), np.arange(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# Whole evaluations: everything that is known of a run is the same.


def retriever(dense: DenseIndex, kind: str) -> object:
    if kind == "bm25":
        return BM25Retriever(dense.chunks)
    if kind == "hybrid":
        return HybridRetriever([DenseRetriever(dense), BM25Retriever(dense.chunks)])
    index, _, dimensions = kind.partition(" ")
    return DenseRetriever(dense if index == "exact" else approximate(dense, index, dimensions or None))


@pytest.fixture(scope="module")
def dataset() -> rl.Dataset:
    return rl.load_dataset("lighthouse")


class Words:
    """Random indexing: a text's vector is the sum of a fixed random vector for each of its words."""

    identity = "random indexing"

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        return [list(texts)]

    def embed(self, texts: Sequence[str], kind: str) -> np.ndarray:
        return np.array([sum(map(self._of, text.lower().split())) for text in texts], dtype=np.float32)

    def _of(self, word: str) -> np.ndarray:
        return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(32)

    def read_in_part(self, texts: Sequence[str]) -> None:
        return None


def build(dataset: rl.Dataset) -> DenseIndex:
    chunks = systems.chunks_of(dataset, rl.RecursiveChunker(200, overlap=0))
    named = (replace(chunk, metadata={"part": number % 3}) for number, chunk in enumerate(chunks))
    return build_index(named, Words(), cache=Cache(None), progress=False)


@pytest.fixture(scope="module")
def small(dataset: rl.Dataset) -> DenseIndex:
    return build(dataset)


def test_documents_are_split_part_by_part(dataset: rl.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    chunker = rl.RecursiveChunker(200, overlap=50)
    use_files(monkeypatch)
    chunks = systems.chunks_of(dataset, chunker)
    assert isinstance(chunks, StoredChunks)
    assert tuple(chunks) == chunker.split(dataset.documents)


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        *("exact", "hybrid", "binary"),
        *(
            pytest.param(kind, marks=pytest.mark.full)
            for kind in ("bm25", "hnsw", "ivf(nlist=8,nprobe=2)", "int8 pca(16)")
        ),
    ],
)
def test_an_evaluation_on_files_is_that_in_memory(
    kind: str, filtered: bool, dataset: rl.Dataset, small: DenseIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = dataset
    if filtered:
        queries = [replace(query, filter={"part": [0, 1]}) for query in dataset.queries]
        asked = rl.Dataset(tuple(queries), dataset.documents, dataset.name)
    evaluate = partial(rl.evaluate, dataset=asked, match="coverage", ks=(5,), progress=False)
    expected = evaluate(retriever(small, kind))
    use_files(monkeypatch, 50)
    monkeypatch.setattr(exact_search, "_BLOCK", 1_024)
    large = build(dataset)
    assert isinstance(large.chunks, StoredChunks)
    assert large.vectors.tobytes() == small.vectors.tobytes()
    found = evaluate(retriever(large, kind))
    for one, other in zip(found.run.traces, expected.run.traces, strict=True):
        assert [stage.ranking for stage in one.stages] == [stage.ranking for stage in other.stages]
        assert (one.exact, one.matching, one.error) == (other.exact, other.matching, other.error)
    assert found.run.inventory == expected.run.inventory
    assert found.run.notes == expected.run.notes
    assert found.scores.values.tobytes() == expected.scores.values.tobytes()
