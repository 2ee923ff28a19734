from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from raglift.adapters.embeddings import embedder_by_name
from raglift.datasets.loading import load_dataset
from raglift.retrieval import static_model as distillation
from raglift.retrieval.embedding import build_index, embed
from raglift.retrieval.retrievers import DenseRetriever
from raglift.retrieval.static_model import StaticEmbedder
from raglift.running.systems import LocalSystem, build_retriever
from raglift.types.documents import Chunk
from raglift.utilities.cache import Cache

TEXTS = [" ".join(["the lamp keeper", "fog horn", "island boat the"][: 1 + n % 3] * (1 + n % 7)) for n in range(21)]


@pytest.fixture(autouse=True)
def tiny(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distil a tiny model instead of MiniLM."""
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(distillation, "embedded_model_path", lambda: tiny_bert)
    monkeypatch.setitem(distillation._SETTINGS, "pca_dims", 16)


def test_it_goes_by_its_name_and_says_so_in_its_identity() -> None:
    embedder = embedder_by_name("minilm-static", dtype="bfloat16")
    assert isinstance(embedder, StaticEmbedder)
    assert ":float32:" in embedder.identity


def test_whether_it_is_there_is_told_without_making_it() -> None:
    embedder = StaticEmbedder()
    assert not embedder.has_known_identity
    assert not embedder.has_known_identity
    assert embedder.identity
    assert embedder.has_known_identity


def test_a_vector_does_not_depend_on_its_batch() -> None:
    embedder = StaticEmbedder()
    together = embedder.embed(TEXTS, "document")
    assert together.shape == (21, 16)
    assert together.dtype == np.float32
    assert np.array_equal(together, np.concatenate([embedder.embed([text], "query") for text in TEXTS]))


def test_it_reads_a_text_of_any_length_to_its_end() -> None:
    embedder = StaticEmbedder()
    long = "the lamp " * 5_000
    one, other = embedder.embed([long, long + "boat " * 5_000], "document")
    assert float(one @ other) < 0.99
    assert embedder.read_in_part([long, "boat"]) == [False, False]


def test_a_short_text_is_not_filled_up() -> None:
    """The mean of a word said once and said often is the same, unless something else is counted in."""
    once, often = StaticEmbedder().embed(["lamp", "lamp " * 30], "query")
    np.testing.assert_allclose(once, often, atol=1e-6)


def test_a_plan_holds_each_text_once_longest_last_and_does_not_depend_on_the_order() -> None:
    texts = [f"{'x' * (number % 50)}{number}" for number in range(3_000)]
    plan = StaticEmbedder().plan(texts)
    assert [len(batch) for batch in plan] == [1024, 1024, 952]
    flat = [text for batch in plan for text in batch]
    assert sorted(flat) == sorted(texts)
    assert [len(text) for text in flat] == sorted(map(len, texts))
    assert StaticEmbedder().plan(texts[::-1]) == plan


@pytest.mark.parametrize("text", ["", " ", "☃", "\x00", "\udcff"])
def test_a_text_without_a_word_has_finite_numbers(text: str) -> None:
    assert np.isfinite(embed(StaticEmbedder(), [text, "lamp"], "document", Cache(None)).vectors).all()


def test_it_retrieves() -> None:
    chunks = [Chunk(text, id=text) for text in ("fog horn", "lamp keeper", "island boat")]
    index = build_index(chunks, StaticEmbedder(), cache=Cache(None))
    assert index.read_in_part == index.cost.read_in_part == 0
    (ranking,) = DenseRetriever(index).retrieve(["the keeper of the lamp"], 3)
    assert ranking[0].chunk.text == "lamp keeper"


def test_a_system_is_made_of_it_by_name() -> None:
    parts = LocalSystem(embedding="minilm-static")
    retriever = build_retriever(load_dataset("lighthouse"), parts, progress=False)
    assert "model2vec-" in str(retriever)
    (ranking,) = retriever.retrieve(["When does the ferry leave?"], 3)
    assert len(ranking) == 3


def test_it_travels_to_another_process_without_its_vectors() -> None:
    embedder = StaticEmbedder()
    embedder.embed(["lamp"], "query")
    assert len(pickle.dumps(embedder)) < 200
