"""LangChain compressors and transformers as stages: composites are opened, and chunks keep their identity."""

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
    LLMChainExtractor,
)
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.language_models import FakeListLLM
from langchain_core.runnables import RunnableLambda
from langchain_text_splitters import CharacterTextSplitter

from raglift.adapters.langchain import reranker_stages, retriever_stages
from raglift.adapters.langchain_documents import chunk_of
from raglift.errors import UnsupportedSystem
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

from .langchain_objects import Lengths, SharedWords

LINES = [
    "Anna Pavlovna had had a cough for some days.",
    "She was suffering from la grippe.",
    "All her invitations were written in French.",
    "The prince spoke in that refined French.",
    "He kissed her hand and sat down on the sofa.",
    "Today is Wednesday, and I must put in an appearance.",
]
DOCUMENTS = [
    Document(page_content=line, id=f"line-{number}", metadata={"source": "war.txt", "start_index": number * 60})
    for number, line in enumerate(LINES)
]
CANDIDATES = Ranking.of((chunk_of(document), None) for document in DOCUMENTS)
QUERY = "Who spoke French?"


class Rebuilding(BaseDocumentCompressor):
    """Reverses the order in new documents, as rerankers behind an API do."""

    top_n: int | None = 2
    keep_metadata: bool = True

    def compress_documents(self, documents, query, callbacks=None):
        kept = list(documents)[::-1][: self.top_n]
        return [
            Document(
                page_content=document.page_content,
                metadata=({**document.metadata} if self.keep_metadata else {}) | {"relevance_score": 1 / rank},
            )
            for rank, document in enumerate(kept, start=1)
        ]


class Passing(BaseDocumentTransformer):
    """Passes on what a function makes of the documents."""

    def __init__(self, change):
        self.change = change

    def transform_documents(self, documents, **kwargs):
        return self.change(documents)


BACKWARDS = Passing(lambda documents: documents[::-1])


def rerank(part, ranking=CANDIDATES, **options):
    (stage,) = reranker_stages(part, **options)
    return stage.reranker.rerank_one(QUERY, ranking)


def ids(ranking):
    return [chunk.id for chunk in ranking.chunks]


@pytest.mark.parametrize("given", [2, 50, None])
def test_top_n_is_raised_unless_as_deployed_and_never_lowered(given):
    reranker = Rebuilding(top_n=given)
    assert len(rerank(reranker)) == 6
    assert len(rerank(reranker, as_deployed=True)) == min(given or 6, 6)
    assert reranker.top_n == given


@pytest.mark.parametrize("keep_metadata", [True, False])
def test_rebuilt_documents_are_the_chunks_they_came_from(keep_metadata):
    reranked = rerank(Rebuilding(keep_metadata=keep_metadata))
    assert reranked.chunks == CANDIDATES.chunks[::-1]
    assert [hit.score for hit in reranked] == [1 / rank for rank in range(1, 7)]
    assert all("_raglift_chunk" not in chunk.metadata for chunk in reranked.chunks)
    assert all("_raglift_chunk" not in chunk.origin.metadata for chunk in reranked.chunks)


@pytest.mark.parametrize("keep_metadata", [True, False])
def test_two_chunks_with_one_text_stay_apart(keep_metadata):
    twins = Ranking.of([(Chunk("the same text", id="a"), None), (Chunk("the same text", id="b"), None)])
    assert sorted(ids(rerank(Rebuilding(keep_metadata=keep_metadata), twins))) == ["a", "b"]
    repeated = Passing(lambda documents: [*documents, *documents])
    assert ids(rerank(repeated, twins)) == ["a", "b", "a", "b"]  # as the object returns them


def test_an_untouched_chunk_is_the_same_object_and_the_users_documents_are_untouched():
    before = [document.model_copy(deep=True) for document in DOCUMENTS]

    def spoil(documents):
        for document in documents:
            document.metadata.clear()
            document.page_content = "spoilt"
        return []

    reordered = rerank(BACKWARDS)
    assert {id(chunk) for chunk in reordered.chunks} == {id(chunk) for chunk in CANDIDATES.chunks}
    assert len(rerank(Passing(spoil))) == 0
    assert before == DOCUMENTS


def test_an_old_score_in_the_metadata_is_not_a_new_one():
    scored = [Document(page_content=line, metadata={"score": 0.5}) for line in LINES]
    before = Ranking.of((chunk_of(document), 0.5) for document in scored)
    assert {hit.score for hit in rerank(BACKWARDS, before)} == {None}
    assert rerank(Rebuilding(), before)[0].score == 1.0


def test_changed_text_keeps_id_and_document_and_has_no_offsets_where_it_is_not_in_the_old_one():
    extractor = LLMChainExtractor.from_llm(FakeListLLM(responses=["la grippe", "NO_OUTPUT"]))
    extracted = rerank(extractor)
    assert ids(extracted) == ["line-0", "line-2", "line-4"]
    first = extracted.chunks[0]
    assert (first.text, first.doc_id, first.start, first.end) == ("la grippe", "war.txt", None, None)
    assert "_raglift_chunk" not in first.metadata


def test_pieces_of_one_chunk_get_ids_of_their_own():
    pieces = rerank(CharacterTextSplitter(separator=" ", chunk_size=24, chunk_overlap=0))
    assert len(set(ids(pieces))) == len(pieces) > 6
    assert {chunk.doc_id for chunk in pieces.chunks} == {"war.txt"}
    assert {chunk.id for chunk in CANDIDATES.chunks} < set(ids(pieces))


def test_a_piece_has_offsets_where_it_occurs_once_in_its_candidate():
    pieces = rerank(CharacterTextSplitter(separator=" ", chunk_size=24, chunk_overlap=0)).chunks
    placed = [chunk for chunk in pieces if chunk.start is not None]
    assert len(placed) > 6
    assert all(LINES[chunk.start // 60][chunk.start % 60 :].startswith(chunk.text) for chunk in placed)
    assert all(chunk.end - chunk.start == len(chunk.text) for chunk in placed)
    first = rerank(Passing(lambda documents: [documents[0].model_copy(update={"page_content": "had"})])).chunks[0]
    assert (first.text, first.doc_id, first.start, first.end) == ("had", "war.txt", None, None)


def test_a_document_from_elsewhere_is_a_new_chunk():
    added = rerank(Passing(lambda documents: [Document(page_content="new", metadata={"source": "b.txt"})]))
    assert (added.chunks[0].text, added.chunks[0].doc_id) == ("new", "b.txt")


def test_a_compressor_that_returns_no_documents_is_named():
    with pytest.raises(UnsupportedSystem, match="Passing: returned NoneType"):
        rerank(Passing(lambda documents: None))


def test_composites_are_opened_into_their_stages():
    words = SharedWords(documents=DOCUMENTS, k=1)
    pipeline = DocumentCompressorPipeline(transformers=[BACKWARDS, CrossEncoderReranker(model=Lengths(), top_n=2)])
    inner = ContextualCompressionRetriever(base_retriever=words, base_compressor=pipeline)
    outer = ContextualCompressionRetriever(base_retriever=inner.with_retry(), base_compressor=Rebuilding())
    retrieve, *reranks = retriever_stages(outer)
    assert [stage.system for stage in (retrieve, *reranks)] == [
        "SharedWords",
        "Passing",
        "CrossEncoderReranker(Lengths)",
        "Rebuilding",
    ]
    ranking = retrieve.retriever.retrieve_one(QUERY, 6)
    for stage in reranks:
        ranking = stage.reranker.rerank_one(QUERY, ranking)
    assert sorted(ids(ranking)) == ids(CANDIDATES)


@pytest.mark.parametrize(
    "wrap", [lambda inner: RunnableLambda(str.strip) | inner, lambda inner: inner | RunnableLambda(list)]
)
def test_a_compressor_inside_a_chain_is_noted(wrap):
    words = SharedWords(documents=DOCUMENTS, k=1)
    (stage,) = retriever_stages(
        wrap(ContextualCompressionRetriever(base_retriever=words, base_compressor=Rebuilding()))
    )
    assert "no lift" in stage.unopened
    (plain,) = retriever_stages(wrap(words))
    assert plain.unopened == ""


def test_the_next_compressor_finds_what_the_one_before_noted():
    def above(documents):
        return [document for document in documents if document.metadata["relevance_score"] > 0.3]

    pipeline = DocumentCompressorPipeline(transformers=[Rebuilding(), Passing(above)])
    ranking = CANDIDATES
    for stage in reranker_stages(pipeline):
        ranking = stage.reranker.rerank_one(QUERY, ranking)
    assert ids(ranking) == ["line-5", "line-4", "line-3"]
