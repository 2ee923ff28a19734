"""LlamaIndex's vector stores: what they hold, read out where they allow it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.adapters.base import is_from
from raglift.adapters.llama_index_nodes import chunk_of, node_of
from raglift.adapters.vector_stores import VectorStore, faiss_vectors, qdrant_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records.documents import Chunk


def llama_index_store(retriever: Any, doc_key: str | None) -> VectorStore | None:
    """Return the vector store of a retriever with what it holds; None for another system.

    Args:
        retriever: a LlamaIndex retriever.
        doc_key: the metadata key that holds a node's document id.
    """
    from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever

    if not isinstance(retriever, VectorIndexRetriever):
        return None
    held = vars(retriever)
    store, index, model = held["_vector_store"], held["_index"], held["_embed_model"]

    def embed_query(query: str) -> Sequence[float]:
        found: Sequence[float] = model.get_agg_embedding_from_queries([query])
        return found

    def embed_chunks(chunks: Sequence[Chunk]) -> Sequence[Sequence[float]]:
        from llama_index.core.schema import MetadataMode

        texts = [node_of(chunk).get_content(MetadataMode.EMBED) for chunk in chunks]
        found: Sequence[Sequence[float]] = model.get_text_embedding_batch(texts)
        return found

    known = VectorStore(type(store).__name__, embed_query, embed_chunks, own_k=retriever.similarity_top_k)
    if is_from(store, "llama_index.core.vector_stores.simple"):
        return _with_nodes(known, index, dict(store.data.embedding_dict), doc_key)
    if is_from(store, "llama_index.vector_stores.faiss"):
        found = faiss_vectors(store.client)
        if found is None:
            return known
        vectors, distance = found
        ids = index.index_struct.nodes_dict
        by_id = {ids[str(place)]: vector for place, vector in enumerate(vectors) if str(place) in ids}
        return replace(_with_nodes(known, index, by_id, doc_key), distance=distance)
    if is_from(store, "llama_index.vector_stores.qdrant") and store.client is not None:
        return _qdrant(known, store, doc_key)
    return known


def _with_nodes(known: VectorStore, index: Any, vectors: dict[str, Any], doc_key: str | None) -> VectorStore:
    """Return a store with the nodes of its index, as far as they have vectors."""
    nodes = [index.docstore.docs[name] for name in vectors if name in index.docstore.docs]
    if len(nodes) < len(vectors):  # loaded without its nodes
        return known
    rows = np.array(list(vectors.values()), dtype=np.float32)
    return replace(known, chunks=tuple(chunk_of(node, doc_key) for node in nodes), vectors=rows)


def _qdrant(known: VectorStore, store: Any, doc_key: str | None) -> VectorStore:
    from llama_index.core.vector_stores.utils import metadata_dict_to_node

    settings = store.client.get_collection(store.collection_name).config.params.vectors
    name = next(iter(settings), "") if isinstance(settings, dict) else ""
    points, vectors, distance = qdrant_points(store.client, store.collection_name, name)
    nodes = [metadata_dict_to_node(point.payload) for point in points]
    chunks = tuple(chunk_of(node, doc_key) for node in nodes)
    return replace(known, chunks=chunks, vectors=vectors, distance=distance)
