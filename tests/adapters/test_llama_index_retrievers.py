"""Real LlamaIndex retrievers as stages: depth, filters, scores."""

from __future__ import annotations

import logging

import pytest
from llama_index.core import SummaryIndex, TreeIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever

from raglift.adapters.llama_index import retriever_stages

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
]

QUERY = "Who saw the lantern in the storm?"


class Silent(BaseRetriever):
    """A retriever with no depth to set."""

    def __init__(self, nodes):
        self.stored = nodes
        super().__init__()

    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=node, score=0.5) for node in self.stored[:2]]


def retrieve(system, k=5, query=QUERY, **options):
    stage, *rest = retriever_stages(system, **options)
    assert rest == []
    return stage.retriever.retrieve_one(query, k)


def ids(ranking):
    return [chunk.id for chunk in ranking.chunks]


def test_a_vector_retriever_looks_as_deep_as_asked(index, state):
    retriever = index.as_retriever(similarity_top_k=2)
    before = state(retriever)
    ranking = retrieve(retriever, k=7)

    assert len(ranking) == 7
    assert ids(ranking)[:2] == [item.node.node_id for item in retriever.retrieve(QUERY)]
    assert [hit.score for hit in ranking] == sorted((hit.score for hit in ranking), reverse=True)
    assert state(retriever) == before


def test_a_result_is_cut_and_a_depth_is_never_lowered(index):
    retriever = index.as_retriever(similarity_top_k=9)
    (stage,) = retriever_stages(retriever)

    assert len(stage.retriever.retrieve_one(QUERY, 3)) == 3
    assert stage.retriever.copy(3)._similarity_top_k == 9
    assert stage.retriever.copy(3) is stage.retriever.copy(3)


def test_an_index_is_asked_through_its_retriever(index):
    (stage,) = retriever_stages(index)

    assert ids(stage.retriever.retrieve_one(QUERY, 5)) == ids(retrieve(index.as_retriever()))
    assert (stage.system, stage.depth_fixed, stage.name) == ("VectorIndexRetriever(SimpleVectorStore)", (), "retrieve")


def test_hybrid_depths_are_raised_where_they_are_set(index):
    retriever = index.as_retriever(similarity_top_k=2, sparse_top_k=3, hybrid_top_k=4)
    deep = retriever_stages(retriever)[0].retriever.copy(6)

    assert (deep._similarity_top_k, deep._sparse_top_k, deep._hybrid_top_k) == (6, 6, 6)
    assert (retriever._similarity_top_k, retriever._sparse_top_k, retriever._hybrid_top_k) == (2, 3, 4)
    assert retriever_stages(index.as_retriever())[0].retriever.copy(6)._sparse_top_k is None


def test_bm25_is_never_asked_for_more_than_its_corpus(nodes, caplog):
    retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=2)
    ranking = retrieve(retriever, k=50)

    assert sorted(ids(ranking)) == [node.node_id for node in nodes]
    assert retriever.similarity_top_k == 2
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert ranking.chunks[0].doc_id in {"doc-0", "doc-1"}


def test_bm25_returns_nothing_that_its_filter_hides(nodes):
    only = MetadataFilters(filters=[MetadataFilter(key="file_name", value="1.txt")])
    retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=2, filters=only)

    assert {chunk.doc_id for chunk in retrieve(retriever, k=10).chunks} == {"doc-1"}
    assert len(retrieve(retriever, k=10)) == 5


def test_a_part_whose_depth_is_fixed_is_named(index, nodes):
    fusion = QueryFusionRetriever([index.as_retriever(), Silent(nodes)], num_queries=1, use_async=False)

    assert retriever_stages(fusion)[0].depth_fixed == ("QueryFusionRetriever.retrievers[1]: Silent",)
    assert retriever_stages(Silent(nodes))[0].depth_fixed == ("Silent",)
    assert len(retrieve(Silent(nodes))) == 2


def test_retrievers_that_return_everything_have_no_fixed_depth(nodes):
    summary = SummaryIndex(nodes)
    tree = TreeIndex(nodes, num_children=5)

    assert ids(retrieve(summary, k=4)) == [node.node_id for node in nodes[:4]]
    for retriever in (summary.as_retriever(), tree.as_retriever(retriever_mode="all_leaf")):
        assert retriever_stages(retriever)[0].depth_fixed == ()
    leaf = tree.as_retriever(retriever_mode="select_leaf_embedding")
    assert retriever_stages(leaf)[0].depth_fixed == ("TreeSelectLeafEmbeddingRetriever",)
    assert len(retrieve(leaf)) == 1


def test_k_is_a_depth_only_where_nothing_else_is(nodes):
    class Plain(Silent):
        k = 1

        def _retrieve(self, query_bundle):
            return [NodeWithScore(node=node) for node in self.stored[: self.k]]

    class Fused(Plain):
        def _retrieve(self, query_bundle):
            return [NodeWithScore(node=node, score=1 / self.k) for node in self.stored[: self.top_k]]

    plain, fused = Plain(nodes), Fused(nodes)
    plain.k, fused.k, fused.top_k = 1, 4, 1

    assert len(retrieve(plain, k=8)) == 8
    assert [hit.score for hit in retrieve(fused, k=8)] == [0.25] * 8
    assert (plain.k, fused.k, fused.top_k) == (1, 4, 1)
