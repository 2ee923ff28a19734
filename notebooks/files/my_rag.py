"""Two retrieval systems over the pages of the tool library."""

from functools import cache, cached_property
from pathlib import Path
from typing import Any

from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore

import raglift as rl
from raglift.integrations import LangChainEmbeddings, LlamaIndexEmbedding
from raglift.retrieval import BM25Retriever, OnnxCrossEncoder


def pages():
    """Return the name and the text of each page."""
    paths = sorted(Path("tool_library/documents").glob("*.md"))
    return [(path.name, path.read_text(encoding="utf-8")) for path in paths]


# LangChain


class Words(BaseRetriever):
    """Finds chunks by their words: raglift's BM25 as a LangChain retriever."""

    documents: list[Document]
    k: int = 10

    @cached_property
    def index(self):
        """BM25 over the documents."""
        return BM25Retriever(rl.Chunk(each.page_content, id=str(number)) for number, each in enumerate(self.documents))

    def _get_relevant_documents(self, query, *, run_manager):
        (ranking,) = self.index.retrieve([query], self.k)
        return [self.documents[int(chunk.id)] for chunk in ranking.chunks]


@cache
def langchain_chunks():
    """Return all chunks of the LangChain system."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=40, add_start_index=True)
    return splitter.split_documents([Document(text, metadata={"source": name}) for name, text in pages()])


def langchain_system():
    """Return a retriever that joins the hits of vectors and of words."""
    store = InMemoryVectorStore.from_documents(langchain_chunks(), LangChainEmbeddings())
    vectors, words = store.as_retriever(search_kwargs={"k": 10}), Words(documents=langchain_chunks())
    return EnsembleRetriever(retrievers=[vectors, words], weights=[0.5, 0.5])


# LlamaIndex


class Rerank(BaseNodePostprocessor):
    """Reranks with a cross-encoder and keeps the best."""

    top_n: int = 3
    model: Any = None

    def _postprocess_nodes(self, nodes, query_bundle=None):
        by_id = {each.node.node_id: each.node for each in nodes}
        ranking = rl.Ranking.of((rl.Chunk(node.get_content(), id=name), None) for name, node in by_id.items())
        (reranked,) = self.model.rerank([query_bundle.query_str], [ranking])
        return [NodeWithScore(node=by_id[hit.chunk.id], score=hit.score) for hit in reranked.hits[: self.top_n]]


@cache
def llama_nodes():
    """Return all nodes of the LlamaIndex system."""
    splitter = SentenceSplitter(chunk_size=96, chunk_overlap=12)
    return splitter.get_nodes_from_documents([LlamaDocument(text=text, id_=name) for name, text in pages()])


def llama_system():
    """Return a query engine that retrieves ten nodes and keeps the best three after reranking."""
    index = VectorStoreIndex(llama_nodes(), embed_model=LlamaIndexEmbedding())
    return RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=10),
        llm=MockLLM(),
        node_postprocessors=[Rerank(model=OnnxCrossEncoder())],
    )
