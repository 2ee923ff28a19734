"""What a model makes of a text depends on that text alone: shapes, and what they promise of real models."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.retrieval.batches import can_be_padded, can_count_tokens, compute_by_shape, fixed_rows, prompt_of, shape_of
from raglift.retrieval.embedding import SentenceTransformerEmbedder, embed
from raglift.retrieval.late_interaction import LateInteractionReranker
from raglift.retrieval.models import load_sentence_transformer
from raglift.utilities.cache import Cache

pytestmark = pytest.mark.slow

WORDS = [
    "the",
    "keeper",
    "lit",
    "lamp",
    "at",
    "dusk",
    "and",
    "wrote",
    "of",
    "herring",
    "boats",
    "fog",
    "horns",
    "tides",
]
QUERIES = ["When is the lamp lit?", "Who sold herring by the barrel?"]


def text_of(words: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))  # noqa: S311 — no secret


TEXTS = ["", *(text_of(words, words) for words in (1, 13, 14, 31, 62, 126, 254, 300))]
# Several in one batch, and some that the model reads in part
TEXTS += [text_of(13, 1), text_of(280, 1), text_of(280, 2)]


@contextmanager
def threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def on_one_thread() -> Iterator[None]:
    """For speed, where other tests run next to these."""
    with threads(1):
        yield


@given(st.integers(1, 2000), st.one_of(st.none(), st.integers(1, 600)))
def test_a_shape_holds_what_the_model_reads_of_a_text_and_little_more(tokens: int, limit: int | None) -> None:
    shape = shape_of(tokens, limit)
    read = tokens if limit is None else min(tokens, limit)
    assert read <= shape.length <= read + 16
    assert limit is None or shape.length <= limit
    assert shape.length % 16 == 0 or shape.length == limit
    assert shape.full == (shape.length == read)


def test_results_are_in_the_order_of_the_items_and_each_item_is_padded_by_its_own_length() -> None:
    asked: list[tuple[list[int], int]] = []

    def compute(batch: list[int], given: dict[str, dict[str, dict[str, int]]]) -> list[int]:
        asked.append((batch, given["processing_kwargs"]["text"]["max_length"]))
        return [-item for item in batch]

    items = [20, 3, 21, 300]
    assert compute_by_shape(compute, items, items, limit=256) == [-20, -3, -21, -300]
    assert asked == [([3], 16), ([20, 21], 32), ([300], 256)]
    asked.clear()
    items = [20, 3, 21, 22]
    assert compute_by_shape(compute, items, items, limit=256, rows=2) == [-20, -3, -21, -22]
    assert asked == [([3, 3], 16), ([20, 21], 32), ([22, 22], 32)]


def test_vectors_and_scores_depend_on_their_texts_alone() -> None:
    """Among others, in another order, and after others that are in the cache."""
    embedder, cache = SentenceTransformerEmbedder(), Cache(None)
    alone = [embed(embedder, [text], "document", Cache(None)).vectors.tobytes() for text in TEXTS]
    embed(embedder, TEXTS[::3], "document", cache)
    together = embed(embedder, TEXTS[::-1], "document", cache).vectors[::-1]
    assert [vector.tobytes() for vector in together] == alone
    directly = embedder.embed(TEXTS[:4], "document")  # in no planned part
    rows = directly / np.linalg.norm(directly, axis=1, keepdims=True)
    assert [row.tobytes() for row in rows] == alone[:4]

    def reranker() -> LateInteractionReranker:
        return LateInteractionReranker(cache=cache)

    pairs = [(query, text) for query in QUERIES for text in [*TEXTS[::5], text_of(400, 7)]]
    cache = Cache(None)
    scores = {pair: LateInteractionReranker(cache=Cache(None)).score([pair])[0] for pair in pairs}
    reranker().scores(pairs[::3])
    assert reranker().scores(pairs[::-1]) == scores


def test_minilm_can_be_padded_and_a_model_with_ways_of_its_own_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_sentence_transformer("minilm", "float32")
    assert can_be_padded(model)
    monkeypatch.setattr(model[0], "processing_kwargs", {"text": {"max_length": 8}})
    assert not can_be_padded(model)


def test_the_prompt_that_a_model_puts_before_documents_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_sentence_transformer("minilm", "float32")
    assert prompt_of(model, "document") == ""
    monkeypatch.setattr(model, "prompts", {"query": "ask: ", "passage": "read: "})
    assert prompt_of(model, "document") == "read: "
    assert prompt_of(model, "query") == "ask: "
    monkeypatch.setattr(model, "prompts", {"query": "ask: "})
    monkeypatch.setattr(model, "default_prompt_name", "query")
    assert prompt_of(model, "document") == "ask: "


def test_static_models_are_not_padded_and_any_number_of_rows_will_do_on_an_accelerator() -> None:
    assert not can_count_tokens([object()])
    assert fixed_rows(SimpleNamespace(device="cuda:1")) is None
