"""LlamaIndex engines that look up other engines while they are asked: they keep their depth, and it is said."""

from __future__ import annotations

import pytest
from llama_index.core import ComposableGraph, Settings, SummaryIndex, VectorStoreIndex
from llama_index.core.objects import ObjectIndex
from llama_index.core.query_engine import RetrieverRouterQueryEngine, ToolRetrieverRouterQueryEngine
from llama_index.core.tools import QueryEngineTool

from raglift.adapters.llama_index import retriever_stages

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
]

QUERY = "Who saw the lantern in the storm?"


def tool_retriever_router(nodes):
    halves = [VectorStoreIndex(half).as_query_engine(similarity_top_k=2) for half in (nodes[:5], nodes[5:])]
    tools = [QueryEngineTool.from_defaults(half, name=f"half-{at}") for at, half in enumerate(halves)]
    return ToolRetrieverRouterQueryEngine(ObjectIndex.from_objects(tools).as_retriever(similarity_top_k=2))


def retriever_router(nodes):
    engine = VectorStoreIndex(nodes).as_query_engine(similarity_top_k=2)
    return RetrieverRouterQueryEngine(VectorStoreIndex(nodes).as_retriever(similarity_top_k=1), lambda _: engine)


def graph(nodes):
    halves = [VectorStoreIndex(nodes[:5]), VectorStoreIndex(nodes[5:])]
    made = ComposableGraph.from_indices(SummaryIndex, halves, index_summaries=["the first", "the last"])
    return made.as_query_engine()


@pytest.mark.parametrize("build", [tool_retriever_router, retriever_router, graph])
def test_an_engine_that_looks_up_engines_keeps_its_depth_and_is_named(build, nodes, state):
    engine = build(nodes)
    before, asked = state(engine), Settings.llm.calls
    (stage,) = retriever_stages(engine)
    found = [chunk.text for chunk in stage.retriever.retrieve_one(QUERY, 10).chunks]

    assert found == [item.node.get_content() for item in engine.query(QUERY).source_nodes]
    assert stage.depth_fixed == (type(engine).__name__,)
    Settings.llm.calls = asked
    assert state(engine) == before
