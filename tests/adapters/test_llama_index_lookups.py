"""LlamaIndex engines that look up other engines while they are asked: those are deepened, what finds them is not."""

from __future__ import annotations

import pytest
from llama_index.core import ComposableGraph, Settings, SummaryIndex, VectorStoreIndex
from llama_index.core.objects import ObjectIndex
from llama_index.core.postprocessor import SentenceTransformerRerank
from llama_index.core.query_engine import (
    RetrieverRouterQueryEngine,
    SubQuestionQueryEngine,
    ToolRetrieverRouterQueryEngine,
)
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.tools import QueryEngineTool

from raglift.adapters.llama_index import retriever_stages

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = [
    pytest.mark.usefixtures("offline_llama_index"),
    pytest.mark.filterwarnings("ignore:.langchain-community. is being sunset:DeprecationWarning"),
]

QUERY = "Who saw the lantern in the storm?"


def retrieve(system, k=5, **options):
    (stage,) = retriever_stages(system, **options)
    return stage.retriever.retrieve_one(QUERY, k)


def tools(nodes):
    halves = [VectorStoreIndex(half).as_query_engine(similarity_top_k=1) for half in (nodes[:5], nodes[5:])]
    return [QueryEngineTool.from_defaults(half, name=f"half-{at}") for at, half in enumerate(halves)]


class AskTheRouter(BaseQuestionGenerator):
    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts):
        pass

    def generate(self, tools, query):
        return [SubQuestion(sub_question=query.query_str, tool_name="router")]

    async def agenerate(self, tools, query):
        return self.generate(tools, query)


@pytest.mark.parametrize("found", [1, 2])
def test_engines_of_retrieved_tools_are_deepened_and_no_answer_is_written(nodes, found, state):
    made = tools(nodes)
    objects = ObjectIndex.from_objects(made)
    router = ToolRetrieverRouterQueryEngine(objects.as_retriever(similarity_top_k=found))
    before = state(router), state(made)

    assert len(retrieve(router, k=10)) == 5 * found
    assert retriever_stages(router)[0].depth_fixed == ()
    assert (state(router), state(made)) == before
    assert Settings.llm.calls == 0
    direct = [item.node.node_id for item in router.query(QUERY).source_nodes]
    assert [chunk.id for chunk in retrieve(router, k=found).chunks][:1] == direct[:1]


def test_a_router_that_retrieves_one_node_still_retrieves_one(index, nodes, state):
    engine = index.as_query_engine(similarity_top_k=1)
    router = RetrieverRouterQueryEngine(VectorStoreIndex(nodes).as_retriever(similarity_top_k=1), lambda _: engine)
    before = state(engine)
    (stage,) = retriever_stages(router)

    assert len(stage.retriever.retrieve_one(QUERY, 6)) == 6
    assert stage.depth_fixed == ()
    assert state(engine) == before
    assert Settings.llm.calls == 0


def test_a_router_that_finds_several_engines_fails_with_its_own_words(index, nodes):
    router = RetrieverRouterQueryEngine(VectorStoreIndex(nodes).as_retriever(), lambda _: index.as_query_engine())
    with pytest.raises(ValueError, match="Retrieved more than one node"):
        retrieve(router)


def test_a_router_that_keeps_its_engines_elsewhere_is_named(index, nodes):
    class Elsewhere(RetrieverRouterQueryEngine):
        @property
        def function(self):
            return vars(self)["_find"]

    router = Elsewhere(index.as_retriever(similarity_top_k=1), lambda node: index.as_query_engine())
    vars(router)["_find"] = vars(router).pop("_node_to_query_engine_fn")  # as another version might have it

    assert retriever_stages(router)[0].depth_fixed == ("Elsewhere",)


def test_what_stands_for_a_retriever_of_tools_answers_as_it_does(nodes):
    retriever = ObjectIndex.from_objects(tools(nodes)).as_retriever(similarity_top_k=2)

    class AsksMore(ToolRetrieverRouterQueryEngine):
        def _query(self, query_bundle):
            (tool, *_) = self._retriever.retrieve(query_bundle)
            assert self._retriever.object_node_mapping is retriever.object_node_mapping
            return tool.query_engine.query(query_bundle)

    assert len(retrieve(AsksMore(retriever), k=10)) == 5


def test_a_router_inside_another_engine_is_deepened_too(nodes):
    objects = ObjectIndex.from_objects(tools(nodes))
    router = ToolRetrieverRouterQueryEngine(objects.as_retriever(similarity_top_k=1))
    tool = QueryEngineTool.from_defaults(router, name="router")
    outer = SubQuestionQueryEngine.from_defaults([tool], question_gen=AskTheRouter(), verbose=False, use_async=False)

    assert len(retrieve(outer, k=6)) == 6  # the answer, and five of the half


def test_indexes_of_a_graph_are_asked_at_depth(nodes, state):
    halves = [VectorStoreIndex(nodes[:5]), VectorStoreIndex(nodes[5:])]
    graph = ComposableGraph.from_indices(SummaryIndex, halves, index_summaries=["the first", "the last"])
    custom = halves[0].as_query_engine(similarity_top_k=1)
    for engine in (graph.as_query_engine(), graph.as_query_engine(custom_query_engines={halves[0].index_id: custom})):
        before = state(halves[0].as_retriever()._vector_store), state(custom.retriever)
        found = {chunk.id for chunk in retrieve(engine, k=12).chunks}
        assert {node.node_id for node in nodes} <= found  # beside the answers from the two halves
        assert retriever_stages(engine)[0].depth_fixed == ()
        assert (state(halves[0].as_retriever()._vector_store), state(custom.retriever)) == before
        assert isinstance(engine._graph, ComposableGraph)


def test_a_reranker_of_a_custom_engine_keeps_its_top_n(nodes, tiny_cross_encoder):
    half = VectorStoreIndex(nodes)
    graph = ComposableGraph.from_indices(SummaryIndex, [half], index_summaries=["all"])
    reranker = SentenceTransformerRerank(model=str(tiny_cross_encoder), top_n=2)
    engine = graph.as_query_engine(
        custom_query_engines={half.index_id: half.as_query_engine(node_postprocessors=[reranker])}
    )
    assert retriever_stages(engine, as_deployed=True)[0].has_own_depth
    assert reranker.top_n == 2
