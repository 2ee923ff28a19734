"""Which LlamaIndex retrievers are asked without blocking: those whose stores can be."""

from __future__ import annotations

import warnings
from uuid import NAMESPACE_URL, uuid5

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever, VectorIndexAutoRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import VectorStoreInfo
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import AsyncQdrantClient, QdrantClient

import raglift as rl
from raglift.adapters.llama_index import retriever_stages
from raglift.retrieval.retrievers import AsyncQueryRetriever

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = [
    pytest.mark.usefixtures("offline_llama_index"),
    pytest.mark.filterwarnings("ignore:.langchain-community. is being sunset:DeprecationWarning"),
]

QUERY = "Who saw the lantern in the storm?"


@pytest.fixture
def in_qdrant(nodes):
    """An index in a store that was given a client for blocking calls only, as its documentation does."""
    for node in nodes:
        node.relationships, node.id_ = {}, str(uuid5(NAMESPACE_URL, node.node_id))
    store = QdrantVectorStore("nodes", client=QdrantClient(":memory:"))
    with warnings.catch_warnings():  # a store in memory has no payload indexes
        warnings.simplefilter("ignore", UserWarning)
        return VectorStoreIndex(nodes, storage_context=StorageContext.from_defaults(vector_store=store))


def is_async(system):
    (stage,) = retriever_stages(system)
    return isinstance(stage.retriever, AsyncQueryRetriever)


def test_a_store_with_a_blocking_client_alone_is_evaluated(in_qdrant, texts):
    retriever = in_qdrant.as_retriever(similarity_top_k=3)
    evaluation = rl.evaluate(retriever, rl.Dataset.from_dict({QUERY: [texts[4]]}), ks=(3,), concurrency=4)

    (trace,) = evaluation.run.traces
    direct = [item.node.node_id for item in retriever.retrieve(QUERY)]
    assert [chunk.id for chunk in trace.stages[0].ranking.chunks][:3] == direct
    assert not is_async(retriever)


def test_it_counts_wherever_the_store_is(in_qdrant, index):
    info = VectorStoreInfo(content_info="sentences", metadata_info=[])
    for build in (
        lambda held: QueryFusionRetriever([index.as_retriever(), held.as_retriever()], num_queries=1),
        lambda held: VectorIndexAutoRetriever(held, vector_store_info=info),
    ):
        assert is_async(build(index))
        assert not is_async(build(in_qdrant))


def test_a_store_with_an_async_client_is_asked_without_blocking(in_qdrant, nodes):
    client = AsyncQdrantClient(":memory:")
    store = QdrantVectorStore("nodes", client=QdrantClient(":memory:"), aclient=client)
    assert is_async(VectorStoreIndex.from_vector_store(store).as_retriever())


class Remote(BaseRetriever):
    """What an async client makes of its sync method."""

    def __init__(self, nodes):
        self.nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle):
        raise RuntimeError("use aretrieve")

    async def _aretrieve(self, query_bundle):
        return [NodeWithScore(node=node, score=1.0) for node in self.nodes]


class RemoteByChoice(Remote):
    """One whose sync method may return."""

    def _retrieve(self, query_bundle):
        if self.nodes:
            raise NotImplementedError
        return []


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("kind", [Remote, RemoteByChoice])
def test_a_retriever_that_is_async_only_is_asked_by_its_async_method(nodes, texts, kind, concurrency):
    data = rl.Dataset.from_dict({QUERY: [texts[4]]})
    fusion = QueryFusionRetriever([kind(nodes)], similarity_top_k=10)
    for system in (kind(nodes), RetrieverQueryEngine.from_args(kind(nodes)), fusion):
        evaluation = rl.evaluate(system, data, ks=(10,), metrics=["recall"], concurrency=concurrency)
        assert evaluation.scores.mean("retrieve", "recall@10") == 1
