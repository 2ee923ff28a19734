"""benchmarks/type_one_error.py, by simulation: errors of the test, ends of intervals, and the power that is stated."""

from __future__ import annotations

import math
from typing import Any

import pytest

LIMIT, END_LIMIT = 0.065, 0.035
SYMMETRIC = (
    *("normal", "Laplace", "sparse, 10% differ", "sparse, 30% differ"),
    *("HitRate, 20% differ", "RR, 20% differ", "HitRate, 40% differ", "RR, 40% differ"),
)
SKEWED = (
    *("exponential", "lognormal", "20% lose 0.5, others win 0.125", "10% lose 0.5, others win 0.056"),
    *("5% lose 0.7, others win 0.037", "3% lose 0.9, others win 0.028", "20% lose 0.5, others win 0.125, 50% ties"),
    *("10% lose 0.5, others win 0.056, 50% ties", "RR, many small wins, 6% lose 0.5"),
    "NDCG, small wins, 6% lose 0 to 1",
)
RARE_LOSSES = (
    *("12% win 0.25, 3.0% lose 1", "20% win 0.3, 6.0% lose 1", "10% win 0.4, 4.0% lose 1", "12% win 0.49, 5.9% lose 1"),
    *("6% win 0.55, 3.3% lose 1", "12% win 0.25, 6.0% lose 0.5", "12% win 0.25, 10% lose 0.02, 2.8% lose 1"),
    *("15% win 0.25, 15% lose 0.05, 3.0% lose 1", "20% win 0.25, 20% lose 0.11, 2.8% lose 1"),
    *("30% win 0.1, 20% lose 0.03, 2.4% lose 1", "12% lose 0.25, 3.0% win 1", "15% lose 0.3, 6.4% win 0.7"),
    *("20% lose 0.2, 20% win 0.05, 3.0% win 1", "10% lose 0.45, 10% win 0.1, 3.5% win 1"),
)


@pytest.fixture(scope="module")
def benchmark(script) -> Any:
    return script("type_one_error")


def population(benchmark: Any, name: str) -> Any:
    return next(one for one in populations(benchmark) if one.name == name)


def populations(benchmark: Any) -> list[Any]:
    return [*benchmark.symmetric(), *benchmark.skewed(), *benchmark.rare_losses(), *benchmark.gains()]


def chance(share: float, samples: int) -> float:
    """Return three standard errors of a share that so many samples show."""
    return 3 * math.sqrt(share * (1 - share) / samples)


@pytest.mark.slow
def test_the_sign_flip_test_alone_is_wrong_too_often_on_skewed_differences(benchmark: Any) -> None:
    found = benchmark.errors(population(benchmark, "3% lose 0.9, others win 0.028"), 40, 200)
    assert found.sign_flip > 0.2
    assert found.found < 0.02
    assert found.too_skewed > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SYMMETRIC, *SKEWED, *RARE_LOSSES][::5])
def test_a_difference_is_seldom_found_where_there_is_none(benchmark: Any, name: str) -> None:
    found = benchmark.errors(population(benchmark, name), 40, 250)
    assert found.found <= LIMIT + chance(LIMIT, 250)
    assert name not in SYMMETRIC or found.too_skewed <= 0.01


@pytest.mark.full
@pytest.mark.parametrize("name", ["normal", "exponential", "HitRate, 20% differ", "3% lose 0.9, others win 0.028"])
def test_the_ends_of_intervals_leave_the_mean_outside_as_seldom_as_they_should(benchmark: Any, name: str) -> None:
    found = benchmark.errors(population(benchmark, name), 300, 600)
    assert max(found.below, found.above) <= END_LIMIT + chance(END_LIMIT, 600)


@pytest.mark.full
@pytest.mark.parametrize(("name", "n"), [("normal", 40), ("HitRate, 20% differ", 100), ("RR, 20% differ", 100)])
def test_the_stated_effect_is_found_in_80_of_100_samples(benchmark: Any, name: str, n: int) -> None:
    found = benchmark.power(population(benchmark, name), n, 1000)
    assert found.found == pytest.approx(0.8, abs=0.02 + chance(0.8, 1000) / 3)
    assert found.too_skewed <= 0.01
