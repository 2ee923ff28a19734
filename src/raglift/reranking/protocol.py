"""What a reranker is to raglift: one method.

A reranker that can take all queries at once implements `Reranker`; a remote or framework one that takes one
query at a time implements `QueryReranker` (or its async twin).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Ranking

__all__ = ["AsyncQueryReranker", "QueryReranker", "Reranker"]


@runtime_checkable
class Reranker(Protocol):
    """Reorders the rankings of all queries at once."""

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Return a new ranking for each query, in the order of the queries."""
        ...


@runtime_checkable
class QueryReranker(Protocol):
    """Reorders the ranking of one query."""

    def rerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking."""
        ...


@runtime_checkable
class AsyncQueryReranker(Protocol):
    """Reorders the ranking of one query, without blocking."""

    async def arerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking."""
        ...
