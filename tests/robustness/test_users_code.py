"""Systems that misbehave: each fails as the one query that it is, and nothing after it notices."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
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
from raglift.components.services import HttpRetriever
from raglift.errors import MetricFailed
from raglift.metrics.registry import MEASURES
from raglift.testing.search_server import SearchAnswer, SearchServer

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


async def stops_its_loop(query: str) -> list[str]:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
    return answer(query)


async def cancels_its_own_task(query: str) -> list[str]:
    if query == BAD:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
    return answer(query)


async def hangs_in_a_thread(query: str) -> list[str]:
    await asyncio.to_thread(hangs, query)
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


def hangs(query: str) -> list[str]:
    if query == BAD:
        over.wait()
    return answer(query)


def yields_for_ever(query: str) -> Iterator[str]:
    yield from answer(query)
    while query == BAD:
        yield "and so on, and so on"


class WithoutEnd(BaseNodePostprocessor):
    def _postprocess_nodes(self, nodes: list[Any], query_bundle: Any = None) -> Any:
        return (nodes[0] for _ in count()) if query_bundle.query_str == BAD else nodes


class Nodes(LlamaIndexRetriever):
    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in answer(query_bundle.query_str)]


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
SYSTEMS: dict[str, tuple[Any, str | None]] = {
    "async: blocks": (blocks, LATE),
    "async: swallows its cancellation": (swallows_its_cancellation, LATE),
    "async: stops its loop": (stops_its_loop, None),
    "async: cancels its own task": (cancels_its_own_task, "CancelledError"),
    "async: hangs in a thread": (hangs_in_a_thread, LATE),
    "async: asks a service without await": (asks_a_service_without_await, "expected aretrieve_one"),
    "LangChain, async: blocks": (OnlyAsync(), LATE),
    "hangs": (hangs, LATE),
    "yields for ever": (yields_for_ever, "goes on after 100,000 results"),
    "LlamaIndex: a postprocessor without an end": (
        RetrieverQueryEngine.from_args(Nodes(), llm=MockLLM(), node_postprocessors=[WithoutEnd()]),
        "goes on after 100,000 results",
    ),
    "Haystack: hangs": (pipeline(hangs), LATE),
    "Haystack: raises a BaseException": (pipeline(raising(halt)), HALTED),
    "an error whose text raises": (raising(WithoutText), "WithoutText"),
    "an error of 50 MB": (raising(lambda: ValueError("x" * 50_000_000)), "ValueError: xxx"),
    "raises CancelledError": (raising(asyncio.CancelledError), "CancelledError"),
    "raises a BaseException": (raising(halt), HALTED),
    "a service that hangs": ("service", LATE),
}
"""Each with the error of the query that it misbehaves on; None if it answers all the same."""


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
        if expected is None:
            assert errors == {}
        else:
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
@pytest.mark.parametrize("mode", ["plain", "notebook"])
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


OTHER_EXCEPTIONS = """
from tests.robustness.test_users_code import halt

def always(query):
    raise halt()

def build():
    raise halt()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "module", "said"),
    [
        pytest.param("always", "", "retrieve: {halted}", id="for each query"),
        pytest.param("build", "", "build() failed: {halted}", id="when it is made"),
        pytest.param("always", "raise halt()", "failed: {halted}", id="when it is imported"),
    ],
)
def test_an_exception_that_is_no_exception_of_pythons_is_one_line(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, said: str
) -> None:
    source = f"halting_{abs(hash((name, module)))}"
    (tmp_path / f"{source}.py").write_text(OTHER_EXCEPTIONS + module, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    code, out, err = run("evaluate", "lighthouse", "--system", f"{source}:{name}")
    assert code == 2
    assert said.format(halted=HALTED) in err
    assert "\x1b" not in out + err
    assert not [line for line in err.splitlines() if line.startswith("FORGED")]


def test_a_metric_that_raises_an_exception_that_is_none_of_pythons_is_an_error_of_the_metric() -> None:
    @rl.metrics.metric("halting")
    def halting(ranking: Any) -> float:
        raise halt()

    try:
        with pytest.raises(MetricFailed, match="Halt"):
            rl.evaluate(answer, DATASET, ks=(1,), metrics=["halting"], progress=False)
    finally:
        del MEASURES["halting"]


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


def odd_metadata() -> dict[str, object]:
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    return {"cyclic": cyclic, "repr raises": Unprintable()}


@pytest.mark.parametrize("kind", odd_metadata())
def test_metadata_that_cannot_be_written_costs_no_run_and_is_asked_for_once(kind: str, tmp_path: Path) -> None:
    data = rl.Dataset.from_dict({f"question {number}": ["the gold passage"] for number in range(4)})
    asked: list[str] = []

    def system(query: str) -> list[dict[str, object]]:
        asked.append(query)
        return [{"text": "the gold passage", "metadata": {"source": "a.md", "odd": odd_metadata()[kind]}}]

    for _ in range(2):
        evaluation = rl.evaluate(system, data, ks=(1,), progress=False, answers=tmp_path / "answers")
    evaluation.save(tmp_path / "run")
    traces = rl.load_evaluation(tmp_path / "run").run.traces
    assert [trace.error for trace in traces] == [None] * 4
    assert traces[0].stages[0].ranking[0].chunk.metadata["source"] == "a.md"
    assert len(asked) == 4
