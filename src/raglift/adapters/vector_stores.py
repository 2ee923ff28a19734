"""What exact search needs of a user's vector store, and how the vectors of FAISS and Qdrant are read out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raglift.records.documents import Chunk


Distance = Literal["cosine", "dot", "l2"]
_PAGE = 1_000
"""So many points are read at a time."""


@dataclass(frozen=True, eq=False)
class VectorStore:
    """A vector store of a user's, as far as exact search needs it."""

    name: str
    """Its class, for messages."""
    embed_query: Callable[[str], Sequence[float]] | None
    """Its own embedding of a query; None where it has none."""
    embed_chunks: Callable[[Sequence[Chunk]], Sequence[Sequence[float]]] | None
    """Its own embedding of chunks; None where it has none."""
    distance: Distance = "cosine"
    """By which it ranks."""
    own_k: int | None = None
    """How many hits its retriever returns; None where that is not known."""
    chunks: Sequence[Chunk] | None = None
    """What it holds; None where it does not give that out."""
    vectors: NDArray[np.float32] | None = None
    """The vector of each chunk; None where it does not give them out."""


def qdrant_points(
    client: Any, collection: str, vector_name: str = ""
) -> tuple[list[Any], NDArray[np.float32], Distance]:
    """Return the points of a Qdrant collection, their vectors, and by which distance it ranks.

    Args:
        client: a `QdrantClient`.
        collection: its name.
        vector_name: of several vectors of a point, which; empty for the unnamed.
    """
    points: list[Any] = []
    offset = None
    while True:
        found, offset = client.scroll(collection, limit=_PAGE, offset=offset, with_vectors=True, with_payload=True)
        points += found
        if offset is None:
            break
    settings = client.get_collection(collection).config.params.vectors
    chosen = settings[vector_name] if isinstance(settings, dict) else settings
    rows = [point.vector[vector_name] if isinstance(point.vector, dict) else point.vector for point in points]
    distances: dict[str, Distance] = {"cosine": "cosine", "dot": "dot", "euclid": "l2"}
    return points, np.array(rows, dtype=np.float32), distances.get(str(chosen.distance.value).lower(), "cosine")


def faiss_vectors(index: Any) -> tuple[NDArray[np.float32], Distance] | None:
    """Return the vectors of a FAISS index as it holds them, and by which distance it ranks; None if it holds none back.

    Args:
        index: a `faiss.Index`.
    """
    import faiss

    try:
        vectors = index.reconstruct_n(0, index.ntotal) if index.ntotal else np.zeros((0, index.d), dtype=np.float32)
    except RuntimeError:
        return None
    return vectors, "dot" if index.metric_type == faiss.METRIC_INNER_PRODUCT else "l2"
