"""Systems that misbehave: each fails as the one query that it is, and nothing after it notices."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from benchmarks.search_server import SearchAnswer, SearchServer

import raglift as rl
from raglift.retrieval.services import HttpRetriever

ROOT = Path(__file__).parents[2]
QUERIES = [f"question {number}" for number in range(6)]
BAD = QUERIES[2]
DATASET = rl.Dataset.from_dict({query: [f"the answer to {query}"] for query in QUERIES})
over = threading.Event()
"""Ends whatever hangs, when all tests are over."""


@pytest.fixture(scope="module", autouse=True)
def _release() -> Iterator[None]:
    yield
    over.set()


def answer(query: str) -> list[str]:
    return [f"the answer to {query}"]


async def good_async(query: str) -> list[str]:
    await asyncio.sleep(0)
    return answer(query)


async def blocks(query: str) -> list[str]:
    await asyncio.sleep(0)
    if query == BAD:
        over.wait()  # as `requests.get` may
    return answer(query)


async def swallows_its_cancellation(query: str) -> list[str]:
    while query == BAD and not over.is_set():
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(1)
    return answer(query)


async def asks_a_service_without_await(query: str) -> list[str]:
    if query == BAD:
        HttpRetriever("http://127.0.0.1:9/search").retrieve_one(query, 1)
    return answer(query)


def hangs(query: str) -> list[str]:
    if query == BAD:
        over.wait()
    return answer(query)


class WithoutText(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Halt(BaseException):
    """An exception that is none of Python's `Exception`s, as those of gevent and of extensions in Rust are."""


def halt() -> BaseException:
    return Halt("no\x1b[31m more\nFORGED")


def raising(error: Callable[[], BaseException]) -> Callable[[str], list[str]]:
    def search(query: str) -> list[str]:
        if query == BAD:
            raise error()
        return answer(query)

    return search


def reply(request: Any) -> Any:
    query = request.json["query"]
    return SearchAnswer(seconds=3600 if query == BAD else 0, body={"results": answer(query)})


LATE = "no answer within the timeout of 0.3 seconds"
HALTED = "Halt: no\N{REPLACEMENT CHARACTER}[31m more FORGED"
SYSTEMS: dict[str, tuple[Any, str]] = {
    "async: blocks": (blocks, LATE),
    "async: swallows its cancellation": (swallows_its_cancellation, LATE),
    "async: asks a service without await": (asks_a_service_without_await, "expected aretrieve_one"),
    "hangs": (hangs, LATE),
    "an error whose text raises": (raising(WithoutText), "WithoutText"),
    "an error of 50 MB": (raising(lambda: ValueError("x" * 50_000_000)), "ValueError: xxx"),
    "raises a BaseException": (raising(halt), HALTED),
    "a service that hangs": ("service", LATE),
}
"""Each with the error of the query that it misbehaves on."""


def errors_of(system: Any, dataset: rl.Dataset, timeout: float) -> dict[str, str]:
    """Return the errors of an evaluation by query."""
    evaluation = rl.evaluate(
        system, dataset, ks=(1,), metrics=["hit_rate"], timeout=timeout, retries=1, concurrency=3, progress=False
    )
    queries = {query.id: query.text for query in dataset.queries}
    return {queries[trace.query_id]: trace.error for trace in evaluation.run.traces if trace.error}


@pytest.fixture(scope="module")
def service() -> Iterator[HttpRetriever]:
    with SearchServer(reply, keep_requests=False) as server:
        yield HttpRetriever(server.address)


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_that_misbehaves(service: HttpRetriever, name: str) -> None:
    system, expected = SYSTEMS[name]
    system = service if system == "service" else system
    others = rl.Dataset.from_dict({query: answer(query) for query in QUERIES if query != BAD})
    timeout = 0.3 if expected == LATE else 60.0

    def measure() -> None:
        errors = errors_of(system, DATASET, timeout)
        assert expected in errors[BAD]
        assert len(errors[BAD]) < 500
        for good in (good_async, answer, service):
            assert errors_of(good, others, 60.0) == {}

    async def cell() -> None:
        measure()

    measure()
    asyncio.run(cell())  # as in a notebook


INTERRUPTED = """
import asyncio, os, signal, sys, threading, time
import raglift as rl
from tests.robustness.test_users_code import DATASET, SYSTEMS, answer, good_async

def press():
    time.sleep(0.4)
    os.kill(os.getpid(), signal.SIGINT)

def measure(system, **options):
    return rl.evaluate(system, DATASET, ks=(1,), metrics=["hit_rate"], progress=False, **options)

async def cell():
    measure(system, concurrency=2)

measure(good_async), measure(answer)
for name in sys.argv[2:]:
    system = SYSTEMS[name][0]
    threading.Thread(target=press, daemon=True).start()
    try:
        asyncio.run(cell()) if sys.argv[1] == "notebook" else measure(system, concurrency=2)
    except KeyboardInterrupt:
        print("stopped", end=" ")
    found = [measure(each, timeout=20).run.traces for each in (good_async, answer)]
    print(not any(trace.error for traces in found for trace in traces), flush=True)
"""
WITHOUT_END = ["async: blocks", "async: swallows its cancellation", "hangs"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["plain", pytest.param("notebook", marks=pytest.mark.full)])
def test_ctrl_c_stops_a_system_without_a_timeout_and_the_next_evaluations_work(mode: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, mode, *WITHOUT_END]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (["stopped True"] * len(WITHOUT_END), "")


COMMAND = """
import time
from pathlib import Path

async def retrieve(query):
    Path("asked").touch()
    time.sleep(1000)
"""


@pytest.mark.slow
def test_ctrl_c_ends_the_command_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(COMMAND)
    code = (
        "import os, signal, sys, threading, time; from pathlib import Path; from raglift.__main__ import main\n"
        "def press():\n"
        "    while not Path('asked').exists(): time.sleep(0.05)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=press, daemon=True).start()\n"
        "sys.argv = ['raglift', 'evaluate', 'lighthouse', '--system', 'hanging:retrieve', '--reranker', 'none']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 130
    assert "raglift: stopped: " in done.stderr
    assert "Traceback" not in done.stderr
