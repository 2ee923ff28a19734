"""raglift's models in indexes of LangChain and LlamaIndex rank as raglift's own dense retriever does."""

from __future__ import annotations

import pytest

import raglift as rl
from raglift.running.systems import LocalSystem, build_retriever

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def expected() -> rl.Evaluation:
    dataset = rl.load_dataset("lighthouse")
    return rl.evaluate(build_retriever(dataset, LocalSystem()), dataset)


def figures(evaluation: rl.Evaluation) -> list[float]:
    return [evaluation.scores.mean(evaluation.after, metric) for metric in evaluation.scores.metrics]


def test_langchain(expected: rl.Evaluation) -> None:
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    from raglift.integrations import LangChainEmbeddings

    chunks = rl.RecursiveChunker(1000, overlap=100).split(expected.dataset.documents)
    documents = [Document(chunk.text, metadata={"doc_id": chunk.doc_id}) for chunk in chunks]
    store = InMemoryVectorStore.from_documents(documents, LangChainEmbeddings())
    found = rl.evaluate(store.as_retriever(search_kwargs={"k": 10}), expected.dataset)
    assert figures(found) == pytest.approx(figures(expected))


def test_llama_index(expected: rl.Evaluation) -> None:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    from raglift.integrations import LlamaIndexEmbedding

    chunks = rl.RecursiveChunker(1000, overlap=100).split(expected.dataset.documents)
    nodes = [
        TextNode(text=chunk.text, metadata={"doc_id": chunk.doc_id}, excluded_embed_metadata_keys=["doc_id"])
        for chunk in chunks
    ]
    index = VectorStoreIndex(nodes, embed_model=LlamaIndexEmbedding())
    found = rl.evaluate(index.as_retriever(similarity_top_k=10), expected.dataset)
    assert figures(found) == pytest.approx(figures(expected))
