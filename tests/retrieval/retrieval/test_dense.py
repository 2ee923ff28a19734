from __future__ import annotations

import pytest

from raglift.retrieval.embedding import SentenceTransformerEmbedder, build_index
from raglift.retrieval.retrievers import DenseRetriever, Retriever
from raglift.types.documents import Chunk
from raglift.utilities.cache import Cache

CHUNKS = [Chunk("The lamp is lit at dusk."), Chunk("Herring were sold by the barrel.")]


@pytest.mark.slow
def test_each_query_gets_its_own_ranking_in_order() -> None:
    retriever = DenseRetriever(build_index(CHUNKS, SentenceTransformerEmbedder(), cache=Cache(None)))
    assert isinstance(retriever, Retriever)
    lamp, herring = retriever.retrieve(["When is the lamp lit?", "How was herring sold?"], 1)
    assert lamp[0].chunk is CHUNKS[0]
    assert herring[0].chunk is CHUNKS[1]
    assert (lamp[0].rank, len(lamp)) == (1, 1)
