"""Sync and async methods of one system: a stub is left for the other, and a failure is none."""

from __future__ import annotations

from typing import Any

import pytest

from raglift.adapters.asking import FrameworkRetriever
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking


class Retriever(FrameworkRetriever):
    """Answers by the ways that it is given, and notes which was asked."""

    def __init__(self, by_sync: Any, by_async: Any, **settings: Any) -> None:
        super().__init__(None, **settings)
        self.ways, self.calls = {"sync": by_sync, "async": by_async}, list[str]()

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
    retriever = Retriever(stub, str.upper, asynchronous=True)
    assert [texts(retriever.retrieve_one(query, 1)) for query in ("one", "two")] == [["ONE"], ["TWO"]]
    assert retriever.calls == ["sync", "async", "async"]


async def answers(retriever: Retriever) -> list[list[str]]:
    return [texts(await retriever.aretrieve_one(query, 1)) for query in ("one", "two")]


def test_an_async_stub_is_tried_once() -> None:
    import asyncio

    retriever = Retriever(str.upper, stub, asynchronous=True)
    assert asyncio.run(answers(retriever)) == [["ONE"], ["TWO"]]
    assert retriever.calls == ["async", "sync", "sync"]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_what_answered_before_is_no_stub(asynchronous: bool) -> None:
    retriever = Retriever(fails_at_two, str.upper, asynchronous=asynchronous)
    assert texts(retriever.retrieve_one("one", 1)) == ["one"]
    with pytest.raises(NotImplementedError):
        retriever.retrieve_one("two", 1)
    assert texts(retriever.retrieve_one("three", 1)) == ["three"]
    assert set(retriever.calls) == {"sync"}


def test_a_stub_that_hides_what_its_base_answers_is_tried_until_that_has_answered() -> None:
    retriever = Retriever(stub, fails_at_two)
    assert [texts(retriever.retrieve_one(query, 1)) for query in ("one", "three")] == [["one"], ["three"]]
    assert retriever.calls == ["sync", "async", "async"]


def test_without_an_async_method_the_error_is_that_of_the_query() -> None:
    retriever = Retriever(fails_at_two, stub)
    for _ in range(2):
        with pytest.raises(NotImplementedError):
            retriever.retrieve_one("two", 1)
    assert texts(retriever.retrieve_one("one", 1)) == ["one"]
    assert retriever.calls == ["sync", "async", "sync", "sync"]
