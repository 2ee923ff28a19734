"""A limit of model calls or cost holds over all cells of a sweep together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_openai import ChatOpenAI

import raglift as rl
from raglift.errors import ConfigurationError, CostLimitReached
from raglift.running.depth import PROBES
from raglift.running.model_calls import CallLimits
from raglift.sweep.engine import run_sweep
from raglift.sweep.specification.record import Sweep
from raglift.testing import OpenAIServer

TEXTS = ["The lamp is lit at dusk.", "The keeper climbs 96 steps.", "Tickets cost four euros.", "Fog hides the coast."]
DATA = rl.Dataset.from_dict({f"question {number}": text for number, text in enumerate(TEXTS)})


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(replies=lambda _messages, _schema: "first wording\nsecond wording") as running:
        yield running


class Lines(BaseRetriever):
    """Finds two texts without a model."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(text) for text in TEXTS[:2]]


def multi_query(server: OpenAIServer) -> Any:
    """Return a retriever that calls a language model once for each query."""
    chat = ChatOpenAI(model="gpt-4o-mini", base_url=server.base_url, api_key="not asked for", max_retries=0)
    return MultiQueryRetriever.from_llm(Lines(), chat)


@pytest.fixture
def sweep(server: OpenAIServer) -> Sweep:
    systems = {"one": multi_query(server), "two": multi_query(server), "free": lambda query, k: TEXTS[:k]}
    return Sweep(dataset=DATA, systems=systems, ks=1, primary="recall@1")


@pytest.fixture
def needed(sweep: Sweep, server: OpenAIServer, tmp_path: Path) -> int:
    """Return how many calls one of the systems makes."""
    run_sweep(sweep, tmp_path / "unlimited", progress=False)
    calls = len(server.requests)
    server.requests.clear()
    assert calls % 2 == 0
    assert calls >= 2 * len(DATA)
    return calls // 2


def names(cells: Any) -> list[str]:
    return [entry.cell.system for entry in cells]


def test_a_limit_of_calls_is_that_of_all_cells_together(
    sweep: Sweep, server: OpenAIServer, needed: int, tmp_path: Path
) -> None:
    most = needed + PROBES  # what the first query lets one of them expect
    with pytest.raises(CostLimitReached) as stopped:
        sweep.run(tmp_path / "sweep", max_model_calls=most, progress=False)
    assert len(server.requests) == needed + 1
    result = stopped.value.result
    assert (names(result.finished), names(result.failed)) == (["one", "free"], ["two"])
    assert f"with those of other cells, would come to {needed + most}, more than {most}" in result.failed[0].error
    said = str(stopped.value)
    assert said.startswith(f"max_model_calls: {most} for all cells together; spent: {needed + 1} calls of a language")
    assert "; 2 of 3 cells measured; left: two · none. Go on with --resume (resume=True)" in said
    again = sweep.run(tmp_path / "sweep", max_model_calls=most, resume=True, progress=False)
    assert names(again.finished) == ["one", "two", "free"]
    assert len(server.requests) == 2 * needed


def test_nothing_is_asked_any_more_when_a_limit_of_cost_is_used_up(
    sweep: Sweep, server: OpenAIServer, tmp_path: Path
) -> None:
    limits = CallLimits(max_cost=1e-9)
    with pytest.raises(CostLimitReached, match=r"^max_cost: US\$ 1e-09 for all .* 1 call of a language .* 0 of 3"):
        run_sweep(sweep, tmp_path / "sweep", limits=limits, progress=False)
    assert len(server.requests) == 1


def test_what_a_system_spent_that_failed_counts(server: OpenAIServer, tmp_path: Path) -> None:
    def failing() -> Callable[[str], list[str]]:
        inner = multi_query(server)

        def search(query: str) -> list[str]:
            inner.invoke(query)
            raise KeyError(query)

        return search

    sweep = Sweep(dataset=DATA, systems={"bad": failing(), "two": multi_query(server)}, ks=1, primary="recall@1")
    with pytest.raises(CostLimitReached):
        sweep.run(tmp_path / "sweep", max_model_calls=len(DATA) + 2, progress=False)
    assert len(server.requests) <= len(DATA) + 2


def test_measuring_latency_is_under_the_limit_too(
    sweep: Sweep, server: OpenAIServer, needed: int, tmp_path: Path
) -> None:
    timed = Sweep(dataset=DATA, systems=sweep.systems, ks=1, primary="recall@1", latency=4)
    with pytest.raises(CostLimitReached, match="3 of 3 cells measured; left: the latency of one · none, the"):
        timed.run(tmp_path / "sweep", max_model_calls=2 * needed + PROBES, progress=False)
    assert 2 * needed < len(server.requests) <= 2 * needed + PROBES


@pytest.mark.parametrize(("priced", "said"), [(True, "would make it US"), (False, "price .* is not known")])
def test_embeddings_that_would_cost_more_are_not_asked_for(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, priced: bool, said: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not asked for")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path / "cache"))
    model = "openai:text-embedding-3-small" if priced else "openai:some-other-model"
    documents = [rl.Document(f"{number}.md", text) for number, text in enumerate(TEXTS)]
    data = rl.Dataset(DATA.queries, documents)
    sweep = Sweep(dataset=data, embeddings=model, retrievers=["bm25", "dense"], ks=1, primary="recall@1")
    with pytest.raises(CostLimitReached) as stopped:
        sweep.run(tmp_path / "sweep", max_cost=1e-9, progress=False)
    assert not server.requests
    (failed,) = stopped.value.result.failed
    assert re.search(said, str(failed.error))
    assert "max_cost" in str(failed.error)


def test_a_limit_that_is_none_is_refused(sweep: Sweep, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="max_model_calls: found 0"):
        sweep.run(tmp_path / "sweep", max_model_calls=0)
    assert not (tmp_path / "sweep").exists()


SYSTEM = """
from tests.sweep.test_limits import multi_query
import os

class Address:
    base_url = os.environ["BASE_URL"]

def one():
    return multi_query(Address())

two = one
"""


@pytest.mark.slow
def test_the_command_line_says_what_was_spent_and_what_is_left(
    run: Any, server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BASE_URL", server.base_url)
    (tmp_path / "limited_systems.py").write_text(SYSTEM, encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(
        "dataset: lighthouse\nsystems: {one: 'limited_systems:one', two: 'limited_systems:two'}\n"
        "ks: [1]\nprimary: recall@1\n",
        encoding="utf-8",
    )
    code, _, err = run("sweep", "mine.yaml", "--max-model-calls", 50)
    assert code == 1
    assert "raglift: stopped: max_model_calls: 50 for all cells together; spent: 47 calls of a language model" in err
    assert "1 of 2 cells measured; left: two · none. Go on with --resume" in err
    assert len(server.requests) == 47
    code, out, err = run("sweep", "mine.yaml", "--resume")
    assert (code, len(server.requests)) == (0, 92), err
    assert "2 of 2 cells measured" in out
