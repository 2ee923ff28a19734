"""Haystack's retrievers, rankers and pipelines: real objects, whose rankings are those of a direct call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.embedders import MockDocumentEmbedder, MockTextEmbedder
from haystack.components.joiners import DocumentJoiner
from haystack.components.rankers import LostInTheMiddleRanker, MetaFieldRanker
from haystack.components.retrievers import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from raglift.adapters.adapt import adapt_reranker, adapt_system
from raglift.adapters.functions import chunk_and_score
from raglift.adapters.haystack import ADAPTER, chunk_of
from raglift.adapters.stages import RerankStage, RetrieveStage
from raglift.errors import UnsupportedSystem
from raglift.running.evaluation import evaluate
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

pytestmark = pytest.mark.slow

SOURCES = {
    "tower.md": "The keeper climbs the tower at dusk. The lamp burns until dawn. The keeper writes the log.",
    "harbour.md": "The ferry leaves the harbour at noon. The tide turns twice a day. The boat waits in the fog.",
    "island.md": "The island has one well. The horn sounds in the fog. The keeper walks the island in winter.",
}
QUERY = "Who walks the island in the fog?"


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Nine sentences, with vectors, their source and their location in it."""
    from haystack.components.preprocessors import DocumentSplitter  # imports NLTK, which takes seconds

    sources = [Document(id=name, content=text) for name, text in SOURCES.items()]
    pieces = DocumentSplitter(split_by="period", split_length=1).run(sources)["documents"]
    for number, piece in enumerate(pieces):
        piece.meta["year"] = 1900 + number * 7 % 9
    return list(MockDocumentEmbedder().run(pieces)["documents"])


@pytest.fixture
def store(documents: list[Document]) -> InMemoryDocumentStore:
    filled = InMemoryDocumentStore()
    filled.write_documents(documents)
    return filled


@pytest.fixture
def hybrid(store: InMemoryDocumentStore) -> Pipeline:
    """Two retrievers, a joiner, a ranker, and what would ask a language model."""
    pipeline = Pipeline()
    pipeline.add_component("embedder", MockTextEmbedder())
    pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=2))
    pipeline.add_component("sparse", InMemoryBM25Retriever(store, top_k=2))
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    pipeline.add_component("ranker", MetaFieldRanker(meta_field="year", top_k=2))
    pipeline.add_component("prompt", PromptBuilder("{{ documents }} {{ question }}"))
    pipeline.add_component("answer", NeverAsked())
    for sender, receiver in (
        ("embedder.embedding", "dense.query_embedding"),
        ("dense", "joiner"),
        ("sparse", "joiner"),
        ("joiner", "ranker"),
        ("ranker", "prompt.documents"),
        ("prompt", "answer"),
    ):
        pipeline.connect(sender, receiver)
    return pipeline


@component
class NeverAsked:
    """Stands for a language model."""

    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, Any]:
        raise AssertionError("asked for an answer")


@component
class ByLength:
    """A retriever of the user's own: its depth is an attribute, and `run` takes none."""

    def __init__(self, documents: list[Document], top_k: int = 2) -> None:
        self.documents, self.top_k, self.warm = documents, top_k, 0

    def warm_up(self) -> None:
        self.warm += 1

    @component.output_types(documents=list[Document])
    def run(self, question: str) -> dict[str, Any]:
        assert self.warm
        return {"documents": sorted(self.documents, key=lambda one: len(one.content or ""))[: self.top_k]}


@component
class AllOfThem:
    """A retriever whose depth cannot be set."""

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        return {"documents": self.documents[:3]}


@component
class Highlighter:
    """Cuts each document down to its first four words, and adds one of its own."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        cut = [
            Document(id=one.id, content=" ".join((one.content or "").split()[:4]), meta=one.meta) for one in documents
        ]
        return {"documents": [*cut, Document(content="a summary")]}


@component
class Rewriter:
    """Makes another text of the query."""

    @component.output_types(query=str)
    def run(self, text: str) -> dict[str, str]:
        return {"query": f"{text} keeper"}


def retrieved(system: Any, k: int, **options: Any) -> Ranking:
    stage = adapt_system(system, **options)[0]
    assert isinstance(stage, RetrieveStage)
    return stage.retriever.retrieve_one(QUERY, k)  # type: ignore[union-attr]


def pairs(documents: list[Document]) -> list[tuple[str, float | None]]:
    return [(one.id, one.score) for one in documents]


def hits(ranking: Ranking) -> list[tuple[str, float | None]]:
    return [(hit.chunk.id, hit.score) for hit in ranking]


def reranked(ranker: Any, ranking: Ranking, **options: Any) -> Ranking:
    (stage,) = adapt_reranker(ranker, **options)
    return stage.reranker.rerank_one(QUERY, ranking)  # type: ignore[union-attr]


# Retrievers


@pytest.mark.parametrize("k", [1, 3, 5, 9])
def test_a_retriever_ranks_and_scores_as_a_direct_call_at_the_same_depth(store, k):
    retriever = InMemoryBM25Retriever(store, top_k=3)
    expected = pairs(retriever.run(query=QUERY, top_k=k)["documents"])
    assert hits(retrieved(retriever, k)) == expected
    assert len(expected) == k
    assert retriever.top_k == 3


def test_a_depth_that_is_only_an_attribute_is_raised_on_a_copy(documents):
    retriever = ByLength(documents)
    assert len(retrieved(retriever, 5)) == 5
    assert retriever.top_k == 2
    assert retriever.warm == 1
    assert adapt_system(retriever)[0].depth_fixed == ()


def test_a_depth_that_cannot_be_set_is_named(documents):
    assert adapt_system(AllOfThem(documents))[0].depth_fixed == ("AllOfThem",)
    assert len(retrieved(AllOfThem(documents), 9)) == 3


# Pipelines


def test_a_pipeline_is_opened_into_its_joiner_and_its_ranker(hybrid):
    retrieve, rerank = adapt_system(hybrid)
    assert isinstance(retrieve, RetrieveStage)
    assert isinstance(rerank, RerankStage)
    assert retrieve.system == (
        "Pipeline(MockTextEmbedder(mock-model) + InMemoryEmbeddingRetriever(InMemoryDocumentStore) + "
        "InMemoryBM25Retriever(InMemoryDocumentStore) + DocumentJoiner)"
    )
    assert (retrieve.depth_fixed, rerank.system) == ((), "MetaFieldRanker")


def test_both_stages_of_a_pipeline_are_those_of_a_direct_run(hybrid):
    retrieve, rerank = adapt_system(hybrid)
    before = retrieve.retriever.retrieve_one(QUERY, 7)
    after = rerank.reranker.rerank_one(QUERY, before)
    for name in ("answer", "prompt"):
        hybrid.remove_component(name)
    depths = {"dense": {"top_k": 7}, "sparse": {"query": QUERY, "top_k": 7}, "ranker": {"top_k": 7}}
    direct = hybrid.run({"embedder": {"text": QUERY}, **depths}, include_outputs_from={"joiner"})
    assert hits(before) == pairs(direct["joiner"]["documents"][:7])
    expected = hybrid.get_component("ranker").run(documents=direct["joiner"]["documents"][:7], top_k=7)["documents"]
    assert hits(after) == pairs(expected)
    assert sorted(hit.chunk.id for hit in after) == sorted(hit.chunk.id for hit in before)


def test_the_pipeline_is_as_it_was(hybrid):
    before = hybrid.to_dict()
    names = list(hybrid.graph.nodes)
    instances = [id(hybrid.get_component(name)) for name in names]
    senders = {name: str(hybrid.get_component(name).__haystack_input__) for name in names}
    evaluate(hybrid, Dataset.from_dict({QUERY: ["fog"]}), ks=(5,))
    assert hybrid.to_dict() == before
    assert [id(hybrid.get_component(name)) for name in names] == instances
    assert {name: str(hybrid.get_component(name).__haystack_input__) for name in names} == senders
    assert all(hybrid.get_component(name).__haystack_added_to_pipeline__ is hybrid for name in names)


def test_two_rankers_are_two_stages_and_one_that_gets_another_query_is_none(store):
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    pipeline.add_component("first", MetaFieldRanker(meta_field="year"))
    pipeline.add_component("second", LostInTheMiddleRanker(top_k=1))
    pipeline.connect("retriever", "first")
    pipeline.connect("first", "second")
    assert [stage.system for stage in adapt_system(pipeline)] == [
        "InMemoryBM25Retriever(InMemoryDocumentStore)",
        "MetaFieldRanker",
        "LostInTheMiddleRanker",
    ]
    rewritten = Pipeline()
    rewritten.add_component("rewriter", Rewriter())
    rewritten.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    rewritten.add_component("ranker", WithQuery())
    rewritten.connect("rewriter", "retriever.query")
    rewritten.connect("rewriter", "ranker.query")
    rewritten.connect("retriever", "ranker.documents")
    (stage,) = adapt_system(rewritten)
    direct = rewritten.run({"rewriter": {"text": QUERY}, "retriever": {"top_k": 4}})["ranker"]["documents"]
    assert hits(stage.retriever.retrieve_one(QUERY, 4)) == pairs(direct)


@component
class WithQuery:
    """A ranker that scores by the query's number of letters and reverses the order."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document], query: str) -> dict[str, Any]:
        scored = [Document(id=one.id, content=one.content, meta=one.meta, score=float(len(query))) for one in documents]
        return {"documents": scored[::-1]}


# Rankers


def test_a_ranker_with_a_model_as_a_reranker_of_any_retriever(tiny_cross_encoder: Path, store):
    retriever = InMemoryBM25Retriever(store)
    from haystack_integrations.components.rankers.sentence_transformers import SentenceTransformersSimilarityRanker

    ranker = SentenceTransformersSimilarityRanker(model=str(tiny_cross_encoder), top_k=2)
    direct = SentenceTransformersSimilarityRanker(model=str(tiny_cross_encoder), top_k=6)
    direct.warm_up()
    expected = direct.run(query=QUERY, documents=retriever.run(query=QUERY, top_k=6)["documents"])["documents"]
    assert hits(reranked(ranker, retrieved(retriever, 6))) == pairs(expected)
    assert ranker.top_k == 2
    own = Ranking.of((Chunk(text, id=str(number)), None) for number, text in enumerate(SOURCES.values()))
    assert sorted(hit.chunk.id for hit in reranked(ranker, own)) == ["0", "1", "2"]
    assert len(reranked(ranker, own, as_deployed=True)) == 2
    assert str(tiny_cross_encoder) not in adapt_reranker(ranker)[0].system


def test_a_ranker_that_sets_no_scores_gives_none_and_hands_on_the_ones_before(store):
    before = retrieved(InMemoryBM25Retriever(store), 5)
    after = reranked(LostInTheMiddleRanker(), before)
    assert {hit.score for hit in after} == {None}
    assert {hit.chunk.id for hit in after} == {hit.chunk.id for hit in before}
    best_first = reranked(MetaFieldRanker(meta_field="year", weight=0.0), after)
    assert {hit.chunk.id for hit in best_first} == {hit.chunk.id for hit in before}
    assert reranked(LostInTheMiddleRanker(), Ranking()) == Ranking()


def test_what_a_component_cuts_keeps_its_document_and_finds_its_place(store):
    before = retrieved(InMemoryBM25Retriever(store), 2)
    after = reranked(Highlighter(), before)
    assert len(after) == 3
    for cut, hit in zip(after, before, strict=False):
        assert (cut.chunk.id, cut.chunk.doc_id) == (hit.chunk.id, hit.chunk.doc_id)
        assert len(cut.chunk.text.split()) == 4
        assert SOURCES[str(cut.chunk.doc_id)][cut.chunk.start : cut.chunk.end] == cut.chunk.text
    assert after[2].chunk.text == "a summary"
    assert before[0].chunk.origin.content == before[0].chunk.text


# Documents


def test_a_document_is_a_chunk_with_its_source_and_place(documents):
    for document in documents:
        chunk = chunk_of(document)
        assert (chunk.text, chunk.id, chunk.origin) == (document.content, document.id, document)
        assert SOURCES[str(chunk.doc_id)][chunk.start : chunk.end] == chunk.text
    named = Document(content="fog", meta={"file_path": "a.md", "page": "b.md", "split_idx_start": -1}, score=0.5)
    assert chunk_of(named) == Chunk("fog", named.id, "a.md", metadata=named.meta)
    assert chunk_of(named, "page").doc_id == "b.md"
    assert chunk_and_score(named)[1] == 0.5
    assert chunk_of(Document(content=None, meta={"kind": "picture"})).text == ""


# Errors


def test_what_cannot_be_asked_is_refused_with_what_to_do(store, hybrid):
    for system, message in (
        (PromptBuilder("{{ query }}"), r"PromptBuilder: found the outputs prompt; expected one that is a list of doc"),
        (
            InMemoryEmbeddingRetriever(store),
            r"InMemoryEmbeddingRetriever: found the inputs query_embedding, which must be given; .* behind a text em",
        ),
        (store, r"system: found a InMemoryDocumentStore; expected a Haystack component .* asked through a retriever"),
        (Document(content="x"), r"system: found a Document; expected a Haystack component"),
        (Pipeline(), r"Pipeline: found no component that gives documents"),
        (InMemoryBM25Retriever, r"system: found the class InMemoryBM25Retriever; expected an object"),
    ):
        with pytest.raises(UnsupportedSystem, match=message):
            adapt_system(system)
    hybrid.add_component("another", InMemoryBM25Retriever(store))
    with pytest.raises(
        UnsupportedSystem,
        match=r"Pipeline: found documents at the outputs ranker\.documents, another\.documents; expected one: join",
    ):
        adapt_system(hybrid)
    indexing = Pipeline()
    from haystack.components.preprocessors import DocumentSplitter

    indexing.add_component("splitter", DocumentSplitter())
    with pytest.raises(UnsupportedSystem, match=r"found the inputs splitter\.documents, which must be given"):
        adapt_system(indexing)


def test_what_does_not_rerank_is_refused(store):
    with pytest.raises(
        UnsupportedSystem, match=r"reranker: found a InMemoryBM25Retriever with the inputs query, .*; e"
    ):
        adapt_reranker(InMemoryBM25Retriever(store))
    with pytest.raises(UnsupportedSystem, match=r"reranker: found a InMemoryDocumentStore; expected a Haystack comp"):
        adapt_reranker(store)

    @component
    class Needy:
        @component.output_types(documents=list[Document])
        def run(self, documents: list[Document], weights: dict[str, float]) -> dict[str, Any]:
            return {"documents": documents}

    with pytest.raises(UnsupportedSystem, match=r"found a Needy whose inputs weights must be given; expected no more"):
        adapt_reranker(Needy())


def test_components_are_known_by_their_metaclass_and_nothing_is_imported(store, documents):
    assert all(map(ADAPTER.owns, [InMemoryBM25Retriever(store), AllOfThem(documents), Pipeline(), documents[0], store]))
    assert not any(map(ADAPTER.owns, [print, "haystack", Chunk("x"), AllOfThem]))
    code = (
        "import sys; from raglift.adapters.adapt import adapt_system; adapt_system(len); "
        "assert 'haystack' not in sys.modules and 'raglift.adapters.haystack' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
