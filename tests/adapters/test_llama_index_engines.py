"""LlamaIndex query and chat engines: opened into stages, and no LLM is asked where that can be avoided."""

from __future__ import annotations

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import Response
from llama_index.core.chat_engine import CondensePlusContextChatEngine, CondenseQuestionChatEngine, ContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import LongContextReorder, SentenceTransformerRerank, SimilarityPostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    RetrieverQueryEngine,
    RouterQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import QueryEngineTool

import raglift as rl
from raglift.adapters.llama_index import retriever_stages
from raglift.adapters.stages import RerankStage, RetrieveStage
from raglift.retrieval.retrievers import AsyncQueryRetriever

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
]

QUERY = "Who saw the lantern in the storm?"


class CitationsOnly(CustomQueryEngine):
    """A query engine of the user's own, as LlamaIndex documents them: no `retrieve`, only an answer."""

    retriever: BaseRetriever

    def custom_query(self, query_str):
        return Response("an answer", source_nodes=self.retriever.retrieve(query_str))


def retrieve(system, k=5, query=QUERY, **options):
    stage, *rest = retriever_stages(system, **options)
    assert rest == []
    return stage.retriever.retrieve_one(query, k)


def ids(ranking):
    return [chunk.id for chunk in ranking.chunks]


def reranking_engine(index, tiny_cross_encoder, **options):
    rerankers = [
        SimilarityPostprocessor(similarity_cutoff=0.0),
        SentenceTransformerRerank(model=str(tiny_cross_encoder), top_n=2),
    ]
    return RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=2), node_postprocessors=rerankers, **options
    )


def test_is_opened_into_its_stages_and_no_llm_is_asked(index, tiny_cross_encoder, state):
    engine = reranking_engine(index, tiny_cross_encoder)
    before = state(engine)
    first, similarity, reranker = retriever_stages(engine)
    assert isinstance(first, RetrieveStage)
    assert isinstance(similarity, RerankStage)

    retrieved = first.retriever.retrieve_one(QUERY, 6)
    kept = similarity.reranker.rerank_one(QUERY, retrieved)
    reranked = reranker.reranker.rerank_one(QUERY, kept)

    assert ids(retrieved) == ids(kept)
    assert sorted(ids(reranked)) == sorted(ids(kept))
    assert {id(chunk) for chunk in reranked.chunks} == {id(chunk) for chunk in retrieved.chunks}
    assert [stage.name for stage in (first, similarity, reranker)] == ["retrieve", "rerank", "rerank"]
    assert similarity.system == "SimilarityPostprocessor"
    assert reranker.system.startswith("SentenceTransformerRerank(tiny-cross-encoder")
    assert state(engine) == before
    assert Settings.llm.calls == 0


def test_an_index_query_engine_and_a_citation_engine_are_opened(index):
    citing = CitationQueryEngine.from_args(index, similarity_top_k=1, node_postprocessors=[LongContextReorder()])
    for engine, names in ((index.as_query_engine(), []), (citing, ["LongContextReorder"])):
        first, *rest = retriever_stages(engine)
        ranking = first.retriever.retrieve_one(QUERY, 5)

        assert ids(ranking) == ids(retrieve(index))  # whole nodes, not the citation's numbered pieces
        assert [stage.system for stage in rest] == names
    assert Settings.llm.calls == 0


def test_transform_query_engine(index, tiny_cross_encoder, ask_for, state):
    transform = ask_for("ferry winter")
    engine = TransformQueryEngine(reranking_engine(index, tiny_cross_encoder), transform)
    before = state(engine._query_engine)
    ranking = retrieve(engine, k=6)

    assert sorted(ids(ranking)) == sorted(ids(retrieve(index, k=6, query="ferry winter")))
    assert len(retrieve(engine, k=6, as_deployed=True)) == 2
    assert retriever_stages(engine, as_deployed=True)[0].has_own_depth
    assert transform.runs == 2
    assert state(engine._query_engine) == before
    assert Settings.llm.calls == 0


@pytest.mark.parametrize("places", [(1,), (1, 0)])
def test_router_query_engine_asks_for_no_answer(nodes, places, always_pick):
    engines = [VectorStoreIndex(half).as_query_engine() for half in (nodes[:5], nodes[5:])]
    tools = [QueryEngineTool.from_defaults(engine, description="a half") for engine in engines]
    router = RouterQueryEngine(always_pick(*places), tools)
    ranking = retrieve(router, k=10)

    assert [chunk.doc_id for chunk in ranking.chunks] == [f"doc-{at}" for at in places for _ in range(5)]
    assert Settings.llm.calls == 0
    assert len(engines[0].retrieve(QueryBundle(QUERY))) == 2


def test_an_engine_without_retrieve_is_asked_for_an_answer(index, ask_for):
    engine = CitationsOnly(retriever=index.as_retriever(similarity_top_k=1))
    (stage,) = retriever_stages(engine)

    assert ids(stage.retriever.retrieve_one(QUERY, 5)) == ids(retrieve(index))
    assert (stage.system, stage.depth_fixed) == ("CitationsOnly(VectorIndexRetriever)", ())
    assert not isinstance(stage.retriever, AsyncQueryRetriever)
    assert engine.retriever._similarity_top_k == 1
    nested = TransformQueryEngine(engine, ask_for("ferry winter"))
    assert ids(retrieve(nested)) == ids(retrieve(index, query="ferry winter"))


def test_chat_engines_are_evaluated_at_their_first_message(index):
    retriever = index.as_retriever(similarity_top_k=1)
    memory = ChatMemoryBuffer.from_defaults()
    options = {"retriever": retriever, "node_postprocessors": [LongContextReorder()], "memory": memory}
    for engine in (ContextChatEngine.from_defaults(**options), CondensePlusContextChatEngine.from_defaults(**options)):
        first, reorder = retriever_stages(engine)
        assert len(first.retriever.retrieve_one(QUERY, 4)) == 4
        assert reorder.system == "LongContextReorder"
    condensing = CondenseQuestionChatEngine.from_defaults(index.as_query_engine(), memory=memory)
    assert ids(retrieve(condensing)) == ids(retrieve(index))
    assert Settings.llm.calls == 0


def test_an_engine_with_a_reranker_inside_returns_what_it_does_as_deployed(
    index, ask_for, texts, tiny_cross_encoder, state
):
    reranker = SentenceTransformerRerank(model=str(tiny_cross_encoder), top_n=2)
    inner = index.as_query_engine(similarity_top_k=2, node_postprocessors=[reranker])
    engine = TransformQueryEngine(inner, ask_for("ferry winter"))
    before = state(inner)
    dataset = rl.Dataset.from_dict({QUERY: [texts[3]]})
    evaluation = rl.evaluate(engine, dataset, ks=(1, 5), concurrency=4)

    assert len(evaluation.run.traces[0].stages[0].ranking) == 2
    assert evaluation.truncated == {"retrieve": 2}
    assert state(inner) == before
    assert Settings.llm.calls == 0
