"""Haystack's retrievers, rankers and pipelines: those that are run, and why others are not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from haystack import Document, Pipeline, SuperComponent, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.rankers import LostInTheMiddleRanker, MetaFieldGroupingRanker, MetaFieldRanker
from haystack.components.retrievers import (
    AutoMergingRetriever,
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
    MultiQueryTextRetriever,
    MultiRetriever,
    SentenceWindowRetriever,
    TextEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore

from raglift.types.documents import Chunk

from .cases import OWN, Case, Corpus

RETRIEVERS = "haystack.components.retrievers"
RANKERS = "haystack.components.rankers"
OF_MODELS = "haystack_integrations.components.rankers.sentence_transformers"
PIPELINE = "haystack.core.pipeline.pipeline.Pipeline"


def document(chunk: Chunk, number: int = 0, vector: Sequence[float] | None = None) -> Document:
    """A chunk as a splitter of Haystack's writes it."""
    meta = {"source_id": chunk.doc_id, "split_idx_start": chunk.start, "split_id": number}
    return Document(id=chunk.id, content=chunk.text, meta=meta, embedding=vector and list(vector))


def store(corpus: Corpus) -> InMemoryDocumentStore:
    filled = InMemoryDocumentStore(embedding_similarity_function="cosine")
    pairs = enumerate(zip(corpus.chunks, corpus.vectors, strict=True))
    filled.write_documents([document(chunk, number, vector) for number, (chunk, vector) in pairs])
    return filled


def bm25(corpus: Corpus, filled: InMemoryDocumentStore | None = None) -> InMemoryBM25Retriever:
    return InMemoryBM25Retriever(filled or store(corpus), top_k=OWN)


@component
class Embedder:
    """The corpus' own model as Haystack's."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": self.corpus.embed([text])[0]}


def dense(corpus: Corpus, filled: InMemoryDocumentStore | None = None) -> TextEmbeddingRetriever:
    found = InMemoryEmbeddingRetriever(filled or store(corpus), top_k=OWN)
    return TextEmbeddingRetriever(retriever=found, text_embedder=Embedder(corpus))


def several_queries(corpus: Corpus) -> MultiQueryTextRetriever:
    return MultiQueryTextRetriever(retriever=bm25(corpus))


def several_retrievers(corpus: Corpus) -> MultiRetriever:
    filled = store(corpus)
    return MultiRetriever(retrievers={"words": bm25(corpus, filled), "vectors": dense(corpus, filled)})


def of(**parts: Any) -> Pipeline:
    """A pipeline of parts, one after the other."""
    made = Pipeline()
    names = list(parts)
    for name, part in parts.items():
        made.add_component(name, part)
    for before, after in pairwise(names):
        made.connect(before, f"{after}.query_embedding" if before == "embedder" else f"{after}.documents")
    return made


def embedding(corpus: Corpus) -> Pipeline:
    return of(embedder=Embedder(corpus), retriever=InMemoryEmbeddingRetriever(store(corpus), top_k=OWN))


def reranking(corpus: Corpus) -> Pipeline:
    return of(retriever=bm25(corpus), first=LostInTheMiddleRanker(), second=MetaFieldRanker("split_id", top_k=3))


def joining(corpus: Corpus) -> Pipeline:
    filled = store(corpus)
    made = Pipeline()
    made.add_component("words", bm25(corpus, filled))
    made.add_component("vectors", dense(corpus, filled))
    made.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    made.add_component("ranker", LostInTheMiddleRanker(top_k=3))
    made.connect("words", "joiner")
    made.connect("vectors", "joiner")
    made.connect("joiner", "ranker")
    return made


def windows(corpus: Corpus) -> Pipeline:
    filled = store(corpus)
    made = Pipeline()
    made.add_component("retriever", bm25(corpus, filled))
    made.add_component("window", SentenceWindowRetriever(filled, window_size=1))
    made.connect("retriever.documents", "window.retrieved_documents")
    return made


def merging(corpus: Corpus) -> Pipeline:
    from haystack.components.preprocessors import HierarchicalDocumentSplitter

    sources = [Document(id=one.id, content=one.text) for one in corpus.dataset.documents]
    parsed = HierarchicalDocumentSplitter(block_sizes={80, 20}, split_overlap=0).run(sources)["documents"]
    leaves, parents = InMemoryDocumentStore(), InMemoryDocumentStore()
    leaves.write_documents([one for one in parsed if one.meta["__level"] and not one.meta["__children_ids"]])
    parents.write_documents([one for one in parsed if one.meta["__children_ids"]])
    return of(retriever=InMemoryBM25Retriever(leaves, top_k=OWN), merger=AutoMergingRetriever(parents))


def wrapped(corpus: Corpus) -> SuperComponent:
    return SuperComponent(
        reranking(corpus),
        input_mapping={"query": ["retriever.query"]},
        output_mapping={"second.documents": "documents"},
    )


def lost(corpus: Corpus) -> LostInTheMiddleRanker:
    return LostInTheMiddleRanker(top_k=3)


def by_field(corpus: Corpus) -> MetaFieldRanker:
    return MetaFieldRanker("split_id", top_k=3)


def grouping(corpus: Corpus) -> MetaFieldGroupingRanker:
    return MetaFieldGroupingRanker(group_by="source_id")


def similar(corpus: Corpus) -> Any:
    from haystack_integrations.components.rankers.sentence_transformers import SentenceTransformersSimilarityRanker

    return SentenceTransformersSimilarityRanker(model=str(corpus.cross_encoder), top_k=3)


def diverse(corpus: Corpus) -> Any:
    from haystack_integrations.components.rankers.sentence_transformers import SentenceTransformersDiversityRanker

    from raglift.retrieval.models import minilm_path

    return SentenceTransformersDiversityRanker(model=str(minilm_path()), top_k=3)


def texts(outputs: dict[str, Any]) -> list[str]:
    return [one.content for one in outputs["documents"]]


def ask(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return texts(made.run(query=query))


def ask_several(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    return texts(made.run(queries=[query]))


def ask_pipeline(made: Pipeline, query: str, candidates: Sequence[Chunk]) -> list[str]:
    """Give the query to each part that waits for one, as a user of the pipeline does."""
    waiting = {name: set(inputs) & {"query", "text"} for name, inputs in made.inputs().items()}
    (outputs,) = made.run({name: dict.fromkeys(keys, query) for name, keys in waiting.items() if keys}).values()
    return [one.content for one in outputs.get("documents") or outputs["context_documents"]]


def rank(made: Any, query: str, candidates: Sequence[Chunk]) -> list[str]:
    given = [document(chunk, chunk.metadata["split_id"]) for chunk in candidates]
    asks = {"query": query} if "query" in made.__haystack_input__._sockets_dict else {}
    return texts(made.run(documents=given, **asks))


def _ranker(path: str, make: Any, **about: Any) -> Case:
    return Case(path, make, "ranker", rank, base=bm25, **about)


def _pipeline(make: Any, setting: str, **about: Any) -> Case:
    return Case(PIPELINE, make, "pipeline", ask_pipeline, setting, **about)


CASES = (
    Case(f"{RETRIEVERS}.in_memory.bm25_retriever.InMemoryBM25Retriever", bm25, "retriever", ask),
    Case(f"{RETRIEVERS}.text_embedding_retriever.TextEmbeddingRetriever", dense, "retriever", ask),
    Case(f"{RETRIEVERS}.multi_query_text_retriever.MultiQueryTextRetriever", several_queries, "retriever", ask_several),
    Case(f"{RETRIEVERS}.multi_retriever.MultiRetriever", several_retrievers, "retriever", ask),
    _pipeline(embedding, "InMemoryEmbeddingRetriever"),
    _pipeline(reranking, "two rankers"),
    _pipeline(joining, "DocumentJoiner, ranker"),
    _pipeline(windows, "SentenceWindowRetriever", rewrites="adds the chunks before and after"),
    _pipeline(merging, "AutoMergingRetriever", fewer="merges what it finds into its parents"),
    Case("haystack.core.super_component.super_component.SuperComponent", wrapped, "pipeline", ask),
    _ranker(f"{RANKERS}.lost_in_the_middle.LostInTheMiddleRanker", lost),
    _ranker(f"{RANKERS}.meta_field.MetaFieldRanker", by_field),
    _ranker(f"{RANKERS}.meta_field_grouping_ranker.MetaFieldGroupingRanker", grouping),
    _ranker(f"{OF_MODELS}.sentence_transformers_similarity.SentenceTransformersSimilarityRanker", similar),
    _ranker(f"{OF_MODELS}.sentence_transformers_diversity.SentenceTransformersDiversityRanker", diverse),
)
