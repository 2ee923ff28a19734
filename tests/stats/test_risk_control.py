"""Thresholds that keep an error rate, exact bounds, and how well scores tell two groups apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from raglift.errors import ConfigurationError
from raglift.stats.risk_control import (
    error_rate_bound,
    error_rate_interval,
    fewest_queries,
    separation,
    smallest_certifiable_rate,
    threshold_for_rate,
)

DELTA = 0.1
some_scores = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=40)


# Exact bounds


@pytest.mark.slow
@given(st.integers(1, 60), st.data())
def test_the_bounds_are_those_of_clopper_and_pearson(queries: int, data: st.DataObject):
    errors = data.draw(st.integers(0, queries))
    found = stats.binomtest(errors, queries).proportion_ci(0.9, method="exact")
    assert error_rate_interval(errors, queries, confidence=0.9) == pytest.approx((found.low, found.high))
    assert error_rate_bound(errors, queries, delta=0.05) == pytest.approx(found.high)


def test_what_few_queries_can_certify():
    assert smallest_certifiable_rate(20, delta=0.1) == pytest.approx(1 - 0.1 ** (1 / 20))  # 0.109
    assert fewest_queries(0.109, delta=0.1) == 20
    assert [fewest_queries(rate, delta=0.05) for rate in (0.5, 0.1, 0.01)] == [5, 29, 299]


# The share of unanswerable queries that is answered


def test_a_threshold_by_hand():
    """Of 50 queries at most one may be answered: P(Bin(50, 0.1) ≤ 1) = 0.034, P(Bin(50, 0.1) ≤ 2) = 0.112."""
    found = threshold_for_rate(range(50), rate=0.1, delta=DELTA)
    assert 48 < found <= 49
    assert found == np.nextafter(48, 49)


def test_queries_without_hits_are_never_answered():
    assert threshold_for_rate([math.nan] * 30, rate=0.1, delta=DELTA) == -math.inf
    assert threshold_for_rate([*[math.nan] * 29, 0.5], rate=0.1, delta=DELTA) == np.nextafter(0.5, 1)


def test_a_rate_that_cannot_be_certified_is_refused():
    told = (
        r"rate: found 0.05; expected at least 0.109, the smallest that 20 queries certify at delta 0.1; or 45 queries"
    )
    with pytest.raises(ConfigurationError, match=told):
        threshold_for_rate(range(20), rate=0.05, delta=DELTA)
    with pytest.raises(ConfigurationError, match="the smallest that 0 queries certify"):
        threshold_for_rate([], rate=0.05, delta=DELTA)


def broken_rates(draws: int, queries: int, rate: float, *, ties: int | None) -> float:
    """Return how often the true share of queries above the threshold is higher than promised."""
    broken = 0
    for seed in range(draws):
        scores = np.random.default_rng([seed, queries]).random(queries)
        if ties is None:
            broken += 1 - threshold_for_rate(scores, rate=rate, delta=DELTA) > rate
        else:  # scores 0, 1/ties, 2/ties …
            found = threshold_for_rate(np.floor(scores * ties) / ties, rate=rate, delta=DELTA)
            broken += np.mean(np.arange(ties) / ties >= found) > rate + 1e-12
    return broken / draws


@pytest.mark.slow
@pytest.mark.parametrize("ties", [None, 7])
@pytest.mark.parametrize(("queries", "rate"), [(25, 0.1), (80, 0.05), (300, 0.2)])
def test_the_share_is_kept_as_often_as_promised(queries: int, rate: float, ties: int | None):
    found = broken_rates(1000, queries, rate, ties=ties)
    assert found <= DELTA + 0.02
    assert ties is not None or queries != 300 or found > 0.05  # nothing is given away


# How well scores tell groups apart


@pytest.mark.slow
@given(some_scores, some_scores)
def test_the_area_is_that_of_scikit_learn(first: list[float], second: list[float]):
    truth = [1] * len(first) + [0] * len(second)
    found = separation(first, second)
    assert found.auroc == pytest.approx(roc_auc_score(truth, first + second))
    assert 0.0 <= found.interval.low <= found.auroc <= found.interval.high <= 1.0


def test_an_interval_of_groups_that_do_not_overlap_has_a_width():
    found = separation([3.0] * 20, [1.0, math.nan])
    assert found.auroc == 1.0
    assert found.interval.high == 1.0
    assert found.interval.low < 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "first", "second"), [(0.0, 40, 40), (1.0, 150, 20), (2.0, 60, 30)])
def test_the_interval_holds_the_area_as_often_as_stated(shift: float, first: int, second: int):
    truth = float(stats.norm.cdf(shift / math.sqrt(2)))
    inside = 0
    for seed in range(500):
        draw = np.random.default_rng([seed, first])
        found = separation(draw.normal(shift, 1, first), draw.normal(0, 1, second)).interval
        inside += found.low <= truth <= found.high
    assert 0.925 <= inside / 500 <= 0.985


# Wrong input


@pytest.mark.parametrize(
    "call",
    [
        lambda: error_rate_bound(3, 2, delta=0.1),
        lambda: error_rate_bound(0, 0, delta=0.1),
        lambda: error_rate_bound(0, 5, delta=1.0),
        lambda: threshold_for_rate([0.1] * 50, rate=0.0, delta=0.1),
        lambda: separation([], [1.0]),
    ],
)
def test_wrong_input_is_told(call):
    with pytest.raises(ConfigurationError, match="expected"):
        call()
