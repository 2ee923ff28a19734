"""Which systems are shown to be within a margin of every other: bounds, and how often they are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from raglift.errors import ConfigurationError
from raglift.stats.margins import lower_bounds, non_inferiority

CHEAPER_LATER = np.tri(3, k=-1, dtype=bool)
"""Each system costs less than those before it."""


def columns(*means, queries=300, deviation=0.1, seed=0):
    """Systems whose sample means are exactly these."""
    noise = np.random.default_rng(seed).standard_normal((queries, len(means))) * deviation
    return noise - noise.mean(axis=0) + np.array(means)


def test_the_bound_of_symmetric_differences_is_that_of_the_t_test():
    differences = np.random.default_rng(1).normal(0.01, 0.2, (200, 1))
    expected = differences.mean() - t.ppf(0.95, 199) * differences.std(ddof=1) / np.sqrt(200)
    assert lower_bounds(differences, 0.05, None)[0] == pytest.approx(expected)
    assert lower_bounds(differences, 0.05, 1.0)[0] == pytest.approx(expected)


def test_equal_scores_show_a_margin_of_3_points_from_99_queries_on():
    for queries, is_shown in ((98, False), (99, True)):
        found = non_inferiority(np.full((queries, 1), 0.5).repeat(2, axis=1), [[0, 0], [1, 0]], bound=1.0)
        assert found.shown[1] == is_shown
        assert found.lower[1] == pytest.approx(-(1.0 - 0.05 ** (1.0 / queries)))
    assert lower_bounds(np.zeros((1000, 1)), 0.05, None)[0] == -np.inf


@pytest.mark.parametrize(("losses", "share"), [(1, 0.00945), (3, 0.01543)])
def test_the_bound_of_rare_losses_is_below_that_of_clopper_and_pearson_and_not_by_much(losses, share):
    differences = np.zeros((500, 1))
    differences[:losses] = -1.0  # with 95% confidence at most `share` of all queries
    assert -1.5 * share <= lower_bounds(differences, 0.05, 1.0)[0] <= -share


def test_only_the_best_and_cheaper_systems_within_the_margin_have_a_bound():
    found = non_inferiority(columns(0.5, 0.49, 0.45), CHEAPER_LATER)
    assert (found.best, np.isnan(found.lower).tolist()) == (0, [False, False, True])
    found = non_inferiority(columns(0.45, 0.49, 0.5), CHEAPER_LATER)
    assert (found.best, np.isnan(found.lower).tolist()) == (2, [True, True, False])


def test_the_bounds_are_lower_where_more_systems_could_be_chosen():
    three = columns(0.5, 0.495, 0.495)
    assert (
        non_inferiority(three, CHEAPER_LATER).lower[1] < non_inferiority(three[:, :2], CHEAPER_LATER[:2, :2]).lower[1]
    )


@pytest.mark.parametrize("systems", [2, 24])
@pytest.mark.parametrize("deviation", [0.15, 0.25])
def test_so_many_queries_are_needed_as_the_deviation_and_the_number_of_systems_say(systems, deviation):
    values = columns(*[0.5] * systems, queries=60, deviation=deviation * np.sqrt(0.5))
    found = non_inferiority(values, np.zeros((systems, systems)), bound=1.0)
    leads = values[:, [0]] - values[:, 1:]
    largest = leads.std(axis=0, ddof=1).max()
    assert not found.shown[found.best]
    assert found.queries_needed > 60
    assert (2.4 * deviation / 0.03) ** 2 * 0.7 <= found.queries_needed <= (4.2 * largest / 0.03) ** 2
    assert non_inferiority(columns(0.9, 0.5), np.zeros((2, 2)), bound=1.0).queries_needed is None


@pytest.mark.slow
@pytest.mark.parametrize("queries", [50, 100, 300])
@pytest.mark.parametrize("rate", [0.0301, 0.15])
def test_a_system_that_loses_rarely_and_is_too_far_below_is_seldom_shown_to_be_within_the_margin(queries, rate):
    draws = 400
    random = np.random.default_rng(3)
    lost = (random.random((draws, queries)) < rate) * 0.0301 / rate
    wrong = sum(
        non_inferiority(np.stack([np.ones(queries), 1.0 - one], axis=1), [[0, 0], [1, 0]], bound=1.0).shown[1]
        for one in lost
    )
    assert wrong / draws <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / draws)


@pytest.mark.parametrize("margin", [-0.1, float("nan"), True, "0.03", 10**400])
def test_a_margin_that_is_no_number_of_0_or_more_is_refused(margin):
    with pytest.raises(ConfigurationError, match="margin: found"):
        non_inferiority(columns(0.5, 0.4), np.zeros((2, 2)), margin=margin)


def test_values_with_gaps_are_refused():
    with pytest.raises(ConfigurationError, match="values: found"):
        non_inferiority([[0.5, np.nan]], np.zeros((2, 2)))


def test_no_number_of_queries_follows_where_nothing_differs_and_nothing_bounds():
    equal = np.full((40, 2), 0.5)
    assert non_inferiority(equal, np.zeros((2, 2)), margin=0.01).queries_needed is None
    assert non_inferiority(equal, np.zeros((2, 2)), margin=0.01, bound=1.0).queries_needed == 370


@pytest.mark.parametrize("margin", [5e-324, 1e-200])
def test_no_number_of_queries_shows_a_margin_of_next_to_nothing(margin):
    values = np.random.default_rng(0).random((40, 2))
    assert non_inferiority(values, [[0, 1], [1, 0]], margin=margin, bound=1.0).queries_needed is None
