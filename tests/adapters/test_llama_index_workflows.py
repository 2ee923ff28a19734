"""Real LlamaIndex agents and workflows: how they are asked, what is their ranking, what is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.tools import RetrieverTool, ToolSelection
from llama_index.core.workflow import (
    Context,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)

import raglift as rl
from raglift.errors import QueryFailed, UnsupportedSystem

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
    # LlamaIndex looks at every attribute of an agent for its steps
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

QUERY = "Who saw the lantern in the storm?"


class Calling(FunctionCallingLLM):
    """Calls tools in turns, for every question the same ones, and then answers."""

    turns: list[list[tuple[str, dict[str, Any]]]]
    asked: int = 0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        self.asked += 1
        place = sum(bool(message.additional_kwargs.get("calls")) for message in messages)
        calls = self.turns[place] if place < len(self.turns) else []
        told = [{"id": f"{place}-{at}", "name": name, "args": args} for at, (name, args) in enumerate(calls)]
        return ChatResponse(message=ChatMessage("At dusk.", role="assistant", additional_kwargs={"calls": told}))

    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        return self.chat(messages)

    async def astream_chat(self, messages: Any, **kwargs: Any) -> Any:
        async def once() -> Any:
            yield self.chat(messages)

        return once()

    def _prepare_chat_with_tools(self, tools: Any, chat_history: Any = None, **kwargs: Any) -> Any:
        return {"messages": chat_history}

    def get_tool_calls_from_response(self, response: ChatResponse, **kwargs: Any) -> list[ToolSelection]:
        calls = response.message.additional_kwargs["calls"]
        return [ToolSelection(tool_id=one["id"], tool_name=one["name"], tool_kwargs=one["args"]) for one in calls]

    def _not_asked(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError

    complete = acomplete = stream_complete = astream_complete = stream_chat = _not_asked


class Reasoning(CustomLLM):
    """Plays ReAct: looks for two things, and answers."""

    tool: str
    queries: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, **kwargs: Any) -> CompletionResponse:
        done = prompt.count("Observation: ") - prompt.partition("## Current Conversation")[0].count("Observation: ")
        if done >= len(self.queries):
            return CompletionResponse(text="Thought: I know it.\nAnswer: At dusk.")
        given = json.dumps({"input": self.queries[done]})
        return CompletionResponse(text=f"Thought: I look.\nAction: {self.tool}\nAction Input: {given}")

    def stream_complete(self, prompt: str, **kwargs: Any) -> Any:
        yield self.complete(prompt)


def retrieved(system: Any) -> list[str]:
    """The ranking of one query."""
    (trace,) = rl.evaluate(system, rl.Dataset.from_dict({QUERY: ["lantern"]}), ks=(1,)).run.traces
    assert trace.error is None, trace.error
    return [hit.chunk.text for hit in trace.stages[-1].ranking]


def agent(turns: list[list[tuple[str, dict[str, Any]]]], *tools: Any, **options: Any) -> FunctionAgent:
    return FunctionAgent(tools=list(tools), llm=Calling(turns=turns), **options)


def searching(name: str, *queries: str) -> list[list[tuple[str, dict[str, Any]]]]:
    """One call a turn."""
    return [[(name, {"input": query})] for query in queries]


@pytest.fixture
def retriever(index):
    return index.as_retriever(similarity_top_k=2)


@pytest.fixture
def found(retriever):
    """What a retriever of LlamaIndex's returns for queries, one after the other."""
    return lambda *queries: [node.node.text for query in queries for node in retriever.retrieve(query)]


@pytest.fixture
def engine(index):
    return index.as_query_engine(similarity_top_k=2, llm=MockLLM())


class First(BaseNodePostprocessor):
    """Lets the first node through."""

    def _postprocess_nodes(self, nodes, query_bundle=None):
        return nodes[:1]


def test_calls_that_are_made_at_once_are_in_the_order_of_the_model(retriever, found):
    async def search(input: str) -> Any:  # noqa: A002
        """Search the letters; for bread it takes longer."""
        await asyncio.sleep(0.05 if "bread" in input else 0)
        return retriever.retrieve(input)

    at_once = [[("search", {"input": "winter bread"}), ("search", {"input": "ferry"})]]
    assert retrieved(agent(at_once, search)) == found("winter bread", "ferry")


def test_queries_that_run_at_once_do_not_hear_each_other(engine, index, texts):
    def search(input: str) -> str:  # noqa: A002
        """Answer from the index."""
        return str(engine.query(input))

    class Asked(Workflow):
        @step
        async def run_it(self, event: Question) -> StopEvent:
            return StopEvent(result=await asyncio.to_thread(search, event.query))

    data = rl.Dataset.from_dict({text: [text] for text in texts})
    evaluation = rl.evaluate(Asked(), data, ks=(2,), metrics=["recall"], concurrency=8)
    own = rl.evaluate(index.as_retriever(similarity_top_k=2), data, ks=(2,), metrics=["recall"])
    assert [trace.stages[0].ranking.chunks for trace in evaluation.run.traces] == [
        trace.stages[0].ranking.chunks for trace in own.run.traces
    ]


class Question(StartEvent):
    query: str


class Sources(StopEvent):
    answer: str
    nodes: list[Any]


def test_a_workflow_is_measured_by_the_documents_in_its_result(engine, retriever, found):
    class Answering(Workflow):
        @step
        async def answer(self, event: Question) -> StopEvent:
            return StopEvent(result=await engine.aquery(event.query))

    class Naming(Workflow):
        @step
        async def answer(self, event: Question) -> Sources:
            return Sources(answer="At dusk.", nodes=(await retriever.aretrieve(event.query))[:1])

    class Mapping(Workflow):
        @step
        async def answer(self, event: Question) -> StopEvent:
            nodes = await retriever.aretrieve(event.query)
            return StopEvent(result={"answer": "At dusk.", "context": nodes[::-1]})

    assert retrieved(Answering()) == found(QUERY)
    assert retrieved(Naming()) == found(QUERY)[:1]
    assert retrieved(Mapping()) == found(QUERY)[::-1]


def add(one: int, two: int) -> int:
    """Add two numbers."""
    return one + two


def test_a_call_of_another_tool_is_no_retrieval(retriever, found):
    tool = RetrieverTool.from_defaults(retriever, name="search", description="Searches.")
    sums = [[("add", {"one": 1, "two": 2})]]
    assert retrieved(agent(sums, tool, add)) == []
    assert retrieved(agent([*sums, *searching("search", "ferry")], tool, add)) == found("\ninput is ferry\n")


def test_a_tool_that_fails_is_a_failure_of_the_query():
    def search(input: str) -> str:  # noqa: A002
        """Search in vain."""
        raise OSError("no connection")

    with pytest.raises(QueryFailed, match=r"FunctionAgent: its tool search failed: no connection"):
        retrieved(agent(searching("search", "ferry"), search))


def test_a_function_may_return_what_an_agent_does(retriever, found):
    tool = RetrieverTool.from_defaults(retriever, name="search", description="Searches.")
    made = agent(searching("search", "ferry"), tool)

    async def ask(query: str) -> Any:
        return await made.run(user_msg=query)

    assert retrieved(ask) == found("\ninput is ferry\n")


class Names(StartEvent):
    names: list[str]


class Listing(Workflow):
    @step
    async def answer(self, event: Names) -> StopEvent:
        return StopEvent(result=event.names)


class TwoQuestions(StartEvent):
    first: str
    second: str


class Undeclared(Workflow):
    @step
    async def answer(self, event: StartEvent) -> StopEvent:
        return StopEvent(result=event.query)


class Both(Workflow):
    @step
    async def answer(self, event: TwoQuestions) -> StopEvent:
        return StopEvent(result=event.first)


class Silent(Workflow):
    @step
    async def answer(self, event: Question) -> StopEvent:
        return StopEvent(result="At dusk.")


class Waiting(Workflow):
    @step
    async def ask(self, event: Question) -> InputRequiredEvent:
        return InputRequiredEvent(prefix="Sure?")

    @step
    async def answer(self, event: HumanResponseEvent) -> StopEvent:
        return StopEvent(result=event.response)


class WaitingInside(Workflow):
    @step
    async def ask(self, ctx: Context, event: Question) -> StopEvent:
        answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="Sure?"))
        return StopEvent(result=answer.response)


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (Undeclared, "Undeclared: found no fields in its start event, StartEvent; expected a subclass of StartEvent"),
        (Both, "Both: found the fields first, second in its start event, TwoQuestions; expected a subclass of"),
        (Listing, "Listing: found the fields names in its start event, Names; expected a subclass of StartEvent"),
        (Silent, "Silent: its result is a str without documents, and it asked no retriever of LlamaIndex's; expected"),
        (
            lambda: agent([[("add", {"one": 1, "two": 2})]], add),
            "FunctionAgent called tools that handed on no documents; expected tools that retrieve",
        ),
        (Waiting, "Waiting: waits for a person to answer it (InputRequiredEvent); expected a workflow that runs to"),
        (WaitingInside, "WaitingInside: waits for a person to answer it (InputRequiredEvent); expected a workflow"),
    ],
    ids=["no field", "two fields", "a list", "no documents", "no retrieval", "a person", "a person inside"],
)
def test_what_cannot_be_measured_is_refused_by_what_was_found_and_expected(system, message):
    with pytest.raises((UnsupportedSystem, QueryFailed)) as raised:
        rl.evaluate(system(), rl.Dataset.from_dict({QUERY: ["lantern"]}))
    assert message in str(raised.value)
