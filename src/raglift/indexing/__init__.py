"""Chunks and an embedding model, made into something that can be searched."""

from raglift.indexing.embedding import Embedder, Embedding, SentenceTransformerEmbedder, embed, missing_texts
from raglift.indexing.index import DenseIndex, build_index
from raglift.indexing.static import StaticEmbedder

__all__ = [
    "DenseIndex",
    "Embedder",
    "Embedding",
    "SentenceTransformerEmbedder",
    "StaticEmbedder",
    "build_index",
    "embed",
    "missing_texts",
]
