"""Real LlamaIndex agents and workflows as sessions: calls, reranking, what reached the answer, errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, ReActAgent
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool
from llama_index.core.workflow import StopEvent, Workflow, step
from tests.adapters.test_llama_index_workflows import First, Question, Reasoning, agent, searching

import raglift as rl
from raglift.adapters.agents import UnderWay
from raglift.adapters.llama_index import retriever_stages
from raglift.errors import QueryFailed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

QUERY = "Who saw the lantern in the storm?"


def session_of(system: Any) -> Any:
    (stage,) = retriever_stages(system)
    return asyncio.run(stage.retriever.asession_one(QUERY, UnderWay()))


def texts(ranking: Any) -> list[str]:
    return [hit.chunk.text for hit in ranking]


def calls_of(session: Any) -> list[Any]:
    """Return of each call its text, and the texts after each stage."""
    return [(call.query, {stage.stage: texts(stage.ranking) for stage in call.stages}) for call in session.calls]


@pytest.fixture
def retriever(index):
    return index.as_retriever(similarity_top_k=2)


@pytest.fixture
def found(retriever):
    return lambda query: [node.node.text for node in retriever.retrieve(query)]


def test_each_call_of_a_search_tool_is_a_call_with_its_own_text(retriever, found):
    def search(query: str, most: int = 2) -> str:
        """Search the letters."""
        return "\n\n".join(node.text for node in retriever.retrieve(query))

    turns = [[("search", {"query": "winter bread", "most": 2})], [("search", {"query": "ferry"})]]
    session = session_of(agent(turns, FunctionTool.from_defaults(search)))
    assert calls_of(session) == [(query, {"retrieve": found(query)}) for query in ("winter bread", "ferry")]
    assert [(call.tool, call.arguments) for call in session.calls] == [("search", {"most": 2}), ("search", {})]
    assert all(call.seconds > 0 for call in session.calls)
    assert set(texts(session.context)) == {*found("winter bread"), *found("ferry")}


def test_postprocessors_of_an_engine_or_a_tool_are_reranking(index, found):
    engine = index.as_query_engine(similarity_top_k=2, llm=MockLLM(), node_postprocessors=[First()])
    tools = (
        QueryEngineTool.from_defaults(engine, name="search", description="Searches."),
        RetrieverTool.from_defaults(
            index.as_retriever(similarity_top_k=2), name="search", description="d", node_postprocessors=[First()]
        ),
    )
    for tool, asked in zip(tools, ("ferry", "\ninput is ferry\n"), strict=True):
        (call,) = calls_of(session_of(agent(searching("search", "ferry"), tool)))
        assert call == ("ferry", {"retrieve": found(asked), "rerank": found(asked)[:1]})


def test_what_an_engine_answered_from_reached_the_answer_where_its_words_did(index, found):
    """The agent reads only what the engine's model wrote, which wrote it from the nodes."""
    engine = index.as_query_engine(similarity_top_k=2, llm=MockLLM(max_tokens=5))
    tool = QueryEngineTool.from_defaults(engine, name="search", description="Searches.")
    session = session_of(agent(searching("search", "ferry"), tool))
    assert sorted(texts(session.context)) == sorted(found("ferry"))


def test_a_react_agent_and_a_workflow_of_agents(retriever, found):
    def search(input: str) -> str:  # noqa: A002
        """Search the letters."""
        return "\n\n".join(node.text for node in retriever.retrieve(input))

    tool = FunctionTool.from_defaults(search)
    reasoning = ReActAgent(tools=[tool], llm=Reasoning(tool="search", queries=["winter bread", "ferry"]))
    handing = [*searching("search", "winter bread"), [("handoff", {"to_agent": "second", "reason": "it knows"})]]
    first = agent(handing, tool, name="first", description="d", can_handoff_to=["second"])
    second = agent([[], [], *searching("search", "ferry")], tool, name="second", description="d")
    for system in (reasoning, AgentWorkflow(agents=[first, second], root_agent="first")):
        session = session_of(system)
        assert calls_of(session) == [(query, {"retrieve": found(query)}) for query in ("winter bread", "ferry")]
        assert {*found("ferry")} <= {*texts(session.context)}


def test_a_tool_that_asks_another_agent_is_no_search_but_the_searches_of_that_agent_are(retriever, found):
    inner = agent(
        searching("search", "winter bread", "ferry"),
        RetrieverTool.from_defaults(retriever, name="search", description="d"),
    )

    async def ask(question: str) -> str:
        """Ask the librarian."""
        return str(await inner.run(user_msg=question))

    session = session_of(agent([[("ask", {"question": "which letter?"})]], ask))
    assert [(call.tool, call.query) for call in session.calls] == [("search", "winter bread"), ("search", "ferry")]


def test_a_workflow_that_retrieves_twice_and_reranks_what_it_found(index):
    retriever = index.as_retriever(similarity_top_k=1)
    queries = [node.node.text for node in index.as_retriever(similarity_top_k=2).retrieve("ferry")]

    class Last(BaseNodePostprocessor):
        """Leaves the last of what it is given."""

        def _postprocess_nodes(self, nodes, query_bundle=None):
            return nodes[-1:]

    class Searching(Workflow):
        @step
        async def answer(self, event: Question) -> StopEvent:
            nodes = [node for query in queries for node in await retriever.aretrieve(query)]
            return StopEvent(result=str(Last().postprocess_nodes(nodes)[0].text))

    assert calls_of(session_of(Searching())) == [
        (queries[0], {"retrieve": [queries[0]], "rerank": []}),
        (queries[1], {"retrieve": [queries[1]], "rerank": [queries[1]]}),
    ]


def test_a_call_that_failed_is_a_call_and_the_session_goes_on(retriever, found):
    def search(input: str) -> str:  # noqa: A002
        """Search the letters."""
        if input == "ferry":
            raise OSError("no connection")
        return "\n\n".join(node.text for node in retriever.retrieve(input))

    session = session_of(agent(searching("search", "winter bread", "ferry"), search))
    assert [(call.query, texts(call.ranking), call.error) for call in session.calls] == [
        ("winter bread", found("winter bread"), None),
        ("ferry", [], "no connection"),
    ]


def test_a_limit_of_steps_is_the_error_of_the_session_and_its_calls_count(retriever):
    def search(input: str) -> str:  # noqa: A002
        """Search the letters."""
        return "\n\n".join(node.text for node in retriever.retrieve(input))

    endless = agent(searching("search", *["ferry"] * 100), search)
    with pytest.raises(QueryFailed, match="Max iterations of 20 reached") as caught:
        rl.evaluate(endless, rl.Dataset.from_dict({QUERY: ["lantern"]}))
    (trace,) = caught.value.evaluation.run.traces
    assert len(trace.calls) in (19, 20)


def test_an_agent_of_one_call_has_the_figures_of_its_retriever_bit_by_bit(index, texts):
    data = rl.Dataset.from_dict({text: [text] for text in texts})
    metrics = ["recall", "mrr", "ndcg", "precision", "map", "session_ndcg"]
    engine = index.as_query_engine(similarity_top_k=3, llm=MockLLM(), node_postprocessors=[First()])

    class Asking(Workflow):
        @step
        async def answer(self, event: Question) -> StopEvent:
            return StopEvent(result=str(await engine.aquery(event.query)))

    own, agent = (rl.evaluate(one, data, ks=(1, 3), metrics=metrics) for one in (engine, Asking()))
    assert [stage.name for stage in agent.run.stages] == [stage.name for stage in own.run.stages]
    for stage in own.scores.stages:
        for metric in own.scores.metrics:
            if metric in agent.scores.metrics:
                assert agent.scores.of(stage, metric).tobytes() == own.scores.of(stage, metric).tobytes()
