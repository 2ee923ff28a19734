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


def test_these_are_the_populations_of_the_benchmark(benchmark: Any) -> None:
    assert tuple(one.name for one in benchmark.symmetric()) == SYMMETRIC
    assert tuple(one.name for one in benchmark.skewed()) == SKEWED
    assert tuple(one.name for one in benchmark.rare_losses()) == RARE_LOSSES
    nulls = populations(benchmark)[: -len(list(benchmark.gains()))]
    assert all(one.mean == pytest.approx(0.0, abs=1e-9) for one in nulls)


def test_the_sign_flip_test_alone_is_wrong_too_often_on_skewed_differences(benchmark: Any) -> None:
    found = benchmark.errors(population(benchmark, "3% lose 0.9, others win 0.028"), 40, 200)
    assert found.sign_flip > 0.2
    assert found.found < 0.02
    assert found.too_skewed > 0.2


@pytest.mark.parametrize("name", [*SYMMETRIC, *SKEWED, *RARE_LOSSES])
def test_a_difference_is_seldom_found_where_there_is_none(benchmark: Any, name: str) -> None:
    found = benchmark.errors(population(benchmark, name), 40, 250)
    assert found.found <= LIMIT + chance(LIMIT, 250)
    assert name not in SYMMETRIC or found.too_skewed <= 0.01


def test_without_the_verdict_too_skewed_rare_losses_make_differences_that_are_not_there(benchmark: Any) -> None:
    found = benchmark.errors(population(benchmark, "12% win 0.25, 10% lose 0.02, 2.8% lose 1"), 50, 400)
    assert found.found + found.too_skewed > 0.1
    assert found.found <= 0.02


@pytest.mark.parametrize(
    ("name", "n", "without", "found"),
    [
        ("dense", 40, 0.50, 0.50),
        ("18% win 1, 7% lose 1", 100, 0.53, 0.53),
        ("30% win 0.3, none lose", 40, 0.99, 0.56),
        ("30% win 0.3, none lose", 300, 1.0, 1.0),
        ("20% win 0.25, 6% lose 0.25", 40, 0.30, 0.11),
        ("20% win 0.25, 6% lose 0.25", 300, 1.0, 1.0),
    ],
)
def test_what_the_verdict_too_skewed_costs_of_true_differences(
    benchmark: Any, name: str, n: int, without: float, found: float
) -> None:
    rates = benchmark.errors(population(benchmark, name), n, 300)
    assert rates.found + rates.too_skewed == pytest.approx(without, abs=0.02 + chance(0.5, 300))
    assert rates.found == pytest.approx(found, abs=0.02 + chance(0.5, 300))
    assert found < without or rates.too_skewed == 0.0


@pytest.mark.full
@pytest.mark.parametrize("n", [30, 50, 100])
@pytest.mark.parametrize("name", RARE_LOSSES)
def test_differences_with_rare_losses_are_seldom_found_where_there_are_none(benchmark: Any, name: str, n: int) -> None:
    assert benchmark.errors(population(benchmark, name), n, 4000, seed=n).found <= LIMIT


@pytest.mark.full
@pytest.mark.parametrize("n", [40, 100, 300])
@pytest.mark.parametrize("name", [*SYMMETRIC, *SKEWED])
def test_type_one_errors_and_the_ends_of_intervals_are_what_they_should_be(benchmark: Any, name: str, n: int) -> None:
    of = population(benchmark, name)
    found = benchmark.errors(of, n, 4000, seed=n)
    # The errors themselves are below the limits; the seed fixes the samples, whose standard error is 0.003 at most.
    assert found.found <= LIMIT + 0.003
    assert name not in SYMMETRIC or found.too_skewed <= 0.01
    if of.has_enough(n):
        assert max(found.below, found.above) <= END_LIMIT + 0.003


@pytest.mark.slow
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


@pytest.mark.full
@pytest.mark.parametrize("n", [40, 100, 300])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_stated_power_is_that_of_the_test_and_not_less_than_that_of_sign_flips(
    benchmark: Any, name: str, n: int
) -> None:
    of = population(benchmark, name)
    if not of.has_enough(n):
        pytest.skip("fewer than 8 differences of each sign are expected")
    found = benchmark.power(of, n, 4000)
    assert found.found == pytest.approx(0.8, abs=0.035)  # 0.02, the standard error, and 1,000 samples within each
    assert found.found >= found.sign_flip - 0.025
