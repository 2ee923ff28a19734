"""An index that may lose what exact search finds, with the exact searches that tell how much."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from raglift.base.batches import HERE
from raglift.components.embedding import embed
from raglift.components.exact_search import exact_search
from raglift.components.index_notation import Dimensions, IndexSpec, as_index, parse_dimensions
from raglift.components.vector_indexes import (
    NOTHING,
    Reduction,
    VectorIndex,
    build_vector_index,
    one_thread,
    require_buildable,
)
from raglift.records.filters import by_filter
from raglift.records.rankings import IndexCost, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raglift.base.batches import Workers
    from raglift.base.cache import Cache
    from raglift.components.embedding import DenseIndex, Embedder
    from raglift.components.exact_search import Found, Vectors
    from raglift.records.documents import Chunk
    from raglift.records.filters import Filter


_TIMED = 100
"""So many queries are searched for one at a time, to say how many a second an index answers."""
_LONGEST_TIMING = 5.0
"""After so many seconds no further query is timed."""


@dataclass(frozen=True, eq=False)
class ApproximateIndex:
    """Chunks, their vectors, and an index over these that may be approximate, compressed, or of fewer dimensions."""

    dense: DenseIndex
    """The chunks with the model's own vectors, which exact search looks at."""
    spec: IndexSpec
    """Which index."""
    dimensions: Dimensions | None
    """To how many dimensions vectors are reduced first; None for all."""
    reduction: Reduction | None
    """What reduces them."""
    built: VectorIndex
    """The index."""

    @property
    def chunks(self) -> Sequence[Chunk]:
        """In index order."""
        return self.dense.chunks

    @property
    def embedder(self) -> Embedder:
        """The model, for the queries."""
        return self.dense.embedder

    @property
    def read_in_part(self) -> int | None:
        """How many distinct chunks are longer than the model reads; None when it cannot be known."""
        return self.dense.read_in_part

    @property
    def distinct(self) -> int:
        """How many distinct chunks there are."""
        return self.dense.distinct

    @property
    def text(self) -> str:
        """The index and the dimensions, as `hnsw(ef=128), 128 dimensions`."""
        return ", ".join([str(self.spec), *([] if self.dimensions is None else [self.dimensions.title])])

    @property
    def cost(self) -> IndexCost:
        """What the index took to build, its size, and how many queries a second it answers."""
        cost = self.dense.cost
        seconds = None if cost.seconds is None else cost.seconds + self.built.seconds
        return replace(
            cost,
            seconds=seconds,
            bytes=self.built.bytes,
            index=self.text,
            build_seconds=self.built.seconds,
            queries_per_second=self._speed[0],
            exact_queries_per_second=self._speed[1],
            exact_bytes=self.dense.vectors.nbytes,
        )

    def query_vectors(self, queries: Sequence[str]) -> Vectors:
        """Return the vectors of queries as the model gives them."""
        return self.dense.query_vectors(queries)

    def search(self, vectors: Vectors, k: int, allowed: NDArray[np.int64] | None = None) -> Found:
        """Return scores and numbers of the best chunks as the index finds them; `NOTHING` where it finds none.

        Args:
            vectors: of queries, as the model gives them.
            k: how many of each.
            allowed: the numbers of the chunks that may be found; None for all.
        """
        return self.built.search(self._reduced(vectors), k, allowed)

    def search_held(self, vectors: Vectors, k: int, allowed: NDArray[np.int64] | None = None) -> Found:
        """Return what exact search finds over the vectors as the index holds them."""
        reduced = self._reduced(vectors)
        if self.built.is_exhaustive:
            return self.built.search(reduced, k, allowed)
        held, prepared = self._held
        return exact_search(held, prepared(reduced), k, among=allowed)

    def search_full(self, vectors: Vectors, k: int, allowed: NDArray[np.int64] | None = None) -> Found:
        """Return what exact search finds over the model's own vectors."""
        return exact_search(self.dense.vectors, vectors, k, among=allowed)

    def _reduced(self, vectors: Vectors) -> Vectors:
        return vectors if self.reduction is None or not len(vectors) else self.reduction.project(vectors)

    @cached_property
    def _held(self) -> tuple[Vectors, Callable[[Vectors], Vectors]]:
        return self.built.held_vectors() or (self.built.vectors, lambda queries: queries)

    @cached_property
    def _speed(self) -> tuple[float | None, float | None]:
        """How many queries a second the index answers, and exact search over the model's own vectors."""
        # Chunks stand for queries: only the search is timed, and a model need not be asked
        step = max(len(self.dense.vectors) // _TIMED, 1)
        vectors = self.dense.vectors[::step][:_TIMED]
        exact = partial(exact_search, self.dense.vectors)
        return _rate(self.built.search, self._reduced(vectors)), _rate(exact, vectors)


def _rate(search: Callable[[Vectors, int], Found], vectors: Vectors) -> float | None:
    """Return how many queries a second are answered, one at a time on one thread: the best 10 hits of each."""
    if not len(vectors):
        return None
    with one_thread():
        search(vectors[:1], 10)
        started = time.perf_counter()
        timed, seconds = 0, 0.0
        while timed < len(vectors) and seconds < _LONGEST_TIMING:
            search(vectors[timed : timed + 1], 10)
            timed, seconds = timed + 1, time.perf_counter() - started
    return timed / seconds


def approximate(
    dense: DenseIndex, index: IndexSpec | str = "flat", dimensions: Dimensions | int | str | None = None
) -> ApproximateIndex:
    """Return an index over the vectors of another, which stay for comparison.

    Args:
        dense: chunks and their vectors.
        index: which index, as `hnsw(M=32,ef=64)`.
        dimensions: to how many dimensions vectors are reduced first: the first ones, or `pca(128)`; None for all.

    Raises:
        ConfigurationError: an index or dimensions that there are not, that FAISS refuses, or for which there are too
            few chunks.
        MissingDependency: FAISS is not installed.
    """
    spec = as_index(index)
    fewer = None if dimensions is None else parse_dimensions(dimensions)
    reduction = None
    started = time.perf_counter()
    if fewer is not None:
        reduction = Reduction.of(fewer, dense.vectors, _name_of(dense.embedder))
    vectors = dense.vectors if reduction is None else reduction.project(dense.vectors)
    reducing = time.perf_counter() - started
    built = build_vector_index(spec, vectors)
    return ApproximateIndex(dense, spec, fewer, reduction, replace(built, seconds=built.seconds + reducing))


def searched(
    dense: DenseIndex, index: IndexSpec | None, dimensions: Dimensions | None
) -> DenseIndex | ApproximateIndex:
    """Return an index as it was named; itself where nothing was named."""
    if index is None and dimensions is None:
        return dense
    return approximate(dense, index or IndexSpec(), dimensions)


def require_searchable(
    chunks: int,
    embedder: Embedder,
    index: IndexSpec | None,
    dimensions: Dimensions | None,
    text: str,
    cache: Cache,
    workers: Workers = HERE,
) -> None:
    """Check, before chunks are embedded, that an index of them can be built.

    Args:
        chunks: how many there are.
        embedder: the model, which is asked for one vector.
        index: which index; None for exact search.
        dimensions: to how many dimensions vectors are reduced; None for all.
        text: a query that will be embedded anyway.
        cache: where vectors are kept.
        workers: who computes.

    Raises:
        ConfigurationError: an index that FAISS refuses, too many dimensions, or too few chunks.
    """
    if index is not None or dimensions is not None:
        width = embed(embedder, [text], "query", cache, progress=False, workers=workers).vectors.shape[1]
        require_buildable(index, dimensions, chunks, width, _name_of(embedder))


def _name_of(embedder: Embedder) -> str:
    model = getattr(embedder, "model", None)
    return model if isinstance(model, str) else embedder.identity.partition("@")[0]


# Rankings, with a filter for each query that has one.


def rankings_of(
    chunks: Sequence[Chunk],
    search: Callable[[Vectors, int, NDArray[np.int64] | None], Found],
    vectors: Vectors,
    k: int,
    filters: Sequence[Filter | None] | None = None,
) -> list[Ranking]:
    """Return a ranking for each query; of a query with a filter, among the chunks that match it.

    Args:
        chunks: in index order.
        search: finds scores and numbers of chunks for vectors of queries.
        vectors: of the queries.
        k: the most hits of each.
        filters: one for each query, None for a query without.
    """
    rankings: list[Ranking] = [Ranking()] * len(vectors)
    for given, places in by_filter(filters, len(vectors)).items():
        allowed = None if given is None else allowed_numbers(chunks, given)
        scores, numbers = search(vectors[places], k, allowed)
        for place, row, found in zip(places, scores.tolist(), numbers.tolist(), strict=True):
            rankings[place] = Ranking.of(
                (chunks[number], score) for number, score in zip(found, row, strict=True) if number != NOTHING
            )
    return rankings


def allowed_numbers(chunks: Sequence[Chunk], given: Filter) -> NDArray[np.int64]:
    """Return the numbers of the chunks that match a filter, ascending."""
    return np.array([number for number, chunk in enumerate(chunks) if given.matches(chunk.metadata)], dtype=np.int64)
