from __future__ import annotations

import pickle

import numpy as np
import pytest

from raglift.retrieval.late_interaction import LateInteractionReranker
from raglift.retrieval.models import minilm_path
from raglift.retrieval.rerankers import Reranker
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking
from raglift.utilities.cache import Cache

pytestmark = pytest.mark.slow

QUERY = "When is the lamp lit?"
TEXTS = ["Herring were sold by the barrel.", "The lamp is lit at dusk, never later.", "The keeper's boat."]
RANKING = Ranking.of((Chunk(text), 0.5) for text in TEXTS)


def scores_of(reranker: LateInteractionReranker) -> dict[tuple[str, str], float]:
    return reranker.scores([(QUERY, text) for text in TEXTS])


def test_the_chunk_that_answers_comes_first() -> None:
    reranker = LateInteractionReranker(cache=Cache(None))
    assert isinstance(reranker, Reranker)
    reranked = reranker.rerank([QUERY], [RANKING])[0]
    assert reranked[0].chunk.text == TEXTS[1]
    assert [hit.rank for hit in reranked] == [1, 2, 3]
    assert {hit.chunk.id for hit in reranked} == {hit.chunk.id for hit in RANKING}


def test_scores_are_maxsim_over_the_models_own_token_embeddings() -> None:
    """Computed apart from sentence-transformers' multi-vector classes: transformers and numpy alone."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    path = str(minilm_path())
    tokenizer, model = AutoTokenizer.from_pretrained(path), AutoModel.from_pretrained(path)

    def tokens(text: str) -> np.ndarray:
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=256))
        vectors = states.last_hidden_state[0].numpy()
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    query = tokens(QUERY)
    expected = [float((query @ tokens(text).T).max(axis=1).sum()) for text in TEXTS]
    found = scores_of(LateInteractionReranker(dtype="float32", cache=Cache(None)))
    assert [found[QUERY, text] for text in TEXTS] == pytest.approx(expected, abs=1e-4)


def test_each_text_and_each_query_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = LateInteractionReranker(cache=Cache(None))
    encoder = reranker._encoder
    encoded: list[str] = []
    for name in ("encode_document", "encode_query"):
        method = getattr(encoder, name)
        seen = lambda texts, method=method, **given: encoded.extend(texts) or method(texts, **given)  # noqa: E731
        monkeypatch.setattr(encoder, name, seen)
    texts = [f"{'The lamp is lit at dusk. ' * 10}{number}" for number in range(40)]
    queries = [QUERY, "Who keeps the boat?"]
    reranker.scores([(query, text) for query in queries for text in texts])
    assert sorted(encoded) == sorted(queries + texts)


def test_scores_that_the_cache_has_need_no_model() -> None:
    cache = Cache(None)
    made = LateInteractionReranker(cache=cache).scores([(QUERY, TEXTS[0])])
    reranker = LateInteractionReranker(cache=cache)
    assert reranker.scores([(QUERY, TEXTS[0])]) == made
    assert "_encoder" not in vars(reranker)


class Elsewhere:
    """Scores what arrives after a journey."""

    def map(self, function, items):
        for item in items:
            there, what = pickle.loads(pickle.dumps((function, item)))  # noqa: S301 — our own
            yield item, there(what)


def test_it_travels_as_a_name_and_settings_and_scores_the_same_there() -> None:
    reranker = LateInteractionReranker(cache=Cache(None))
    here = scores_of(reranker)
    assert len(pickle.dumps(reranker)) < 500
    assert LateInteractionReranker(cache=Cache(None)).scores(list(here), workers=Elsewhere()) == here
