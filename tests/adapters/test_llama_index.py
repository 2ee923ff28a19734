"""The LlamaIndex adapter: which objects it takes, and nodes as chunks and back."""

from __future__ import annotations

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import ImageNode, IndexNode, MetadataMode, NodeWithScore, TextNode

from raglift.adapters.llama_index import reranker_stages, retriever_stages
from raglift.adapters.llama_index_nodes import chunk_of, node_of
from raglift.errors import UnsupportedSystem
from raglift.types.documents import Chunk

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
    pytest.mark.filterwarnings("ignore:.langchain-community. is being sunset:DeprecationWarning"),
]


def test_a_node_keeps_id_text_place_and_metadata(nodes, texts):
    chunk = chunk_of(NodeWithScore(node=nodes[3], score=0.5))

    assert chunk == Chunk(
        text=texts[3],
        id="node-3",
        doc_id="doc-0",
        start=300,
        end=300 + len(texts[3]),
        metadata={"file_name": "0.txt", "page": 3},
    )
    assert chunk.origin is nodes[3]
    assert chunk.metadata is not nodes[3].metadata


@pytest.mark.parametrize(
    ("metadata", "doc_key", "expected"),
    [
        ({}, None, None),
        ({"source": "s", "file_name": "f"}, None, "f"),
        ({"source": "s", "document_id": 7}, None, "7"),
        ({"source": "s", "title": "t"}, "title", "t"),
        ({"source": "s"}, "title", None),
        ({"file_name": ""}, None, None),
    ],
)
def test_the_document_of_a_node_without_a_source(metadata, doc_key, expected):
    assert chunk_of(TextNode(text="x", metadata=metadata), doc_key).doc_id == expected


@pytest.mark.parametrize(
    "node", [IndexNode(index_id="i", text=""), ImageNode(image_url="https://x.test/y.png")], ids=type
)
def test_nodes_without_text_are_chunks_too(node):
    chunk = chunk_of(node)

    assert (chunk.text, chunk.id, chunk.start) == ("", node.node_id, None)
    assert type(node_of(chunk)) is type(node)


def test_a_chunk_gives_a_copy_of_its_own_node(nodes, texts):
    copy = node_of(chunk_of(nodes[1]))
    copy.set_content("changed")
    copy.metadata["new"] = 1
    copy.relationships.clear()
    copy.excluded_embed_metadata_keys.clear()

    assert copy.node_id == "node-1"
    assert (nodes[1].text, "new" in nodes[1].metadata) == (texts[1], False)
    assert len(nodes[1].relationships) == 3
    assert nodes[1].excluded_embed_metadata_keys == ["page", "file_name"]


def test_a_foreign_chunk_shows_a_model_its_text_only():
    chunk = Chunk("the text", id="c", doc_id="d", start=2, end=10, metadata={"source": "/home/me/x.pdf"})
    node = node_of(chunk)

    assert (node.node_id, node.ref_doc_id, node.start_char_idx, node.end_char_idx) == ("c", "d", 2, 10)
    assert node.metadata == {"source": "/home/me/x.pdf"}
    assert node.get_content(MetadataMode.EMBED) == node.get_content(MetadataMode.LLM) == "the text"


def test_a_text_changed_elsewhere_is_the_text_handed_over(nodes):
    chunk = Chunk("shortened", id="node-1", origin=nodes[1])

    assert node_of(chunk).get_content() == "shortened"


@pytest.mark.parametrize("make", [MockLLM, lambda: Settings.embed_model, LongContextReorder, lambda: VectorStoreIndex])
def test_what_cannot_retrieve_is_refused_by_name(make):
    with pytest.raises(UnsupportedSystem, match=r"is not something LlamaIndex retrieves with; expected a retriever"):
        retriever_stages(make())


def test_what_cannot_rerank_is_refused_by_name(index):
    with pytest.raises(UnsupportedSystem, match=r"VectorIndexRetriever.*BaseNodePostprocessor"):
        reranker_stages(index.as_retriever())


def test_an_index_without_a_retriever_is_refused_by_name(nodes):
    class Unasked(VectorStoreIndex):
        def as_retriever(self, **kwargs):
            raise NotImplementedError

    with pytest.raises(UnsupportedSystem, match="has no retriever; pass a query engine over it, or another index"):
        retriever_stages(Unasked(nodes))


def test_what_is_no_list_of_nodes_is_refused():
    class Answering(BaseRetriever):
        def _retrieve(self, query_bundle):
            raise NotImplementedError

        async def _aretrieve(self, query_bundle):
            return []

        async def aretrieve(self, query):
            return "an answer"

    (stage,) = retriever_stages(Answering())
    with pytest.raises(UnsupportedSystem, match="the retriever returned a str; expected a list of LlamaIndex's nodes"):
        stage.retriever.retrieve_one("who?", 3)


def test_parts_whose_sync_method_is_a_stub_are_asked_by_their_async_one(nodes):
    class Remote(BaseRetriever):
        def _retrieve(self, query_bundle):
            raise NotImplementedError

        async def _aretrieve(self, query_bundle):
            return [NodeWithScore(node=node, score=0.5) for node in nodes[:3]]

    class Backwards(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes, query_bundle=None):
            raise NotImplementedError

        async def _apostprocess_nodes(self, nodes, query_bundle=None):
            return nodes[::-1]

    (stage,) = retriever_stages(Remote())
    ranking = stage.retriever.retrieve_one("who?", 3)
    assert [chunk.id for chunk in ranking.chunks] == ["node-0", "node-1", "node-2"]
    (stage,) = reranker_stages(Backwards())
    reranked = stage.reranker.rerank_one("who?", ranking)
    assert [chunk.id for chunk in reranked.chunks] == ["node-2", "node-1", "node-0"]
