"""Dense retrieval: cosine similarity over every chunk, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.records import Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.indexing import DenseIndex
    from raglift.records import Chunk, IndexCost

__all__ = ["DenseRetriever"]


class DenseRetriever:
    """Ranks the chunks of an index by cosine similarity to the query.

    Args:
        index: from `raglift.indexing.build_index`.
    """

    def __init__(self, index: DenseIndex) -> None:
        self.index = index

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks that it chooses from, in index order."""
        return self.index.chunks

    def __str__(self) -> str:
        return f"dense ({self.index.embedder.identity}, {len(self.index.chunks):,} chunks)"

    @property
    def cost(self) -> IndexCost:
        """What the index took to build, and its size."""
        return self.index.cost

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the `k` most similar chunks of each query; the score is the cosine similarity."""
        scores, numbers = self.index.search(queries, k)
        chunks = self.index.chunks
        return [
            Ranking.of((chunks[number], score) for score, number in zip(row, places, strict=True))
            for row, places in zip(scores.tolist(), numbers.tolist(), strict=True)
        ]
