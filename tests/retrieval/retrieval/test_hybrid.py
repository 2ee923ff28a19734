from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.errors import ConfigurationError
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.retrievers import HybridRetriever, fuse
from raglift.running.evaluation import evaluate
from raglift.running.systems import LocalSystem, build_retriever
from raglift.types.dataset import Dataset
from raglift.types.documents import Chunk, Document
from raglift.types.filters import Filter
from raglift.types.rankings import Ranking

LETTERS = "abcdefgh"


def ranking(letters: str) -> Ranking:
    return Ranking.of((Chunk(f"the text of {letter}", id=letter), 0.5) for letter in letters)


class Known:
    """A retriever of known rankings, and the depths that it was asked for."""

    def __init__(self, *rankings: str) -> None:
        self.rankings = rankings
        self.asked: list[int] = []

    def retrieve(self, queries: Any, k: int) -> list[Ranking]:
        self.asked.append(k)
        return [ranking(letters[:k]) for letters in self.rankings]


class WithDepthOfAPart:
    """A retriever of all its chunks, whose model read some of them in part."""

    def __init__(self, letters: str, read_in_part: int) -> None:
        self.chunks = ranking(letters).chunks
        self.index = type("Index", (), {"read_in_part": read_in_part, "distinct": 10})()

    def retrieve(self, queries: Any, k: int) -> list[Ranking]:
        return [Ranking.of((chunk, None) for chunk in self.chunks[:k]) for _ in queries]


def ids(fused: Ranking) -> str:
    return "".join(hit.chunk.id for hit in fused)


def test_scores_are_those_of_the_paper() -> None:
    # a: ranks 1 and 3; b: 2 and 1; c: 3 and none; d: none and 2
    [fused] = fuse([[ranking("abc")], [ranking("bda")]])
    assert ids(fused) == "badc"
    expected = [1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62, 1 / 63]
    assert [hit.score for hit in fused] == pytest.approx(expected, abs=1e-15)
    assert [hit.rank for hit in fused] == [1, 2, 3, 4]


def test_weights_and_the_constant_decide_how_much_a_rank_counts() -> None:
    parts = [[ranking("ab")], [ranking("ba")]]
    assert ids(fuse(parts, (0.3, 0.7))[0]) == "ba"
    assert ids(fuse(parts, (0.7, 0.3))[0]) == "ab"
    # first once and ninth once against third twice: with a small constant, first locations stand out
    one, other = "axcdefghb", "byzdefgha"
    lists = [[ranking(one.replace("c", "q"))], [ranking(other.replace("z", "q"))]]
    assert ids(fuse(lists, constant=0)[0])[0] == "a"
    assert ids(fuse(lists, constant=1000)[0])[0] == "q"


def test_equal_scores_keep_the_order_of_the_first_ranking() -> None:
    assert ids(fuse([[ranking("ab")], [ranking("ba")]])[0]) == "ab"
    assert ids(fuse([[ranking("ba")], [ranking("ab")]])[0]) == "ba"
    # what the first ranking does not hold comes after what it does
    assert ids(fuse([[ranking("a")], [ranking("b")]])[0]) == "ab"
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in their last bits: no reason to prefer either
    three = [[ranking("abc")], [ranking("bca")], [ranking("cab")]]
    assert ids(fuse(three)[0]) == "abc"
    assert len({hit.score for hit in fuse(three)[0]}) == 1


RANKINGS = st.permutations(LETTERS).flatmap(lambda order: st.integers(0, 8).map(lambda n: "".join(order)[:n]))
WEIGHTS = st.floats(0.01, 100)


@pytest.mark.slow
@given(st.lists(RANKINGS, min_size=2, max_size=4), st.data(), st.integers(0, 100))
def test_every_score_is_the_sum_in_exact_arithmetic(lists: list[str], data: st.DataObject, constant: int) -> None:
    weights = data.draw(st.lists(WEIGHTS, min_size=len(lists), max_size=len(lists)))
    [fused] = fuse([[ranking(letters)] for letters in lists], weights, constant)
    assert sorted(ids(fused)) == sorted(set("".join(lists)))
    for hit in fused:
        exact = sum(
            Fraction(weight) / (constant + letters.index(hit.chunk.id) + 1)
            for weight, letters in zip(weights, lists, strict=True)
            if hit.chunk.id in letters
        )
        assert hit.score == pytest.approx(float(exact), rel=1e-12)
    scores = [hit.score or 0 for hit in fused]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.slow
def test_ranx_fuses_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)  # compiling takes longer than all of these tests
    ranx = pytest.importorskip("ranx")
    lists = ["abcdefgh", "hcbxyz", "qa"]
    runs = [ranx.Run({"q": {letter: float(99 - rank) for rank, letter in enumerate(letters)}}) for letters in lists]
    theirs = ranx.fuse(runs=runs, method="rrf", params={"k": 60}).to_dict()["q"]
    [ours] = fuse([[ranking(letters)] for letters in lists])
    assert {hit.chunk.id: hit.score for hit in ours} == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"retrievers": [Known("a")]}, "found 1 retrievers; expected two or more"),
        ({"retrievers": [Known("a"), "bm25"]}, "found a str; expected objects with retrieve"),
        ({"weights": (1,)}, r"found \(1,\); expected 2 numbers above 0"),
        ({"weights": (1, 0)}, "expected 2 numbers above 0"),
        ({"constant": -1}, "found -1; expected an integer, 0 or more"),
        ({"constant": 1.5}, "found 1.5; expected an integer"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        HybridRetriever(**{"retrievers": [Known("a"), Known("a")], **arguments})


def test_rankings_of_different_queries_are_not_fused() -> None:
    with pytest.raises(ConfigurationError, match="found rankings of different queries"):
        fuse([[ranking("a"), ranking("b")], [ranking("a")]])


def test_a_hybrid_takes_filters_where_all_its_parts_do() -> None:
    bm25 = BM25Retriever([Chunk("The lamp is lit.", metadata={"year": year}, id=str(year)) for year in (2023, 2024)])
    hybrid = HybridRetriever([bm25, bm25])
    assert hybrid.takes_filters
    assert not HybridRetriever([bm25, Known("a")]).takes_filters
    filters = [Filter.of({"year": {"gte": 2024}}), None]
    assert [ids(found) for found in hybrid.retrieve(["lamp", "lamp"], 5, filters)] == ["2024", "20232024"]


@pytest.mark.slow
def test_a_hybrid_of_raglifts_own_parts_finds_what_either_finds() -> None:
    texts = ("The lamp is lit at dusk.", "Herring were sold by the barrel.", "The horn gives two blasts in the fog.")
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    data = Dataset.from_dict({"When is the lamp lit?": [texts[0]], "How many blasts?": [texts[2]]}, documents=documents)
    hybrid = build_retriever(data, LocalSystem("hybrid(dense=0.7,bm25=0.3)"), progress=False)
    evaluation = evaluate(hybrid, data, ks=(2,), depth="deep", candidates=3, progress=False)
    assert evaluation.failure_analysis().chunks_known
    dense, bm25 = (part.retrieve([query.text for query in data.queries], 3) for part in hybrid.retrievers)
    expected = fuse([dense, bm25], (0.7, 0.3), k=3)
    assert [ids(trace.stages[0].ranking) for trace in evaluation.run.traces] == [ids(each) for each in expected]
