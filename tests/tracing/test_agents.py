"""Real agents are instrumented with OpenInference, and what is read of their traces is what they searched, exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import raglift as rl
from raglift.adapters.langchain_documents import chunk_of as langchain_chunk
from raglift.adapters.llama_index_nodes import scored_nodes
from raglift.tracing import TraceImport
from raglift.types import Ranking

from . import agents

pytestmark = [
    pytest.mark.slow,
    # LlamaIndex and its instrumentation read fields of models as pydantic 1 had them
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
]

METRICS = ("ndcg", "recall", "precision", "rr", "ap", "session_ndcg", "session_recall", "calls", "recovery")
KS = (1, 3, 5)


def ask_all(data: rl.Dataset, file: Path, ask: Callable[[Any, str, str], None], agent: Any) -> TraceImport:
    with agents.recorded(file):
        for query in data.queries:
            ask(agent, query.text, query.id)
    return rl.read_traces(file, data)


def evaluated(sessions: Any, data: rl.Dataset, metrics: Any = METRICS) -> rl.Evaluation:
    return rl.evaluate_sessions(sessions, data, metrics=metrics, ks=KS)


def test_one_search_gives_the_figures_of_evaluate(some: rl.Dataset, tmp_path: Path) -> None:
    retriever = agents.langchain_retriever(some.documents)
    with agents.model(calls=1) as server:
        made = agents.langgraph_agent(server, retriever)
        imported = ask_all(some, tmp_path / "traces.jsonl", agents.ask_langchain, made)
    assert not imported.not_joined
    assert not imported.faults
    metrics = METRICS[:-2]
    plain = rl.evaluate(retriever, some, metrics=metrics, ks=KS, progress=False)
    ours = evaluated(imported.sessions, some, metrics)
    assert ours.scores.stages == plain.scores.stages
    np.testing.assert_array_equal(ours.scores.values, plain.scores.values)
    for trace, other in zip(ours.run.traces, plain.run.traces, strict=True):
        assert [hit.chunk for hit in trace.stages[0].ranking] == [hit.chunk for hit in other.stages[0].ranking]


def test_several_searches_are_the_calls_of_a_session(some: rl.Dataset, tmp_path: Path) -> None:
    retriever = agents.langchain_retriever(some.documents)
    with agents.model(calls=3) as server:
        imported = ask_all(
            some, tmp_path / "traces.jsonl", agents.ask_langchain, agents.langchain_agent(server, retriever)
        )
    by_hand = []
    for query in some.queries:
        calls = []
        for text in agents.searches_for(query.text, 3):
            found = Ranking.of((langchain_chunk(each), None) for each in retriever.invoke(text))
            calls.append(rl.Call.of(text, found))
        seen = {hit.chunk.id: hit for call in calls for hit in call.ranking}
        by_hand.append(rl.Session(query.id, calls, context=list(seen.values())))
    metrics = (*METRICS, "redundancy", "wasted_calls", "first_call", "kept", "final_recall", "final_precision")
    ours, theirs = evaluated(imported.sessions, some, metrics), evaluated(by_hand, some, metrics)
    np.testing.assert_array_equal(ours.scores.values, theirs.scores.values)
    assert [call.query for call in imported.sessions[0].calls] == agents.searches_for(some.queries[0].text, 3)
    assert {call.tool for session in imported.sessions for call in session.calls} == {"search"}
    trace = imported.traces[0]
    assert (trace.joined_by, trace.calls, trace.model_calls, trace.prompt_tokens) == ("text", 3, 4, 400)


def test_searches_of_an_agent_of_llama_index_are_calls(some: rl.Dataset, tmp_path: Path) -> None:
    retriever = agents.llama_index_retriever(some.documents)
    with agents.model(calls=2, argument="input") as server:
        made = agents.llama_index_agent(server, retriever)
        imported = ask_all(some, tmp_path / "traces.jsonl", agents.ask_llama_index, made)
    by_hand = [
        rl.Session(
            query.id,
            [
                rl.Call.of(text, Ranking.of(scored_nodes(retriever.retrieve(text), "the retriever", None)))
                for text in agents.searches_for(query.text, 2)
            ],
        )
        for query in some.queries
    ]
    np.testing.assert_array_equal(
        evaluated(imported.sessions, some).scores.values, evaluated(by_hand, some).scores.values
    )
    assert imported.sessions[0].calls[0].arguments == {"input": some.queries[0].text}
    assert all(session.context is not None and len(session.context) >= 5 for session in imported.sessions)


def test_a_query_engine_with_a_reranker_is_measured_like_evaluate(some: rl.Dataset, tmp_path: Path) -> None:
    with agents.model(calls=0) as server:
        engine = agents.llama_index_engine(server, agents.llama_index_retriever(some.documents))
        file = tmp_path / "traces.jsonl"
        with agents.recorded(file):
            for query in some.queries:
                engine.query(query.text)
        imported = rl.read_traces(file, some)
        metrics = METRICS[:-2]
        plain = rl.evaluate(engine, some, metrics=metrics, ks=KS, progress=False)
    ours = evaluated(imported.sessions, some, metrics)
    assert ours.scores.stages == plain.scores.stages == ("retrieve", "rerank")
    np.testing.assert_array_equal(ours.scores.values, plain.scores.values)
    kept = [len(session.context) for session in imported.sessions if session.context is not None]
    assert kept == [3] * len(some.queries)


def test_a_retriever_that_fails_is_a_failed_call_of_a_failed_session(some: rl.Dataset, tmp_path: Path) -> None:
    from langchain_core.retrievers import BaseRetriever

    class Broken(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
            raise ConnectionError(f"refused with the key {agents.KEY}")

    file = tmp_path / "traces.jsonl"
    with agents.model(calls=1) as server, agents.recorded(file), pytest.raises(ConnectionError):
        agents.ask_langchain(agents.langchain_agent(server, Broken()), some.queries[0].text, "")
    (session,) = rl.read_traces(file, some).sessions
    assert session.error is not None
    assert "ConnectionError" in session.error
    (call,) = session.calls
    assert call.error is not None
    assert not call.stages
