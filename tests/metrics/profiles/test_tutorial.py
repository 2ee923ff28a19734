"""The tutorial's figures, and its profile against the functional forms on the same texts."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raglift.matching.match import match_rankings
from raglift.matching.rule import MatchRule
from raglift.metrics.computing import compute
from raglift.metrics.functional import dcg, f1_at_k, hit_rate_at_k, ndcg, precision_at_k, recall_at_k
from raglift.metrics.parsing import parse
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.rankings import Ranking

LABELS = ["It was in July, 1805", "Annette Schérer", "the speaker was Anna Pávlovna"]
RETRIEVED = [
    "Prince Vasíli said nothing.",
    "It was in July,\n1805, and the speaker was the well-known maid of honor.",
    *(f"Page {page}: the guests went on talking." for page in range(3, 7)),
    "ANNETTE SCHÉRER was the hostess.",
    *(f"Page {page}: the guests left." for page in range(8, 11)),
]


def profile_value(metric: str, texts: list[str], labels: list[str]) -> float:
    facts = tuple(Fact((Passage(label),)) for label in labels)
    ranking = Ranking.of((Chunk(text), None) for text in texts)
    (match_table,) = match_rankings([Query("q", "?", facts)], [[ranking]], MatchRule(minimum_length=0))
    return float(compute(match_table, parse(metric), "tutorial")[0])


@pytest.mark.parametrize(
    ("metric", "printed"),
    [("hit_rate@10", "1.00"), ("precision@10", "0.20"), ("recall@10", "0.67"), ("f1@10", "0.31")],
)
def test_the_printed_result_by_the_profile(metric: str, printed: str) -> None:
    assert f"{profile_value(metric, RETRIEVED, LABELS):.2f}" == printed


words = st.lists(st.sampled_from(["war", "peace", "Prince", "July", "the", "of"]), max_size=4).map(" ".join)


@pytest.mark.slow
@given(st.lists(words, max_size=8), st.lists(words.filter(bool), min_size=1, max_size=4), st.integers(1, 10))
def test_the_profile_equals_the_functional_forms(texts: list[str], labels: list[str], k: int) -> None:
    precision, recall = precision_at_k(texts, labels, k), recall_at_k(texts, labels, k)
    relevance = [hit_rate_at_k([text], labels, 1) for text in texts]
    expected = {
        "hit_rate": hit_rate_at_k(texts, labels, k),
        "precision": precision,
        "recall": recall,
        "f1": f1_at_k(precision, recall),
        "dcg": dcg(relevance, k),
        "ndcg": ndcg(relevance[:k], k),  # a tutorial retrieves k, so the list that it sorts is k long
    }
    found = {name: profile_value(f"{name}@{k}", texts, labels) for name in expected}
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_ideal_is_the_retrieved_list_sorted(value) -> None:
    assert value("ndcg@5", ["A", "B", "C"], ["A", "X", "B"], "tutorial") == pytest.approx(0.9197, abs=5e-5)
    assert value("ndcg@5", ["A", "B", "C"], ["A"], "tutorial") == 1


def test_recall_counts_every_alternative_as_a_text(value) -> None:
    assert value("recall@5", [["A", "B", "C"], "D"], ["A", "C"], "tutorial") == 2 / 4
    assert value("recall@5", [["A", "B", "C"], "D"], ["A", "C"]) == 1 / 2


def test_a_hit_is_as_good_as_its_best_passage_however_often_it_came_before(value) -> None:
    labels = [[("A", 3), ("B", 1)], ("A", 2)]
    assert value("dcg@5", labels, ["B", "A", "A"], "tutorial") == pytest.approx(1 + 3 / log2(3) + 3 / log2(4))
    assert value("dcg(gain=exponential)@1", labels, ["A"], "tutorial") == 7


def test_nothing_retrieved_is_zero(value) -> None:
    for metric in ("recall@5", "f1@5", "dcg@5", "idcg@5", "ndcg@5"):
        assert value(metric, ["A"], [], "tutorial") == 0
