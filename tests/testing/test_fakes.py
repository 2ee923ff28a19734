"""The public test doubles."""

import pytest
from langchain_core.documents import Document

from raglift.testing.fakes import FakeReranker, FakeRetriever
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking

CHUNK = Chunk("b", id="b")


def texts(ranking):
    return [hit.chunk.text for hit in ranking]


def test_the_retriever_answers_from_its_table():
    retriever = FakeRetriever({"who?": ["a", CHUNK, ("c", 0.5), Document(page_content="d")]})
    ranking = retriever.retrieve_one("who?", 10)
    assert texts(ranking) == ["a", "b", "c", "d"]
    assert [hit.rank for hit in ranking] == [1, 2, 3, 4]
    assert [hit.score for hit in ranking] == [None, None, 0.5, None]
    assert ranking[1].chunk is CHUNK


def test_the_retriever_keeps_to_the_depth_and_notes_what_was_asked():
    retriever = FakeRetriever({"who?": ["a", "b", "c"]})
    assert texts(retriever.retrieve_one("who?", 2)) == ["a", "b"]
    assert retriever.retrieve_one("what?", 5) == Ranking()
    assert retriever.asked == [("who?", 2), ("what?", 5)]


def test_the_retriever_raises_what_it_is_given():
    error = RuntimeError("no index")
    with pytest.raises(RuntimeError) as caught:
        FakeRetriever({"who?": error}).retrieve_one("who?", 1)
    assert caught.value is error


def test_the_reranker_sorts_by_its_table_and_keeps_ties():
    ranking = Ranking.of([(Chunk(letter), None) for letter in "abcd"])
    (reranked,) = FakeReranker({"c": 2.0, "d": -1.0}).rerank(["who?"], [ranking])
    assert texts(reranked) == ["c", "a", "b", "d"]
    assert [hit.score for hit in reranked] == [2.0, 0.0, 0.0, -1.0]
    assert [hit.rank for hit in reranked] == [1, 2, 3, 4]
    assert texts(ranking) == ["a", "b", "c", "d"]
