"""Texts that a model would truncate, read window by window: what a model does not read cannot be what it lacks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.retrieval.embedding import DenseIndex, embed
from raglift.retrieval.rerankers import sorted_by_score
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.retrieval.rerankers import PairReranker
    from raglift.types.filters import Filter

_SHORTEST = 40
"""Characters below which a window is not made shorter."""


def windows_of(text: str, is_cut: Callable[[str], bool]) -> list[str]:
    """Return windows of a text that a model reads whole, each half over the one before; the text if it reads that."""
    length = len(text)
    while length > _SHORTEST and is_cut(text[:length]):
        length //= 2
    step = max(1, length // 2)
    return [text[start : start + length] for start in range(0, max(1, len(text) - length + step), step)]


def windowed(index: DenseIndex) -> Any:
    """Return a retriever over an index in which each chunk is as similar to a query as the best of its windows."""
    embedder = index.embedder
    texts = [chunk.indexed_text for chunk in index.chunks]
    cut = embedder.read_in_part(texts) or [False] * len(texts)
    windows = [
        windows_of(text, lambda part: bool((embedder.read_in_part([part]) or [False])[0])) if is_cut else [text]
        for text, is_cut in zip(texts, cut, strict=True)
    ]
    vectors = embed(embedder, [part for of in windows for part in of], "document", index.cache).vectors
    return _Windowed(index, vectors, np.cumsum([0, *map(len, windows)])[:-1])


class _Windowed:
    """Ranks chunks by the most similar of their windows."""

    takes_filters = True

    def __init__(self, index: DenseIndex, vectors: Any, first: Any) -> None:
        self._index, self._vectors, self._first = index, vectors, first

    def retrieve(self, queries: Sequence[str], k: int, filters: Sequence[Filter | None] | None = None) -> list[Ranking]:
        """Return the `k` most similar chunks of each query, of those that its filter allows."""
        similar = self._index.query_vectors(queries) @ self._vectors.T
        scores = np.maximum.reduceat(similar, self._first, axis=1)
        order, chunks = np.argsort(-scores, axis=1, kind="stable").tolist(), self._index.chunks
        allowed = [None] * len(queries) if filters is None else filters
        return [
            Ranking.of(
                [
                    (chunks[place], float(row[place]))
                    for place in places
                    if wanted is None or wanted.matches(chunks[place].metadata)
                ][:k]
            )
            for row, places, wanted in zip(scores, order, allowed, strict=True)
        ]


class WindowedReranker:
    """Scores a hit by the best of its windows.

    Args:
        reranker: what scores a window.
    """

    def __init__(self, reranker: PairReranker) -> None:
        self._reranker = reranker

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Sort the hits of each ranking by their best window."""
        pairs = {(query, hit.chunk.text) for query, ranking in zip(queries, rankings, strict=True) for hit in ranking}
        cut = self._reranker.truncated(sorted(pairs)) or {}
        windows = {pair: windows_of(pair[1], partial(self._is_cut, pair[0])) for pair in cut}
        asked = {(query, part) for (query, text) in pairs for part in windows.get((query, text), [text])}
        scores = self._reranker.scores(sorted(asked))
        return [
            sorted_by_score(
                ranking,
                [
                    max(scores[query, part] for part in windows.get((query, hit.chunk.text), [hit.chunk.text]))
                    for hit in ranking
                ],
            )
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    def _is_cut(self, query: str, text: str) -> bool:
        return bool(self._reranker.truncated([(query, text)]))
