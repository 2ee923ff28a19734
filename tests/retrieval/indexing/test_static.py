from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from raglift.datasets.loading import load_dataset
from raglift.retrieval import static_model as distillation
from raglift.retrieval.static_model import StaticEmbedder
from raglift.running.systems import LocalSystem, build_retriever

pytestmark = pytest.mark.slow

TEXTS = [" ".join(["the lamp keeper", "fog horn", "island boat the"][: 1 + n % 3] * (1 + n % 7)) for n in range(21)]


@pytest.fixture(autouse=True)
def tiny(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distil a tiny model instead of MiniLM."""
    monkeypatch.setenv("RAGLIFT_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(distillation, "embedded_model_path", lambda: tiny_bert)
    monkeypatch.setitem(distillation._SETTINGS, "pca_dims", 16)


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


def test_a_system_is_made_of_it_by_name() -> None:
    parts = LocalSystem(embedding="minilm-static")
    retriever = build_retriever(load_dataset("lighthouse"), parts, progress=False)
    assert "model2vec-" in str(retriever)
    (ranking,) = retriever.retrieve(["When does the ferry leave?"], 3)
    assert len(ranking) == 3
