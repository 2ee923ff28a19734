"""Exact search beside users' retrievers, over the vectors of their stores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.adapters.base import is_from
from raglift.components.approximate_index import rankings_of
from raglift.components.exact_search import exact_search
from raglift.errors import ConfigurationError
from raglift.records.rankings import ExactHits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.adapters.vector_stores import Distance, VectorStore
    from raglift.components.exact_search import Found, Vectors
    from raglift.records.documents import Chunk
    from raglift.records.filters import Filter


@dataclass(frozen=True, eq=False)
class StoreSearch:
    """Exact search over the vectors of a user's store, by its own distance."""

    chunks: Sequence[Chunk]
    """What is searched."""
    store: VectorStore
    """Says how queries are embedded, and how vectors are compared."""
    vectors: Vectors
    """Of the chunks, prepared so that the largest inner product is the nearest."""

    @classmethod
    def of(cls, store: VectorStore, chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> StoreSearch:
        """Return exact search over vectors.

        Args:
            store: says how they are compared.
            chunks: one for each vector.
            vectors: shape (chunks, dimensions).
        """
        return cls(chunks, store, _prepared(vectors, store.distance))

    def exact_hits(
        self, queries: Sequence[str], k: int, filters: Sequence[Filter | None] | None = None
    ) -> list[ExactHits]:
        """Return what exact search finds for each query; the store's vectors are the only ones that are known.

        Raises:
            ConfigurationError: the embedding model gives queries other dimensions than the chunks have.
        """
        assert self.store.embed_query is not None  # noqa: S101 — `store_search` checks it
        embedded = np.array([self.store.embed_query(query) for query in queries], dtype=np.float32)
        asked = _query(embedded, self.store.distance)
        if asked.shape[1] != self.vectors.shape[1]:
            raise ConfigurationError(
                f"exact: {self.store.name} holds vectors of {self.vectors.shape[1]} dimensions, and its embedding "
                f"model gives queries {embedded.shape[1]}; expected the model that the chunks were embedded with"
            )
        found = rankings_of(self.chunks, self._search, asked, k, filters)
        return [ExactHits(ranking, ranking) for ranking in found]

    def _search(self, vectors: Vectors, k: int, allowed: NDArray[np.int64] | None) -> Found:
        return exact_search(self.vectors, vectors, k, among=allowed)


def _prepared(vectors: NDArray[np.float32], distance: Distance) -> Vectors:
    """Return vectors of which the one with the largest inner product is the nearest.

    The squared distance of q and v is |q|² + |v|² − 2 · q·v: of one query, the nearest has the largest q·v − |v|² / 2.
    """
    given = np.ascontiguousarray(vectors, dtype=np.float32)
    if distance == "cosine":
        return _unit(given)
    if distance == "dot":
        return given
    return np.hstack([given, -0.5 * np.square(given).sum(axis=1, keepdims=True)])


def _query(vectors: NDArray[np.float32], distance: Distance) -> Vectors:
    if distance == "l2":
        return np.hstack([vectors, np.ones((len(vectors), 1), dtype=np.float32)])
    return _unit(vectors) if distance == "cosine" else vectors


def _unit(vectors: NDArray[np.float32]) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, np.where(lengths == 0, 1, lengths), dtype=np.float32)


def store_search(
    retriever: Any, known: Sequence[Chunk] | None, doc_key: str | None
) -> tuple[StoreSearch, VectorStore, bool]:
    """Return exact search beside a user's retriever.

    It is over the vectors that its store holds, or else over its chunks embedded again.

    Args:
        retriever: of the first stage, as its adapter has it.
        known: all chunks of the index, as the user gave them; None where they are not known.
        doc_key: the metadata key that holds document ids.

    Returns:
        The search, the store, and whether its vectors were read out.

    Raises:
        ConfigurationError: the system is no retriever over a vector store; or the store has no embedding model, or
            gives out neither vectors nor chunks.
    """
    store = _store_of(retriever, doc_key)
    if store is None:
        raise ConfigurationError(
            "exact: found a system without a vector store that raglift knows; expected a vector store of LangChain or "
            "LlamaIndex, a retriever over one, or a retriever of raglift's own"
        )
    if store.embed_query is None:
        raise ConfigurationError(
            f"exact: found {store.name} without an embedding model; expected one, for the vectors of the queries"
        )
    if store.vectors is not None and store.chunks is not None:
        if not store.chunks:
            raise ConfigurationError(f"exact: found no vectors in {store.name}; expected at least one chunk in it")
        return StoreSearch.of(store, store.chunks, store.vectors), store, True
    chunks = known or store.chunks
    if not chunks or store.embed_chunks is None:
        reason = f" ({store.unread})" if store.unread else ""
        raise ConfigurationError(
            f"exact: {store.name} does not give out its vectors{reason}; expected all of its chunks, to embed them "
            "again by its own model: evaluate(..., exact=True, chunks=chunks)"
        )
    vectors = np.array(store.embed_chunks(chunks), dtype=np.float32)
    return StoreSearch.of(store, chunks, vectors), replace(store, chunks=chunks), False


def _store_of(retriever: Any, doc_key: str | None) -> VectorStore | None:
    """Return the vector store of a stage's retriever; None where there is none."""
    system = getattr(retriever, "asked_system", None)
    if system is None:
        return None
    if is_from(system, "langchain_core"):
        from raglift.adapters.langchain_stores import langchain_store

        return langchain_store(system, doc_key)
    if is_from(system, "llama_index"):
        from raglift.adapters.llama_index_stores import llama_index_store

        return llama_index_store(system, doc_key)
    return None
