"""Exact search by inner product, through FAISS: all vectors are looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from raglift.errors import MissingDependency

if TYPE_CHECKING:
    from raglift.types.documents import Chunk
    from raglift.types.filters import Filter

    Vectors = NDArray[np.float32]
    ScoresAndNumbers = tuple[NDArray[np.float32], NDArray[np.int64]]


_HITS_AT_ONCE = 5_000_000
"""So many hits are held at a time at most: 60 MB."""


def faiss_module() -> Any:
    """Return FAISS."""
    try:
        import faiss
    except ImportError:
        raise MissingDependency("faiss", "models", "dense retrieval") from None
    return faiss


def exact_search(
    vectors: Vectors, queries: Vectors, k: int, among: NDArray[np.int64] | None = None
) -> ScoresAndNumbers:
    """Return scores and numbers of the best vectors, both of shape (queries, min(k, vectors)).

    Of vectors with the same score the first comes first, so the best k are the first of the best k + 1.

    Args:
        vectors: shape (vectors, dimensions).
        queries: shape (queries, dimensions).
        k: how many of each query.
        among: the numbers of the vectors that may be found, ascending; None for all.
    """
    if among is not None:
        scores, places = exact_search(vectors[among], queries, k)
        return scores, among[places]
    k = min(k, len(vectors))
    scores = np.zeros((len(queries), k), dtype=np.float32)
    numbers = np.zeros((len(queries), k), dtype=np.int64)
    if k == 0 or not len(queries):
        return scores, numbers
    faiss = faiss_module()
    vectors, queries = (np.ascontiguousarray(each, dtype=np.float32) for each in (vectors, queries))
    rows, asked = np.arange(len(queries)), min(k + 1, len(vectors))
    # Which of equal ones FAISS returns depends on how many it is asked for: it is asked until no more are equal
    while len(rows):
        tied = []
        for part in np.array_split(rows, -(-len(rows) * asked // _HITS_AT_ONCE)):
            part_scores, part_numbers = faiss.knn(queries[part], vectors, asked, metric=faiss.METRIC_INNER_PRODUCT)
            order = np.lexsort((part_numbers, -part_scores))[:, :k]
            scores[part] = np.take_along_axis(part_scores, order, axis=1)
            numbers[part] = np.take_along_axis(part_numbers, order, axis=1)
            tied.append(part[part_scores[:, -1] == part_scores[:, k - 1]])
        rows = np.concatenate(tied) if asked < len(vectors) else rows[:0]
        asked = min(4 * asked, len(vectors))
    return scores, numbers


def allowed_numbers(chunks: Iterable[Chunk], given: Filter) -> NDArray[np.int64]:
    """Return the numbers of the chunks that match a filter, ascending."""
    return np.array([number for number, chunk in enumerate(chunks) if given.matches(chunk.metadata)], dtype=np.int64)
