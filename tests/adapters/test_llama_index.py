"""The LlamaIndex adapter: which objects it takes, and nodes as chunks and back."""

from __future__ import annotations

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.schema import ImageNode, IndexNode, MetadataMode, NodeWithScore, TextNode

from raglift.adapters.llama_index import reranker_stages, retriever_stages
from raglift.adapters.llama_index_nodes import chunk_of, node_of
from raglift.errors import UnsupportedSystem
from raglift.types.documents import Chunk

# LlamaIndex looks for LangChain's embeddings as soon as it is given an embedding model of its own.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("offline_llama_index"),
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
