"""A retriever and a reranker that answer from tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.adapters.functions import chunk_and_score
from raglift.types.rankings import Hit, Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.types.documents import Chunk


class FakeRetriever:
    """A retriever that answers from a table, at once.

    Args:
        results: for each query's text, its results in order: texts, chunks, documents, or pairs of one of these and a
            score. An exception instead of a list is raised when that query is asked. A query that is not in the table
            comes back empty.
    """

    def __init__(self, results: Mapping[str, Sequence[str | Chunk | tuple[str | Chunk, float]] | Exception]) -> None:
        self.results = dict(results)
        self.asked: list[tuple[str, int]] = []
        """The queries that were asked, with their depth, in order."""

    def __str__(self) -> str:
        return f"fake ({len(self.results)} queries)"

    def retrieve_one(self, query: str, k: int) -> Ranking:
        """Return the first `k` results of a query."""
        self.asked.append((query, k))
        results = self.results.get(query, ())
        if isinstance(results, Exception):
            raise results
        return Ranking.of([chunk_and_score(result) for result in results][:k])


class FakeReranker:
    """A reranker that sorts by a score looked up in a table.

    Args:
        scores: for each chunk text, its score; 0 for others. Equal scores keep their order.
        top_n: how many hits to return at most; None for all.
    """

    def __init__(self, scores: Mapping[str, float], *, top_n: int | None = None) -> None:
        self.scores = dict(scores)
        self.top_n = top_n

    def __str__(self) -> str:
        return f"fake ({len(self.scores)} texts)"

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:  # noqa: ARG002
        """Return each ranking sorted by score."""
        return [self._sorted(ranking) for ranking in rankings]

    def _sorted(self, ranking: Ranking) -> Ranking:
        def score(hit: Hit) -> float:
            return self.scores.get(hit.chunk.text, 0.0)

        hits = sorted(ranking.hits, key=lambda hit: -score(hit))[: self.top_n]
        return Ranking.of((hit.chunk, score(hit)) for hit in hits)
