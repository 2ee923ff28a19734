from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pytest

from raglift.errors import ModelOutputError
from raglift.retrieval.batches import parts_by_length
from raglift.retrieval.embedding import SentenceTransformerEmbedder, build_index, embed, missing_texts
from raglift.types.documents import Chunk
from raglift.utilities.cache import Cache

Item = TypeVar("Item")
Result = TypeVar("Result")


class LetterEmbedder:
    """Counts letters; remembers each batch it was given."""

    identity = "letters"

    def __init__(self, fail_after: int | None = None, error: type[BaseException] = RuntimeError) -> None:
        self.batches: list[list[str]] = []
        self.error = error
        self.fail_after = fail_after

    def plan(self, texts: Sequence[str]) -> list[list[str]]:
        return parts_by_length(texts, len, 4)

    def embed(self, texts: Sequence[str], kind: str) -> np.ndarray:
        if self.fail_after is not None and len(self.batches) == self.fail_after:
            raise self.error
        self.batches.append(list(texts))
        return np.array([[text.count(letter) + 0.5 for letter in "abc"] for text in texts], dtype=np.float32)

    def read_in_part(self, texts: Sequence[str]) -> list[bool] | None:
        return [len(text) > 90 for text in texts]


TEXTS = ["abc" * (number % 40) + "c" * (number // 40) for number in range(100)]


def test_each_distinct_text_goes_through_the_model_once() -> None:
    embedder = LetterEmbedder()
    embedding = embed(embedder, [*TEXTS, *TEXTS], "document", Cache(None))
    seen = [text for batch in embedder.batches for text in batch]
    assert sorted(seen) == sorted(set(TEXTS))
    assert embedding.computed == len(set(TEXTS))
    assert np.array_equal(embedding.vectors[:100], embedding.vectors[100:])


def test_vectors_have_length_one_and_are_in_the_order_of_the_texts() -> None:
    vectors = embed(LetterEmbedder(), ["a", "bb", "a"], "document", Cache(None)).vectors
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1])
    assert vectors[1].argmax() == 1
    assert np.array_equal(vectors[0], vectors[2])


@pytest.mark.parametrize("value", [np.nan, 1e30])
def test_a_vector_that_is_no_numbers_is_refused_and_not_kept(value: float) -> None:
    class Damaged(LetterEmbedder):
        def embed(self, texts: Sequence[str], kind: str) -> np.ndarray:
            vectors = super().embed(texts, kind)
            vectors[0, 1] = value
            return vectors

    cache = Cache(None)
    with pytest.raises(ModelOutputError, match=r"found 1 vectors of .* that are not numbers"):
        embed(Damaged(), ["aa", "b"], "document", cache)
    assert missing_texts(Damaged(), ["aa", "b"], "document", cache) != []


@pytest.mark.parametrize("shape", [(3,), (1, 3)])
def test_an_array_without_a_row_for_each_text_is_refused(shape: tuple[int, ...]) -> None:
    class Wrong(LetterEmbedder):
        def embed(self, texts: Sequence[str], kind: str) -> np.ndarray:
            return np.ones(shape)

    with pytest.raises(ModelOutputError, match=rf"found an array of shape {re.escape(str(shape))} for 2 texts"):
        embed(Wrong(), ["a", "b"], "document", Cache(None))


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_a_stopped_run_keeps_its_finished_batches_and_repeats_none(stop: type[BaseException]) -> None:
    cache = Cache(None)
    stopped = LetterEmbedder(fail_after=2, error=stop)
    with pytest.raises(stop):
        embed(stopped, TEXTS, "document", cache)
    resumed = LetterEmbedder()
    embed(resumed, TEXTS, "document", cache)
    seen = [text for batch in stopped.batches + resumed.batches for text in batch]
    assert len(stopped.batches) == 2
    assert sorted(seen) == sorted(set(TEXTS))


def test_only_what_is_missing_goes_through_the_model() -> None:
    cache = Cache(None)
    few = sorted(set(TEXTS))[::7]
    embed(LetterEmbedder(), few, "document", cache)
    rest = sorted(set(TEXTS) - set(few))
    assert missing_texts(LetterEmbedder(), [*TEXTS, *TEXTS], "document", cache) == rest
    embedder = LetterEmbedder()
    assert embed(embedder, TEXTS, "document", cache).computed == len(rest)
    assert sorted(text for batch in embedder.batches for text in batch) == rest
    assert missing_texts(LetterEmbedder(), TEXTS, "document", cache) == []
    assert missing_texts(LetterEmbedder(), TEXTS[:3], "query", cache) == sorted(TEXTS[:3])


class Elsewhere:
    """Computes on what arrives after a journey, in another order."""

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[Item, Result]]:
        for item in sorted(items, key=str):
            there, what = pickle.loads(pickle.dumps((function, item)))  # noqa: S301 — our own
            yield item, there(what)


@pytest.mark.slow
def test_minilm_travels_as_a_name_and_settings_and_computes_the_same_there() -> None:
    embedder = SentenceTransformerEmbedder(dtype="float32")
    texts = ["The lamp is lit at dusk.", "Herring were sold by the barrel.", "The keeper's boat. " * 20]
    here = embed(embedder, texts, "document", Cache(None))
    assert len(pickle.dumps(embedder)) < 500
    there = embed(embedder, texts, "document", Cache(None), workers=Elsewhere())
    assert here.vectors.tobytes() == there.vectors.tobytes()


def test_each_query_goes_through_the_model_alone() -> None:
    embedder = LetterEmbedder()
    embed(embedder, TEXTS, "query", Cache(None))
    assert {len(batch) for batch in embedder.batches} == {1}


def test_no_texts_have_no_vectors_and_a_model_that_changed_its_width_is_refused() -> None:
    class Wider(LetterEmbedder):
        def embed(self, texts: Sequence[str], kind: str) -> np.ndarray:
            return np.ones((len(texts), 5), dtype=np.float32)

    cache = Cache(None)
    none = embed(LetterEmbedder(), [], "document", cache)
    assert (none.vectors.shape, none.computed) == ((0, 0), 0)
    index = build_index([Chunk("a")], LetterEmbedder(), cache=cache)
    assert index.query_vectors([]).shape == (0, 3)
    with pytest.raises(ModelOutputError, match="letters: found vectors of 3 and 5 dimensions"):
        embed(Wider(), ["a", "b"], "document", cache)


@pytest.mark.slow
def test_a_model_with_settings_of_its_own_gets_texts_as_it_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["The lamp is lit at dusk.", "Herring were sold by the barrel.", "The keeper's boat. " * 20]
    embedder = SentenceTransformerEmbedder(dtype="float32")
    usual = {kind: embedder.embed(texts, kind) for kind in ("document", "query")}
    model = embedder._loaded
    monkeypatch.setattr(model[0], "processing_kwargs", {"text": {"padding": True}})
    for kind, vectors in usual.items():
        assert embedder.embed(texts, kind) == pytest.approx(vectors, abs=1e-5)
    assert embedder.read_in_part(["lamp", "lamp " * 300]) == [False, True]
    monkeypatch.setattr(model, "max_seq_length", None)
    assert embedder.read_in_part(texts) is None
