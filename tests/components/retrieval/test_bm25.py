from __future__ import annotations

import pytest

from raglift.components.retrievers import BM25Retriever, Indexed
from raglift.errors import ConfigurationError
from raglift.records.documents import Chunk

CHUNKS = [Chunk("The lamp is lit at dusk."), Chunk("Herring were sold by the barrel."), Chunk("The lamp, the LAMP!")]


def test_chunks_that_share_words_come_back_best_first() -> None:
    ranking = BM25Retriever(CHUNKS).retrieve(["lamp"], 5)[0]
    assert [hit.chunk for hit in ranking] == [CHUNKS[2], CHUNKS[0]]
    assert ranking[0].score is not None
    assert ranking[0].score > (ranking[1].score or 0) > 0


def test_a_query_that_shares_no_word_comes_back_empty() -> None:
    assert len(BM25Retriever(CHUNKS).retrieve(["submarine"], 5)[0]) == 0
    assert len(BM25Retriever(CHUNKS).retrieve(["?!"], 5)[0]) == 0


def test_chunks_without_words_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="found no words"):
        BM25Retriever([Chunk("…")])


def test_the_cost_is_of_the_postings_and_the_words() -> None:
    retriever = BM25Retriever([*CHUNKS, Chunk(CHUNKS[0].text, id="again")])
    cost = retriever.cost
    assert isinstance(retriever, Indexed)
    assert (cost.chunks, cost.distinct_texts, cost.embedded_now) == (4, 3, 0)
    assert cost.seconds is not None
    assert cost.seconds > 0
    postings, letters = 6 + 6 + 2 + 6, len("thelampislitatduskherringweresoldbybarrel")
    assert cost.bytes >= 8 * postings + letters  # a score and a chunk number for each posting, four bytes each
    more = BM25Retriever([*CHUNKS, Chunk("the keeper rows out")]).cost
    assert BM25Retriever(CHUNKS).cost.bytes < more.bytes
