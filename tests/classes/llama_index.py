"""LlamaIndex's retrievers, engines, indexes and postprocessors that can be built here without a language model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from llama_index.core import Document, MockEmbedding, StorageContext, SummaryIndex, TreeIndex, VectorStoreIndex
from llama_index.core import chat_engine as engines
from llama_index.core.embeddings import BaseEmbedding, MockMultiModalEmbedding
from llama_index.core.indices import MultiModalVectorStoreIndex
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import HierarchicalNodeParser, get_leaf_nodes
from llama_index.core.postprocessor import (
    EmbeddingRecencyPostprocessor,
    FixedRecencyPostprocessor,
    LongContextReorder,
    MetadataReplacementPostProcessor,
    PrevNextNodePostprocessor,
    SentenceEmbeddingOptimizer,
    SentenceTransformerRerank,
    SimilarityPostprocessor,
    TimeWeightedPostprocessor,
)
from llama_index.core.query_engine import CitationQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    QueryFusionRetriever,
    RecursiveRetriever,
    TransformRetriever,
)
from llama_index.core.schema import (
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from pydantic import PrivateAttr

from raglift.types.documents import Chunk

from .cases import OWN, Case, Corpus

INDICES = "llama_index.core.indices"
CORE = "llama_index.core"
VECTOR = f"{INDICES}.vector_store.retrievers.retriever.VectorIndexRetriever"
HIDDEN = ["date", "window"]


class Vectors(BaseEmbedding):
    """The corpus' own model as LlamaIndex's."""

    _corpus: Corpus = PrivateAttr()

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(model_name="minilm")
        self._corpus = corpus

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._corpus.embed([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._corpus.embed([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._corpus.embed([query])[0]


def nodes(corpus: Corpus) -> list[TextNode]:
    """The chunks as nodes that know their neighbours, a date, and the text around them."""
    made = [_node(chunk, at, corpus.chunks) for at, chunk in enumerate(corpus.chunks)]
    for one, other in pairwise(made):
        if one.ref_doc_id == other.ref_doc_id:
            one.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=other.node_id)
            other.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=one.node_id)
    return made


def _node(chunk: Chunk, at: int, chunks: Sequence[Chunk]) -> TextNode:
    around = [near.text for near in chunks[max(0, at - 1) : at + 2] if near.doc_id == chunk.doc_id]
    return TextNode(
        id_=str(uuid5(NAMESPACE_URL, chunk.id)),  # Qdrant takes no other
        text=chunk.text,
        metadata={"date": f"{2000 + at % 20}-01-01", "window": "\n".join(around)},
        excluded_embed_metadata_keys=HIDDEN,
        excluded_llm_metadata_keys=HIDDEN,
        start_char_idx=chunk.start,
        end_char_idx=chunk.end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.doc_id or "")},
    )


def index(corpus: Corpus, some: Sequence[TextNode] | None = None, store: Any = None) -> VectorStoreIndex:
    """A vector index of some nodes, by default of all, in a store, by default in memory."""
    storage = StorageContext.from_defaults(vector_store=store) if store is not None else None
    found = nodes(corpus) if some is None else list(some)
    return VectorStoreIndex(found, embed_model=Vectors(corpus), storage_context=storage)


def dense(corpus: Corpus) -> Any:
    return index(corpus).as_retriever(similarity_top_k=OWN)


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


def of_images(corpus: Corpus) -> Any:
    images = MockMultiModalEmbedding(embed_dim=8)
    made = MultiModalVectorStoreIndex(nodes(corpus), embed_model=Vectors(corpus), image_embed_model=images)
    return made.as_retriever(similarity_top_k=OWN)


def by_summary(corpus: Corpus) -> Any:
    return SummaryIndex(nodes(corpus)).as_retriever("embedding", embed_model=Vectors(corpus), similarity_top_k=OWN)


def tree(corpus: Corpus, mode: str) -> Any:
    made = TreeIndex(nodes(corpus), num_children=8, llm=MockLLM(max_tokens=4))
    return made.as_retriever(mode, **({"embed_model": Vectors(corpus)} if mode == "select_leaf_embedding" else {}))


def auto_merging(corpus: Corpus) -> Any:
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[512, 128], chunk_overlap=0)
    sources = [Document(text=document.text, id_=document.id) for document in corpus.dataset.documents]
    parsed = parser.get_nodes_from_documents(sources)
    storage = StorageContext.from_defaults()
    storage.docstore.add_documents(parsed)
    leaves = VectorStoreIndex(get_leaf_nodes(parsed), storage_context=storage, embed_model=Vectors(corpus))
    return AutoMergingRetriever(leaves.as_retriever(similarity_top_k=OWN), storage)


def fusion(corpus: Corpus) -> Any:
    both = [dense(corpus), bm25(corpus)]
    options: Any = {"mode": "reciprocal_rerank", "num_queries": 1, "use_async": False}
    return QueryFusionRetriever(both, llm=MockLLM(), similarity_top_k=OWN, **options)


def recursive(corpus: Corpus) -> Any:
    parts: dict[str, list[TextNode]] = {}
    for node in nodes(corpus):
        parts.setdefault(node.ref_doc_id or "", []).append(node)
    links = [IndexNode(text=found[0].text, index_id=name, id_=name) for name, found in parts.items()]
    inner = {name: index(corpus, found).as_retriever(similarity_top_k=OWN) for name, found in parts.items()}
    return RecursiveRetriever("root", {"root": index(corpus, links).as_retriever(similarity_top_k=OWN), **inner})


def engine(corpus: Corpus, **options: Any) -> Any:
    return index(corpus).as_query_engine(llm=MockLLM(), similarity_top_k=OWN, **options)


def reranking(corpus: Corpus) -> Any:
    return engine(corpus, node_postprocessors=[cross_encoder(corpus), LongContextReorder()])


def chatting(name: str) -> Any:
    def make(corpus: Corpus) -> Any:
        memory = ChatMemoryBuffer.from_defaults()  # by default an engine would leave a database open
        asked = engine(corpus) if name == "CondenseQuestionChatEngine" else dense(corpus)
        return getattr(engines, name).from_defaults(asked, llm=MockLLM(), memory=memory)

    return make


def cross_encoder(corpus: Corpus) -> Any:
    made = SentenceTransformerRerank(model=str(corpus.cross_encoder), top_n=3, device="cpu")
    made._model.tokenizer.model_max_length = 64  # the class sets 512, the tiny model reads no more
    return made


def texts(items: Iterable[NodeWithScore]) -> list[str]:
    return [item.node.get_content(metadata_mode=MetadataMode.NONE) for item in items]


def retrieve(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return texts(made.retrieve(QueryBundle(query)))


def by_its_retriever(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return texts(made.as_retriever(similarity_top_k=OWN).retrieve(query))


def answer_from(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    """What an answer was written from."""
    return texts(made.query(query).source_nodes)


def chat(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    """What the answer to a first message was written from."""
    made.reset()
    return texts(made.chat(query).source_nodes)


class Behind:
    """Builds a postprocessor, and asks it behind a retriever of its own, which finds the same candidates."""

    def __init__(self, build: Any) -> None:
        self._build = build
        self._base: Any = None

    def make(self, corpus: Corpus) -> Any:
        self._base = dense(corpus)
        return self._build(corpus)

    def ask(self, made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
        found = self._base.retrieve(query)
        assert texts(found) == [chunk.text for chunk in candidates]
        return texts(made.postprocess_nodes(found, QueryBundle(query)))


def _retriever(path: str, make: Any, setting: str = "", **about: Any) -> Case:
    return Case(path, make, "retriever", retrieve, setting, **about)


def _engine(path: str, make: Any, setting: str = "", ask: Any = retrieve, **about: Any) -> Case:
    return Case(f"{CORE}.query_engine.{path}", make, "query engine", ask, setting, **about)


def _chat(path: str) -> Case:
    return Case(f"{CORE}.chat_engine.{path}", chatting(path.rpartition(".")[2]), "chat engine", chat)


def _postprocessor(path: str, build: Any, **about: Any) -> Case:
    behind = Behind(build)
    return Case(f"{CORE}.postprocessor.{path}", behind.make, "postprocessor", behind.ask, base=dense, **about)


CASES: tuple[Case, ...] = (
    Case(f"{INDICES}.vector_store.base.VectorStoreIndex", index, "index", by_its_retriever),
    _retriever(VECTOR, dense),
    _retriever(VECTOR, faiss, "FAISS"),
    _retriever(VECTOR, qdrant, "Qdrant"),
    _retriever(f"{INDICES}.multi_modal.retriever.MultiModalVectorIndexRetriever", of_images),
    _retriever("llama_index.retrievers.bm25.base.BM25Retriever", bm25),
    _retriever(f"{INDICES}.list.retrievers.SummaryIndexRetriever", lambda c: SummaryIndex(nodes(c)).as_retriever()),
    _retriever(f"{INDICES}.list.retrievers.SummaryIndexEmbeddingRetriever", by_summary),
    _retriever(f"{INDICES}.tree.all_leaf_retriever.TreeAllLeafRetriever", lambda c: tree(c, "all_leaf")),
    _retriever(
        f"{INDICES}.tree.select_leaf_embedding_retriever.TreeSelectLeafEmbeddingRetriever",
        lambda c: tree(c, "select_leaf_embedding"),
    ),
    _retriever(
        f"{CORE}.retrievers.auto_merging_retriever.AutoMergingRetriever",
        auto_merging,
        fewer="merges what it finds into its parents",
    ),
    _retriever(f"{CORE}.retrievers.fusion_retriever.QueryFusionRetriever", fusion),
    _retriever(f"{CORE}.retrievers.recursive_retriever.RecursiveRetriever", recursive),
    _retriever(
        f"{CORE}.retrievers.transform_retriever.TransformRetriever",
        lambda c: TransformRetriever(dense(c), IdentityQueryTransform()),
    ),
    _engine("retriever_query_engine.RetrieverQueryEngine", engine),
    _engine("retriever_query_engine.RetrieverQueryEngine", reranking, "two postprocessors"),
    _engine(
        "citation_query_engine.CitationQueryEngine",
        lambda c: CitationQueryEngine.from_args(index(c), llm=MockLLM(), similarity_top_k=OWN),
        note="whole chunks, before they are cut into the numbered pieces that it cites",
    ),
    _engine(
        "transform_query_engine.TransformQueryEngine",
        lambda c: TransformQueryEngine(engine(c), IdentityQueryTransform()),
        ask=answer_from,
    ),
    _chat("context.ContextChatEngine"),
    _chat("condense_plus_context.CondensePlusContextChatEngine"),
    _chat("condense_question.CondenseQuestionChatEngine"),
    _postprocessor("sbert_rerank.SentenceTransformerRerank", cross_encoder),
    _postprocessor("node.LongContextReorder", lambda c: LongContextReorder()),
    _postprocessor(
        "node.SimilarityPostprocessor",
        lambda c: SimilarityPostprocessor(similarity_cutoff=0.2),
        fewer="keeps what is near enough",
    ),
    _postprocessor(
        "node.PrevNextNodePostprocessor",
        lambda c: PrevNextNodePostprocessor(docstore=index(c).docstore, mode="both"),
        rewrites="adds the chunks before and after",
    ),
    _postprocessor(
        "metadata_replacement.MetadataReplacementPostProcessor",
        lambda c: MetadataReplacementPostProcessor(target_metadata_key="window"),
        rewrites="puts a text of the metadata in",
    ),
    _postprocessor("node_recency.FixedRecencyPostprocessor", lambda c: FixedRecencyPostprocessor(top_k=3)),
    _postprocessor(
        "node_recency.EmbeddingRecencyPostprocessor",
        lambda c: EmbeddingRecencyPostprocessor(
            embed_model=Vectors(c), similarity_cutoff=0.8, query_embedding_tmpl="{context_str}"
        ),
        fewer="drops older ones that are alike",
    ),
    _postprocessor(
        "node_recency.TimeWeightedPostprocessor", lambda c: TimeWeightedPostprocessor(now=1_750_000_000.0, top_k=3)
    ),
    _postprocessor(
        "optimizer.SentenceEmbeddingOptimizer",
        lambda c: SentenceEmbeddingOptimizer(embed_model=MockEmbedding(embed_dim=8), percentile_cutoff=0.7),
        rewrites="keeps the nearest sentences",
    ),
)
