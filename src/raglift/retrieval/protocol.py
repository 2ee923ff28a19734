"""What a retriever is to raglift: one method.

A retriever that can take all queries at once implements `Retriever`; a remote or framework system that takes
one at a time implements `QueryRetriever` (or its async twin), and raglift calls it with the concurrency,
timeout and retries that the user asked for. One that keeps an index may say what it cost, as `Indexed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import IndexCost, Ranking

__all__ = ["AsyncQueryRetriever", "Indexed", "QueryRetriever", "Retriever"]


@runtime_checkable
class Retriever(Protocol):
    """Ranks chunks for all queries at once."""

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return one ranking of at most `k` hits for each query, in the order of the queries."""
        ...


@runtime_checkable
class QueryRetriever(Protocol):
    """Ranks chunks for one query."""

    def retrieve_one(self, query: str, k: int) -> Ranking:
        """Return a ranking of at most `k` hits."""
        ...


@runtime_checkable
class AsyncQueryRetriever(Protocol):
    """Ranks chunks for one query, without blocking."""

    async def aretrieve_one(self, query: str, k: int) -> Ranking:
        """Return a ranking of at most `k` hits."""
        ...


@runtime_checkable
class Indexed(Protocol):
    """Keeps an index, and says what it cost."""

    @property
    def cost(self) -> IndexCost:
        """What the index took to build, and its size."""
        ...
