"""LlamaIndex retrievers made of others: depth reaches their parts, on copies."""

from __future__ import annotations

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor import SentenceTransformerRerank
from llama_index.core.retrievers import QueryFusionRetriever, RecursiveRetriever, RouterRetriever
from llama_index.core.schema import IndexNode
from llama_index.core.tools import RetrieverTool
from llama_index.retrievers.bm25 import BM25Retriever

from raglift.adapters.llama_index import retriever_stages

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
]

QUERY = "Who saw the lantern in the storm?"


def retrieve(system, k=5, query=QUERY, **options):
    stage, *rest = retriever_stages(system, **options)
    assert rest == []
    return stage.retriever.retrieve_one(query, k)


def ids(ranking):
    return [chunk.id for chunk in ranking.chunks]


@pytest.mark.parametrize("mode", ["simple", "reciprocal_rerank", "relative_score", "dist_based_score"])
def test_fusion_deepens_its_parts_too(index, nodes, mode, state):
    bm25 = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=2)
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=1), bm25], num_queries=1, similarity_top_k=3, use_async=False, mode=mode
    )
    before = state(fusion)
    (stage,) = retriever_stages(fusion)

    assert len(stage.retriever.retrieve_one(QUERY, 8)) == 8
    assert (stage.system, stage.depth_fixed) == ("QueryFusionRetriever(VectorIndexRetriever + BM25Retriever)", ())
    assert state(fusion) == before
    assert Settings.llm.calls == 0


def test_recursive_follows_links_at_depth(nodes, state):
    links = [IndexNode(text=nodes[at * 5].text, index_id=f"part-{at}") for at in range(2)]
    parts = {f"part-{at}": VectorStoreIndex(nodes[at * 5 : at * 5 + 5]).as_retriever() for at in range(2)}
    root = VectorStoreIndex(links).as_retriever(similarity_top_k=1)
    retriever = RecursiveRetriever("root", {"root": root, **parts})
    before = state(retriever)

    assert sorted(ids(retrieve(retriever, k=10))) == [node.node_id for node in nodes]
    assert state(retriever) == before
    assert retriever_stages(retriever)[0].system == "RecursiveRetriever(VectorIndexRetriever ×3)"


def test_an_engine_that_answers_inside_a_retriever_keeps_its_depth(index, nodes):
    engine = index.as_query_engine(similarity_top_k=2)
    root = VectorStoreIndex([IndexNode(text="harbour", index_id="engine")]).as_retriever()
    retriever = RecursiveRetriever("root", {"root": root}, query_engine_dict={"engine": engine})
    (stage,) = retriever_stages(retriever)

    assert len(stage.retriever.retrieve_one(QUERY, 10)) == 1  # the answer is the one node
    assert stage.retriever.copy(10)._query_engine_dict["engine"] is engine


def test_objects_behind_index_nodes_are_deepened(nodes):
    inner = VectorStoreIndex(nodes).as_retriever(similarity_top_k=1)
    outer = VectorStoreIndex(objects=[IndexNode(text="all", index_id="all", obj=inner)]).as_retriever()

    assert len(outer.retrieve(QUERY)) == 1
    assert len(retrieve(outer, k=6)) == 6
    assert inner._similarity_top_k == 1


@pytest.mark.parametrize("places", [(0,), (0, 1)])
def test_router(nodes, places, always_pick, state):
    halves = [VectorStoreIndex(nodes[:5]).as_retriever(), VectorStoreIndex(nodes[5:]).as_retriever()]
    tools = [RetrieverTool.from_defaults(half, description="a half") for half in halves]
    router = RouterRetriever(always_pick(*places), tools)
    before = state(router)

    assert len(retrieve(router, k=10)) == 5 * len(places)
    assert state(router) == before


def test_a_retriever_of_the_users_own_is_entered(index, tiny_cross_encoder):
    class Own(BaseRetriever):
        def __init__(self, base, reranker):
            self.base, self.reranker = base, reranker
            super().__init__()

        def _retrieve(self, query_bundle):
            return self.reranker.postprocess_nodes(self.base.retrieve(query_bundle), query_bundle)

    own = Own(index.as_retriever(), SentenceTransformerRerank(model=str(tiny_cross_encoder), top_n=1))

    assert len(retrieve(own, k=6)) == 6
    assert len(retrieve(own, k=6, as_deployed=True)) == 1
    assert (own.base._similarity_top_k, own.reranker.top_n) == (2, 1)


def test_a_retriever_that_holds_itself_is_copied_once(index):
    retriever = index.as_retriever()
    retriever.object_map["itself"] = retriever
    (stage,) = retriever_stages(retriever)
    deep = stage.retriever.copy(9)

    assert deep.object_map["itself"] is deep
    assert retriever.object_map["itself"] is retriever
