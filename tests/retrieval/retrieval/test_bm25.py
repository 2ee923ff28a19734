from __future__ import annotations

import math
import sys
from typing import Any

import pytest

from raglift.errors import ConfigurationError, MissingDependency
from raglift.retrieval import analyzers
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.passage_search import PassageSearch
from raglift.retrieval.retrievers import Indexed
from raglift.types.documents import Chunk

CHUNKS = [Chunk("The lamp is lit at dusk."), Chunk("Herring were sold by the barrel."), Chunk("The lamp, the LAMP!")]


@pytest.mark.slow
def test_chunks_that_share_words_come_back_best_first() -> None:
    ranking = BM25Retriever(CHUNKS).retrieve(["lamp"], 5)[0]
    assert [hit.chunk for hit in ranking] == [CHUNKS[2], CHUNKS[0]]
    assert ranking[0].score is not None
    assert ranking[0].score > (ranking[1].score or 0) > 0


@pytest.mark.slow
def test_a_query_that_shares_no_word_comes_back_empty() -> None:
    assert len(BM25Retriever(CHUNKS).retrieve(["submarine"], 5)[0]) == 0
    assert len(BM25Retriever(CHUNKS).retrieve(["?!"], 5)[0]) == 0


def test_chunks_without_words_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="found no words"):
        BM25Retriever([Chunk("…")])


def test_the_cost_is_of_the_postings_and_the_words() -> None:
    retriever = BM25Retriever([*CHUNKS, Chunk(CHUNKS[0].text, id="again")], language="none")
    cost = retriever.cost
    assert isinstance(retriever, Indexed)
    assert (cost.chunks, cost.distinct_texts, cost.embedded_now) == (4, 3, 0)
    assert cost.seconds is not None
    assert cost.seconds > 0
    postings, letters = 6 + 6 + 2 + 6, len("thelampislitatduskherringweresoldbybarrel")
    assert cost.bytes >= 8 * postings + letters  # a score and a chunk number for each posting, four bytes each
    more = BM25Retriever([*CHUNKS, Chunk("keepers rowing boats")]).cost
    assert BM25Retriever(CHUNKS).cost.bytes < more.bytes


def test_scores_are_those_of_lucenes_formula() -> None:
    k1, b = 0.9, 0.4
    texts = ["lamp lamp oil", "oil", "herring barrel oil lamp salt", "salt"]
    lengths = [len(text.split()) for text in texts]
    ranking = BM25Retriever([Chunk(text) for text in texts], language="none", k1=k1, b=b).retrieve(["lamp oil oil"], 9)[
        0
    ]

    def weight(term: str, place: int) -> float:
        with_term = sum(term in text.split() for text in texts)
        count = texts[place].split().count(term)
        norm = k1 * (1 - b + b * lengths[place] / (sum(lengths) / len(lengths)))
        return math.log(1 + (len(texts) - with_term + 0.5) / (with_term + 0.5)) * count / (count + norm)

    expected = {texts[place]: weight("lamp", place) + 2 * weight("oil", place) for place in range(3)}
    assert {hit.chunk.text: hit.score for hit in ranking} == pytest.approx(expected, rel=1e-6)
    assert [hit.chunk.text for hit in ranking] == sorted(expected, key=expected.__getitem__, reverse=True)


def test_equal_scores_keep_the_order_of_the_chunks_however_many_are_asked_for() -> None:
    retriever = BM25Retriever([Chunk(f"salt {'oil ' * (number % 3)}", id=str(number)) for number in range(60)])
    whole = [hit.chunk.id for hit in retriever.retrieve(["salt"], 60)[0]]
    assert whole == sorted(map(str, range(60)), key=lambda name: (int(name) % 3, int(name)))
    assert all([hit.chunk.id for hit in retriever.retrieve(["salt"], k)[0]] == whole[:k] for k in (0, 1, 7, 20, 21, 59))


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"k1": -1}, "bm25 k1: found -1; expected a number, 0 or more"),
        ({"k1": float("nan")}, "bm25 k1: found nan"),
        ({"b": 1.5}, "bm25 b: found 1.5; expected a number from 0 to 1"),
        ({"b": "x"}, "bm25 b: found 'x'"),
        ({"language": "xx"}, "bm25 language: found 'xx'"),
    ],
)
def test_settings_outside_their_range_are_refused(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        BM25Retriever(CHUNKS, **settings)


@pytest.mark.parametrize(("package", "named"), [("bm25s", "bm25s"), ("Stemmer", "PyStemmer")])
def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, package: str, named: str) -> None:
    analyzers._stem.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency, match=named):
        BM25Retriever(CHUNKS, stemmer="porter")


def test_labelled_passages_without_a_word_are_asked_for_by_no_search() -> None:
    assert PassageSearch(["...", None, "?!"])("lamp") == frozenset()
    assert PassageSearch(["...", None, "The lamp."])("lamp") == {2}
