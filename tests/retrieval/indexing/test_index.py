from __future__ import annotations

import pytest

from raglift.errors import ConfigurationError
from raglift.retrieval.embedding import SentenceTransformerEmbedder, build_index
from raglift.types.documents import Chunk
from raglift.utilities.cache import Cache

pytestmark = pytest.mark.slow

CHUNKS = [Chunk("The lamp is lit at dusk."), Chunk("Herring were sold by the barrel."), Chunk("The horn sounds.")]


def test_no_chunks_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="found no chunks; expected at least one"):
        build_index([], SentenceTransformerEmbedder(), cache=Cache(None))


def test_the_cost_is_of_distinct_texts_that_the_model_embedded() -> None:
    index = build_index([*CHUNKS, Chunk(CHUNKS[0].text, id="again")], SentenceTransformerEmbedder(), cache=Cache(None))
    cost = index.cost
    assert (cost.chunks, cost.distinct_texts, cost.embedded_now) == (4, 3, 3)
    assert cost.seconds is not None
    assert cost.seconds > 0
    assert cost.bytes == 4 * 384 * 4


def test_time_is_unknown_when_any_vector_came_from_the_cache() -> None:
    cache = Cache(None)
    build_index(CHUNKS[:1], SentenceTransformerEmbedder(), cache=cache)
    partly = build_index(CHUNKS, SentenceTransformerEmbedder(), cache=cache).cost
    wholly = build_index(CHUNKS, SentenceTransformerEmbedder(), cache=cache).cost
    assert (partly.embedded_now, partly.seconds) == (2, None)
    assert (wholly.embedded_now, wholly.seconds) == (0, None)
