"""Metrics at a budget of context tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.matching.matches import MatchTable
from raglift.matching.rule import MatchRule
from raglift.metrics.budgets import tokens
from raglift.metrics.computing import compute
from raglift.metrics.parsing import parse
from raglift.metrics.profiles.registry import PROFILES
from raglift.metrics.rank_measures import Precision, Recall
from raglift.metrics.registry import MEASURES
from raglift.text.tokens import TokenCounts
from raglift.types.documents import Chunk
from raglift.types.labels import Fact, Passage, Query
from raglift.types.metric import Metric
from raglift.types.rankings import Ranking

AT_BUDGETS = sorted(
    name for name, measure in MEASURES.items() if measure.takes_k and not measure.needs_k and not measure.needs_budget
)
"""What is cut at a budget; those that read up to it themselves are in test_prompt_measures.py."""
IDEAL_OF_THREE = 1 + 1 / math.log2(3) + 1 / 2


class Characters(TokenCounts):
    """Counts each character as a token, so that a test can say how many there are."""

    def of(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([len(text) for text in texts], dtype=np.int64)


def judged(facts: Sequence[Sequence[Passage]], *rankings: Sequence[Chunk], rule: MatchRule | None = None) -> MatchTable:
    """Judge rankings of one query's chunks, each as a query of its own."""
    query = Query("q", "?", tuple(Fact(tuple(passages)) for passages in facts))
    stage = [Ranking.of((chunk, None) for chunk in ranking) for ranking in rankings]
    (found,) = match_rankings([query] * len(stage), [stage], rule or MatchRule(), counter=Characters())
    return found


def hits(**sizes: int) -> list[Chunk]:
    return [Chunk("x" * size, id=name) for name, size in sizes.items()]


def facts(*names: str) -> list[list[Passage]]:
    return [[Passage(chunk_id=name)] for name in names]


def value(
    metric: str, labels: Sequence[Sequence[Passage]], ranking: Sequence[Chunk], profile: str = "default"
) -> float:
    return float(compute(judged(labels, ranking), parse(metric), profile)[0])


RANKING = hits(x=300, a=500, b=400, c=100)


@pytest.mark.parametrize("budget", [800, 801, 1000, 1199])
@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("hit_rate", 1),
        ("recall", 1 / 2),
        ("rr", 1 / 2),
        ("ap", 1 / 2 / 2),
        ("dcg", 1 / math.log2(3)),
        ("idcg", 1 + 1 / math.log2(3)),
        ("ndcg", (1 / math.log2(3)) / (1 + 1 / math.log2(3))),
        ("context_tokens", 800),
    ],
)
def test_the_first_hit_that_does_not_fit_ends_it_though_a_later_one_would(
    budget: int, measure: str, expected: float
) -> None:
    # 300 + 500 fit; 400 more do not, though the 100 after them would
    assert value(f"{measure}@tokens({budget})", facts("a", "b"), RANKING) == pytest.approx(expected)


def test_a_hit_fits_to_the_last_token() -> None:
    at = {n: value(f"recall@tokens({n})", facts("a", "b"), RANKING) for n in (799, 800, 1199, 1200)}
    assert at == {799: 0, 800: 0.5, 1199: 0.5, 1200: 1}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", [name for name in AT_BUDGETS if not name.startswith("span_") and name != "idcg"])
def test_a_first_hit_larger_than_the_budget_leaves_nothing(name: str, profile: str) -> None:
    assert value(f"{name}@tokens(299)", facts("x"), RANKING, profile) == 0


def test_autorag_leaves_out_what_came_back_empty_and_not_what_did_not_fit() -> None:
    both = judged(facts("x"), RANKING, [])
    assert np.array_equal(compute(both, Recall @ tokens(299), "autorag"), [0, np.nan], equal_nan=True)


def test_the_ideal_is_of_all_facts_whatever_fits() -> None:
    labels = facts("a", "b", "c")
    assert value("ndcg@tokens(10)", labels, hits(a=10, x=10)) == pytest.approx(1 / IDEAL_OF_THREE)
    assert value("ndcg@1", labels, hits(a=10, x=10)) == 1
    assert value("idcg@tokens(1)", labels, hits(a=10)) == pytest.approx(IDEAL_OF_THREE)


def test_a_large_chunk_that_holds_all_facts_is_as_good_as_small_ones_that_hold_one_each() -> None:
    words = ["the lamp is lit at dusk", "the horn sounds in fog", "the boat is of larch"]
    labels = [[Passage(text)] for text in words]
    large, small = [Chunk(". ".join(words)), Chunk("x" * 100)], [Chunk(text) for text in words]
    for ranking in (large, small):
        assert value("ndcg@tokens(80)", labels, ranking) == pytest.approx(1)
        assert value("dcg@tokens(80)", labels, ranking) == pytest.approx(IDEAL_OF_THREE)


@pytest.mark.parametrize("name", ["precision", "f1"])
def test_what_divides_by_a_number_of_chunks_is_refused(name: str) -> None:
    message = rf"found {name}@tokens\(20\); expected {name} at a number of hits.*; span_precision@tokens\(20\) divides"
    with pytest.raises(ConfigurationError, match=message):
        parse(f"{name}@tokens(20)")
    with pytest.raises(ConfigurationError, match=message):
        compute(judged(facts("a"), RANKING), Metric(name) @ tokens(20))


@pytest.mark.parametrize("most", [0, -1, 2.0, "5", None, True, 10**9])
def test_a_budget_is_a_positive_integer_of_up_to_nine_digits(most: object) -> None:
    with pytest.raises(ConfigurationError, match=r"tokens: found .*; expected an integer from 1 to 999,999,999"):
        tokens(most)  # type: ignore[arg-type]


def test_metrics_are_in_order_by_name_hits_tokens_and_the_whole() -> None:
    ordered = [Precision @ 9, Recall @ 2, Recall @ 10, Recall @ tokens(3), Recall @ tokens(20), Recall]
    assert sorted([ordered[place] for place in (3, 0, 5, 2, 4, 1)]) == ordered
    assert Recall @ 10 >= Recall @ 2
    assert (Recall @ tokens(3)).k is None
    assert (Recall @ 3).budget is None
    assert Recall @ tokens(3) @ 5 == Recall @ 5


sizes = st.integers(0, 6)
chunks = st.tuples(st.sampled_from("abcdex"), sizes).map(lambda drawn: Chunk("x" * drawn[1], id=drawn[0]))
rankings = st.lists(st.lists(chunks, max_size=7), min_size=1, max_size=3)
alternatives = st.lists(
    st.tuples(st.sampled_from("abcde"), st.integers(1, 3)).map(
        lambda drawn: Passage(chunk_id=drawn[0], grade=drawn[1])
    ),
    min_size=1,
    max_size=2,
)
labels = st.lists(alternatives, min_size=1, max_size=3)
numbers = st.integers(1, 30)


def fitting(ranking: Sequence[Chunk], most: int) -> int:
    """Return by plain counting how many hits fit."""
    used = 0
    for place, chunk in enumerate(ranking):
        used += len(chunk.text)
        if used > most:
            return place
    return len(ranking)


@pytest.mark.slow
@given(labels, rankings, numbers, st.sampled_from(sorted(PROFILES)))
def test_at_a_budget_every_metric_is_that_of_the_whole_of_what_fits(
    wanted: list[list[Passage]], stage: list[list[Chunk]], most: int, profile: str
) -> None:
    whole = judged(wanted, *stage)
    cut = judged(wanted, *(ranking[: fitting(ranking, most)] for ranking in stage))
    came_back = np.array([bool(ranking) for ranking in stage])
    for name in AT_BUDGETS:
        expected = compute(cut, Metric(name), profile)
        if profile == "autorag" and not name.startswith("span_"):  # what came back and does not fit counts 0
            expected = np.where(came_back, np.nan_to_num(expected), expected)
        np.testing.assert_array_equal(compute(whole, Metric(name) @ tokens(most), profile), expected)


@pytest.mark.slow
@given(labels, rankings, st.sampled_from(sorted(PROFILES)))
def test_a_budget_larger_than_everything_is_the_uncut_metric(
    wanted: list[list[Passage]], stage: list[list[Chunk]], profile: str
) -> None:
    whole = judged(wanted, *stage)
    for name in AT_BUDGETS:
        at_budget = compute(whole, Metric(name) @ tokens(10**6), profile)
        np.testing.assert_array_equal(at_budget, compute(whole, Metric(name), profile))


@pytest.mark.slow
@given(labels, rankings, st.tuples(numbers, numbers))
def test_more_tokens_never_find_less(
    wanted: list[list[Passage]], stage: list[list[Chunk]], budgets: tuple[int, int]
) -> None:
    whole = judged(wanted, *stage)
    for name in ("hit_rate", "recall", "dcg", "ndcg", "context_tokens"):
        less, more = (compute(whole, Metric(name) @ tokens(most)) for most in sorted(budgets))
        assert (less <= more).all()
        assert name in ("dcg", "context_tokens") or (more <= 1).all()
    assert (compute(whole, Metric("context_tokens") @ tokens(budgets[0])) <= budgets[0]).all()


def test_tokens_are_those_of_cl100k_base() -> None:
    # OpenAI's own example: "tiktoken is great!" has six tokens in cl100k_base
    query = Query("q", "?", (Fact((Passage(chunk_id="b"),)),))
    stage = [Ranking.of([(Chunk("tiktoken is great!", id="a"), None), (Chunk("tiktoken is great!", id="b"), None)])]
    (found,) = match_rankings([query], [stage], MatchRule())
    at = [compute(found, Recall @ tokens(most)).tolist() for most in (6, 11, 12)]
    assert at == [[0], [0], [1]]
