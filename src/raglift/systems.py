"""A whole retrieval system from a dataset's documents, for the command line, the demo and the walkthrough."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.chunking import Chunker, RecursiveChunker
from raglift.errors import ConfigurationError
from raglift.indexing import build_index
from raglift.integrations.embeddings import embedder_by_name
from raglift.models import EMBEDDED_MODEL, Dtype
from raglift.retrieval import RETRIEVERS, BM25Retriever, DenseRetriever, HybridRetriever, parse_retriever

if TYPE_CHECKING:
    from raglift.records import Chunk, Dataset

__all__ = ["RETRIEVERS", "LocalSystem", "build_retriever", "chunks_of"]


@dataclass(frozen=True)
class LocalSystem:
    """What a system of raglift's own parts is made of."""

    retriever: str = "dense"
    """One of `RETRIEVERS`, a hybrid one with its weights where they differ: `hybrid(dense=0.7,bm25=0.3)`."""
    chunker: Chunker = field(default_factory=RecursiveChunker)
    """How documents are split."""
    embedding: str = EMBEDDED_MODEL
    """The embedding model of a dense or hybrid retriever."""
    dtype: Dtype = "auto"
    """What the embedding model computes in."""


def chunks_of(dataset: Dataset, chunker: Chunker) -> tuple[Chunk, ...]:
    """Split a dataset's documents.

    Raises:
        ConfigurationError: the dataset has no documents.
    """
    if not dataset.documents:
        raise ConfigurationError(
            f"{dataset.name}: found no documents to index; expected a dataset folder with documents, "
            "or --documents PATH, or a system of your own (--system module:name)"
        )
    return chunker.split(dataset.documents)


def build_retriever(dataset: Dataset, parts: LocalSystem, *, progress: bool | None = None) -> Any:
    """Split, embed and index a dataset's documents.

    Raises:
        ConfigurationError: an unknown retriever, or a dataset without documents.
    """
    spec = parse_retriever(parts.retriever)
    chunks = chunks_of(dataset, parts.chunker)
    if not spec.needs_embedding:
        return BM25Retriever(chunks)
    embedder = embedder_by_name(parts.embedding, dtype=parts.dtype)
    dense = DenseRetriever(build_index(chunks, embedder, progress=progress))
    if spec.kind == "dense":
        return dense
    return HybridRetriever([dense, BM25Retriever(chunks)], spec.weights, constant=spec.constant)
