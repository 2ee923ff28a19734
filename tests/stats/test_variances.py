"""Variance between queries and between runs of the same query, and what repeated runs do to tests and intervals."""

from __future__ import annotations

import numpy as np
import pytest

from raglift.stats.paired_tests import paired_difference
from raglift.stats.variances import VarianceComponents, variance_components

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


@pytest.mark.parametrize("values", [[[1.0, 2.0, 3.0]], [[1.0], [2.0]], [[1.0, NAN], [2.0, NAN]], [[NAN, NAN]]])
def test_one_run_each_or_one_query_tells_nothing(values: list[list[float]]) -> None:
    assert variance_components(values) is None


# The difference of two systems.


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


@pytest.mark.slow
def test_means_over_runs_keep_the_level_of_tests_and_intervals() -> None:
    rejected, covered = simulate(60, (3, 3), 0.0)
    assert rejected <= 0.15
    assert covered >= 0.85


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
