"""The functions that refusals recommend, each run as it is printed: they ask the same system."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from llama_index.core.base.base_retriever import BaseRetriever as NodeRetriever
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

import raglift as rl
from raglift.errors import UnsupportedSystem

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
]

LINES = [f"line {number} of a log that the keeper wrote at night" for number in range(5)]
QUERY = "which line did the keeper write?"
DATA = rl.Dataset.from_dict({QUERY: [LINES[0]]})


class Lines(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(text) for text in LINES]


class Nodes(NodeRetriever):
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(text=text, id_=text), score=1.0) for text in LINES]


class Reversed(BaseNodePostprocessor):
    def _postprocess_nodes(self, nodes, query_bundle=None):
        return nodes[::-1]


class TwoWords(StartEvent):
    first: str
    second: str


class Undeclared(Workflow):
    @step
    async def answer(self, event: StartEvent) -> StopEvent:
        return StopEvent(result=await engine().aquery(event.query))


class Declared(Workflow):
    @step
    async def answer(self, event: TwoWords) -> StopEvent:
        return StopEvent(result={"nodes": Nodes().retrieve(event.first)[1:]})


def engine():
    return RetrieverQueryEngine.from_args(Nodes(), node_postprocessors=[Reversed()])


def question_of(inputs):
    """Read a key in a way that LangChain does not see."""
    read = dict.get if isinstance(inputs, dict) else str.__getitem__
    return read(inputs, "question")


def shown(result):
    """The texts of a result, by whatever name it has them."""
    node = getattr(result, "node", result)
    return getattr(node, "page_content", None) or (node.get_content() if hasattr(node, "get_content") else node)


SYSTEMS = {
    "a tool with postprocessors": (
        lambda: RetrieverTool.from_defaults(Nodes(), node_postprocessors=[Reversed()]),
        "tool",
        lambda tool: tool.call(QUERY).raw_output,
    ),
    "a tool of a function": (
        lambda: FunctionTool.from_defaults(lambda query: Nodes().retrieve(query), name="search"),
        "tool",
        lambda tool: tool.call(QUERY).raw_output,
    ),
    "a tool of an engine": (
        lambda: QueryEngineTool.from_defaults(engine()),
        "tool",
        lambda tool: tool.call(QUERY).raw_output.source_nodes,
    ),
    "a workflow that declares nothing": (
        Undeclared,
        "workflow",
        lambda workflow: asyncio.run(run(workflow, query=QUERY)).source_nodes,
    ),
    "a workflow with two fields": (
        Declared,
        "workflow",
        lambda workflow: asyncio.run(run(workflow, first=QUERY, second="…"))["nodes"],
    ),
    "a chain over a mapping that returns a list": (
        lambda: RunnableLambda(question_of) | Lines(),
        "system",
        lambda chain: chain.invoke({"question": QUERY}),
    ),
    "a chain over a mapping that adds documents": (
        lambda: RunnablePassthrough.assign(documents=RunnableLambda(question_of) | Lines()),
        "system",
        lambda chain: chain.invoke({"question": QUERY})["documents"],
    ),
    "a function that returns a text": (lambda: lambda query: LINES[0], "search", lambda search: [search(QUERY)]),
    "a function that returns None": (lambda: lambda query: None, "search", lambda search: []),
    "a function that returns a mapping": (
        lambda: lambda query: {"answer": "at noon", "passages": LINES},
        "search",
        lambda search: search(QUERY)["passages"],
    ),
    "a function that returns scores": (
        lambda: lambda query: dict.fromkeys(LINES, 1.0),
        "search",
        lambda search: list(search(QUERY)),
    ),
}


async def run(workflow, **given):
    return await workflow.run(**given)


def recommended(system, name):
    """The function that the refusal of a system recommends."""
    with pytest.raises(UnsupportedSystem) as caught:
        rl.evaluate(system, DATA, progress=False)
    source = str(caught.value).split("Pass a function that does:\n", 1)[1]
    names = {name: system}
    exec("if True:\n" + source, names)  # noqa: S102 — what the message recommends
    return names["retrieve"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_function_that_is_recommended_asks_the_same_system(name):
    build, called, ask = SYSTEMS[name]
    direct = [shown(each) for each in ask(build())]
    function = recommended(build(), called)
    try:
        run = rl.evaluate(function, DATA, ks=(1,), metrics=["recall"], progress=False).run
    except UnsupportedSystem:
        pytest.fail(f"what is recommended is refused: {inspect.signature(function)}")
    assert [chunk.text for chunk in run.traces[0].stages[-1].ranking.chunks] == direct


class OneAtATime:
    """An object whose `retrieve` takes one query."""

    def retrieve(self, query, k):
        return [query.upper(), *LINES][:k]


def test_the_bound_method_that_is_recommended_asks_the_same_object():
    with pytest.raises(UnsupportedSystem, match=r"expected retrieve\(queries, k\).*pass the bound method itself"):
        rl.evaluate(OneAtATime(), DATA)
    run = rl.evaluate(OneAtATime().retrieve, DATA, ks=(1,), metrics=["recall"], progress=False).run
    assert run.traces[0].stages[0].ranking[0].chunk.text == QUERY.upper()


@pytest.mark.parametrize("answer", [7, {LINES[0]}, {"count": "three"}, [{"id": 1}]])
def test_nothing_is_recommended_where_nobody_knows_what_would_do(answer):
    with pytest.raises(UnsupportedSystem) as caught:
        rl.evaluate(lambda query: answer, DATA, progress=False)
    assert "Pass a function" not in str(caught.value)
