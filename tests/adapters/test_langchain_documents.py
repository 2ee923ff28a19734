"""LangChain documents as chunks, and back."""

import pytest
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.runnables import RunnableLambda

from raglift.adapters.langchain import reranker_stages, retriever_stages
from raglift.adapters.langchain_documents import chunk_of, document_of
from raglift.errors import ConfigurationError
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

QUERY = "Which words did Prince Vasili speak?"
DOCUMENT = Document(page_content="Genoa and Lucca")


def retrieve(system):
    (stage,) = retriever_stages(system)
    return stage.retriever.retrieve_one(QUERY, 10)


def test_strings_are_documents_and_anything_else_is_an_error_of_that_query():
    assert [chunk.text for chunk in retrieve(RunnableLambda(lambda query: ["one", query])).chunks] == ["one", QUERY]
    for wrong in ("an answer", [DOCUMENT, 7], [(DOCUMENT, "0.5")], None):
        with pytest.raises(ConfigurationError, match=r"RunnableLambda: returned .* expected a list"):
            retrieve(RunnableLambda(lambda query, wrong=wrong: wrong))


def test_a_document_becomes_a_chunk_and_back():
    document = Document(
        page_content="Genoa and Lucca", id="7", metadata={"source": "a.txt", "start_index": 10, "page": 3}
    )
    chunk = chunk_of(document)
    assert (chunk.id, chunk.doc_id, chunk.start, chunk.end) == ("7", "a.txt", 10, 25)
    assert chunk.metadata == document.metadata
    assert chunk.origin is document
    assert chunk_of(document, doc_key="page").doc_id == "3"
    assert chunk_of(document, doc_key="absent").doc_id is None
    assert document_of(chunk) == document
    assert document_of(chunk) is not document
    foreign = Chunk("text", doc_id="b.txt", start=4, end=8)
    assert chunk_of(document_of(foreign)).id == foreign.id
    assert chunk_of(document_of(foreign)).doc_id == "b.txt"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"_id": "5a81"}, "5a81"),
        ({"_id": 0}, "0"),
        ({"_id": True}, None),
        ({"_id": None}, None),
        ({"_id": ["5a81"]}, None),
    ],
)
def test_an_id_that_only_the_metadata_holds_is_the_chunks(metadata, expected):
    text = "Genoa and Lucca"
    assert chunk_of(Document(page_content=text, metadata=metadata)).id == (expected or Chunk(text).id)
    assert chunk_of(Document(page_content=text, metadata=metadata, id="7")).id == "7"


@pytest.mark.parametrize("start", [-1, None, "12", True, 1.5])
def test_an_unknown_offset_stays_unknown(start):
    chunk = chunk_of(Document(page_content="text", metadata={"start_index": start}))
    assert (chunk.start, chunk.end) == (None, None)


@pytest.mark.parametrize(
    ("metadata", "score"),
    [
        ({"relevance_score": 0.5, "score": 2}, 0.5),
        ({"score": 2}, 2.0),
        ({"score": float("nan")}, None),
        ({"score": True}, None),
        ({"score": "high"}, None),
        ({}, None),
    ],
)
def test_a_score_in_the_metadata_is_used_when_it_is_a_number(metadata, score):
    scored = RunnableLambda(lambda query: [Document(page_content="text", metadata=metadata)])
    assert retrieve(scored)[0].score == score


def test_a_score_that_an_earlier_compressor_came_to_as_well_is_a_score():
    class Scores(BaseDocumentTransformer):
        def transform_documents(self, documents, **options):
            scored = zip(documents, (0.9, 0.5), strict=False)
            return [one.model_copy(update={"metadata": {**one.metadata, "score": score}}) for one, score in scored]

    class Turns(BaseDocumentTransformer):
        def transform_documents(self, documents, **options):
            return list(reversed(documents))

    def rerank(transformer):
        (stage,) = reranker_stages(transformer)
        return [hit.score for hit in stage.reranker.rerank_one(QUERY, ranking)]

    carried = [Document(page_content=text, metadata={"score": score}) for text, score in (("one", 0.9), ("two", 0.7))]
    ranking = Ranking.of((chunk_of(document), None) for document in carried)
    assert rerank(Scores()) == [0.9, 0.5]
    assert rerank(Turns()) == [None, None]  # it noted nothing: what is carried along is an earlier one's
