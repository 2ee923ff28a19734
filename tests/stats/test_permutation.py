"""The sign-flip permutation test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from raglift.errors import ConfigurationError
from raglift.stats.paired_tests import SignFlipTest, sign_flip_test

STEPS = [-1.0, -2 / 3, -0.5, -1 / 3, 0.0, 0.0, 0.0, 1 / 3, 0.5, 2 / 3, 1.0]


def outcome(differences: list[float], *, seed: int = 0, resamples: int = 10_000) -> SignFlipTest:
    return sign_flip_test(np.array(differences)[:, np.newaxis], seed=seed, resamples=resamples)[0]


def by_hand(differences: list[float]) -> float:
    """Count all assignments in fractions of 6, which are whole numbers."""
    sixths = [round(difference * 6) for difference in differences if difference]
    sums = [abs(sum(sign * step for sign, step in zip(signs, sixths, strict=True))) for signs in signs_of(sixths)]
    return sum(size >= abs(sum(sixths)) for size in sums) / len(sums)


def signs_of(values: list[int]) -> list[tuple[int, ...]]:
    return list(product((1, -1), repeat=len(values)))


def test_few_differences_are_tested_exactly() -> None:
    found = outcome([1.0, 1.0, 1.0, 0.0, 0.0])
    assert (found.p, found.exact, found.assignments) == (0.25, True, 8)  # all three up, or all three down
    assert found.name == "paired sign-flip permutation test of the mean, two-sided, all 8 assignments of signs"


def test_many_differences_are_tested_by_drawing() -> None:
    found = outcome([1.0] * 40)
    assert (found.p, found.exact, found.assignments) == (1 / 10_001, False, 10_000)
    assert found.name == "paired sign-flip permutation test of the mean, two-sided, 10,000 random assignments of signs"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=0, max_size=11))
def test_the_exact_p_value_counts_every_tie(differences: list[float]) -> None:
    assert outcome(differences).p == by_hand(differences)


@pytest.mark.parametrize("seed", range(4))
def test_the_exact_p_value_is_that_of_scipy(seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.4, 1.0, size=10)
    theirs = stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert outcome(differences.tolist()).p == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_drawn_p_value_is_that_of_scipy_but_for_chance(seed: int) -> None:
    differences = np.random.default_rng(seed).choice(STEPS, size=80) + 0.05
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=10_000, rng=np.random.default_rng(1)
    )
    ours = outcome(differences.tolist()).p
    # Both are drawn: their difference has a standard error of √(2 p (1 − p) / 10,000); five of them are allowed.
    assert ours == pytest.approx(theirs.pvalue, abs=5 * np.sqrt(2 * ours * (1 - ours) / 10_000) + 1e-4)


def test_without_differences_nothing_is_significant() -> None:
    for differences in ([], [0.0] * 60, [1e-12, -1e-17], [float("nan")] * 3, [1.0]):
        assert outcome(differences).p == 1.0
    assert "all 1 assignment of signs" in outcome([0.0] * 60).name


def test_the_p_value_is_never_0() -> None:
    assert outcome([1.0] * 200, resamples=1).p == 0.5
    assert outcome([1e-3] * 13).p == 2 / 2**13


def test_what_rounding_leaves_does_not_break_ties() -> None:
    # 0.1 + 0.2 − 0.3 is 5.6e-17: all of these sums are tied with the observed one in exact arithmetic.
    noisy = [0.3, -(0.1 + 0.2), 0.3, 0.1 + 0.2, -0.3]
    assert outcome(noisy).p == by_hand([1.0, -1.0, 1.0, 1.0, -1.0]) == 1.0
    many = np.resize(noisy, 50).tolist()
    drawn = outcome(many).p
    assert drawn == outcome(np.sign(many).tolist()).p
    # 30 up and 20 down: a binomial test in closed form, whose share of 10,000 has a standard error of 0.004.
    assert drawn == pytest.approx(stats.binomtest(30, 50).pvalue, abs=5 * 0.004)


@pytest.mark.slow
def test_a_column_does_not_depend_on_its_neighbours() -> None:
    matrix = np.random.default_rng(2).choice(STEPS, size=(90, 40))
    matrix[:, 7] = np.random.default_rng(3).normal(0.1, 0.2, size=90)
    together = sign_flip_test(matrix, seed=11)
    assert together == [sign_flip_test(matrix[:, [column]], seed=11)[0] for column in range(40)]
    assert together[::-1] == sign_flip_test(matrix[:, ::-1], seed=11)


def share_found(population: list[float], n: int) -> float:
    """Return how often samples of a population are told to differ from 0 at 0.05."""
    columns = np.random.default_rng(n).choice(population, size=(n, 2000))
    return float(np.mean([test.p <= 0.05 for test in sign_flip_test(columns, seed=9)]))


@pytest.mark.slow
@pytest.mark.parametrize("population", [STEPS, [-0.2, -0.1, 0.1, 0.2]])
@pytest.mark.parametrize("n", [60, pytest.param(120, marks=pytest.mark.full)])
def test_one_in_twenty_is_found_where_there_is_nothing(population: list[float], n: int) -> None:
    # A share of 2,000 has a standard error of 0.0049; four of them are allowed.
    assert share_found(population, n) == pytest.approx(0.05, abs=4 * 0.0049)


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, pytest.param(120, marks=pytest.mark.full)])
def test_hits_that_come_and_go_alike_are_found_as_often_as_by_the_binomial_test(n: int) -> None:
    expected = 0.0
    for changed in range(n + 1):
        wins = np.arange(changed + 1)
        by_wins = np.minimum(2 * stats.binom.cdf(np.minimum(wins, changed - wins), changed, 0.5), 1.0)
        found = stats.binom.pmf(wins, changed, 0.5)[by_wins <= 0.05].sum()
        expected += stats.binom.pmf(changed, n, 0.2) * found
    assert expected < 0.05
    assert share_found([0.0] * 8 + [1.0, -1.0], n) == pytest.approx(expected, abs=4 * 0.0049)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed: found -1; expected an integer of at least 0"),
        ({"seed": None}, "seed: found None; expected an integer of at least 0"),
        ({"seed": True}, "seed: found True; expected an integer of at least 0"),
        ({"seed": 1.0}, "seed: found 1.0; expected an integer of at least 0"),
        ({"resamples": 0}, "resamples: found 0; expected an integer of at least 1"),
        ({"matrix": [1.0, 2.0]}, "matrix: found 1 dimensions; expected 2: one row per query"),
        ({"matrix": [["a"]]}, "matrix: found list .*; expected one row per query"),
        (
            {"matrix": [[np.inf], [1.0]]},
            "matrix: found 1 values that are infinite or larger than 1e\\+100; expected finite",
        ),
    ],
)
def test_what_cannot_be_tested_is_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"matrix": [[1.0], [0.0]], "seed": 0, "resamples": 10, **change}
    with pytest.raises(ConfigurationError, match=message):
        sign_flip_test(**arguments)  # type: ignore[arg-type]
