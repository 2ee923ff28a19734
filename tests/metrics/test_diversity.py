"""AlphaNDCG: by hand, and against ndeval's own code (pyndeval)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import raglift as rl
from raglift.errors import ConfigurationError
from raglift.metrics.computing import compute
from raglift.metrics.graded_measures import AlphaNDCG

ALPHAS = (0.0, 0.25, 0.3, 0.5, 0.9, 1.0)
names = st.sampled_from([f"d{number}" for number in range(9)])
holders = st.lists(names, min_size=1, max_size=5, unique=True)
"""The chunks that hold a fact: its alternatives."""
cases = st.lists(
    st.tuples(st.lists(holders, min_size=1, max_size=6), st.lists(names | st.just("x"), max_size=12, unique=True)),
    min_size=1,
    max_size=5,
)


@pytest.mark.slow
@given(cases, st.sampled_from(ALPHAS), st.integers(1, 20))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_ndeval(judged, cases, alpha: float, k: int) -> None:
    pyndeval = pytest.importorskip("pyndeval")
    qrels = [
        (f"q{query}", f"fact{fact}", name, 1)
        for query, (facts, _) in enumerate(cases)
        for fact, holding in enumerate(facts)
        for name in holding
    ]
    run = [(f"q{query}", name, float(-place)) for query, (_, ids) in enumerate(cases) for place, name in enumerate(ids)]
    found = pyndeval.ndeval(qrels, run, [f"alpha-nDCG@{k}"], alpha=alpha)
    theirs = [found.get(f"q{query}", {f"alpha-nDCG@{k}": 0.0})[f"alpha-nDCG@{k}"] for query in range(len(cases))]
    ours = compute(judged(*cases), AlphaNDCG(alpha=alpha) @ k).tolist()
    # A ranking that beats the greedy one is above 1 there, and 1 here
    assert ours == pytest.approx([min(value, 1.0) for value in theirs], abs=1e-9)


@given(cases, st.sampled_from(ALPHAS), st.integers(1, 12) | st.none(), st.data())
@settings(deadline=None)
def test_it_lies_between_0_and_1_also_where_ids_come_twice(judged, cases, alpha, k, data) -> None:
    cases = [(facts, ids + data.draw(st.lists(names, max_size=4))) for facts, ids in cases]
    metric = AlphaNDCG(alpha=alpha) if k is None else AlphaNDCG(alpha=alpha) @ k
    assert all(0 <= found <= 1 for found in compute(judged(*cases), metric).tolist())


def test_alpha_ndcg_of_worked_examples(value) -> None:
    facts = [["a", "b"], ["b"], ["c"]]  # b holds two facts
    assert value("alpha_ndcg@1", facts, ["b"]) == 1
    assert value("alpha_ndcg@1", facts, ["a"]) == 1 / 2
    log3 = 1.584962500721156
    # b, then c, then a, whose fact b held before
    ideal = 2 + 1 / log3 + 0.5 / 2
    assert value("alpha_ndcg@3", facts, ["a", "b"]) == pytest.approx((1 + (0.5 + 1) / log3) / ideal)
    assert value("alpha_ndcg(alpha=1)@3", facts, ["a", "b"]) == pytest.approx((1 + 1 / log3) / (2 + 1 / log3))


def test_an_id_that_comes_back_twice_gains_nothing_the_second_time(value) -> None:
    assert value("alpha_ndcg", [["a", "b"]], ["a", "a", "b"]) == pytest.approx(1.25 / (1 + 0.5 / 1.584962500721156))


def test_a_ranking_that_beats_the_greedy_one_counts_1(value) -> None:
    facts = [["d1"], ["d1", "d3"], ["d2", "d3"], ["d2"]]  # d3 comes first of equals, and leaves halves
    assert value("alpha_ndcg@3", facts, ["d1", "d2", "d3"]) == 1
    assert value("alpha_ndcg@3", facts, ["d3", "d1", "d2"]) == 1
    assert value("alpha_ndcg@3", facts, ["d1", "x", "d2"]) < 1


def test_of_ids_that_are_one_fact_each_it_is_ndcg_without_grades() -> None:
    rankings, plain = {"q": ["x", "a", "c"]}, {"q": ["a", "b", "c"]}
    graded = {"q": {"a": 3, "b": 1, "c": 2}}
    found = rl.score_rankings(rankings, graded, ["alpha_ndcg@3", "alpha_ndcg"])
    expected = rl.score_rankings(rankings, plain, ["ndcg@3", "ndcg"])
    assert found.values == pytest.approx(expected.values)


def test_labels_that_are_texts_are_refused_before_anything_is_asked() -> None:
    def never(question: str) -> list[str]:
        raise AssertionError(question)

    data = rl.Dataset.from_dict({"Who keeps the lamp?": ["The keeper trims the lamp."]})
    with pytest.raises(
        ConfigurationError, match=r"alpha_ndcg@5: found a label that is a text, .The keeper trims .*expected chunk ids"
    ):
        rl.evaluate(never, data, metrics=["alpha_ndcg@5"])
