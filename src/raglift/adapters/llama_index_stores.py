"""LlamaIndex's vector stores: what they hold, read out where they allow it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.adapters.base import is_from
from raglift.adapters.llama_index_nodes import chunk_of, node_of
from raglift.adapters.vector_stores import (
    Entries,
    Fields,
    VectorStore,
    chroma_entries,
    faiss_vectors,
    filtered_already,
    lancedb_entries,
    milvus_entries,
    not_the_nearest,
    qdrant_points,
    tried,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.records.documents import Chunk


def llama_index_store(retriever: Any, doc_key: str | None) -> VectorStore | None:
    """Return the vector store of a retriever with what it holds; None for another system.

    Args:
        retriever: a LlamaIndex retriever.
        doc_key: the metadata key that holds a node's document id.

    Raises:
        ConfigurationError: it returns something else than the nearest vectors by a distance that exact search knows.
    """
    from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
    from llama_index.core.vector_stores.types import VectorStoreQueryMode

    if not isinstance(retriever, VectorIndexRetriever):
        return None
    held = vars(retriever)
    store, index, model = held["_vector_store"], held["_index"], held["_embed_model"]
    mode = held["_vector_store_query_mode"]
    if mode != VectorStoreQueryMode.DEFAULT:
        raise not_the_nearest(f"vector_store_query_mode='{VectorStoreQueryMode(mode).value}'")
    for name in ("filters", "doc_ids"):
        if held[f"_{name}"]:
            raise filtered_already(name)

    def embed_query(query: str) -> Sequence[float]:
        found: Sequence[float] = model.get_agg_embedding_from_queries([query])
        return found

    def embed_chunks(chunks: Sequence[Chunk]) -> Sequence[Sequence[float]]:
        from llama_index.core.schema import MetadataMode

        texts = [node_of(chunk).get_content(MetadataMode.EMBED) for chunk in chunks]
        found: Sequence[Sequence[float]] = model.get_text_embedding_batch(texts)
        return found

    known = VectorStore(type(store).__name__, embed_query, embed_chunks, own_k=retriever.similarity_top_k)
    for package, read in _READERS.items():
        if is_from(store, package):
            return tried(read, known, index, doc_key)
    return known


def _simple(known: VectorStore, index: Any, doc_key: str | None) -> VectorStore:
    return _with_nodes(known, index, dict(index.vector_store.data.embedding_dict), doc_key)


def _faiss(known: VectorStore, index: Any, doc_key: str | None) -> VectorStore:
    found = faiss_vectors(index.vector_store.client)
    if found is None:
        return known
    vectors, distance = found
    ids = index.index_struct.nodes_dict
    by_id = {ids[str(place)]: vector for place, vector in enumerate(vectors) if str(place) in ids}
    return replace(_with_nodes(known, index, by_id, doc_key), distance=distance)


def _with_nodes(known: VectorStore, index: Any, vectors: dict[str, Any], doc_key: str | None) -> VectorStore:
    """Return a store with the nodes of its index, as far as they have vectors."""
    nodes = [index.docstore.docs[name] for name in vectors if name in index.docstore.docs]
    if len(nodes) < len(vectors):  # loaded without its nodes
        return known
    rows = np.array(list(vectors.values()), dtype=np.float32)
    return replace(known, chunks=tuple(chunk_of(node, doc_key) for node in nodes), vectors=rows)


def _qdrant(known: VectorStore, index: Any, doc_key: str | None) -> VectorStore:
    store = index.vector_store
    if store.client is None:  # it has an asynchronous client alone
        return known
    settings = store.client.get_collection(store.collection_name).config.params.vectors
    name = next(iter(settings), "") if isinstance(settings, dict) else ""
    points, vectors, distance = qdrant_points(store.client, store.collection_name, name)
    rows = ((point.id, None, point.payload, vector) for point, vector in zip(points, vectors, strict=True))
    return _with_entries(known, Entries.of(rows, distance), doc_key)


def _chroma(known: VectorStore, index: Any, doc_key: str | None) -> VectorStore:
    return _with_entries(known, chroma_entries(index.vector_store.client), doc_key)


def _lancedb(known: VectorStore, index: Any, doc_key: str | None) -> VectorStore:
    store = index.vector_store
    if store.query_type != "vector":
        raise not_the_nearest(f"LanceDB with query_type={store.query_type!r}")
    fields = Fields("id", store.text_key, store.vector_column_name, "metadata")
    return _with_entries(known, lancedb_entries(store.table, fields), doc_key)


def _milvus(known: VectorStore, index: Any, doc_key: str | None) -> VectorStore:
    store = index.vector_store
    fields = Fields("id", store.text_key, store.embedding_field, None)
    return _with_entries(known, milvus_entries(store.client, store.collection_name, fields), doc_key)


def _pgvector(known: VectorStore, index: Any, doc_key: str | None) -> VectorStore:
    from llama_index.core.vector_stores.types import MetadataFilters

    nodes = index.vector_store.get_nodes(filters=MetadataFilters(filters=[]))
    vectors = np.array([node.embedding for node in nodes], dtype=np.float32)
    return replace(known, chunks=tuple(chunk_of(node, doc_key) for node in nodes), vectors=vectors)


def _with_entries(known: VectorStore, held: Entries, doc_key: str | None) -> VectorStore:
    """Return a store with the nodes that it holds."""
    from llama_index.core.vector_stores.utils import metadata_dict_to_node

    rows = zip(held.texts, held.metadata, strict=True)
    nodes = (metadata_dict_to_node(metadata, text=text or None) for text, metadata in rows)
    chunks = tuple(chunk_of(node, doc_key) for node in nodes)
    return replace(known, chunks=chunks, vectors=held.vectors, distance=held.distance)


_READERS: dict[str, Callable[[VectorStore, Any, str | None], VectorStore]] = {
    "llama_index.core.vector_stores.simple": _simple,
    "llama_index.vector_stores.faiss": _faiss,
    "llama_index.vector_stores.qdrant": _qdrant,
    "llama_index.vector_stores.chroma": _chroma,
    "llama_index.vector_stores.lancedb": _lancedb,
    "llama_index.vector_stores.milvus": _milvus,
    "llama_index.vector_stores.postgres": _pgvector,
}
"""What reads the vectors out of a store, by the module of its class."""
