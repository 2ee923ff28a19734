"""Rank correlations of many orders at once, against scipy and worked examples, and their intervals."""

import numpy as np
import pytest
from scipy import stats

from raglift.stats import correlation_interval, kendall_tau


def test_kendall_is_scipys_ties_included():
    random = np.random.default_rng(0)
    first, second = random.integers(0, 5, (2, 40, 6)).astype(float)
    expected = [stats.kendalltau(one, other).statistic for one, other in zip(first, second, strict=True)]
    assert kendall_tau(first, second) == pytest.approx(np.array(expected), nan_ok=True)


def test_intervals_are_wide_where_queries_disagree_and_none_with_one_query():
    random = np.random.default_rng(1)
    quality = np.array([0.9, 0.7, 0.5, 0.3])[:, np.newaxis]
    people = quality + 0.1 * random.normal(size=(4, 60))
    sure = correlation_interval(people, people + 0.1 * random.normal(size=(4, 60)))
    unsure = correlation_interval(people, 0.05 * quality + 0.3 * random.normal(size=(4, 60)))
    assert sure == (1, 1)
    assert unsure is not None
    assert unsure.high - unsure.low > 0.5
    assert correlation_interval(people[:, :1], people[:, :1]) is None
    tied = np.ones((4, 60))
    assert correlation_interval(people, tied) is None
