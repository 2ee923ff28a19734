"""Runs over a corpus that comes with raglift, and reviews of them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
import uvicorn

from raglift.cli import serving
from raglift.cli.app import app
from raglift.datasets.jsonl import write_queries
from raglift.datasets.loading import load_dataset
from raglift.grading.labels import labelled_queries
from raglift.grading.pooling import pool
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.retrieval.chunkers import parse_chunker
from raglift.running.evaluation import evaluate
from raglift.running.systems import LocalSystem, build_retriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Annotator, Query

QUERIES = 6
MODEL = Annotator("openai:gpt-4o-mini", "relevance@3f9a1c07", "2026-11-21")
MAIN = "from raglift.cli import main; main()"


@pytest.fixture(scope="session")
def lighthouse() -> Dataset:
    """The first queries of a corpus whose labels are graded spans."""
    whole = load_dataset("lighthouse")
    return replace(whole, queries=whole.queries[:QUERIES])


@pytest.fixture(scope="session")
def evaluations(lighthouse: Dataset) -> list[Evaluation]:
    """BM25 over two ways of chunking."""
    systems = [
        build_retriever(lighthouse, LocalSystem("bm25", parse_chunker(f"recursive:{size}/50"))) for size in (900, 400)
    ]
    return [evaluate(system, lighthouse, reranker=None, ks=(1, 5), depth="deep", candidates=5) for system in systems]


@pytest.fixture(scope="session")
def runs(evaluations: list[Evaluation], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same, saved."""
    folder = tmp_path_factory.mktemp("runs")
    return [each.save(folder / f"run-{number}") for number, each in enumerate(evaluations)]


@pytest.fixture(scope="session")
def plain_run(lighthouse: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """BM25 over chunks that do not overlap, so that each has a grade of its own."""
    system = build_retriever(lighthouse, LocalSystem("bm25", parse_chunker("recursive:600/0")))
    evaluation = evaluate(system, lighthouse, reranker=None, ks=(1, 5), depth="deep", candidates=5)
    return evaluation.save(tmp_path_factory.mktemp("plain") / "run")


@pytest.fixture(scope="session")
def judged(plain_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a model would say of it: every grade in turn, so that it differs from people here and there."""
    pooled = pool(load_evaluation(plain_run), depth=5)
    grades = [[number % 4 for number in range(len(each.chunks))] for each in pooled.queries]
    return write_queries(labelled_queries(pooled, grades, MODEL), tmp_path_factory.mktemp("judged") / "judged.jsonl")


@pytest.fixture
def unlabelled(evaluations: list[Evaluation], tmp_path: Path) -> Path:
    """A file with the questions alone."""
    queries = [Query(query.id, query.text) for query in evaluations[0].dataset]
    return write_queries(queries, tmp_path / "labels.jsonl")


@pytest.fixture
def documents(lighthouse: Dataset) -> dict[str, Document]:
    return {document.id: document for document in lighthouse.documents}


class Served:
    """A review in a process of its own."""

    def __init__(self, labels: Path, *arguments: object) -> None:
        command = [sys.executable, "-c", MAIN, "labels", "review", *map(str, (labels, *arguments)), "--no-browser"]
        self.labels = labels
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise AssertionError(self.process.communicate()[1])

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.communicate()

    def stop(self, signal_number: int) -> str:
        """Ask it to end, and return what it said."""
        self.process.send_signal(signal_number)
        said: str = self.process.communicate(timeout=20)[1]
        return said


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Start `raglift labels review LABELS …`; what still runs is killed at the end."""
    started: list[Served] = []

    def start(labels: Path, *arguments: Any) -> Served:
        started.append(Served(labels, *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.kill()


class ServedHere:
    """A review on a thread of this process, which spares the second that a process of its own takes to begin."""

    def __init__(self, labels: Path, *arguments: object) -> None:
        self.labels = labels
        self._told: Queue[str | BaseException] = Queue()
        self._thread = threading.Thread(
            target=self._run, args=[["labels", "review", *map(str, (labels, *arguments)), "--no-browser"]]
        )
        self._thread.start()
        told = self._told.get(timeout=60)
        if isinstance(told, BaseException):
            raise told
        self.url = told

    def _run(self, arguments: list[str]) -> None:
        HERE.told = self._told.put
        try:
            app(arguments, standalone_mode=False)
        except BaseException as error:  # noqa: BLE001 — raised where it is waited for
            self._told.put(error)

    def stop(self, server: uvicorn.Server) -> None:
        """End the server, and wait for what is saved then."""
        server.should_exit = True
        self._thread.join()


HERE = threading.local()
"""Of a thread with a review: what is to be called with the address."""


@pytest.fixture
def serve_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ServedHere]]:
    """Start `raglift labels review LABELS …` on a thread; it is ended at the end, and saves what is left."""
    servers: list[uvicorn.Server] = []
    original, run = serving.serve, uvicorn.Server.run

    def told(desk: Any, listener: Any, announce: Callable[[str], None]) -> None:
        original(desk, listener, HERE.told)

    def recorded(server: uvicorn.Server, **options: Any) -> None:
        servers.append(server)
        run(server, **options)

    monkeypatch.setattr(serving, "serve", told)
    monkeypatch.setattr(uvicorn.Server, "run", recorded)
    started: list[ServedHere] = []

    def start(labels: Path, *arguments: Any) -> ServedHere:
        started.append(ServedHere(labels, *arguments))
        return started[-1]

    yield start
    for each, server in zip(started, servers, strict=True):
        each.stop(server)
