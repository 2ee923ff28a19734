"""A system is asked by its sync method; by its async one if there is no other, or the sync one is only a stub."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from raglift.adapters.asking import FrameworkRetriever
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking


class Retriever(FrameworkRetriever):
    """Answers by the ways that it is given, and notes which was asked."""

    def __init__(self, asked_sync: Any, asked_async: Any, **settings: Any) -> None:
        super().__init__(None, **settings)
        self.ways, self.calls = {"sync": asked_sync, "async": asked_async}, list[str]()

    def copy_at(self, count: int | None) -> Any:
        return count

    def ask(self, system: Any, query: str) -> Any:
        return self._found("sync", query)

    async def ask_async(self, system: Any, query: str) -> Any:
        return self._found("async", query)

    def _found(self, way: str, query: str) -> Any:
        self.calls.append(way)
        return [(Chunk(self.ways[way](query)), None)]


def stub(query: str) -> str:
    raise NotImplementedError


def fails_at_two(query: str) -> str:
    if query == "two":
        raise NotImplementedError
    return query


def texts(ranking: Ranking) -> list[str]:
    return [hit.chunk.text for hit in ranking]


def test_a_sync_stub_is_tried_once() -> None:
    retriever = Retriever(stub, str.upper)
    assert [texts(retriever.retrieve_one(query, 1)) for query in ("one", "two")] == [["ONE"], ["TWO"]]
    assert retriever.calls == ["sync", "async", "async"]


def test_what_has_no_sync_method_is_asked_by_the_async_one() -> None:
    retriever = Retriever(None, str.upper, by_async=True)
    assert texts(asyncio.run(retriever.aretrieve_one("one", 1))) == ["ONE"]


def test_what_answered_before_is_no_stub() -> None:
    retriever = Retriever(fails_at_two, str.upper)
    assert texts(retriever.retrieve_one("one", 1)) == ["one"]
    with pytest.raises(NotImplementedError):
        retriever.retrieve_one("two", 1)
    assert texts(retriever.retrieve_one("three", 1)) == ["three"]
    assert set(retriever.calls) == {"sync"}
