"""Systems that misbehave, and a program that measures them one after the other, with good systems in between.

`python -m tests.robustness.users_code plain` prints one line of JSON for each system; `notebook` does the same on a
thread that already runs an event loop. It is a process of its own, so that whatever hangs can be ended.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

from haystack import Document as HaystackDocument
from haystack import Pipeline, component
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode

import raglift as rl
from raglift.components.services.http_retriever import HttpRetriever
from raglift.records.dataset import Dataset
from raglift.testing.search_server import SearchAnswer, SearchServer

TIMEOUT = 0.4
PATIENT = 20.0
"""The timeout of systems that answer at once, if the machine is not busy."""
FOR_EVER = 3600.0
MOST_MEMORY = 8 * 2**30
QUERIES = [f"question {number}" for number in range(6)]
BAD = QUERIES[2]
DATASET = Dataset.from_dict({query: [f"the answer to {query}"] for query in QUERIES})


def answer(query: str) -> list[str]:
    return [f"the answer to {query}"]


# Async functions. Only one query makes each of them misbehave.


async def blocks(query: str) -> list[str]:
    await asyncio.sleep(0)
    if query == BAD:
        time.sleep(FOR_EVER)  # as `requests.get` may
    return answer(query)


async def swallows_its_cancellation(query: str) -> list[str]:
    while query == BAD:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(FOR_EVER)
    return answer(query)


async def blocks_when_it_is_cancelled(query: str) -> list[str]:
    try:
        await asyncio.sleep(FOR_EVER if query == BAD else 0)
    except asyncio.CancelledError:
        time.sleep(FOR_EVER)
    return answer(query)


async def stops_its_loop(query: str) -> list[str]:
    if query == BAD:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(FOR_EVER)
    return answer(query)


async def stops_its_loop_and_answers(query: str) -> list[str]:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
    return answer(query)


async def closes_its_loop(query: str) -> list[str]:
    if query == BAD:
        asyncio.get_running_loop().close()
    return answer(query)


async def cancels_its_own_task(query: str) -> list[str]:
    if query == BAD:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
    return answer(query)


async def cancels_its_own_task_and_answers(query: str) -> list[str]:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return answer(query)


async def cancels_every_task(query: str) -> list[str]:
    if query == BAD:
        for task in asyncio.all_tasks():
            task.cancel()
    await asyncio.sleep(0.001)
    return answer(query)


async def leaves_a_task_that_exits(query: str) -> list[str]:
    async def leave() -> None:
        sys.exit(3)

    if query == BAD:
        asyncio.get_running_loop().create_task(leave()).add_done_callback(lambda task: task.exception())
    await asyncio.sleep(0.01)
    return answer(query)


async def hangs_in_a_thread(query: str) -> list[str]:
    await asyncio.to_thread(time.sleep, FOR_EVER if query == BAD else 0)
    return answer(query)


async def asks_a_service_without_await(query: str) -> list[str]:
    if query == BAD:
        HttpRetriever("http://127.0.0.1:9/search").retrieve_one(query, 1)
    return answer(query)


class OnlyAsync(BaseRetriever):
    """A retriever of LangChain, asked by its async method for want of another, which blocks."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise NotImplementedError

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(text) for text in await blocks(query)]


# Plain functions.


def hangs(query: str) -> list[str]:
    if query == BAD:
        time.sleep(FOR_EVER)
    return answer(query)


def yields_for_ever(query: str) -> Iterator[str]:
    yield from answer(query)
    while query == BAD:
        yield "and so on, and so on"


def yields_for_ever_and_slowly(query: str) -> Iterator[str]:
    yield from answer(query)
    while query == BAD:
        time.sleep(0.05)
        yield "and so on, and so on"


class Postprocessor(BaseNodePostprocessor):
    """One of LlamaIndex's, whose answer for one query has no end, or is no list."""

    without_end: bool = True

    def _postprocess_nodes(self, nodes: list[Any], query_bundle: Any = None) -> Any:
        if query_bundle.query_str != BAD:
            return nodes
        return (nodes[0] for _ in count()) if self.without_end else None


class Nodes(LlamaIndexRetriever):
    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in answer(query_bundle.query_str)]


def postprocessed(*, without_end: bool) -> RetrieverQueryEngine:
    return RetrieverQueryEngine.from_args(
        Nodes(), llm=MockLLM(), node_postprocessors=[Postprocessor(without_end=without_end)]
    )


def pipeline(search: Callable[[str], list[str]]) -> Pipeline:
    """Return a pipeline of Haystack's of one component."""

    @component
    class Search:
        @component.output_types(documents=list[HaystackDocument])
        def run(self, query: str) -> dict[str, Any]:
            return {"documents": [HaystackDocument(content=text) for text in search(query)]}

    made = Pipeline()
    made.add_component("search", Search())
    return made


class WithoutText(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class WithoutAttributes(Exception):
    def __getattr__(self, name: str) -> Any:
        raise ValueError(f"no {name}")


class PanicException(BaseException):
    """What an extension in Rust raises where it panics."""


class Halt(BaseException):
    """An exception of a user's own that is none of Python's `Exception`s, as those of gevent are."""


def raising(error: Callable[[], BaseException], *, to_itself: bool = False) -> Callable[[str], list[str]]:
    def search(query: str) -> list[str]:
        if query == BAD:
            made = error()
            raise made from (made if to_itself else None)
        return answer(query)

    return search


def raising_async(error: Callable[[], BaseException]) -> Callable[[str], Any]:
    search = raising(error)

    async def asearch(query: str) -> list[str]:
        await asyncio.sleep(0)
        return search(query)

    return asearch


class Batched:
    """A retriever that takes all queries at once."""

    def __init__(self, search: Callable[[str], list[str]]) -> None:
        self._search = search

    def retrieve(self, queries: list[str], k: int) -> list[rl.Ranking]:
        found = [self._search(query) for query in queries]
        return [rl.Ranking.of((rl.Chunk(text), None) for text in texts) for texts in found]


def halt() -> BaseException:
    return Halt("no\x1b[31m more\nFORGED")


def reply(request: Any) -> Any:
    query = request.json["query"]
    return SearchAnswer(seconds=FOR_EVER if query == BAD else 0, body={"results": answer(query)})


LATE = "no answer within the timeout of 0.4 seconds"
HALTED = "Halt: no\N{REPLACEMENT CHARACTER}[31m more FORGED"
LONG = "x" * 50_000_000
BLANKS = " eyJ-" * 10_000_000
SYSTEMS: dict[str, tuple[Any, str | None]] = {
    "async: blocks": (blocks, LATE),
    "async: swallows its cancellation": (swallows_its_cancellation, LATE),
    "async: blocks when it is cancelled": (blocks_when_it_is_cancelled, LATE),
    "async: stops its loop": (stops_its_loop, LATE),
    "async: stops its loop and answers": (stops_its_loop_and_answers, None),
    "async: closes its loop": (closes_its_loop, "RuntimeError: Cannot close a running event loop"),
    "async: cancels its own task": (cancels_its_own_task, "CancelledError"),
    "async: cancels its own task and answers": (cancels_its_own_task_and_answers, None),
    "async: leaves a task that exits": (leaves_a_task_that_exits, None),
    "async: hangs in a thread": (hangs_in_a_thread, LATE),
    "async: asks a service without await": (asks_a_service_without_await, "expected aretrieve_one"),
    "LangChain, async: blocks": (OnlyAsync(), LATE),
    "hangs": (hangs, LATE),
    "yields for ever": (yields_for_ever, "goes on after 100,000 results"),
    "yields for ever and slowly": (yields_for_ever_and_slowly, LATE),
    "LlamaIndex: a postprocessor without an end": (postprocessed(without_end=True), "goes on after 100,000 results"),
    "LlamaIndex: a postprocessor that answers nothing": (
        postprocessed(without_end=False),
        "returned a NoneType; expected",
    ),
    "Haystack: hangs": (pipeline(hangs), LATE),
    "Haystack: raises a BaseException of its own": (pipeline(raising(halt)), HALTED),
    "an error whose text raises": (raising(WithoutText), "WithoutText"),
    "an error whose attributes raise": (raising(WithoutAttributes), "WithoutAttributes"),
    "an error that is its own cause": (raising(lambda: KeyError("k"), to_itself=True), "KeyError: 'k'"),
    "an error of 50 MB": (raising(lambda: ValueError(LONG)), "ValueError: xxx"),
    "an error of 50 MB of blanks": (raising(lambda: ValueError(BLANKS)), "ValueError: eyJ-"),
    "raises CancelledError": (raising(asyncio.CancelledError), "CancelledError"),
    "panics in Rust": (raising(lambda: PanicException("index out of bounds")), "PanicException: index out of bounds"),
    "raises a BaseException of its own": (raising(halt), HALTED),
    "async: raises a BaseException of its own": (raising_async(halt), HALTED),
    "all at once: raises a BaseException of its own": (Batched(raising(halt)), HALTED),
    "raises GeneratorExit": (raising(GeneratorExit), "GeneratorExit"),
    "async: raises GeneratorExit": (raising_async(GeneratorExit), "GeneratorExit"),
    "a service that hangs": (lambda service: service, LATE),
    "a function that asks a service that hangs": (lambda service: lambda query: service.retrieve_one(query, 1), LATE),
}
"""Each with the error of the query that it misbehaves on; None where it answers all the same."""
OF_A_SERVICE = [name for name in SYSTEMS if "service that" in name]
"""Those that are made of a service."""
GOOD = ("async", "plain", "service")


def main(mode: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    with SearchServer(reply, keep_requests=False) as server:
        service = HttpRetriever(server.address)

        async def good(query: str) -> list[str]:
            await asyncio.sleep(0)
            return answer(query)

        systems = {name: made(service) if name in OF_A_SERVICE else made for name, (made, _) in SYSTEMS.items()}
        good_systems = dict(zip(GOOD, (good, answer, service), strict=True))
        quick = Dataset.from_dict({query: answer(query) for query in QUERIES if query != BAD})

        def measure_all() -> None:
            for good_system in good_systems.values():  # what is imported and made once is on nobody's time
                seconds_of(good_system, quick, 1, PATIENT)
            for name, system in systems.items():
                timeout = TIMEOUT if SYSTEMS[name][1] == LATE else PATIENT
                for concurrency in (1, 3):
                    seconds, errors = seconds_of(system, DATASET, concurrency, timeout)
                    after = {each: seconds_of(good_systems[each], quick, 2, PATIENT) for each in GOOD}
                    row = {"system": name, "concurrency": concurrency, "seconds": seconds, "errors": errors}
                    print(json.dumps(row | {"after": after}), flush=True)  # noqa: T201

        async def cell() -> None:
            measure_all()

        if mode == "notebook":
            asyncio.run(cell())
        else:
            measure_all()
        print(json.dumps({"system": "all", "threads": threading.active_count()}))  # noqa: T201


def seconds_of(system: Any, dataset: Dataset, concurrency: int, timeout: float) -> tuple[float, dict[str, str]]:
    """Return how long it took to measure a system, and the errors by query."""
    options = {"timeout": timeout, "retries": 1, "concurrency": concurrency, "progress": False}
    started = time.perf_counter()
    evaluation = rl.evaluate(system, dataset, ks=(1,), metrics=["hit_rate"], **options)
    seconds = time.perf_counter() - started
    queries = dict(zip((query.id for query in dataset.queries), dataset.queries, strict=True))
    errors = {queries[trace.query_id].text: trace.error for trace in evaluation.run.traces if trace.error}
    return seconds, errors


if __name__ == "__main__":
    main(sys.argv[1])
