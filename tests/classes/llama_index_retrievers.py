"""LlamaIndex's retrievers that can be built here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from llama_index.core.schema import IndexNode

from raglift.types.documents import Chunk

from .case import OWN, Case
from .corpus import Corpus
from .llama_index_parts import Vectors, Words, dense, halves, index, model, nodes, parts, retrieve, sources, texts
from .llama_index_player import answer

CORE = "llama_index.core"
INDICES = f"{CORE}.indices"
FROM_MODEL = "the model says which: it may name few"


def bm25(corpus: Corpus) -> Any:
    from llama_index.retrievers.bm25 import BM25Retriever

    return BM25Retriever.from_defaults(nodes=nodes(corpus), similarity_top_k=OWN)


def faiss(corpus: Corpus) -> Any:
    import faiss as library
    from llama_index.vector_stores.faiss import FaissVectorStore

    store = FaissVectorStore(library.IndexFlatIP(len(corpus.vectors[0])))
    return index(corpus, store=store).as_retriever(similarity_top_k=OWN)


def qdrant(corpus: Corpus) -> Any:
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

    store = QdrantVectorStore("lighthouse", client=QdrantClient(":memory:"))
    with warnings.catch_warnings():  # a store in memory has no payload indexes
        warnings.simplefilter("ignore", UserWarning)
        return index(corpus, store=store).as_retriever(similarity_top_k=OWN)


def auto(corpus: Corpus) -> Any:
    from llama_index.core.retrievers import VectorIndexAutoRetriever
    from llama_index.core.vector_stores.types import VectorStoreInfo

    info = VectorStoreInfo(content_info="a handbook", metadata_info=[])
    return VectorIndexAutoRetriever(index(corpus), info, llm=model(corpus), similarity_top_k=OWN)


def of_images(corpus: Corpus) -> Any:
    from llama_index.core.embeddings import MockMultiModalEmbedding
    from llama_index.core.indices import MultiModalVectorStoreIndex

    images = MockMultiModalEmbedding(embed_dim=8)
    made = MultiModalVectorStoreIndex(nodes(corpus), embed_model=Vectors(corpus), image_embed_model=images)
    return made.as_retriever(similarity_top_k=OWN)


def summary(corpus: Corpus) -> Any:
    from llama_index.core import SummaryIndex

    return SummaryIndex(nodes(corpus)).as_retriever()


def summary_by_vectors(corpus: Corpus) -> Any:
    from llama_index.core import SummaryIndex

    embed_model = Vectors(corpus)
    return SummaryIndex(nodes(corpus)).as_retriever("embedding", embed_model=embed_model, similarity_top_k=OWN)


def summary_by_model(corpus: Corpus) -> Any:
    from llama_index.core import SummaryIndex

    return SummaryIndex(nodes(corpus)).as_retriever("llm", llm=model(corpus))


def document_summary(corpus: Corpus, mode: str) -> Any:
    from llama_index.core import DocumentSummaryIndex
    from llama_index.core.node_parser import SentenceSplitter

    made = DocumentSummaryIndex.from_documents(
        sources(corpus),
        llm=model(corpus),
        embed_model=Vectors(corpus),
        transformations=[SentenceSplitter(chunk_size=128, chunk_overlap=0, id_func=numbered)],
    )
    depth = {"llm": "choice_top_k", "embedding": "similarity_top_k"}[mode]
    return made.as_retriever(mode, **{depth: OWN})


def numbered(number: int, source: Any) -> str:
    return f"{source.node_id}-{number}"


def keywords(corpus: Corpus) -> Any:
    from llama_index.core import SimpleKeywordTableIndex

    made = SimpleKeywordTableIndex(nodes(corpus), llm=model(corpus))
    return made.as_retriever("simple", num_chunks_per_query=OWN)


def keywords_by_model(corpus: Corpus) -> Any:
    from llama_index.core import SimpleKeywordTableIndex

    made = SimpleKeywordTableIndex(nodes(corpus), llm=model(corpus))
    return made.as_retriever("default", num_chunks_per_query=OWN)


def tree(corpus: Corpus, mode: str) -> Any:
    from llama_index.core import TreeIndex

    made = TreeIndex(nodes(corpus), num_children=8, llm=model(corpus))
    return made.as_retriever(mode, **({"embed_model": Vectors(corpus)} if mode == "select_leaf_embedding" else {}))


def auto_merging(corpus: Corpus) -> Any:
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.node_parser import HierarchicalNodeParser, get_leaf_nodes
    from llama_index.core.retrievers import AutoMergingRetriever

    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 128], chunk_overlap=0)
    parsed = parser.get_nodes_from_documents(sources(corpus))
    storage = StorageContext.from_defaults()
    storage.docstore.add_documents(parsed)
    leaves = VectorStoreIndex(get_leaf_nodes(parsed), storage_context=storage, embed_model=Words(model_name="words"))
    return AutoMergingRetriever(leaves.as_retriever(similarity_top_k=OWN), storage)


def fusion(corpus: Corpus, **options: Any) -> Any:
    from llama_index.core.retrievers import QueryFusionRetriever

    both = [dense(corpus), bm25(corpus)]
    return QueryFusionRetriever(both, llm=model(corpus), similarity_top_k=OWN, mode="reciprocal_rerank", **options)


def recursive(corpus: Corpus) -> Any:
    from llama_index.core.retrievers import RecursiveRetriever

    links = [IndexNode(text=found[0].text, index_id=name, id_=name) for name, found in parts(corpus).items()]
    inner = {name: index(corpus, found).as_retriever(similarity_top_k=OWN) for name, found in parts(corpus).items()}
    root = index(corpus, links).as_retriever(similarity_top_k=OWN)
    return RecursiveRetriever("root", {"root": root, **inner})


def router(corpus: Corpus) -> Any:
    from llama_index.core.retrievers import RouterRetriever
    from llama_index.core.selectors import LLMSingleSelector
    from llama_index.core.tools import RetrieverTool

    both = [half.as_retriever(similarity_top_k=OWN) for half in halves(corpus)]
    described = zip(both, ("fog horn, ferry, questions", "lamp, tickets, generator code"), strict=True)
    tools = [RetrieverTool.from_defaults(half, description=about) for half, about in described]
    return RouterRetriever(LLMSingleSelector.from_defaults(model(corpus)), tools)


def transformed(corpus: Corpus) -> Any:
    from llama_index.core.indices.query.query_transform import HyDEQueryTransform
    from llama_index.core.retrievers import TransformRetriever

    return TransformRetriever(dense(corpus), HyDEQueryTransform(model(corpus)))


def hotpot(corpus: Corpus) -> Any:
    from llama_index.core.evaluation.benchmarks.hotpotqa import HotpotQARetriever

    given = [[chunk.doc_id, [chunk.text]] for chunk in corpus.chunks[:10]]
    return HotpotQARetriever([{"question": query.text, "context": given} for query in corpus.dataset.queries])


def by_its_retriever(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return texts(made.as_retriever(similarity_top_k=OWN).retrieve(query))


def _retriever(path: str, make: Any, setting: str = "", **about: Any) -> Case:
    return Case(path, make, "retriever", retrieve, setting, **about)


CASES = (
    Case(f"{INDICES}.vector_store.base.VectorStoreIndex", index, "index", by_its_retriever),
    _retriever(f"{INDICES}.vector_store.retrievers.retriever.VectorIndexRetriever", dense),
    _retriever(f"{INDICES}.vector_store.retrievers.retriever.VectorIndexRetriever", faiss, "FAISS"),
    _retriever(f"{INDICES}.vector_store.retrievers.retriever.VectorIndexRetriever", qdrant, "Qdrant"),
    _retriever(
        f"{INDICES}.vector_store.retrievers.auto_retriever.auto_retriever.VectorIndexAutoRetriever",
        auto,
        replies=answer,
    ),
    _retriever(f"{INDICES}.multi_modal.retriever.MultiModalVectorIndexRetriever", of_images),
    _retriever("llama_index.retrievers.bm25.base.BM25Retriever", bm25),
    _retriever(f"{INDICES}.list.retrievers.SummaryIndexRetriever", summary),
    _retriever(f"{INDICES}.list.retrievers.SummaryIndexEmbeddingRetriever", summary_by_vectors),
    _retriever(f"{INDICES}.list.retrievers.SummaryIndexLLMRetriever", summary_by_model, replies=answer),
    _retriever(
        f"{INDICES}.document_summary.retrievers.DocumentSummaryIndexEmbeddingRetriever",
        lambda corpus: document_summary(corpus, "embedding"),
        replies=answer,
        note="its own depth counts documents",
    ),
    _retriever(
        f"{INDICES}.document_summary.retrievers.DocumentSummaryIndexLLMRetriever",
        lambda corpus: document_summary(corpus, "llm"),
        replies=answer,
        note="its own depth counts documents",
    ),
    _retriever(
        f"{INDICES}.keyword_table.retrievers.KeywordTableSimpleRetriever",
        keywords,
        fewer="finds what shares a keyword",
        varies=True,
    ),
    _retriever(
        f"{INDICES}.keyword_table.retrievers.KeywordTableGPTRetriever",
        keywords_by_model,
        replies=answer,
        fewer="finds what shares a keyword",
        varies=True,
    ),
    _retriever(f"{INDICES}.tree.all_leaf_retriever.TreeAllLeafRetriever", lambda corpus: tree(corpus, "all_leaf")),
    _retriever(
        f"{INDICES}.tree.tree_root_retriever.TreeRootRetriever",
        lambda corpus: tree(corpus, "root"),
        fewer="returns the summaries at the root",
    ),
    _retriever(
        f"{INDICES}.tree.select_leaf_retriever.TreeSelectLeafRetriever",
        lambda corpus: tree(corpus, "select_leaf"),
        replies=answer,
    ),
    _retriever(
        f"{INDICES}.tree.select_leaf_embedding_retriever.TreeSelectLeafEmbeddingRetriever",
        lambda corpus: tree(corpus, "select_leaf_embedding"),
        replies=answer,
    ),
    _retriever(
        f"{CORE}.retrievers.auto_merging_retriever.AutoMergingRetriever",
        auto_merging,
        fewer="merges what it finds into its parents",
    ),
    _retriever(f"{CORE}.retrievers.fusion_retriever.QueryFusionRetriever", fusion, replies=answer),
    _retriever(
        f"{CORE}.retrievers.fusion_retriever.QueryFusionRetriever",
        lambda corpus: fusion(corpus, num_queries=1, use_async=False),
        "no queries generated",
    ),
    _retriever(f"{CORE}.retrievers.recursive_retriever.RecursiveRetriever", recursive),
    _retriever(f"{CORE}.retrievers.router_retriever.RouterRetriever", router, replies=answer),
    _retriever(f"{CORE}.retrievers.transform_retriever.TransformRetriever", transformed),
    _retriever(f"{CORE}.evaluation.benchmarks.hotpotqa.HotpotQARetriever", hotpot),
)
