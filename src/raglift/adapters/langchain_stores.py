"""LangChain's vector stores: what they hold, read out where they allow it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.adapters.base import is_from
from raglift.adapters.langchain_documents import chunk_of
from raglift.adapters.vector_stores import Distance, VectorStore, faiss_vectors, qdrant_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.records.documents import Chunk


_DEFAULT_K = 4


def langchain_store(retriever: Any, doc_key: str | None) -> VectorStore | None:
    """Return the vector store of a retriever with what it holds; None for another Runnable.

    Args:
        retriever: a LangChain Runnable.
        doc_key: the metadata key that names the source document.
    """
    from langchain_core.vectorstores import VectorStoreRetriever

    if not isinstance(retriever, VectorStoreRetriever) or retriever.search_type == "mmr":
        return None
    store = retriever.vectorstore
    known = replace(_described(store), own_k=retriever.search_kwargs.get("k", _DEFAULT_K))
    for package, read in _READERS.items():
        if is_from(store, package):
            return read(store, known, doc_key)
    return known


def _described(store: Any) -> VectorStore:
    """Return a store with its embedding model, and nothing of what it holds."""
    embedding = getattr(store, "embeddings", None)
    function = getattr(store, "embedding_function", None)
    if embedding is None and callable(function):  # FAISS may be given a function
        return VectorStore(type(store).__name__, function, lambda chunks: [function(chunk.text) for chunk in chunks])
    if embedding is None:
        return VectorStore(type(store).__name__, None, None)

    def embed_chunks(chunks: Sequence[Chunk]) -> Sequence[Sequence[float]]:
        found: Sequence[Sequence[float]] = embedding.embed_documents([chunk.text for chunk in chunks])
        return found

    return VectorStore(type(store).__name__, embedding.embed_query, embed_chunks)


def _faiss(store: Any, known: VectorStore, doc_key: str | None) -> VectorStore:
    documents = [store.docstore.search(store.index_to_docstore_id[place]) for place in range(store.index.ntotal)]
    chunks = tuple(chunk_of(document, doc_key) for document in documents)
    found = faiss_vectors(store.index)
    if found is None:
        return replace(known, chunks=chunks)
    vectors, distance = found
    if getattr(store, "_normalize_L2", False):
        distance = "cosine"  # of unit vectors both distances rank alike
    return replace(known, chunks=chunks, vectors=vectors, distance=distance)


def _in_memory(store: Any, known: VectorStore, doc_key: str | None) -> VectorStore:
    from langchain_core.documents import Document

    held = list(store.store.values())
    documents = [Document(page_content=one["text"], metadata=one["metadata"], id=one["id"]) for one in held]
    vectors = np.array([one["vector"] for one in held], dtype=np.float32)
    return replace(known, chunks=tuple(chunk_of(one, doc_key) for one in documents), vectors=vectors)


def _qdrant(store: Any, known: VectorStore, doc_key: str | None) -> VectorStore:
    from langchain_core.documents import Document

    points, vectors, distance = qdrant_points(store.client, store.collection_name, store.vector_name)
    documents = [
        Document(
            page_content=point.payload.get(store.content_payload_key, ""),
            metadata=point.payload.get(store.metadata_payload_key) or {},
            id=str(point.id),
        )
        for point in points
    ]
    chunks = tuple(chunk_of(document, doc_key) for document in documents)
    return replace(known, chunks=chunks, vectors=vectors, distance=distance)


def _chroma(store: Any, known: VectorStore, doc_key: str | None) -> VectorStore:
    from langchain_core.documents import Document

    held = store.get(include=["embeddings", "documents", "metadatas"])
    documents = [
        Document(page_content=text or "", metadata=metadata or {}, id=name)
        for name, text, metadata in zip(held["ids"], held["documents"], held["metadatas"], strict=True)
    ]
    spaces: dict[str, Distance] = {"cosine": "cosine", "ip": "dot", "l2": "l2"}
    collection = store._collection  # noqa: SLF001 — its distance is written nowhere else
    settings = (getattr(collection, "configuration_json", None) or {}).get("hnsw") or {}
    space = settings.get("space") or (collection.metadata or {}).get("hnsw:space", "l2")
    return replace(
        known,
        chunks=tuple(chunk_of(document, doc_key) for document in documents),
        vectors=np.array(held["embeddings"], dtype=np.float32),
        distance=spaces.get(space, "l2"),
    )


_READERS: dict[str, Callable[[Any, VectorStore, str | None], VectorStore]] = {
    "langchain_community.vectorstores.faiss": _faiss,
    "langchain_core.vectorstores.in_memory": _in_memory,
    "langchain_qdrant": _qdrant,
    "langchain_chroma": _chroma,
}
"""What reads the vectors out of a store, by the module of its class."""
