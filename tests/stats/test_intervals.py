"""Confidence intervals for means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from raglift.errors import ConfigurationError
from raglift.stats.intervals import difference_interval, mean_interval

STEPS = (-1.0, -2 / 3, -0.5, -1 / 3, 0.0, 0.0, 0.0, 1 / 3, 0.5, 2 / 3, 1.0)
SAMPLES = 2000
CHANCE = 4 * math.sqrt(0.95 * 0.05 / SAMPLES)
"""Four standard errors of a coverage near 0.95 that 2,000 samples show: 0.0195."""

samples = st.lists(st.sampled_from(STEPS), min_size=2, max_size=60)


def half_ups(share_up: float, share_down: float) -> tuple[list[float], list[float]]:
    """Return differences like those of RR, and their chances: half of all that move do so by 1/2."""
    sizes, often = [1 / 2, 2 / 3, 1.0, 1 / 6, 1 / 3], [0.5, 0.15, 0.15, 0.1, 0.1]
    ups, downs = [share_up * chance for chance in often], [share_down * chance for chance in often]
    return [*sizes, 0.0, *(-size for size in sizes)], [*ups, 1 - share_up - share_down, *downs]


POPULATIONS = {
    "ranks +12 % −2 %": half_ups(0.12, 0.02),
    "ranks +20 % −5 %": half_ups(0.2, 0.05),
    "ranks +10 % −10 %": half_ups(0.1, 0.1),
    "ranks +30 % −15 %": half_ups(0.3, 0.15),
    "many small wins, 5 % losses": ([0.1, 0.05, 0.0, -1.0], [0.2, 0.2, 0.55, 0.05]),
}


def coverage(values: list[float], chances: list[float], n: int) -> float:
    """Return how many of the intervals of samples of n hold the population's mean."""
    mean = float(np.dot(values, chances))
    drawn = np.random.default_rng(n).choice(values, p=chances, size=(SAMPLES, n))
    intervals = [difference_interval(sample) for sample in drawn]
    return float(np.mean([low <= mean + 1e-12 and mean - 1e-12 <= high for low, high in intervals]))


def coverages_of_hits(n: int, rates: list[tuple[float, float]]) -> list[float]:
    """Return, for each rate of wins and of losses by 1, the coverage in closed form: over all that n queries can do."""
    wins, losses = (counts[np.add.outer(range(n + 1), range(n + 1)) <= n] for counts in np.indices((n + 1, n + 1)))
    samples = [[1.0] * up + [-1.0] * down + [0.0] * (n - up - down) for up, down in zip(wins, losses, strict=True)]
    low, high = np.array([difference_interval(sample) for sample in samples]).T
    found = []
    for up, down in rates:
        chances = stats.multinomial.pmf(np.c_[wins, losses, n - wins - losses], n, [up, down, 1 - up - down])
        found.append(float(chances[(low <= up - down + 1e-12) & (up - down - 1e-12 <= high)].sum()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, pytest.param(120, marks=pytest.mark.full)])
def test_intervals_of_hits_that_come_and_go_hold_the_mean_as_often_as_they_say(n: int) -> None:
    percent = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12, 0.15, 0.2, 0.3]
    rates = [(up, down) for up in percent for down in percent if round(n * (up + down), 6) >= 5]
    found = np.array(coverages_of_hits(n, rates))
    assert len(rates) > 150
    assert found.min() >= 0.93
    assert found.max() <= 0.992  # of wins alone: few of them may be many more


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 120])
@pytest.mark.parametrize("population", POPULATIONS)
def test_intervals_of_sparse_and_tied_differences_hold_the_mean_as_often_as_they_say(population: str, n: int) -> None:
    # With 10,000 samples each these were 0.943 to 0.98, the most with few large losses among many small wins. The seed
    # fixes the 4,000 here, whose standard error is 0.0034: three of them remain below.
    assert 0.93 <= coverage(*POPULATIONS[population], n) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 120])
def test_intervals_of_dense_differences_hold_the_mean_as_often_as_they_say(n: int) -> None:
    values = np.random.default_rng(0).normal(0.1, 0.25, size=20_000).clip(-1, 1)
    found = coverage(values.tolist(), [1 / len(values)] * len(values), n)
    assert found == pytest.approx(0.95, abs=CHANCE)


@pytest.mark.parametrize(("wins", "losses", "is_capped"), [(14, 1, False), (5, 0, True)])
def test_the_interval_by_hand(wins: int, losses: int, is_capped: bool) -> None:
    # Wins and losses of size 1, among 60: m is their number.
    sample = np.array([1.0] * wins + [-1.0] * losses + [0.0] * (60 - wins - losses))
    mean, root = (wins - losses) / 60, math.sqrt(60)
    t, s = stats.t.ppf(0.975, 59), sample.std(ddof=1)
    skewness, m = stats.moment(sample, 3) / s**3, wins + losses
    centre = mean + m / (m + 10) * skewness * s * (1 + 2 * t**2) / 360
    limit = t * math.sqrt(1 + 1 / m)
    half = limit * s / root
    # The upper end is where Hall's transformed t is minus the quantile, for the skewness g (1 + 2 r).
    away = np.abs(sample - mean) ** 3
    g = skewness * (1 + 2 * away.max() / away.sum()) / root

    def transformed_of(end: float) -> float:
        found = (mean - end) * root / s
        return found + g * found**2 / 3 + g**2 * found**3 / 27 + g / 6

    high = optimize.brentq(lambda end: transformed_of(end) + limit, mean, 9.0)
    assert bool(high > mean + 1.75 * half) is is_capped
    assert high > centre + half
    np.testing.assert_allclose(difference_interval(sample), (centre - half, min(high, mean + 1.75 * half)))


def test_with_many_dense_differences_it_is_the_t_interval_of_scipy() -> None:
    sample = np.random.default_rng(1).normal(500.0, 10.0, size=5000)
    theirs = stats.ttest_1samp(sample, 0.0).confidence_interval(0.99)
    ours = difference_interval(sample, confidence=0.99)
    np.testing.assert_allclose(ours, (theirs.low, theirs.high), atol=0.01 * (theirs.high - theirs.low))


@settings(deadline=None)
@given(samples, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_it_holds_the_mean_of_the_sample(sample: list[float], confidence: float) -> None:
    low, high = difference_interval(sample, confidence=confidence)
    assert math.isnan(low) == math.isnan(high) == (len(set(sample)) == 1)
    assert len(set(sample)) == 1 or low <= np.mean(sample) <= high


@pytest.mark.parametrize("sample", [[], [1.0], [0.0] * 60, [0.25] * 3, [math.nan, 1.0]])
def test_what_does_not_vary_has_no_interval(sample: list[float]) -> None:
    assert all(math.isnan(bound) for bound in difference_interval(sample))


def test_what_has_no_value_is_left_out() -> None:
    assert difference_interval([1.0, math.nan, 0.0, 0.5]) == difference_interval([1.0, 0.0, 0.5])
    assert mean_interval([1.0, math.nan, 0.0]) == mean_interval([1.0, 0.0])


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 60), (60, 60), (59, 60), (31, 60), (290, 312)])
def test_the_interval_of_a_hit_rate_is_that_of_wilson(hits: int, n: int) -> None:
    theirs = stats.binomtest(hits, n).proportion_ci(0.9, method="wilson")
    ours = mean_interval([1.0] * hits + [0.0] * (n - hits), confidence=0.9)
    np.testing.assert_allclose(ours, (theirs.low, theirs.high), atol=1e-12)
    assert 0.0 <= ours.low < ours.high <= 1.0


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40))
def test_the_interval_of_a_mean_stays_in_bounds_and_holds_it(values: list[float]) -> None:
    low, high = mean_interval(values)
    assert 0.0 <= low <= np.mean(values) <= high <= 1.0
    assert low < high


def test_without_bounds_the_interval_of_a_mean_is_the_t_interval_of_scipy() -> None:
    values = np.random.default_rng(3).lognormal(5.0, 0.6, size=60)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose(mean_interval(values, bounds=None), (theirs.low, theirs.high))
    assert all(math.isnan(bound) for bound in mean_interval([3.0], bounds=None))


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 120])
@pytest.mark.parametrize("chances", [[0.1, 0.0, 0.0, 0.9], [0.2, 0.1, 0.2, 0.5], [0.01, 0.04, 0.15, 0.8]])
def test_intervals_of_one_mean_hold_it_as_often_as_they_say(chances: list[float], n: int) -> None:
    values = np.array([0.0, 1 / 3, 1 / 2, 1.0])
    drawn = np.random.default_rng(n).choice(values, p=chances, size=(SAMPLES, n))
    mean = float(values @ chances)
    held = np.mean([low <= mean <= high for low, high in map(mean_interval, drawn)])
    # Of 0 and 1 the coverage goes in steps: 0.952 and 0.956 in closed form here; else it is 0.95 but for chance.
    assert held == pytest.approx(0.952, abs=CHANCE + 0.004)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": 95}, "confidence: found 95; expected a number between 0 and 1, as 0.95"),
        ({"confidence": 1.0}, "confidence: found 1.0; expected"),
        ({"values": [0.5, 1.5]}, r"values: found 0.5 to 1.5 with bounds \(0, 1\); expected values within bounds"),
        ({"values": [[0.5]]}, "values: found 2 dimensions; expected 1: one number per query"),
        ({"bounds": (1.0, 0.0)}, r"values: found 0.5 to 1 with bounds \(1, 0\)"),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        mean_interval(**{"values": [0.5, 1.0], **change})  # type: ignore[arg-type]
