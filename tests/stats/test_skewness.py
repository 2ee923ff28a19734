"""Skewed differences: Hall's test, and samples that are too skewed to decide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from raglift.stats.intervals import transformed, transformed_back
from raglift.stats.paired_tests import paired_difference, sign_flip_test
from raglift.stats.skewness import hall_p, skewness_of

SMALL_WINS = np.array([0.05] * 36 + [-0.5, -0.3] + [0.0] * 22)
"""Many small wins and two large losses: mean +0.017."""


def test_the_skewness_is_that_of_scipy() -> None:
    differences = np.random.default_rng(0).exponential(size=50)
    assert skewness_of(differences) == pytest.approx(stats.skew(differences))
    assert skewness_of(1e-90 * differences) == pytest.approx(stats.skew(differences))
    assert paired_difference(differences, seed=0).skewness == skewness_of(differences)
    assert math.isnan(skewness_of(np.full(8, 0.25)))


def test_few_large_losses_against_many_small_wins_are_tested_by_halls_t() -> None:
    found = paired_difference(SMALL_WINS, seed=0)
    t = stats.ttest_1samp(SMALL_WINS, 0.0).statistic
    skewness, root = stats.skew(SMALL_WINS), math.sqrt(60)
    h = t + skewness * t**2 / (3 * root) + skewness**2 * t**3 / (27 * 60) + skewness / (6 * root)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(h), 59))
    assert found.test == "t test of the mean with Hall's transformation for skewness, two-sided"
    assert found.p > sign_flip_test(SMALL_WINS[:, np.newaxis], seed=0)[0].p


@pytest.mark.parametrize(
    "differences",
    [
        [1.0] * 12 + [0.0] * 48,  # skewed, but to the side of the mean
        [0.5, -0.4] * 20 + [0.3] * 10,  # hardly skewed
        [0.0] * 60,
        [0.5],
        [],
    ],
)
def test_elsewhere_the_sign_flip_test_decides(differences: list[float]) -> None:
    found = paired_difference(differences, seed=0)
    assert hall_p(np.array(differences)) is None
    assert found.p == sign_flip_test(np.array(differences)[:, np.newaxis], seed=0)[0].p
    assert "sign-flip" in found.test


@settings(deadline=None)
@given(st.floats(-8.0, 8.0), st.floats(-5.0, 5.0), st.integers(20, 500))
def test_the_transformation_is_undone(t: float, skewness: float, n: int) -> None:
    step = skewness / math.sqrt(n)
    assert transformed_back(transformed(t, step), step) == pytest.approx(t, abs=1e-4)


def test_small_wins_without_a_loss_decide_nothing_where_losses_can_be_large() -> None:
    wins = np.array([0.04] * 30 + [0.0] * 10)
    found = paired_difference(wins, seed=0, bound=1.0)
    assert found.p < 0.001
    assert found.too_skewed  # 1.04³⁰ = 3.2, and 20 are needed
    assert paired_difference(-wins, seed=0, bound=1.0).too_skewed
    assert paired_difference(np.append(wins, -0.02), seed=0, bound=1.0).too_skewed
    # With losses of at most 0.2 they would be enough: 1.2³⁰ = 237. Without a bound nothing is said.
    assert not paired_difference(wins, seed=0, bound=0.2).too_skewed
    assert not paired_difference(wins, seed=0).too_skewed


@pytest.mark.parametrize(
    ("losses", "too_skewed"),
    [
        ([], True),
        ([-0.02] * 6, True),  # small losses do not show how large losses can be
        ([-0.3], True),  # nor does a single large one
        ([-0.1, -0.1], False),  # two of half of the average win do
    ],
)
def test_only_several_large_losses_show_how_large_losses_are(losses: list[float], too_skewed: bool) -> None:
    differences = np.array([0.2] * 14 + losses + [0.0] * (60 - 14 - len(losses)))
    assert paired_difference(differences, seed=0, bound=1.0).p < 0.05
    assert paired_difference(differences, seed=0, bound=1.0).too_skewed == too_skewed
    assert paired_difference(-differences, seed=0, bound=1.0).too_skewed == too_skewed


def test_wins_of_half_of_the_bound_are_decided() -> None:
    assert paired_difference([0.48] * 7 + [0.0] * 33, seed=0, bound=1.0).too_skewed
    assert not paired_difference([0.5] * 7 + [0.0] * 33, seed=0, bound=1.0).too_skewed


def test_hits_without_a_loss_are_decided_where_the_sign_test_decides() -> None:
    six = paired_difference([1.0] * 6 + [0.0] * 34, seed=0, bound=1.0)
    assert (six.p, six.too_skewed) == (2 / 64, False)
