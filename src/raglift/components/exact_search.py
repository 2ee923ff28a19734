"""Exact search by inner product: all vectors are looked at, a block at a time, in memory or mapped from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from raglift.errors import MissingDependency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Found = tuple[NDArray[np.float32], NDArray[np.int64]]


_BLOCK = 1 << 16
"""So many vectors are compared at a time: a multiple of the 1,024 that FAISS multiplies at once, so that it computes
the same bits of a score whether it is given a block or all."""
_FOUND_AT_ONCE = 5_000_000
"""So many hits are held at a time at most: 60 MB."""


class Rows(Protocol):
    """Vectors that are taken a block at a time: an array, or what makes them."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Vectors:
        """Return some rows, of a slice or of their numbers."""
        ...


def faiss_module() -> Any:
    """Return FAISS.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import faiss
    except ImportError:
        raise MissingDependency("faiss", "local", "dense retrieval") from None
    return faiss


def exact_search(vectors: Rows, queries: Vectors, k: int, among: NDArray[np.int64] | None = None) -> Found:
    """Return scores and numbers of the best vectors, both of shape (queries, min(k, vectors)).

    Of vectors with the same score the first comes first, so the best k are the first of the best k + 1.

    Args:
        vectors: shape (vectors, dimensions).
        queries: shape (queries, dimensions).
        k: how many of each query.
        among: the numbers of the vectors that may be found, ascending; None for all.

    Raises:
        MissingDependency: FAISS is not installed.
    """
    count = len(vectors) if among is None else len(among)
    k = min(k, count)
    if k == 0 or not len(queries):
        return np.zeros((len(queries), 0), dtype=np.float32), np.zeros((len(queries), 0), dtype=np.int64)
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    scores = np.zeros((len(queries), 0), dtype=np.float32)
    numbers = np.zeros((len(queries), 0), dtype=np.int64)
    for begin in range(0, count, _BLOCK):
        allowed = None if among is None else among[begin : begin + _BLOCK]
        block = vectors[begin : begin + _BLOCK] if allowed is None else vectors[allowed]
        found_scores, places = _best(np.ascontiguousarray(block, dtype=np.float32), queries, min(k, len(block)))
        found = places + begin if allowed is None else allowed[places]
        scores, numbers = first_of(np.hstack([scores, found_scores]), np.hstack([numbers, found]), k)
    return scores, numbers


def first_of(scores: NDArray[np.float32], numbers: NDArray[np.int64], k: int) -> Found:
    """Return the best k of each row, equal scores by their numbers."""
    order = np.lexsort((numbers, -scores))[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(numbers, order, axis=1)


def _best(vectors: Vectors, queries: Vectors, k: int) -> Found:
    """Return the best of one block; of equal ones, which FAISS returns depends on how many it is asked for."""
    faiss = faiss_module()
    scores = np.empty((len(queries), k), dtype=np.float32)
    numbers = np.empty((len(queries), k), dtype=np.int64)
    rows, asked = np.arange(len(queries)), min(k + 1, len(vectors))
    while len(rows):
        tied = []
        for block in np.array_split(rows, -(-len(rows) * asked // _FOUND_AT_ONCE)):
            found_scores, found = faiss.knn(queries[block], vectors, asked, metric=faiss.METRIC_INNER_PRODUCT)
            scores[block], numbers[block] = first_of(found_scores, found, k)
            tied.append(block[found_scores[:, -1] == found_scores[:, k - 1]])
        rows = np.concatenate(tied) if asked < len(vectors) else rows[:0]
        asked = min(4 * asked, len(vectors))
    return scores, numbers
