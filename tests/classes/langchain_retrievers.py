"""LangChain's retrievers, vector stores and Runnables that can be built here."""

from __future__ import annotations

from typing import Any

from .case import OWN, Case
from .corpus import Corpus
from .langchain_parts import (
    Vectors,
    Words,
    bm25,
    cross_encoder,
    dense,
    documents,
    faiss,
    halves,
    invoke,
    model,
    relevance,
    rephrase,
    search,
    store,
    write_queries,
)

VECTOR_STORE_RETRIEVER = "langchain_core.vectorstores.base.VectorStoreRetriever"
CLASSIC = "langchain_classic.retrievers"
COMMUNITY = "langchain_community.retrievers"
RUNNABLES = "langchain_core.runnables"
PARENTS = 30
"""How many chunks have children."""


def diverse(corpus: Corpus) -> Any:
    return store(corpus).as_retriever(search_type="mmr", search_kwargs={"k": OWN})


def diverse_of_few(corpus: Corpus) -> Any:
    return store(corpus).as_retriever(search_type="mmr", search_kwargs={"k": OWN, "fetch_k": 6, "lambda_mult": 0.3})


def near(corpus: Corpus) -> Any:
    threshold = {"k": OWN, "score_threshold": 0.6}
    return faiss(corpus).as_retriever(search_type="similarity_score_threshold", search_kwargs=threshold)


def in_memory_index(corpus: Corpus) -> Any:
    from langchain_core.indexing.in_memory import InMemoryDocumentIndex

    index = InMemoryDocumentIndex(top_k=OWN)
    index.upsert(documents(corpus))
    return index


def tfidf(corpus: Corpus) -> Any:
    from langchain_community.retrievers import TFIDFRetriever

    return TFIDFRetriever.from_documents(documents(corpus), k=OWN)


def by_vectors(name: str) -> Any:
    def make(corpus: Corpus) -> Any:
        import langchain_community.retrievers as community

        return getattr(community, name).from_documents(documents(corpus), Vectors(corpus), k=OWN)

    return make


def over_llama_index(corpus: Corpus) -> Any:
    from langchain_community.retrievers import LlamaIndexRetriever
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.schema import TextNode

    dimensions = len(corpus.vectors[0])
    nodes = [
        TextNode(text=chunk.text, id_=chunk.id, embedding=vector, metadata={"source": chunk.doc_id})
        for chunk, vector in zip(corpus.chunks, corpus.vectors, strict=True)
    ]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=dimensions))
    return LlamaIndexRetriever(index=index.as_query_engine(response_mode="no_text", similarity_top_k=OWN, llm=None))


def _found(corpus: Corpus, query: str, k: int) -> list[dict[str, Any]]:
    found = store(corpus).similarity_search(query, k=k)
    return [{"text": one.page_content, "metadata": {**one.metadata, "document_id": one.id}} for one in found]


def remote(corpus: Corpus) -> Any:
    from langchain_community.retrievers import RemoteLangChainRetriever

    corpus.server.paths["/v1/retrieve"] = lambda body, answer: {
        "response": [
            {"page_content": one["text"], "metadata": one["metadata"]} for one in _found(corpus, body["message"], OWN)
        ]
    }
    url = f"{corpus.server.base_url}/retrieve"
    return RemoteLangChainRetriever(url=url, headers={"Authorization": "Bearer test"})


def plugin(corpus: Corpus) -> Any:
    from langchain_community.retrievers import ChatGPTPluginRetriever

    corpus.server.paths["/v1/query"] = lambda body, answer: {
        "results": [{"results": _found(corpus, one["query"], one["top_k"])} for one in body["queries"]]
    }
    return ChatGPTPluginRetriever(url=corpus.server.base_url, bearer_token="test", top_k=OWN)  # noqa: S106


def ensemble(corpus: Corpus) -> Any:
    from langchain_classic.retrievers import EnsembleRetriever

    return EnsembleRetriever(retrievers=[bm25(corpus), dense(corpus)], weights=[0.4, 0.6])


def merger(corpus: Corpus) -> Any:
    from langchain_classic.retrievers import MergerRetriever

    return MergerRetriever(retrievers=[bm25(corpus), dense(corpus)])


def multi_query(corpus: Corpus) -> Any:
    from langchain_classic.retrievers import MultiQueryRetriever

    return MultiQueryRetriever.from_llm(retriever=dense(corpus), llm=model())


def re_phraser(corpus: Corpus) -> Any:
    from langchain_classic.retrievers import RePhraseQueryRetriever

    return RePhraseQueryRetriever.from_llm(retriever=dense(corpus), llm=model())


def multi_vector(corpus: Corpus) -> Any:
    from langchain_classic.retrievers import MultiVectorRetriever
    from langchain_core.stores import InMemoryStore
    from langchain_core.vectorstores import InMemoryVectorStore

    children = InMemoryVectorStore.from_documents(halves(corpus, PARENTS), Words())
    parents = InMemoryStore()
    parents.mset([(one.id, one) for one in documents(corpus)[:PARENTS]])
    return MultiVectorRetriever(vectorstore=children, docstore=parents, search_kwargs={"k": OWN})


def parent_document(corpus: Corpus) -> Any:
    from langchain_classic.retrievers import ParentDocumentRetriever
    from langchain_core.stores import InMemoryStore
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    retriever = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(Words()),
        docstore=InMemoryStore(),
        child_splitter=RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=0),
        search_kwargs={"k": OWN},
    )
    retriever.add_documents(documents(corpus)[:PARENTS], ids=[chunk.id for chunk in corpus.chunks[:PARENTS]])
    return retriever


def self_query(corpus: Corpus) -> Any:
    from langchain_classic.retrievers.self_query.base import SelfQueryRetriever
    from langchain_community.query_constructors.qdrant import QdrantTranslator
    from langchain_core.runnables import RunnableLambda
    from langchain_core.structured_query import StructuredQuery

    return SelfQueryRetriever(
        vectorstore=qdrant(corpus),
        query_constructor=RunnableLambda(lambda asked: StructuredQuery(query=asked["query"], filter=None, limit=None)),
        structured_query_translator=QdrantTranslator(metadata_key="metadata"),
        search_kwargs={"k": OWN},
    )


def time_weighted(corpus: Corpus) -> Any:
    from faiss import IndexFlatL2
    from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

    index = IndexFlatL2(len(corpus.vectors[0]))
    empty = FAISS(Vectors(corpus), index, InMemoryDocstore({}), {}, relevance_score_fn=relevance)
    retriever = TimeWeightedVectorStoreRetriever(vectorstore=empty, k=OWN)
    retriever.add_documents(documents(corpus))
    return retriever


def compression(corpus: Corpus) -> Any:
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_classic.retrievers.document_compressors import CrossEncoderReranker

    reranker = CrossEncoderReranker(model=cross_encoder(corpus), top_n=3)
    return ContextualCompressionRetriever(base_retriever=dense(corpus), base_compressor=reranker)


def compression_pipeline(corpus: Corpus) -> Any:
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_classic.retrievers.document_compressors import CrossEncoderReranker, DocumentCompressorPipeline
    from langchain_community.document_transformers import LongContextReorder

    steps = [CrossEncoderReranker(model=cross_encoder(corpus), top_n=3), LongContextReorder()]
    pipeline = DocumentCompressorPipeline(transformers=steps)
    return ContextualCompressionRetriever(base_retriever=dense(corpus), base_compressor=pipeline)


def sklearn_store(corpus: Corpus) -> Any:
    from langchain_community.vectorstores import SKLearnVectorStore

    ids = [chunk.id for chunk in corpus.chunks]
    return SKLearnVectorStore.from_documents(documents(corpus), Vectors(corpus), ids=ids)


def qdrant(corpus: Corpus) -> Any:
    from langchain_qdrant import QdrantVectorStore

    return QdrantVectorStore.from_documents(_without_ids(corpus), Vectors(corpus), location=":memory:")


def _without_ids(corpus: Corpus) -> list[Any]:
    """Documents that their store names: Qdrant takes nothing but UUIDs and numbers."""
    return [one.model_copy(update={"id": None}) for one in documents(corpus)]


def sequence(corpus: Corpus) -> Any:
    return dense(corpus) | list


def runnable_lambda(corpus: Corpus) -> Any:
    from langchain_core.runnables import RunnableLambda

    return RunnableLambda(dense(corpus).invoke)


def configurable(corpus: Corpus) -> Any:
    from langchain_core.runnables import ConfigurableField

    return dense(corpus).configurable_fields(search_kwargs=ConfigurableField(id="search"))


def alternatives(corpus: Corpus) -> Any:
    from langchain_core.runnables import ConfigurableField

    return dense(corpus).configurable_alternatives(
        ConfigurableField(id="which"), default_key="dense", words=bm25(corpus)
    )


def branch(corpus: Corpus) -> Any:
    from langchain_core.runnables import RunnableBranch

    return RunnableBranch((lambda query: "E02" in query, bm25(corpus)), dense(corpus))


CHILDREN = "several children may lead to one parent"


def _retriever(path: str, make: Any, setting: str = "", **about: Any) -> Case:
    return Case(path, make, "retriever", invoke, setting, **about)


RETRIEVERS: tuple[Case, ...] = (
    _retriever(VECTOR_STORE_RETRIEVER, dense),
    _retriever(VECTOR_STORE_RETRIEVER, diverse, 'search_type="mmr"'),
    _retriever(VECTOR_STORE_RETRIEVER, diverse_of_few, 'search_type="mmr", fetch_k'),
    _retriever(
        VECTOR_STORE_RETRIEVER, near, 'search_type="similarity_score_threshold"', fewer="keeps what is near enough"
    ),
    _retriever("langchain_core.indexing.in_memory.InMemoryDocumentIndex", in_memory_index),
    _retriever(f"{CLASSIC}.ensemble.EnsembleRetriever", ensemble),
    _retriever(f"{CLASSIC}.merger_retriever.MergerRetriever", merger),
    _retriever(f"{CLASSIC}.multi_query.MultiQueryRetriever", multi_query, replies=write_queries),
    _retriever(f"{CLASSIC}.re_phraser.RePhraseQueryRetriever", re_phraser, replies=rephrase),
    _retriever(f"{CLASSIC}.multi_vector.MultiVectorRetriever", multi_vector, note=CHILDREN),
    _retriever(f"{CLASSIC}.parent_document_retriever.ParentDocumentRetriever", parent_document, note=CHILDREN),
    _retriever(f"{CLASSIC}.self_query.base.SelfQueryRetriever", self_query),
    _retriever(f"{CLASSIC}.time_weighted_retriever.TimeWeightedVectorStoreRetriever", time_weighted),
    _retriever(f"{CLASSIC}.contextual_compression.ContextualCompressionRetriever", compression),
    _retriever(f"{CLASSIC}.contextual_compression.ContextualCompressionRetriever", compression_pipeline, "a pipeline"),
    _retriever(f"{COMMUNITY}.bm25.BM25Retriever", bm25),
    _retriever(f"{COMMUNITY}.tfidf.TFIDFRetriever", tfidf),
    _retriever(f"{COMMUNITY}.knn.KNNRetriever", by_vectors("KNNRetriever")),
    _retriever(f"{COMMUNITY}.svm.SVMRetriever", by_vectors("SVMRetriever")),
    _retriever(f"{COMMUNITY}.llama_index.LlamaIndexRetriever", over_llama_index),
    _retriever(f"{COMMUNITY}.remote_retriever.RemoteLangChainRetriever", remote),
    _retriever(f"{COMMUNITY}.chatgpt_plugin_retriever.ChatGPTPluginRetriever", plugin),
    Case("langchain_core.vectorstores.in_memory.InMemoryVectorStore", store, "vector store", search),
    Case("langchain_community.vectorstores.faiss.FAISS", faiss, "vector store", search),
    Case("langchain_community.vectorstores.sklearn.SKLearnVectorStore", sklearn_store, "vector store", search),
    Case("langchain_qdrant.qdrant.QdrantVectorStore", qdrant, "vector store", search),
    Case(f"{RUNNABLES}.base.RunnableSequence", sequence, "runnable", invoke),
    Case(f"{RUNNABLES}.base.RunnableLambda", runnable_lambda, "runnable", invoke),
    Case(f"{RUNNABLES}.base.RunnableBinding", lambda corpus: dense(corpus).with_config(tags=["x"]), "runnable", invoke),
    Case(f"{RUNNABLES}.retry.RunnableRetry", lambda corpus: dense(corpus).with_retry(), "runnable", invoke),
    Case(
        f"{RUNNABLES}.fallbacks.RunnableWithFallbacks",
        lambda corpus: dense(corpus).with_fallbacks([bm25(corpus)]),
        "runnable",
        invoke,
    ),
    Case(f"{RUNNABLES}.configurable.RunnableConfigurableFields", configurable, "runnable", invoke),
    Case(f"{RUNNABLES}.configurable.RunnableConfigurableAlternatives", alternatives, "runnable", invoke),
    Case(f"{RUNNABLES}.branch.RunnableBranch", branch, "runnable", invoke),
)
