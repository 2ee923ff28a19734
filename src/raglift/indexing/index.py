"""Exact search over the vectors of chunks: FAISS, inner product of unit vectors, which is cosine similarity."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.cache import Cache, default_cache
from raglift.errors import ConfigurationError, MissingDependency
from raglift.indexing.embedding import Embedder, Embedding, embed
from raglift.models import seconds_loading
from raglift.records import IndexCost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.records import Chunk

__all__ = ["DenseIndex", "build_index"]


@dataclass(frozen=True, eq=False)
class DenseIndex:
    """Chunks, their vectors, and a FAISS index over them."""

    chunks: tuple[Chunk, ...]
    """In index order."""
    vectors: NDArray[np.float32]
    """Unit vectors, shape (chunks, dimensions)."""
    embedder: Embedder
    """The model, for the queries."""
    cache: Cache
    """Where vectors are kept."""
    faiss_index: Any
    """A `faiss.IndexFlatIP`."""
    read_in_part: int | None
    """How many distinct chunks are longer than the model reads; None when it cannot be known."""
    computed: int
    """How many distinct chunks went through the model when the index was built."""
    seconds: float | None = None
    """Wall time of embedding and indexing, without loading the model; None when vectors came from the cache."""

    @property
    def cost(self) -> IndexCost:
        """What the index took to build, and the size of its vectors."""
        return IndexCost(
            chunks=len(self.chunks),
            distinct_texts=len({chunk.text for chunk in self.chunks}),
            embedded_now=self.computed,
            seconds=self.seconds,
            bytes=self.vectors.nbytes,
        )

    def search(self, queries: Sequence[str], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return cosine similarities and chunk numbers of the best chunks, both of shape (queries, min(k, chunks))."""
        if not queries:
            return np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=np.int64)
        vectors = embed(self.embedder, queries, "query", self.cache).vectors
        scores, numbers = self.faiss_index.search(vectors, min(k, len(self.chunks)))
        return scores, numbers


def build_index(
    chunks: Sequence[Chunk], embedder: Embedder, *, cache: Cache | None = None, progress: bool | None = None
) -> DenseIndex:
    """Embed chunks and index their vectors.

    Args:
        chunks: at least one.
        embedder: the model.
        cache: where vectors are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.

    Raises:
        ConfigurationError: there is no chunk.
        MissingDependency: faiss is not installed.
    """
    if not chunks:
        raise ConfigurationError("build_index: found no chunks; expected at least one (are the documents empty?)")
    try:
        import faiss
    except ImportError:
        raise MissingDependency("faiss", "local", "dense retrieval") from None
    cache = default_cache() if cache is None else cache
    texts = [chunk.text for chunk in chunks]
    started = time.perf_counter() - seconds_loading()
    embedding: Embedding = embed(embedder, texts, "document", cache, progress=progress)
    index = faiss.IndexFlatIP(embedding.vectors.shape[1])
    index.add(embedding.vectors)
    seconds = time.perf_counter() - seconds_loading() - started
    return DenseIndex(
        tuple(chunks),
        embedding.vectors,
        embedder,
        cache,
        index,
        embedding.read_in_part,
        embedding.computed,
        seconds=seconds if embedding.computed == len(set(texts)) else None,
    )
