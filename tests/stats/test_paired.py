"""Paired differences, described."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from raglift.errors import ConfigurationError
from raglift.stats.intervals import difference_interval
from raglift.stats.paired_tests import PairedDifference, paired_difference, paired_differences

STEPS = [-1.0, -0.5, 0.0, 0.0, 0.5, 1.0]


def test_everything_about_a_difference() -> None:
    differences = np.random.default_rng(0).choice(STEPS, size=80) + 0.25
    found = paired_difference(differences, seed=4, confidence=0.9, resamples=2000)
    assert (found.n, found.mean, found.confidence, found.seed) == (80, differences.mean(), 0.9, 4)
    assert (found.wins, found.ties, found.losses) == (
        (differences > 0).sum(),
        (differences == 0).sum(),
        (differences < 0).sum(),
    )
    assert (found.low, found.high) == difference_interval(differences, confidence=0.9)
    assert found.effect_size == pytest.approx(stats.ttest_1samp(differences, 0.0).statistic / math.sqrt(80))
    assert found.p == pytest.approx(stats.ttest_1samp(differences, 0.0).pvalue, abs=0.02)
    assert found.test == "paired sign-flip permutation test of the mean, two-sided, 2,000 random assignments of signs"
    assert found.interval == "t interval with the skewness corrections of Johnson and Hall, widened for few differences"


@pytest.mark.slow
def test_a_column_is_described_as_it_is_alone() -> None:
    matrix = np.random.default_rng(5).choice(STEPS, size=(70, 9))
    matrix[3, 2] = np.nan
    together = paired_differences(matrix, seed=3)
    assert together == [paired_difference(matrix[:, column], seed=3) for column in range(9)]


def test_wins_ties_and_losses_are_counted_and_the_rest_left_out() -> None:
    found = paired_difference([1.0, 0.5, 1e-12, 0.0, -0.5, np.nan], seed=0)
    assert (found.n, found.wins, found.ties, found.losses, found.mean) == (5, 2, 2, 1, 0.2)


@pytest.mark.parametrize("differences", [[], [math.nan], [math.nan] * 40])
def test_without_queries_nothing_is_said(differences: list[float]) -> None:
    found = paired_difference(differences, seed=0)
    assert (found.n, found.wins, found.ties, found.losses, found.p) == (0, 0, 0, 0, 1.0)
    assert unknown(found) == {"mean", "low", "high", "effect_size", "skewness"}


def test_one_query_has_a_mean_and_no_more() -> None:
    found = paired_difference([0.5], seed=0)
    assert (found.n, found.mean, found.p, found.wins) == (1, 0.5, 1.0, 1)
    assert unknown(found) == {"low", "high", "effect_size", "skewness"}


def test_if_all_tie_there_is_no_effect_and_no_interval() -> None:
    found = paired_difference([0.0] * 60, seed=0)
    assert (found.mean, found.p, found.effect_size, found.ties) == (0.0, 1.0, 0.0, 60)
    assert unknown(found) == {"low", "high", "skewness"}


def test_if_all_differ_alike_there_is_no_scale_for_the_effect() -> None:
    found = paired_difference([0.1 + 0.2, 0.3] * 15, seed=0)
    assert (found.wins, found.p) == (30, 1 / 10_001)
    assert unknown(found) == {"low", "high", "effect_size", "skewness"}


def unknown(found: PairedDifference) -> set[str]:
    return {name for name, value in vars(found).items() if isinstance(value, float) and math.isnan(value)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed: found -1"),
        ({"seed": "7"}, "seed: found '7'"),
        ({"confidence": 0.0}, "confidence: found 0.0"),
        ({"resamples": 0}, "resamples: found 0"),
        ({"differences": [[1.0]]}, "differences: found 2 dimensions"),
        ({"differences": [math.inf]}, "differences: found 1 values that are infinite"),
        ({"differences": [-1e200]}, "differences: found 1 values that are infinite or larger than 1e\\+100"),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        paired_difference(**{"differences": [1.0, 0.0], "seed": 0, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([1.0], "bounds: found 1 for 2 columns; expected one for each"),
        ([1.0, 0.0], "bounds: found 0; expected numbers above 0, or None"),
        ([math.inf, None], "bounds: found inf; expected numbers above 0"),
    ],
)
def test_bounds_are_numbers_above_0_one_for_each_column(bounds: list[float | None], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        paired_differences([[0.5, 0.0]], seed=0, bounds=bounds)


def test_no_bounds_are_none_for_each_column() -> None:
    matrix = np.random.default_rng(2).choice(STEPS, size=(30, 2))
    assert paired_differences(matrix, seed=0) == paired_differences(matrix, seed=0, bounds=[None, None])


@pytest.mark.slow
def test_scipy_is_not_imported_before_it_is_needed() -> None:
    code = "import sys; from raglift.stats import paired_difference, mean_interval; sys.exit('scipy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
