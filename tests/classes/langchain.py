"""LangChain's retrievers, vector stores, Runnables and compressors that can be built here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
    MultiVectorRetriever,
    ParentDocumentRetriever,
    RePhraseQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
    LLMChainFilter,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing.in_memory import InMemoryDocumentIndex
from langchain_core.language_models import FakeListLLM
from langchain_core.runnables import ConfigurableField, RunnableBranch, RunnableLambda
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter, TokenTextSplitter
from tests.adapters.langchain_objects import Lengths

from raglift.types.documents import Chunk

from .cases import OWN, Case, Corpus

STORE_RETRIEVER = "langchain_core.vectorstores.base.VectorStoreRetriever"
CLASSIC = "langchain_classic.retrievers"
COMPRESSORS = "langchain_classic.retrievers.document_compressors"
RUNNABLES = "langchain_core.runnables"
PARENTS = 30
"""How many chunks have children."""
CHILDREN = "several children may lead to one parent"
CUT = "cuts the candidates into pieces"


class Vectors(Embeddings):
    """The corpus' own model as LangChain's."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._corpus.embed(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._corpus.embed([text])[0]


def document(chunk: Chunk) -> Document:
    return Document(chunk.text, id=chunk.id, metadata={"source": chunk.doc_id, "start_index": chunk.start})


def documents(corpus: Corpus) -> list[Document]:
    return [document(chunk) for chunk in corpus.chunks]


def store(corpus: Corpus) -> Any:
    return InMemoryVectorStore.from_documents(documents(corpus), Vectors(corpus))


def qdrant(corpus: Corpus) -> Any:
    from langchain_qdrant import QdrantVectorStore

    unnamed = [one.model_copy(update={"id": None}) for one in documents(corpus)]  # it takes UUIDs and numbers alone
    return QdrantVectorStore.from_documents(unnamed, Vectors(corpus), location=":memory:")


def dense(corpus: Corpus) -> Any:
    return store(corpus).as_retriever(search_kwargs={"k": OWN})


def diverse(corpus: Corpus, **arguments: Any) -> Any:
    return store(corpus).as_retriever(search_type="mmr", search_kwargs={"k": OWN, **arguments})


def near(corpus: Corpus) -> Any:
    threshold = {"k": OWN, "score_threshold": 0.6}
    return qdrant(corpus).as_retriever(search_type="similarity_score_threshold", search_kwargs=threshold)


def in_memory_index(corpus: Corpus) -> Any:
    index = InMemoryDocumentIndex(top_k=OWN)
    index.upsert(documents(corpus))
    return index


def both(corpus: Corpus) -> list[Any]:
    return [in_memory_index(corpus), dense(corpus)]


def multi_vector(corpus: Corpus) -> Any:
    """Two children of each of the first chunks, which name it as `doc_id`."""
    halves = [
        Document(text, metadata={"doc_id": chunk.id})
        for chunk in corpus.chunks[:PARENTS]
        for text in (chunk.text[: len(chunk.text) // 2], chunk.text[len(chunk.text) // 2 :])
    ]
    children, parents = InMemoryVectorStore.from_documents(halves, Vectors(corpus)), InMemoryStore()
    parents.mset([(one.id, one) for one in documents(corpus)[:PARENTS]])
    return MultiVectorRetriever(vectorstore=children, docstore=parents, search_kwargs={"k": OWN})


def parent_document(corpus: Corpus) -> Any:
    retriever = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(Vectors(corpus)),
        docstore=InMemoryStore(),
        child_splitter=RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=0),
        search_kwargs={"k": OWN},
    )
    retriever.add_documents(documents(corpus)[:PARENTS], ids=[chunk.id for chunk in corpus.chunks[:PARENTS]])
    return retriever


def cross(corpus: Corpus) -> Any:
    return CrossEncoderReranker(model=Lengths(), top_n=3)


def judging(corpus: Corpus) -> Any:
    return LLMChainFilter.from_llm(FakeListLLM(responses=["YES"]))


def compression(corpus: Corpus) -> Any:
    pipeline = DocumentCompressorPipeline(transformers=[judging(corpus), cross(corpus)])
    return ContextualCompressionRetriever(base_retriever=dense(corpus), base_compressor=pipeline)


def alternatives(corpus: Corpus) -> Any:
    which = ConfigurableField(id="which")
    return dense(corpus).configurable_alternatives(which, default_key="dense", words=in_memory_index(corpus))


def invoke(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return [found.page_content for found in made.invoke(query)]


def search(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return [found.page_content for found in made.similarity_search(query, k=OWN)]


def compress(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return [found.page_content for found in made.compress_documents([document(one) for one in candidates], query)]


def transform(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return [found.page_content for found in made.transform_documents([document(one) for one in candidates])]


def _retriever(path: str, make: Any, setting: str = "", **about: Any) -> Case:
    return Case(path, make, "retriever", invoke, setting, **about)


def _runnable(path: str, make: Any) -> Case:
    return Case(f"{RUNNABLES}.{path}", make, "runnable", invoke)


def _compressor(path: str, make: Any) -> Case:
    return Case(f"{COMPRESSORS}.{path}", make, "compressor", compress, base=dense)


def _transformer(path: str, make: Any) -> Case:
    return Case(f"langchain_text_splitters.{path}", make, "transformer", transform, base=dense, rewrites=CUT)


CASES: tuple[Case, ...] = (
    _retriever(STORE_RETRIEVER, dense),
    _retriever(STORE_RETRIEVER, diverse, 'search_type="mmr"'),
    _retriever(STORE_RETRIEVER, lambda c: diverse(c, fetch_k=6, lambda_mult=0.3), 'search_type="mmr", fetch_k'),
    _retriever(STORE_RETRIEVER, near, 'search_type="similarity_score_threshold"', fewer="keeps what is near enough"),
    _retriever(
        "langchain_core.indexing.in_memory.InMemoryDocumentIndex", in_memory_index, fewer="finds what has the words"
    ),
    _retriever(
        f"{CLASSIC}.ensemble.EnsembleRetriever", lambda c: EnsembleRetriever(retrievers=both(c), weights=[0.4, 0.6])
    ),
    _retriever(f"{CLASSIC}.merger_retriever.MergerRetriever", lambda c: MergerRetriever(retrievers=both(c))),
    _retriever(
        f"{CLASSIC}.multi_query.MultiQueryRetriever",
        lambda c: MultiQueryRetriever.from_llm(
            dense(c), FakeListLLM(responses=["the horn in fog\nwhat a ticket costs"])
        ),
    ),
    _retriever(
        f"{CLASSIC}.re_phraser.RePhraseQueryRetriever",
        lambda c: RePhraseQueryRetriever.from_llm(dense(c), FakeListLLM(responses=["the horn in fog"])),
    ),
    _retriever(f"{CLASSIC}.multi_vector.MultiVectorRetriever", multi_vector, note=CHILDREN),
    _retriever(f"{CLASSIC}.parent_document_retriever.ParentDocumentRetriever", parent_document, note=CHILDREN),
    _retriever(f"{CLASSIC}.contextual_compression.ContextualCompressionRetriever", compression),
    Case("langchain_core.vectorstores.in_memory.InMemoryVectorStore", store, "vector store", search),
    Case("langchain_qdrant.qdrant.QdrantVectorStore", qdrant, "vector store", search),
    _runnable("base.RunnableSequence", lambda c: dense(c) | list),
    _runnable("base.RunnableLambda", lambda c: RunnableLambda(dense(c).invoke)),
    _runnable("base.RunnableBinding", lambda c: dense(c).with_config(tags=["x"])),
    _runnable("retry.RunnableRetry", lambda c: dense(c).with_retry()),
    _runnable("fallbacks.RunnableWithFallbacks", lambda c: dense(c).with_fallbacks([in_memory_index(c)])),
    _runnable(
        "configurable.RunnableConfigurableFields",
        lambda c: dense(c).configurable_fields(search_kwargs=ConfigurableField(id="search")),
    ),
    _runnable("configurable.RunnableConfigurableAlternatives", alternatives),
    _runnable("branch.RunnableBranch", lambda c: RunnableBranch((lambda query: "E02" in query, diverse(c)), dense(c))),
    _compressor("cross_encoder_rerank.CrossEncoderReranker", cross),
    _compressor(
        "base.DocumentCompressorPipeline", lambda c: DocumentCompressorPipeline(transformers=[judging(c), cross(c)])
    ),
    _compressor("chain_filter.LLMChainFilter", judging),
    _transformer(
        "character.RecursiveCharacterTextSplitter",
        lambda c: RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=0),
    ),
    _transformer(
        "base.TokenTextSplitter",
        lambda c: TokenTextSplitter(encoding_name="cl100k_base", chunk_size=50, chunk_overlap=0),
    ),
)
