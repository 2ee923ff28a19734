"""`answers=`: what a system has answered is not asked again."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever

from raglift.errors import CacheError
from raglift.results.evaluation import Evaluation
from raglift.running.answers import FILE
from raglift.running.evaluation import evaluate
from raglift.storage.answers import AnswerStore, hits_as_json
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

QUESTIONS = [f"question {number}" for number in range(6)]


@pytest.fixture
def dataset() -> Dataset:
    return Dataset.from_dict({question: [f"proof of {question}"] for question in QUESTIONS})


class Counting:
    """A system that counts its questions, and does to some what it is told to."""

    def __init__(self, **what: Callable[[], Any]) -> None:
        self.asked: list[str] = []
        self.what = {name.replace("_", " "): act for name, act in what.items()}

    def __call__(self, query: str, k: int) -> list[dict[str, Any]]:
        self.asked.append(query)
        if query in self.what:
            self.what[query]()
        return [{"id": f"{query}-{n}", "text": f"proof of {query} {n}", "score": 1 / (n + 1)} for n in range(k)]


def stop() -> None:
    raise KeyboardInterrupt


def raising(error: Exception) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def figures(evaluation: Evaluation) -> Any:
    """Return all of an evaluation that is saved but times and what is said of earlier attempts."""
    traces = [
        (trace.query_id, trace.error, [(stage.stage, hits_as_json(stage.ranking)) for stage in trace.stages])
        for trace in evaluation.run.traces
    ]
    return traces, evaluation.scores.values.tolist()


def test_what_was_answered_before_it_was_stopped_is_not_asked_again(dataset: Dataset, tmp_path: Path) -> None:
    first = Counting(question_3=stop)
    with pytest.raises(KeyboardInterrupt):
        evaluate(first, dataset, answers=tmp_path / "answers")
    again = Counting()
    evaluation = evaluate(again, dataset, answers=tmp_path / "answers")
    assert again.asked == QUESTIONS[3:]
    assert figures(evaluation) == figures(evaluate(Counting(), dataset))
    (note,) = [note for note in evaluation.notes if "earlier" in note]
    assert note == "3 of 6 answers came from an earlier attempt, with their times; the others were asked now"


@pytest.mark.slow
def test_a_query_that_failed_is_asked_again_and_no_other(dataset: Dataset, tmp_path: Path) -> None:
    options: Any = {"answers": tmp_path / "answers", "retries": 0}
    failing = [Counting(question_2=raising(KeyError("LAMP_KEY"))) for _ in range(2)]
    before, after = [evaluate(system, dataset, **options) for system in failing]
    assert failing[1].asked == ["question 2"]
    assert figures(after) == figures(before)
    mended = Counting()
    assert not evaluate(mended, dataset, **options).failures()
    assert mended.asked == ["question 2"]


@pytest.mark.slow
def test_an_answer_after_its_timeout_is_not_kept(dataset: Dataset, tmp_path: Path) -> None:
    over, come = threading.Event(), threading.Event()
    late = Counting(question_4=lambda: (over.wait(60), come.set()))
    evaluation = evaluate(late, dataset, answers=tmp_path, timeout=1)
    assert [trace.query_id for trace in evaluation.run.traces if trace.error] == ["q5"]
    over.set()
    assert come.wait(60)
    time.sleep(0.05)  # by then it would be kept
    again = Counting()
    assert not evaluate(again, dataset, answers=tmp_path, timeout=60).failures()
    assert again.asked == ["question 4"]


@pytest.mark.slow
def test_latency_is_measured_on_the_system_itself(dataset: Dataset, tmp_path: Path) -> None:
    evaluate(Counting(), dataset, answers=tmp_path)
    again = Counting()
    evaluation = evaluate(again, dataset, answers=tmp_path, latency=4)
    assert set(again.asked) <= set(QUESTIONS)
    assert len(again.asked) >= 4
    assert evaluation.run.cost is not None
    assert evaluation.run.cost.latencies[0].queries == 4
    assert evaluation.run.cost.throughput == {"retrieve": None}  # it was not measured


class All:
    """A system that takes all queries at once."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def retrieve(self, queries: list[str], k: int) -> list[Ranking]:
        self.asked.append(list(queries))
        return [Ranking.of((Chunk(f"proof of {query} {n}"), None) for n in range(k)) for query in queries]


def test_a_system_that_takes_all_queries_at_once_is_asked_for_those_that_are_missing(
    dataset: Dataset, tmp_path: Path
) -> None:
    evaluate(All(), Dataset(dataset.queries[:4]), answers=tmp_path)
    system = All()
    evaluate(system, dataset, answers=tmp_path)
    assert system.asked == [QUESTIONS[4:]]


class Documents(BaseRetriever):
    """LangChain's, with what only its own object knows."""

    asked: list[str] = []  # noqa: RUF012 — pydantic copies it

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        self.asked.append(query)
        return [Document(f"{n} proof of {query}", metadata={"place": (n,)}) for n in range(3)]


class ByPlace(BaseDocumentCompressor):
    """Orders by metadata that JSON has in another form."""

    stops: bool = False

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        if self.stops and query == "question 3":
            raise KeyboardInterrupt
        assert all(isinstance(document.metadata["place"], tuple) for document in documents)
        return sorted(documents, key=lambda document: document.metadata["place"], reverse=True)


@pytest.mark.slow
def test_a_frameworks_reranker_is_always_given_the_frameworks_own_objects(dataset: Dataset, tmp_path: Path) -> None:
    def system(*, stops: bool) -> ContextualCompressionRetriever:
        return ContextualCompressionRetriever(base_retriever=Documents(), base_compressor=ByPlace(stops=stops))

    with pytest.raises(KeyboardInterrupt):
        evaluate(system(stops=True), dataset, answers=tmp_path)
    assert figures(evaluate(system(stops=False), dataset, answers=tmp_path)) == figures(
        evaluate(system(stops=False), dataset)
    )


def test_an_answer_that_cannot_be_kept_stops_the_run(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise CacheError("the disk is full")

    monkeypatch.setattr(AnswerStore, "keep", full)
    system = Counting()
    with pytest.raises(CacheError, match="the disk is full"):
        evaluate(system, dataset, answers=tmp_path)
    assert system.asked == QUESTIONS[:1]


def test_a_file_that_is_damaged_is_not_said_to_hold_nothing(dataset: Dataset, tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_text("no database" * 100)
    with pytest.raises(
        CacheError, match="file is not a database; expected a file of raglift's, or none: choose"
    ) as told:
        evaluate(Counting(), dataset, answers=tmp_path)
    assert "RAGLIFT_CACHE" not in str(told.value)
    assert (tmp_path / "answers.sqlite").read_text() == "no database" * 100


def test_what_is_kept_is_json_in_one_file(dataset: Dataset, tmp_path: Path) -> None:
    evaluate(Counting(), dataset, answers=tmp_path)
    file = sqlite3.connect(tmp_path / FILE)
    values = [json.loads(value) for (value,) in file.execute("SELECT value FROM outputs") if value]
    file.close()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [FILE, "lock"]
    assert len(values) == len(QUESTIONS)
