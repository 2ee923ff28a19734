"""Which spans of a trace are the calls of a session, before and after reranking, and what its final context is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import raglift as rl
from raglift.tracing import TraceImport
from raglift.types import Ranking

from .spans import QUESTION, TEXTS, agent, calls, documents, kind, model, read, reranker, retriever, span, tool, value


def only(imported: TraceImport) -> rl.Session:
    assert not imported.faults
    assert not imported.not_joined, str(imported)
    (session,) = imported.sessions
    return session


# Retrievers and rerankers.


def test_retrievers_are_calls_in_the_order_of_their_starts(tmp_path: Path) -> None:
    second = retriever("b", "who kept it", "gulls", "keeper", at=40)
    first = retriever("a", "lamp", "lamp", at=5)
    session = only(read(tmp_path, [second, agent(), first]))
    assert calls(session) == [("", "lamp", [["lamp"]]), ("", "who kept it", [["gulls", "keeper"]])]
    assert [hit.score for hit in session.calls[1].ranking] == [1.0, 0.5]
    assert session.calls[0].seconds == pytest.approx(0.010)


def test_a_reranker_beside_a_retriever_is_a_stage_of_its_call(tmp_path: Path) -> None:
    spans = [agent(), retriever("a", "lamp", "gulls", "lamp", at=1), reranker("r", ["gulls", "lamp"], "lamp", at=20)]
    session = only(read(tmp_path, spans))
    assert calls(session) == [("", "lamp", [["gulls", "lamp"], ["lamp"]])]
    assert [stage.stage for stage in session.calls[0].stages] == ["retrieve", "rerank"]
    assert session.calls[0].seconds == pytest.approx(0.029)


def test_parallel_searches_keep_their_own_rerankers(tmp_path: Path) -> None:
    """Two steps of a graph at the same time, each with a retriever and a reranker; both find the same hit."""
    spans = [
        agent(),
        span("left", kind("CHAIN", "x"), "agent", at=1),
        span("right", kind("CHAIN", "x"), "agent", at=1),
        retriever("a", "one", "gulls", "lamp", parent="left", at=2),
        retriever("b", "two", "lamp", "keeper", parent="right", at=3),
        reranker("s", ["lamp", "keeper"], "keeper", parent="right", at=20),
        reranker("r", ["gulls", "lamp"], "lamp", parent="left", at=21),
    ]
    assert calls(only(read(tmp_path, spans))) == [
        ("", "one", [["gulls", "lamp"], ["lamp"]]),
        ("", "two", [["lamp", "keeper"], ["keeper"]]),
    ]


def test_retrievers_reranked_together_are_one_call(tmp_path: Path) -> None:
    spans = [
        agent(),
        retriever("bm25", "lamp", "gulls", "lamp", at=1),
        retriever("dense", "lamp", "keeper", at=2),
        reranker("r", ["gulls", "lamp", "keeper"], "keeper", "lamp", at=20),
    ]
    assert calls(only(read(tmp_path, spans))) == [("", "?", [["gulls", "lamp", "keeper"], ["keeper", "lamp"]])]


def test_a_retriever_around_one_that_returned_the_same_hits_reranks_them(tmp_path: Path) -> None:
    outer = retriever("outer", "lamp", "lamp", "gulls", at=1)
    inner = retriever("inner", "lamp", "gulls", "horn", "lamp", parent="outer", at=2)
    assert calls(only(read(tmp_path, [agent(), outer, inner]))) == [
        ("", "lamp", [["gulls", "horn", "lamp"], ["lamp", "gulls"]])
    ]


OUTER = retriever("outer", "lamp", "lamp", at=1)
SHORT = {"parent": "outer", "at": 2}


@pytest.mark.parametrize(
    ("spans", "stages"),
    [
        (
            [
                OUTER,
                retriever("a", "x", "gulls", "lamp", **SHORT),
                reranker("r", ["gulls"], "lamp", parent="outer", at=9),
            ],
            [["gulls", "lamp"], ["lamp"]],
        ),
        (
            [
                OUTER,
                retriever("a", "x", "gulls", "lamp", **SHORT),
                retriever("b", "x", "keeper", **SHORT),
                reranker("r", ["gulls", "lamp", "keeper"], "lamp", parent="outer", at=9),
            ],
            [["gulls", "lamp", "keeper"], ["lamp"]],
        ),
        ([OUTER, reranker("r", ["gulls", "lamp"], "lamp", **SHORT)], [["gulls", "lamp"], ["lamp"]]),
        ([retriever("outer", "lamp", at=1), retriever("a", "x", "gulls", **SHORT)], [["gulls"]]),
        ([OUTER, retriever("a", "x", "gulls", **SHORT)], [["lamp"]]),
    ],
    ids=["a reranker", "several and a reranker", "a reranker alone", "no hits of its own", "other hits"],
)
def test_what_is_in_a_retriever_is_its_stages(tmp_path: Path, spans: list[Any], stages: list[list[str]]) -> None:
    (call,) = calls(only(read(tmp_path, [agent(), *spans])))
    assert call[2] == stages


def test_a_reranker_may_have_hits_of_no_retriever_in_the_trace(tmp_path: Path) -> None:
    alone = [agent(), reranker("r", ["gulls", "lamp"], "lamp", at=20)]
    assert calls(only(read(tmp_path, alone))) == [("", "?", [["gulls", "lamp"], ["lamp"]])]
    found = retriever("a", "lamp", "gulls", at=1)
    (call,) = calls(only(read(tmp_path, [*alone, found])))
    assert call == ("", "lamp", [["gulls"], ["lamp"]])


def test_the_retrievers_of_an_ensemble_are_no_calls(tmp_path: Path) -> None:
    spans = [
        agent(),
        retriever("outer", "lamp", "lamp", "keeper", at=1),
        retriever("bm25", "lamp", "lamp", parent="outer", at=2),
        retriever("dense", "lamp", "keeper", parent="outer", at=2),
    ]
    assert calls(only(read(tmp_path, spans))) == [("", "lamp", [["lamp", "keeper"]])]


# Tools.


def test_a_tool_around_a_retriever_names_the_call(tmp_path: Path) -> None:
    given = json.dumps({"query": "lamp", "k": 3, "api_key": "sk-live-8Zk2Lm4Qx9"})
    spans = [agent(), tool("search", given, "some text", at=1), retriever("a", "lamp", "lamp", parent="search", at=2)]
    (call,) = only(read(tmp_path, spans)).calls
    assert (call.tool, call.query, call.ranking.chunks[0].id) == ("search", "lamp", "lamp")
    assert call.arguments == {"query": "lamp", "k": 3, "api_key": "***"}


@pytest.mark.parametrize(
    "answer",
    [
        [{"text": TEXTS["lamp"], "id": "lamp"}],
        [{"page_content": TEXTS["lamp"], "id": "lamp", "metadata": {"source": "a.md"}}],
        {"results": [{"content": TEXTS["lamp"], "id": "lamp", "score": 0.5}]},
        {"type": "tool", "data": {"content": "found", "artifact": [{"page_content": TEXTS["lamp"], "id": "lamp"}]}},
        {"content": [{"type": "text", "text": json.dumps({"hits": [{"text": TEXTS["lamp"], "id": "lamp"}]})}]},
        {"structuredContent": {"results": [{"text": TEXTS["lamp"], "id": "lamp"}]}, "content": []},
        [{"node": {"id_": "lamp", "text": TEXTS["lamp"], "metadata": {}}, "score": 0.3}],
        [[{"text": TEXTS["lamp"], "id": "lamp"}]],
        [{"text": TEXTS["lamp"], "id": "lamp", "start": 7}],
        [{"lc": 1, "type": "constructor", "id": ["Document"], "kwargs": {"page_content": TEXTS["lamp"], "id": "lamp"}}],
    ],
)
def test_a_tool_that_returns_documents_is_a_call(tmp_path: Path, answer: Any) -> None:
    session = only(read(tmp_path, [agent(), tool("search", '{"query": "lamp"}', json.dumps(answer))]))
    assert calls(session) == [("search", "lamp", [["lamp"]])]
    assert session.calls[0].ranking[0].chunk.text == TEXTS["lamp"]


@pytest.mark.parametrize(
    "answer",
    [
        "42",
        '{"sum": 42}',
        "[1, 2]",
        '["a", "b"]',
        '[{"role": "user", "content": "x"}]',
        '[{"n": 1}]',
    ],
)
def test_a_tool_that_returns_something_else_is_none(tmp_path: Path, answer: str) -> None:
    spans = [agent(), tool("adds", "{}", answer, at=1), retriever("a", "lamp", "lamp", at=30)]
    assert calls(only(read(tmp_path, spans))) == [("", "lamp", [["lamp"]])]


def test_a_call_of_a_search_tool_in_vain_or_with_an_error_is_a_call(tmp_path: Path) -> None:
    found = json.dumps([{"text": TEXTS["lamp"], "id": "lamp"}])
    failed = {"status": {"code": 2, "message": "ConnectionError('refused')\nTraceback (most recent call last):"}}
    spans = [
        agent(),
        tool("search-1", '{"q": "a"}', "[]", at=1),
        tool("search-2", '{"q": "b"}', found, at=30),
        tool("search-3", '{"q": "c"}', "", at=60, **failed),
        tool("adds", "{}", "[]", at=90),
    ]
    session = only(read(tmp_path, spans))
    assert calls(session) == [("search", "a", [[]]), ("search", "b", [["lamp"]]), ("search", "c", [])]
    assert [call.error for call in session.calls] == [None, None, "ConnectionError('refused')"]


def test_the_error_of_a_tool_is_that_of_the_search_in_it(tmp_path: Path) -> None:
    failed = {"status": {"code": 2, "message": "ConnectionError('refused')"}}
    spans = [
        agent(),
        tool("search", '{"query": "lamp"}', "", at=1, **failed),
        span("a", kind("RETRIEVER", "lamp"), "search", at=2),
        retriever("b", "keeper", "keeper", at=40),
    ]
    first, second = only(read(tmp_path, spans)).calls
    assert (first.tool, first.error, second.error) == ("search", "ConnectionError('refused')", None)


def test_secrets_in_lists_of_arguments_are_hidden_and_what_lies_too_deep_left_out(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = {"inner": deep}
    given = json.dumps({"query": "lamp", "filters": [{"api_key": "sk-live-8Zk2Lm4Qx9"}, 3], "deep": deep})
    found = json.dumps([{"text": TEXTS["lamp"], "id": "lamp"}])
    (call,) = only(read(tmp_path, [agent(), tool("search", given, found)])).calls
    assert call.arguments["filters"] == [{"api_key": "***"}, 3]
    assert "x" not in str(call.arguments["deep"])


def test_the_answer_of_a_named_tool_may_be_a_message(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": TEXTS["lamp"]}, {"type": "image", "n": 1}, 7]
    answer = json.dumps({"type": "tool", "data": {"content": parts}})
    (call,) = only(read(tmp_path, [agent(), tool("look", "lamp", answer)], text_tools=["look"])).calls
    assert [hit.chunk.text for hit in call.ranking] == [TEXTS["lamp"]]


def test_a_named_tool_whose_answer_is_a_text_is_a_call_of_one_hit(tmp_path: Path) -> None:
    answer = f"{TEXTS['gulls']}\n\n{TEXTS['lamp']}"
    spans = [agent(), tool("look", "lamp", answer), tool("adds", "{}", "42", at=30), model("m", QUESTION, at=50)]
    (call,) = only(read(tmp_path, spans, text_tools=["look"])).calls
    assert [hit.chunk.text for hit in call.ranking] == [answer]
    assert read(tmp_path, spans).not_joined[0].reason == "no_retrieval"


def test_retrievers_in_a_tool_that_returns_documents_are_one_call(tmp_path: Path) -> None:
    answer = json.dumps([{"text": TEXTS["keeper"], "id": "keeper"}, {"text": TEXTS["lamp"], "id": "lamp"}])
    spans = [
        agent(),
        tool("search", '{"query": "lamp"}', answer, at=1),
        retriever("a", "lamp", "lamp", parent="search", at=2),
        retriever("b", "lamp", "keeper", parent="search", at=2),
    ]
    assert calls(only(read(tmp_path, spans))) == [("search", "lamp", [["keeper", "lamp"]])]


def test_the_tools_of_an_agent_that_is_a_tool_are_the_calls(tmp_path: Path) -> None:
    found = json.dumps([{"text": TEXTS["lamp"], "id": "lamp"}])
    spans = [
        agent(),
        tool("helper", '{"task": "find out"}', "It was lit in 1871.", at=1),
        tool("search-1", '{"query": "lamp"}', found, parent="helper", at=2),
        tool("search-2", '{"query": "lamp 1871"}', found, parent="helper", at=30),
    ]
    assert [call[:2] for call in calls(only(read(tmp_path, spans)))] == [("search", "lamp"), ("search", "lamp 1871")]


# The conventions of OpenTelemetry for generative AI.


@pytest.mark.parametrize("structured", [False, True])
def test_spans_of_the_genai_conventions_are_read(tmp_path: Path, structured: bool) -> None:
    def written(given: Any) -> Any:
        return given if structured else json.dumps(given)

    hits = [
        {"id": "gulls", "score": 0.9, "content": TEXTS["gulls"]},
        {"id": "lamp", "score": 0.5, "content": TEXTS["lamp"]},
    ]
    prompt = [
        {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": f"found: {TEXTS['lamp']}"}]},
    ]
    first = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": written(prompt[:1])}
    spans = [
        span("agent", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}),
        span("chat-1", {**first, "gen_ai.usage.input_tokens": 11}, "agent", at=1),
        span(
            "execute_tool search",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "search",
                "gen_ai.tool.call.arguments": written({"query": "lamp"}),
            },
            "agent",
            at=20,
        ),
        span(
            "retrieval",
            {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.retrieval.query.text": "lamp",
                "gen_ai.retrieval.documents": written(hits),
            },
            "execute_tool search",
            at=21,
        ),
        span(
            "chat-2",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": written(prompt),
                "gen_ai.usage.input_tokens": 30,
                "gen_ai.usage.output_tokens": 7,
            },
            "agent",
            at=60,
        ),
    ]
    imported = read(tmp_path, spans)
    session = only(imported)
    assert calls(session) == [("search", "lamp", [["gulls", "lamp"]])]
    assert session.calls[0].arguments == {"query": "lamp"}
    assert session.context is not None
    assert [hit.chunk.id for hit in session.context] == ["lamp"]
    assert (imported.traces[0].prompt_tokens, imported.traces[0].answer_tokens) == (41, 7)


def test_hits_of_the_genai_conventions_may_be_ids_alone(tmp_path: Path) -> None:
    hits = json.dumps([{"id": "doc_123", "score": 0.95}, {"id": "doc_456", "score": 0.87}])
    attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": hits}
    spans = [agent(), span("r", {**attributes, "gen_ai.retrieval.query.text": "lamp"}, "agent"), model("m", "x", at=30)]
    session = only(read(tmp_path, spans))
    assert calls(session) == [("", "lamp", [["doc_123", "doc_456"]])]
    assert session.context is None  # texts that are not known cannot be found in a prompt


# The question, and several sessions in a trace.


@pytest.mark.parametrize(
    "given",
    [
        QUESTION,
        json.dumps({"input": QUESTION}),
        json.dumps({"query": QUESTION, "k": 3}),
        json.dumps({"inputs": {"question": QUESTION}}),
        json.dumps({"messages": [["user", QUESTION]]}),
        json.dumps({"messages": [{"role": "user", "content": "hello"}, {"role": "user", "content": QUESTION}]}),
        json.dumps({"messages": [{"type": "human", "data": {"content": QUESTION, "type": "human"}}]}),
        json.dumps({"messages": [[{"lc": 1, "kwargs": {"content": QUESTION, "type": "human"}}]]}),
        json.dumps({"messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]}),
        json.dumps({"input": 42, "messages": [7, [], ["user", QUESTION]]}),
        json.dumps({"messages": "none", "n": 3, "query": QUESTION}),
        json.dumps({"query_bundle": {"query_str": QUESTION}}),
        json.dumps([{"role": "system", "content": "be brief"}, {"role": "user", "content": QUESTION}]),
        f"  {QUESTION.upper()}\n",
    ],
)
def test_the_question_is_found_in_what_the_root_was_given(tmp_path: Path, given: str) -> None:
    session = only(read(tmp_path, [agent(given), retriever("a", "lamp", "lamp")]))
    assert session.query_id == "q1"


def test_without_a_question_at_the_root_it_is_that_of_a_step_a_prompt_or_the_search(tmp_path: Path) -> None:
    root = span("agent", {"http.route": "/ask"})
    search = retriever("a", QUESTION, "lamp", at=50)
    step = span("step", kind("CHAIN", QUESTION), "agent", at=1)
    for spans in ([root, step, retriever("a", "x", "lamp")], [root, model("m", QUESTION), search], [root, search]):
        assert only(read(tmp_path, spans)).query_id == "q1"


def test_runs_below_one_span_are_a_session_each(tmp_path: Path) -> None:
    """A script that asks several questions in one span of its own."""
    spans = [
        span("script", {}),
        span("one", kind("CHAIN", QUESTION), "script", at=1),
        retriever("a", "lamp", "lamp", parent="one", at=2),
        span("two", kind("CHAIN", "How often does the horn sound?"), "script", at=40),
        retriever("b", "horn", "horn", parent="two", at=41),
        span("three", kind("CHAIN", QUESTION), "script", at=80),
        retriever("c", "keeper", "keeper", parent="three", at=81),
    ]
    imported = read(tmp_path, spans)
    assert [(one.query_id, one.repetition, calls(one)[0][1]) for one in imported.sessions] == [
        ("q1", 1, "lamp"),
        ("q1", 2, "keeper"),
        ("q2", 1, "horn"),
    ]


# The final context.


def context(session: rl.Session) -> list[str] | None:
    return [hit.chunk.id for hit in session.context] if isinstance(session.context, Ranking) else None


def test_the_context_is_what_the_last_prompt_has_in_its_order(tmp_path: Path) -> None:
    prompt = f"Sources:\n{TEXTS['keeper']}\n\n{TEXTS['lamp'].replace(' ', chr(10))}"
    spans = [
        agent(),
        retriever("a", "lamp", "lamp", "gulls", at=1),
        model("plan", TEXTS["gulls"], at=20),
        retriever("b", "keeper", "keeper", "lamp", at=40),
        model("answer", QUESTION, prompt, at=60),
    ]
    assert context(only(read(tmp_path, spans))) == ["keeper", "lamp"]


def test_texts_in_json_reach_the_prompt_too(tmp_path: Path) -> None:
    text = json.dumps([{"text": f"{TEXTS['lamp']}\n“{TEXTS['gulls']}”"}])
    spans = [agent(), retriever("a", "x", "lamp", at=1), model("answer", QUESTION, text, at=20)]
    assert context(only(read(tmp_path, spans))) == ["lamp"]


def test_a_context_without_any_hit_is_empty_and_one_without_a_prompt_is_not_known(tmp_path: Path) -> None:
    search = retriever("a", "x", "lamp", at=10)
    assert context(only(read(tmp_path, [agent(), search, model("m", QUESTION, at=30)]))) == []
    assert context(only(read(tmp_path, [agent(), search]))) is None
    assert context(only(read(tmp_path, [agent(), model("m", TEXTS["lamp"], at=1), search]))) is None
    silent = span("m", kind("LLM"), "agent", at=30)
    assert context(only(read(tmp_path, [agent(), search, silent]))) is None


def test_what_a_tool_answers_with_a_model_of_its_own_is_context(tmp_path: Path) -> None:
    spans = [
        agent(),
        tool("engine", '{"input": "lamp"}', "It was lit in 1871.", at=1),
        retriever("a", "lamp", "gulls", "lamp", parent="engine", at=2),
        model("inner", TEXTS["lamp"], parent="engine", at=20),
        model("answer", QUESTION, "It was lit in 1871.", at=60),
    ]
    assert context(only(read(tmp_path, spans))) == ["lamp"]


def test_what_a_model_is_given_to_rerank_is_no_context(tmp_path: Path) -> None:
    spans = [
        agent(),
        retriever("a", "lamp", "gulls", "lamp", at=1),
        reranker("r", ["gulls", "lamp"], "lamp", at=20),
        model("judge", TEXTS["gulls"], TEXTS["lamp"], parent="r", at=21),
        model("answer", QUESTION, TEXTS["lamp"], at=60),
    ]
    assert context(only(read(tmp_path, spans))) == ["lamp"]


def test_documents_may_be_a_list_in_one_attribute(tmp_path: Path) -> None:
    hits = [
        {"document": {"content": TEXTS[name], "id": name, "metadata": {"source": "a.md"}}} for name in ("gulls", "lamp")
    ]
    found = {**kind("RETRIEVER", "lamp"), "retrieval.documents": json.dumps([*hits, 3])}
    session = only(read(tmp_path, [agent(), span("a", found, "agent", at=1)]))
    assert calls(session) == [("", "lamp", [["gulls", "lamp"]])]
    assert {hit.chunk.doc_id for hit in session.calls[0].ranking} == {"a.md"}


def test_an_error_of_the_root_is_that_of_the_session(tmp_path: Path) -> None:
    event = {"name": "exception", "attributes": [{"key": "exception.message", "value": value("no more steps")}]}
    root = agent(status={"code": "STATUS_CODE_ERROR"}, events=[3, {"name": "log"}, event])
    assert only(read(tmp_path, [root, retriever("a", "x", "lamp")])).error == "no more steps"


def test_the_document_of_a_hit_is_where_its_metadata_says(tmp_path: Path) -> None:
    attributes = {
        **kind("RETRIEVER", "x"),
        **documents("retrieval.documents", "lamp"),
        "retrieval.documents.0.document.metadata": '{"source": "a.md", "own": "b.md", "start_index": 7}',
    }
    spans = [agent(), span("a", attributes, "agent")]
    chunk = only(read(tmp_path, spans)).calls[0].ranking[0].chunk
    assert (chunk.doc_id, chunk.start, chunk.end) == ("a.md", 7, 7 + len(TEXTS["lamp"]))
    assert only(read(tmp_path, spans, doc_key="own")).calls[0].ranking[0].chunk.doc_id == "b.md"
