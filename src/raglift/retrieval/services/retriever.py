"""What retrievers of HTTP services and MCP servers have in common."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from raglift.errors import ConfigurationError
from raglift.types.rankings import Ranking
from raglift.utilities.event_loops import is_own_loop, result_of

if TYPE_CHECKING:
    from raglift.retrieval.services.mapping import ServiceMapping
    from raglift.types.documents import Chunk
    from raglift.types.filters import Filter


class ServiceRetriever(ABC):
    """Asks a search service for the hits of each query.

    How many queries are asked at once, how often a failure is tried again and how long a query may take are options of
    the evaluation (`evaluate(…, concurrency=16, retries=2, timeout=20)`).
    """

    mapping: ServiceMapping
    """What is sent, and where the hits are in the answer."""
    _reader: Any
    """Reads answers; its `doc_key` may be set."""

    @property
    @abstractmethod
    def depth_fixed(self) -> tuple[str, ...]:
        """What cannot be told how many hits are wanted; empty if it can."""

    @property
    @abstractmethod
    def takes_filters(self) -> bool:
        """Whether the service is told the metadata filter of a query."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of its rankings must know."""
        return ()

    def retrieve_one(self, query: str, k: int, metadata_filter: Filter | None = None) -> Ranking:
        """Return the hits of one query, among what matches its filter.

        Raises:
            ServiceFailed: there was no usable answer.
            ServiceUnusable: the service cannot be asked like this, or is not there.
            ConfigurationError: called on raglift's own event loop, which would wait for itself.
        """
        if is_own_loop():
            raise ConfigurationError(
                f"{type(self).__name__}: found retrieve_one in an async function; expected aretrieve_one"
            )
        return result_of(self.aretrieve_one(query, k, metadata_filter))

    async def aretrieve_one(self, query: str, k: int, metadata_filter: Filter | None = None) -> Ranking:
        """Return the hits of one query, among what matches its filter, without blocking.

        Raises:
            ServiceFailed: there was no usable answer.
            ServiceUnusable: the service cannot be asked like this, or is not there.
        """
        return Ranking.of((await self._hits(query, k, metadata_filter))[:k])

    @abstractmethod
    async def _hits(self, query: str, k: int, metadata_filter: Filter | None) -> list[tuple[Chunk, float | None]]:
        """Return the hits of one query as the service has them."""

    def with_doc_key(self, doc_key: str | None) -> Self:
        """Return one that reads documents' ids under a key of the hits, if the mapping says nothing of them."""
        other = copy.copy(self)
        vars(other).update(_reader=replace(self._reader, doc_key=doc_key))
        return other

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections; the next query makes new ones."""
