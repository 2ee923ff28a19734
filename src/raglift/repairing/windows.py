"""Texts that a model would truncate, read window by window: what a model does not read cannot be what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.retrieval.embedding import DenseIndex, embed
from raglift.retrieval.rerankers import sorted_by_score
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.retrieval.rerankers import PairReranker

_SHORTEST = 40
"""Characters below which a window is not halved again."""


def windows_of(text: str, is_cut: Callable[[str], bool]) -> list[str]:
    """Return a text in halves, and halves of halves, until a model reads each of them whole."""
    if len(text) < _SHORTEST or not is_cut(text):
        return [text]
    middle = text.rfind(" ", 0, len(text) // 2 + 1)
    middle = middle if middle > 0 else len(text) // 2
    return [*windows_of(text[:middle], is_cut), *windows_of(text[middle:], is_cut)]


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

    takes_filters = False

    def __init__(self, index: DenseIndex, vectors: Any, first: Any) -> None:
        self._index, self._vectors, self._first = index, vectors, first

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the `k` most similar chunks of each query."""
        similar = self._index.query_vectors(queries) @ self._vectors.T
        scores = np.maximum.reduceat(similar, self._first, axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        chunks = self._index.chunks
        return [
            Ranking.of((chunks[place], float(row[place])) for place in places)
            for row, places in zip(scores, order.tolist(), strict=True)
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
        windows = {
            pair: windows_of(pair[1], lambda part, query=pair[0]: bool(self._reranker.truncated([(query, part)])))
            for pair in cut
        }
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
