from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from raglift.errors import ConfigurationError, ModelError
from raglift.retrieval.cross_encoder import CrossEncoderReranker
from raglift.retrieval.rerankers import Reranker
from raglift.types.documents import Chunk
from raglift.types.rankings import Ranking
from raglift.utilities.cache import Cache

pytestmark = pytest.mark.slow

QUERIES = ["who is the keeper", "what is the fog horn"]
TEXTS = ["the lamp", "the fog horn of the island", "a boat", "the tide", "keeper of the lamp"]
RANKING = Ranking.of((Chunk(text), None) for text in TEXTS)


def test_scores_are_those_of_the_cross_encoder_itself(tiny_cross_encoder: Path) -> None:
    from sentence_transformers import CrossEncoder

    reranker = CrossEncoderReranker(str(tiny_cross_encoder), dtype="float32", cache=Cache(None))
    assert isinstance(reranker, Reranker)
    pairs = [(query, text) for query in QUERIES for text in TEXTS]
    found = reranker.scores(pairs)
    expected = CrossEncoder(str(tiny_cross_encoder)).predict(pairs, show_progress_bar=False)
    assert [found[pair] for pair in pairs] == pytest.approx([float(score) for score in expected], abs=1e-5)
    assert len({round(score, 6) for score in found.values()}) > 5  # the random model does tell texts apart


def test_each_distinct_pair_is_scored_once_and_kept(tiny_cross_encoder: Path) -> None:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(tiny_cross_encoder))
    asked: list[int] = []
    predict = model.predict
    model.predict = lambda pairs, **settings: asked.append(len(set(pairs))) or predict(pairs, **settings)  # type: ignore[method-assign]
    reranker = CrossEncoderReranker(model)
    twice = Ranking.of((Chunk(text, id=str(number)), None) for number, text in enumerate([*TEXTS, *TEXTS]))
    reranker.rerank([QUERIES[0]], [twice])
    reranker.rerank([QUERIES[0]], [RANKING])
    assert asked == [len(TEXTS)]


def test_a_score_that_is_not_a_number_is_an_error(tiny_cross_encoder: Path) -> None:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(tiny_cross_encoder))
    model.predict = lambda pairs, **_: [float("nan")] * len(pairs)  # type: ignore[method-assign]
    with pytest.raises(ModelError, match="gave nan for the query 'who is the keeper'"):
        CrossEncoderReranker(model).rerank(QUERIES[:1], [RANKING])


LONG = [*TEXTS, *("the lamp of the island " * number for number in range(1, 16))]


@pytest.mark.parametrize(("dtype", "as_object"), [("float32", False), ("bfloat16", True)])
def test_a_score_depends_on_its_pair_alone(tiny_cross_encoder: Path, dtype: str, as_object: bool) -> None:
    """Among others, in another order, and after others that are in the cache."""
    import torch
    from sentence_transformers import CrossEncoder

    given: Any = str(tiny_cross_encoder)
    if as_object:
        given = CrossEncoder(given, model_kwargs={"dtype": getattr(torch, dtype)})

    def reranker() -> CrossEncoderReranker:
        return CrossEncoderReranker(given, dtype=dtype, cache=Cache(None))

    pairs = [(query, text) for query in QUERIES for text in LONG]
    alone = {pair: reranker().scores([pair])[pair] for pair in pairs[::3]}
    together = reranker().scores(pairs[::-1])
    half = reranker()
    half.scores(pairs[5:20])
    assert half.scores(pairs) == together
    assert {pair: together[pair] for pair in alone} == alone
    batch = pairs[::2]  # in no planned batch
    assert reranker().score(batch) == [together[pair] for pair in batch]


def test_a_named_model_travels_and_an_object_says_that_it_cannot(tiny_cross_encoder: Path) -> None:
    from sentence_transformers import CrossEncoder

    pair = (QUERIES[0], TEXTS[0])
    reranker = CrossEncoderReranker(str(tiny_cross_encoder), cache=Cache(None))
    score = reranker.scores([pair])[pair]
    sent = pickle.dumps(reranker)
    assert len(sent) < 1000
    assert pickle.loads(sent).score([pair]) == [score]  # noqa: S301 — our own
    with pytest.raises(ConfigurationError, match="found a model given as an object"):
        pickle.dumps(CrossEncoderReranker(CrossEncoder(str(tiny_cross_encoder))))
