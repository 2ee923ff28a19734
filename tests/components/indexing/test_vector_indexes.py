"""Vector indexes against exact search by hand, and against what their own vectors say."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from raglift.components import exact_search as exact_search_module
from raglift.components import vector_indexes
from raglift.components.index_notation import parse_dimensions, parse_index
from raglift.components.vector_indexes import NOTHING, Reduction, build_vector_index, exact_search
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.typing import NDArray

COUNT, DIMENSIONS, K = 1500, 32, 10
INDEXES = (
    "flat",
    "hnsw(M=8,ef=16)",
    "ivf(nlist=16,nprobe=2)",
    "int8",
    "binary",
    "binary+rescore",
    "pq(m=8,bits=6)",
    'faiss("IVF16,PQ8x4",nprobe=2)',
    'faiss("PCA16,SQ8")',
    'faiss("IVF16,SQ8,RFlat",nprobe=2)',
)


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    """Vectors in clusters, as those of texts are."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((40, DIMENSIONS))
    return unit(centres[random.integers(0, 40, COUNT)] + 0.5 * random.standard_normal((COUNT, DIMENSIONS)))


@pytest.fixture(scope="module")
def queries(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    random = np.random.default_rng(8)
    return unit(vectors[::100] + 0.2 * random.standard_normal((COUNT // 100, DIMENSIONS)))


def by_hand(vectors: NDArray[np.float32], queries: NDArray[np.float32], k: int = K) -> list[list[int]]:
    """The numbers of the best vectors, by all inner products."""
    return [np.argsort(-(vectors @ query), kind="stable")[:k].tolist() for query in queries]


def overlap(found: NDArray[np.int64], wanted: list[list[int]]) -> float:
    return float(np.mean([len({*row} & {*best}) / len(best) for row, best in zip(found.tolist(), wanted, strict=True)]))


def test_exact_search_is_that_by_hand(vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    scores, numbers = exact_search(vectors, queries, K)
    assert numbers.tolist() == by_hand(vectors, queries)
    assert np.allclose(scores, np.take_along_axis(queries @ vectors.T, numbers, axis=1), atol=1e-6)


def test_exact_search_orders_equal_vectors_by_their_numbers(vectors: NDArray[np.float32]) -> None:
    same = np.repeat(vectors[:3], 5, axis=0)
    _, numbers = exact_search(same, vectors[:1], 7)
    assert numbers[0, :5].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("text", INDEXES)
def test_an_index_loses_what_it_looks_past_and_no_more(
    text: str, vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    built = build_vector_index(parse_index(text), vectors)
    scores, numbers = built.search(queries, K)
    assert numbers.shape == (len(queries), K)
    assert (np.diff(scores, axis=1) <= 1e-6).all()
    assert all(len({*row}) == K for row in numbers.tolist())
    if text == "flat":
        assert numbers.tolist() == by_hand(vectors, queries)
    assert overlap(numbers, by_hand(vectors, queries)) > 0.2  # the best of 1,500 by chance: 0.007


@pytest.mark.parametrize("text", ["int8", "pq(m=8,bits=6)"])
def test_an_exhaustive_index_is_exact_search_over_its_own_vectors(
    text: str, vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    built = build_vector_index(parse_index(text), vectors)
    decoded = built.index.reconstruct_n(0, COUNT)
    assert built.is_exhaustive
    assert overlap(built.search(queries, K)[1], by_hand(decoded, queries)) == 1.0


@pytest.mark.parametrize("text", ['faiss("IVF16,PQ8x4",nprobe=16)', 'faiss("PCA16,SQ8")', 'faiss("OPQ8,PQ8x4")'])
def test_the_vectors_as_an_index_holds_them_are_what_it_would_find_if_it_looked_at_all(
    text: str, vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    built = build_vector_index(parse_index(text), vectors)
    found = built.held_vectors()
    assert found is not None
    held, prepared = found
    assert overlap(built.search(queries, K)[1], by_hand(held, prepared(queries))) > 0.95  # equal codes tie


def test_bits_are_compared_by_how_many_differ(vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    built = build_vector_index(parse_index("binary"), vectors)
    scores, numbers = built.search(queries, K)
    differing = ((queries[:, None, :] > 0) != (vectors[numbers] > 0)).sum(axis=2)
    assert np.allclose(scores, 1 - 2 * differing / DIMENSIONS)
    fewest = np.sort(((queries[:, None, :] > 0) != (vectors[None] > 0)).sum(axis=2), axis=1)[:, :K]
    assert (np.sort(differing, axis=1) == fewest).all()


def test_rescoring_orders_by_the_vectors(vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    built = build_vector_index(parse_index("binary+rescore(factor=8)"), vectors)
    scores, numbers = built.search(queries, K)
    assert np.allclose(scores, np.einsum("qnd,qd->qn", vectors[numbers], queries), atol=1e-6)
    plain = build_vector_index(parse_index("binary"), vectors).search(queries, K)[1]
    assert overlap(numbers, by_hand(vectors, queries)) > overlap(plain, by_hand(vectors, queries))


@pytest.mark.parametrize("text", [*INDEXES[:-1], 'faiss("HNSW8,SQ8",ef=32)'])
def test_a_filter_leaves_only_what_is_allowed(
    text: str, vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    allowed = np.arange(3, COUNT, 7)
    _, numbers = build_vector_index(parse_index(text), vectors).search(queries, K, allowed)
    found = {*numbers.ravel().tolist()} - {NOTHING}
    assert found
    assert found <= {*allowed.tolist()}
    if text in ("flat", "int8"):
        wanted = [[int(allowed[place]) for place in row] for row in by_hand(vectors[allowed], queries)]
        assert overlap(numbers, wanted) > 0.95


@pytest.mark.parametrize(("text", "allowed"), [("binary", True), ("binary+rescore", True), ("binary+rescore", False)])
def test_memory_does_not_grow_with_the_queries(
    text: str,
    allowed: bool,
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vector_indexes, "_RESCORED_AT_ONCE", 100)
    built = build_vector_index(parse_index(text), vectors)
    many, among = np.tile(queries, (40, 1)), np.arange(COUNT) if allowed else None
    tracemalloc.start()
    try:
        _, numbers = built.search(many, K, among)
        assert tracemalloc.get_traced_memory()[1] < 1_500_000  # 600 queries and 1,500 vectors are 900,000 pairs
    finally:
        tracemalloc.stop()
    one_by_one = [built.search(query[None], K, among)[1][0].tolist() for query in queries]
    assert numbers.tolist() == one_by_one * 40


def test_vectors_are_decompressed_a_block_at_a_time(
    vectors: NDArray[np.float32], queries: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_search_module, "_BLOCK", 100)
    built, allowed = build_vector_index(parse_index("int8"), vectors), np.arange(0, COUNT, 2)
    tracemalloc.start()
    try:
        scores, numbers = built.search(queries, K, allowed)
        assert tracemalloc.get_traced_memory()[1] < vectors[allowed].nbytes
    finally:
        tracemalloc.stop()
    wanted = exact_search(built.index.reconstruct_n(0, COUNT)[allowed], queries, K)
    assert numbers.tolist() == allowed[wanted[1]].tolist()
    assert np.allclose(scores, wanted[0], atol=1e-6)


def test_a_search_that_probes_too_few_clusters_finds_less_than_was_asked_for(vectors: NDArray[np.float32]) -> None:
    built = build_vector_index(parse_index("ivf(nlist=30,nprobe=1)"), vectors)
    _, numbers = built.search(vectors[:5], 400)
    assert (numbers == NOTHING).any()
    assert all(row[-1] == NOTHING for row in numbers.tolist())  # what is missing comes last


@pytest.mark.parametrize("text", ["hnsw(M=8,ef=16)", "ivf(nlist=16,nprobe=2)", "pq(m=8,bits=6)"])
def test_the_same_vectors_give_the_same_index(
    text: str, vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> None:
    once, again = (build_vector_index(parse_index(text), vectors).search(queries, K)[1] for _ in range(2))
    assert once.tolist() == again.tolist()


def test_compressed_vectors_take_fewer_bytes(vectors: NDArray[np.float32]) -> None:
    sizes = {text: build_vector_index(parse_index(text), vectors).bytes for text in INDEXES[:7]}
    full = vectors.nbytes
    assert sizes["flat"] == pytest.approx(full, rel=0.01)
    assert sizes["int8"] == pytest.approx(full / 4, rel=0.02)
    assert sizes["binary"] == pytest.approx(full / 32, rel=0.1)
    assert sizes["binary+rescore"] == pytest.approx(full * (1 + 1 / 32), rel=0.01)
    assert sizes["hnsw(M=8,ef=16)"] > full
    assert sizes["pq(m=8,bits=6)"] < full / 10


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ivf(nlist=2000)", "found nlist=2000 clusters for 1,500 chunks"),
        ("ivf(nlist=10,nprobe=20)", "found nprobe=20 of 10 clusters"),
        ("pq(m=7)", "found m=7 segments for 32 dimensions; expected a number that divides them, as 2, 4, 8"),
        ("pq(m=8,bits=12)", "4,096 centroids a segment, for 1,500 chunks"),
        ('faiss("IVX12")', "FAISS refuses it for 1,500 vectors of 32 dimensions: could not parse index string"),
        ('faiss("IVF5000,Flat")', "FAISS refuses it"),
        ('faiss("PQ7")', "multiple of"),
        ('faiss("Flat",nprobe=4)', "FAISS refuses it"),
        ('faiss("LSH")', "FAISS refuses it"),
    ],
)
def test_what_cannot_be_built_is_refused(text: str, told: str, vectors: NDArray[np.float32]) -> None:
    with pytest.raises(ConfigurationError, match=r"^index ") as caught:
        build_vector_index(parse_index(text), vectors)
    assert told in str(caught.value)
    assert "/project/" not in str(caught.value)  # a path of FAISS' own source helps nobody


# Fewer dimensions.


def test_the_first_dimensions_are_kept_and_brought_to_unit_length(vectors: NDArray[np.float32]) -> None:
    reduced = Reduction.of(parse_dimensions(8), vectors, "a model").project(vectors)
    assert np.allclose(reduced, unit(vectors[:, :8].astype(float)), atol=1e-6)


def test_principal_components_are_those_of_a_singular_value_decomposition(vectors: NDArray[np.float32]) -> None:
    reduced = Reduction.of(parse_dimensions("pca(8)"), vectors, "a model").project(vectors)
    _, _, components = np.linalg.svd(vectors.astype(float), full_matrices=False)
    wanted = unit(vectors @ components[:8].T)
    assert np.allclose(np.abs((reduced * wanted).sum(axis=0)), np.square(wanted).sum(axis=0), rtol=0.02)
    assert np.allclose(reduced @ reduced.T, wanted @ wanted.T, atol=1e-4)


def test_all_principal_components_change_nothing(vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    every = Reduction.of(parse_dimensions(f"pca({DIMENSIONS})"), vectors, "a model")
    assert overlap(exact_search(every.project(vectors), every.project(queries), K)[1], by_hand(vectors, queries)) == 1.0


def test_all_dimensions_are_all(vectors: NDArray[np.float32]) -> None:
    assert (Reduction.of(parse_dimensions("all"), vectors, "a model").project(vectors) == vectors).all()


@pytest.mark.parametrize("text", ["33", "pca(33)"])
def test_more_dimensions_than_the_model_has_are_refused(text: str, vectors: NDArray[np.float32]) -> None:
    with pytest.raises(ConfigurationError, match="expected at most 32, as many as a model has"):
        Reduction.of(parse_dimensions(text), vectors, "a model")


def test_more_components_than_chunks_are_refused(vectors: NDArray[np.float32]) -> None:
    with pytest.raises(ConfigurationError, match="no more components than chunks"):
        Reduction.of(parse_dimensions("pca(20)"), vectors[:10], "a model")
