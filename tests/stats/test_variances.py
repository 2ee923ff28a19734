"""Variance between queries and between runs of the same query, and what repeated runs do to tests and intervals."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.stats.paired_tests import paired_difference
from raglift.stats.variances import (
    DifferenceComponents,
    VarianceComponents,
    difference_components,
    variance_components,
)

NAN = float("nan")


def test_components_by_hand() -> None:
    # Three queries run twice: means 1, 3 and 5, each run 1 away from its query's mean.
    found = variance_components([[0.0, 2.0, 4.0], [2.0, 4.0, 6.0]])
    # within: six squares of 1 / 3 degrees of freedom; between: (2·(4 + 0 + 4)/2 − 2) / 2
    assert found == VarianceComponents(between_queries=3.0, within_queries=2.0, queries=3, runs=6)
    assert found.share_within == pytest.approx(0.4)
    assert found.standard_error() == pytest.approx(((3 + 2 / 2) / 3) ** 0.5)
    assert found.standard_error(queries=12, repetitions=1) == pytest.approx((5 / 12) ** 0.5)


def test_components_of_queries_run_unequally_often_by_hand() -> None:
    # Runs: 3, 1, 1. Overall mean 2; within: (1 + 0 + 1) / 2; between: (3·1 + 9 + 0) / 2; n0 = (5 − 11/5) / 2
    found = variance_components([[0.0, 5.0, 2.0], [1.0, NAN, NAN], [2.0, NAN, NAN]])
    assert found is not None
    assert found.within_queries == pytest.approx(1.0)
    assert found.between_queries == pytest.approx((6.0 - 1.0) / 1.4)
    assert (found.queries, found.runs) == (3, 5)


def test_a_variance_is_never_below_0() -> None:
    found = variance_components([[0.0, 1.0], [1.0, 0.0]])
    assert found is not None
    assert found.between_queries == 0.0
    assert found.share_within == 1.0


def test_without_variance_no_share_of_it_is_from_run_to_run() -> None:
    found = variance_components([[1.0, 1.0], [1.0, 1.0]])
    assert found is not None
    assert found.share_within == 0.0


@pytest.mark.parametrize("values", [[[1.0, 2.0, 3.0]], [[1.0], [2.0]], [[1.0, NAN], [2.0, NAN]], [[NAN, NAN]]])
def test_one_run_each_or_one_query_tells_nothing(values: list[list[float]]) -> None:
    assert variance_components(values) is None


def test_a_standard_error_is_of_a_positive_number_of_queries() -> None:
    with pytest.raises(ConfigurationError, match="queries"):
        VarianceComponents(1.0, 1.0, 3, 6).standard_error(queries=0)


# The difference of two systems.


def test_components_of_a_difference_by_hand() -> None:
    # Means 1, 3, 5 with runs 1 away from them (variance 2 of a run), and 1, 1, 1 with runs that do not differ.
    first, second = [[0.0, 2.0, 4.0], [2.0, 4.0, 6.0]], [[1.0, 1.0, 1.0]] * 2
    found = difference_components(first, second)
    # Differences 0, 2, 4 have the variance 4, of which 2 / 2 + 0 / 2 is from run to run
    assert found == DifferenceComponents(between_queries=3.0, within_queries=1.0, queries=3)
    assert found.share_within == pytest.approx(0.25)
    assert found.standard_error() == pytest.approx((4 / 3) ** 0.5)
    assert found.standard_error(runs=2) == pytest.approx((3.5 / 3) ** 0.5)
    assert found.standard_error(runs=np.inf) == pytest.approx(1.0)
    assert found.standard_error(queries=6) == pytest.approx((4 / 6) ** 0.5)


def test_only_queries_that_both_systems_ran_make_a_difference() -> None:
    first = [[0.0, 2.0, 4.0, NAN], [2.0, 4.0, 6.0, NAN]]
    found = difference_components(first, [[1.0, 1.0, 1.0, 9.0]])
    assert found == DifferenceComponents(3.0, 1.0, 3)  # what its runs add is known of the first system alone


def test_a_variance_of_differences_is_never_below_0() -> None:
    found = difference_components([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5]])
    assert found is not None
    assert (found.between_queries, found.share_within) == (0.0, 1.0)
    assert DifferenceComponents(0.0, 0.0, 2).share_within == 0.0


def test_systems_that_ran_each_query_once_tell_nothing_of_runs() -> None:
    assert difference_components([[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]]) is None
    assert difference_components([[1.0], [2.0]], [[1.0], [2.0]]) is None


def test_differences_are_of_the_same_queries_and_of_more_than_no_runs() -> None:
    with pytest.raises(ConfigurationError, match="found 2 and 3 queries; expected the same"):
        difference_components([[1.0, 2.0]], [[1.0, 2.0, 3.0]])
    with pytest.raises(ConfigurationError, match="expected a number greater than 0"):
        DifferenceComponents(1.0, 1.0, 3).standard_error(runs=0)


# Simulation: agents that differ from run to run. Each query has a true recall; in each run its facts are found or not.

QUERIES, FACTS = 40, 4


def runs_of(true: np.ndarray, repetitions: int, random: np.random.Generator) -> np.ndarray:
    """Recall of each run of each query: a row per run."""
    return random.binomial(FACTS, true, size=(repetitions, len(true))) / FACTS


def simulate(trials: int, repetitions: tuple[int, int], gain: float) -> tuple[float, float]:
    """Return how often the difference is found significant, and how often its interval holds the true one."""
    random = np.random.default_rng(20)
    rejected = covered = 0
    for trial in range(trials):
        first = random.beta(2, 2, size=QUERIES) * (1 - gain)
        # Of each query the agents differ too, around the gain
        second = np.clip(first + gain + random.uniform(-0.1, 0.1, size=QUERIES) * (first > 0.1) * (first < 0.7), 0, 1)
        means = [
            runs_of(true, runs, random).mean(axis=0) for true, runs in zip((first, second), repetitions, strict=True)
        ]
        found = paired_difference(means[1] - means[0], seed=trial, bound=1.0)
        rejected += found.p <= 0.05
        covered += found.low <= gain <= found.high
    return rejected / trials, covered / trials


def test_means_over_runs_keep_the_level_of_tests_and_intervals() -> None:
    rejected, covered = simulate(60, (3, 3), 0.0)
    assert rejected <= 0.15
    assert covered >= 0.85


@pytest.mark.full
@pytest.mark.parametrize("repetitions", [(1, 1), (5, 5), (2, 6)])
@pytest.mark.parametrize("gain", [0.0, 0.15])
def test_coverage_near_95_and_false_alarms_near_5_percent(repetitions: tuple[int, int], gain: float) -> None:
    rejected, covered = simulate(1_000, repetitions, gain)
    assert 0.935 <= covered <= 0.965
    if not gain:
        assert 0.035 <= rejected <= 0.065


@pytest.mark.full
def test_components_are_unbiased() -> None:
    random = np.random.default_rng(21)
    found = []
    for _ in range(1_000):
        values = random.normal(0, 0.3, size=30) + random.normal(0, 0.2, size=(3, 30))
        values[2, ::3] = np.nan
        parts = variance_components(values)
        assert parts is not None
        found.append((parts.between_queries, parts.within_queries))
    between, within = np.mean(found, axis=0)
    assert between == pytest.approx(0.09, rel=0.05)
    assert within == pytest.approx(0.04, rel=0.05)


@pytest.mark.full
@pytest.mark.parametrize("repetitions", [(3, 3), (2, 6)])
def test_standard_errors_of_differences_are_those_of_repeated_experiments(repetitions: tuple[int, int]) -> None:
    """Also the one that is predicted for twice the runs, which is then tried."""
    random = np.random.default_rng(22)
    queries, predicted = 50, []
    means: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(2_000):
        true = random.beta(2, 2, size=queries)
        other = np.clip(true + random.normal(0.05, 0.1, size=queries), 0, 1)
        for times, found in means.items():
            one, two = (
                runs_of(values, times * runs, random) for values, runs in zip((true, other), repetitions, strict=True)
            )
            found.append(float((two.mean(axis=0) - one.mean(axis=0)).mean()))
            if times == 1 and (parts := difference_components(two, one)) is not None:
                predicted.append((parts.standard_error(), parts.standard_error(runs=2)))
    now, doubled = np.sqrt(np.mean(np.square(predicted), axis=0))
    assert now == pytest.approx(np.std(means[1]), rel=0.06)
    assert doubled == pytest.approx(np.std(means[2]), rel=0.06)
