from __future__ import annotations

import numpy as np
import pytest

from raglift.cache import Cache
from raglift.errors import ConfigurationError
from raglift.indexing import SentenceTransformerEmbedder, build_index, embed
from raglift.records import Chunk

CHUNKS = [Chunk("The lamp is lit at dusk."), Chunk("Herring were sold by the barrel."), Chunk("The horn sounds.")]


def test_scores_are_cosine_similarities_best_first() -> None:
    index = build_index(CHUNKS, SentenceTransformerEmbedder(), cache=Cache(None))
    scores, numbers = index.search(["When is the lamp lit?"], 3)
    assert numbers[0, 0] == 0
    assert list(scores[0]) == sorted(scores[0], reverse=True)
    assert -1 <= scores.min() <= scores.max() <= 1


def test_no_more_hits_come_back_than_there_are_chunks() -> None:
    index = build_index(CHUNKS, SentenceTransformerEmbedder(), cache=Cache(None))
    scores, numbers = index.search(["lamp", "horn"], 50)
    assert scores.shape == numbers.shape == (2, 3)


def test_the_search_is_exact() -> None:
    index = build_index(CHUNKS, SentenceTransformerEmbedder(), cache=Cache(None))
    query = embed(SentenceTransformerEmbedder(), ["fog horn"], "query", Cache(None)).vectors[0]
    scores, numbers = index.search(["fog horn"], 3)
    assert np.sort(index.vectors @ query)[::-1] == pytest.approx(scores[0], abs=1e-5)
    assert sorted(numbers[0]) == [0, 1, 2]


def test_no_chunks_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="found no chunks; expected at least one"):
        build_index([], SentenceTransformerEmbedder(), cache=Cache(None))
