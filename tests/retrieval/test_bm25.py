from __future__ import annotations

import pytest

from raglift.errors import ConfigurationError
from raglift.records import Chunk
from raglift.retrieval import BM25Retriever

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
