"""A search service over HTTP: 10,000 queries with a fifth of the answers faulty, and what asking costs a query.

The service is a process of its own on this machine. First its bad day: every fifth query meets an error (500), a rate
limit (429, with and without Retry-After), a request that hangs, an answer that is cut off, one that is not JSON, or
JSON of another shape; half of those that may pass do so on the second try. It is checked that every query has its own
answer or its own cause, in order. Then a good day: processor time of the asking process a query, for plain httpx, for
`HttpRetriever`, and for all of `evaluate()`, which take turns. Run it as

    python benchmarks/http_systems.py [--queries 10000] [--concurrency 64] [--repetitions 3]
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx
from search_server import SearchAnswer, SearchRequest, SearchServer

import raglift as rl
from raglift.retrieval.services.http_retriever import HttpRetriever
from raglift.types.dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

HITS = 10
TEXT = "The lamp is lit at dusk and burns until dawn, whatever the weather, and the keeper writes it down. " * 5
TIMEOUT = 5.0
FAULTS = {
    "HTTP 500": SearchAnswer(status=500, body={"detail": "the index is being rebuilt"}),
    "HTTP 429": SearchAnswer(status=429),
    "HTTP 429 with Retry-After": SearchAnswer(status=429, headers={"Retry-After": "1"}),
    "within 5 s": SearchAnswer(seconds=600),
    "broke off": SearchAnswer(body={"results": [{"text": TEXT}]}, cut_off=True),
    "not JSON": SearchAnswer(body=b"<html>We are sorry</html>"),
    "another shape": SearchAnswer(body={"rows": [{"words": "no results"}]}),
}
LASTING = ("within 5 s", "not JSON", "another shape")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both days and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=3)
    asked = parser.parse_args(arguments)
    if min(asked.queries, asked.concurrency, asked.repetitions) < 1:
        parser.error("--queries, --concurrency and --repetitions: expected 1 or more")
    bad_day(asked.queries, asked.concurrency)
    good_day(asked.queries, asked.concurrency, asked.repetitions)
    return 0


def fault_of(number: int) -> str | None:
    """Return the fault of a query: every fifth has one, the kinds in turn."""
    return list(FAULTS)[number // 5 % len(FAULTS)] if number % 5 == 0 else None


def lasts(number: int) -> bool:
    """Whether a query's fault is still there on the last try."""
    fault = fault_of(number)
    return fault is not None and (fault in LASTING or number // 5 // len(FAULTS) % 2 == 1)


def answer(number: int) -> dict[str, Any]:
    """Return what the service answers on a good day."""
    return {"results": [{"text": f"passage {number}. {TEXT}", "id": f"{number}-{hit}"} for hit in range(HITS)]}


def number_of(request: SearchRequest) -> int:
    """Return which query was asked."""
    return int(request.json["query"].rpartition(" ")[2])


class BadDay:
    """Answers with the faults."""

    def __init__(self) -> None:
        self.tries: Counter[int] = Counter()

    def __call__(self, request: SearchRequest) -> Any:
        """Answer one request."""
        number = number_of(request)
        self.tries[number] += 1
        fault = fault_of(number)
        if fault is None or (not lasts(number) and self.tries[number] > 1):
            return answer(number)
        return FAULTS[fault]


def good(request: SearchRequest) -> Any:
    """Answer one request as it should be."""
    return answer(number_of(request))


def serve(pipe: Connection, reply: Callable[[SearchRequest], Any]) -> None:
    """Be the service, until the other side says something; then say what was counted."""
    with SearchServer(reply, keep_requests=False) as server:
        pipe.send(server.address)
        pipe.recv()
        pipe.send(dict(server.counts))


class Service:
    """The service in a process of its own."""

    def __init__(self, reply: Callable[[SearchRequest], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other, reply), daemon=True)
        self._process.start()
        self.address: str = self._pipe.recv()

    def stop(self) -> dict[str, int]:
        """End it, and return its counts."""
        self._pipe.send("stop")
        counts: dict[str, int] = self._pipe.recv()
        self._process.join()
        return counts


def dataset_of(queries: int) -> Dataset:
    """Return labelled queries."""
    return Dataset.from_dict({f"question {n}": [f"passage {n}."] for n in range(queries)})


def bad_day(queries: int, concurrency: int) -> None:
    """Measure a service a fifth of whose answers are faulty, and check every one."""
    service = Service(BadDay())
    system = HttpRetriever(service.address, {"timeout": TIMEOUT})
    started, busy = time.perf_counter(), time.process_time()
    evaluation = rl.evaluate(
        system,
        dataset_of(queries),
        ks=[1, 10],
        depth="deep",
        candidates=HITS,
        concurrency=concurrency,
        retries=1,
        progress=False,
    )
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    counts = service.stop()
    faulty = sum(fault_of(n) is not None for n in range(queries))
    say(f"{queries:,} queries, {concurrency} at a time, {faulty:,} of them faulty on the first try, 1 retry:")
    say(f"  {seconds:.0f} s by the clock, {busy:.0f} s of the processor; {counts['requests']:,} requests,")
    say(f"  {counts['connections']:,} connections, at most {counts['under way']} requests under way at a time")
    wrong = [place for place, trace in enumerate(evaluation.run.traces) if not is_right(place, trace)]
    say(f"  {queries - len(wrong):,} have their own answer or their own cause, in order; {len(wrong)} do not")
    wanted = Counter(str(fault_of(n)).removesuffix(" with Retry-After") for n in range(queries) if lasts(n))
    for failure in evaluation.failures():
        kind = next((name for name in wanted if name in failure.cause), "")
        say(f"  {len(failure.query_ids):5,} (expected {wanted[kind]:,})  {failure.cause}")
    if wrong:
        raise SystemExit(f"wrong: {wrong[:5]}: {evaluation.run.traces[wrong[0]]}")


def is_right(place: int, trace: Any) -> bool:
    """Whether a query has its own answer, or its own cause."""
    if trace.query_id != f"q{place + 1}":
        return False
    if lasts(place):
        return trace.error is not None and str(fault_of(place)).removesuffix(" with Retry-After") in trace.error
    return trace.error is None and trace.stages[0].ranking[0].chunk.text.startswith(f"passage {place}.")


def good_day(queries: int, concurrency: int, repetitions: int) -> None:
    """Measure what asking costs a query, next to plain httpx."""
    service = Service(good)
    dataset = dataset_of(queries)
    texts = [query.text for query in dataset]
    ways: dict[str, Callable[[], Any]] = {
        "plain httpx": lambda: asyncio.run(plain(service.address, texts, concurrency)),
        "HttpRetriever": lambda: asyncio.run(retriever(service.address, texts, concurrency)),
        "evaluate()": lambda: rl.evaluate(
            HttpRetriever(service.address),
            dataset,
            depth="deep",
            candidates=HITS,
            concurrency=concurrency,
            progress=False,
        ),
        "evaluate(), a tenth": lambda: rl.evaluate(
            HttpRetriever(service.address),
            dataset_of(max(1, queries // 10)),
            depth="deep",
            candidates=HITS,
            concurrency=concurrency,
            progress=False,
        ),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repetitions):
        for name, run in ways.items():
            asked = max(1, queries // 10) if name.endswith("tenth") else queries
            before = time.process_time()
            run()
            taken[name].append((time.process_time() - before) / asked * 1e6)
    service.stop()
    found = {name: statistics.median(each) for name, each in taken.items()}
    say(f"\nprocessor time of the asking process, microseconds a query of {HITS} hits; median of {repetitions} rounds")
    for name, each in found.items():
        say(f"  {name:22}{each:8,.0f}   {each / found['plain httpx']:.2f} × plain httpx")


async def plain(address: str, texts: Sequence[str], concurrency: int) -> list[Any]:
    """Ask all queries with httpx and nothing else."""
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    places = asyncio.Semaphore(concurrency)
    async with httpx.AsyncClient(limits=limits, timeout=30) as client:

        async def one(text: str) -> Any:
            async with places:
                response = await client.post(address, json={"query": text, "k": HITS})
                response.raise_for_status()
                return response.json()

        return await asyncio.gather(*map(one, texts))


async def retriever(address: str, texts: Sequence[str], concurrency: int) -> list[Any]:
    """Ask all queries with the retriever, which also reads hits."""
    system = HttpRetriever(address)
    places = asyncio.Semaphore(concurrency)

    async def one(text: str) -> Any:
        async with places:
            return await system.aretrieve_one(text, HITS)

    try:
        return await asyncio.gather(*map(one, texts))
    finally:
        await system.aclose()


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
