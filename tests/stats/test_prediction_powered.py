"""Corrected totals: exact where theory is, unbiased, valid, and no wider than people alone."""

import math
from itertools import combinations

import numpy as np
import pytest

from raglift.errors import ConfigurationError
from raglift.stats import Clusters, corrected_total
from raglift.stats.intervals import t_quantile
from raglift.stats.prediction_powered import FEWEST_SAMPLED


def world(seed, judge=(0.1, 0.8, 0.1, 0.0), units=100):
    """Return true grades of some units, and those of a judge that is off by −1, 0, 1 or 2."""
    random = np.random.default_rng(seed)
    true = random.binomial(3, 0.4, size=units).astype(float)
    return true, np.clip(true + random.choice([-1, 0, 1, 2], p=judge, size=units), 0, 3).astype(float)


def drawn_alike(true, judge, places, **about):
    """Return the corrected mean of units that were drawn with equal probabilities."""
    units, n = len(true), len(places)
    predictions = None if judge is None else judge / units
    return corrected_total(
        true[places] / units,
        places,
        np.full(n, n / units),
        predictions=predictions,
        weights=np.full(units, 1 / units),
        **about,
    )


def test_a_simple_random_sample_gives_the_regression_estimator():
    true, judge = world(0)
    places = np.arange(40)
    slope, intercept = np.polyfit(judge[places], true[places], 1)
    found = drawn_alike(true, judge, places)
    assert found.estimate == pytest.approx(intercept + slope * judge.mean())
    assert found.tuning == pytest.approx(slope)
    residual = true[places] - intercept - slope * judge[places]
    classical = np.sqrt((1 - 0.4) / 40 * (residual**2).sum() / 38)
    assert found.standard_error == pytest.approx(classical, rel=0.06)  # leave-one-out residuals are a little larger


def test_people_alone_are_the_mean_of_the_sample_with_the_finite_population_correction():
    true, _ = world(0)
    places = np.arange(0, 100, 2)
    found = drawn_alike(true, None, places)
    assert found.estimate == pytest.approx(true[places].mean())
    assert found.standard_error == pytest.approx(true[places].std(ddof=1) * np.sqrt(0.5 / 50), rel=0.05)
    assert found.interval.high == pytest.approx(found.estimate + t_quantile(49, 0.975) * found.standard_error, rel=0.01)
    assert found.tuning == 0


@pytest.mark.parametrize(
    ("seed", "judge", "estimate", "low", "high"),
    [
        (0, (0.1, 0.8, 0.1, 0.0), 1.32390798, 1.11794845, 1.52986751),
        (1, (0.3, 0.3, 0.2, 0.2), 1.29263686, 1.00972193, 1.57555180),
        (2, (0.0, 0.3, 0.5, 0.2), 1.06189003, 0.85274008, 1.27103998),
    ],
)
def test_a_population_mean_is_that_of_ppi_python(seed, judge, estimate, low, high):
    """Against ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3, tuned, with 30 labels and 70 predictions.

    Its λ is of the pooled variance without degrees of freedom, and its interval of the normal distribution.
    """
    true, predicted = world(seed, judge)
    found = drawn_alike(true, predicted, np.arange(30), clusters=Clusters(np.arange(100), 100))
    assert found.estimate == pytest.approx(estimate, abs=0.015)
    assert 1.0 <= found.width / (high - low) < 1.12


def test_a_census_has_no_width_whatever_the_judge_says():
    true, judge = world(1, (0.0, 0.0, 0.0, 1.0))
    found = drawn_alike(true, judge, np.arange(100))
    assert found.estimate == pytest.approx(true.mean())
    assert found.interval == (found.estimate, found.estimate)
    assert found.standard_error == 0
    few = corrected_total([0.5, 0.2], [1, 0], [1.0, 1.0], predictions=[0.1, 0.9], weights=[1.0, 1.0])
    assert (few.estimate, few.width) == (pytest.approx(0.7), 0)


@pytest.mark.parametrize("clusters", [None, Clusters(np.repeat(np.arange(20), 5), 20)])
def test_a_judge_without_an_error_in_the_sample_is_not_known_to_make_none(clusters):
    true, _ = world(3)
    found = drawn_alike(true, true, np.arange(30), clusters=clusters)
    assert found == drawn_alike(true, None, np.arange(30), clusters=clusters)
    assert found.width > 0


def test_unequal_probabilities_are_unbiased_over_all_samples():
    """Every sample of 2 of 4 units by Sampford's design would be too much; Poisson sampling is enumerated instead."""
    values, judge = np.array([0.9, 0.2, 0.4, 0.7]), np.array([0.8, 0.3, 0.1, 0.9])
    chance = np.array([0.9, 0.4, 0.3, 0.7])
    expected = 0.0
    for size in range(5):
        for places in combinations(range(4), size):
            taken = np.isin(np.arange(4), places)
            # with the fit held fixed the estimator is linear, and its expectation exact
            rectifier = ((values - 0.6 * judge) / chance)[taken].sum()
            expected += np.where(taken, chance, 1 - chance).prod() * (0.6 * judge.sum() + rectifier)
    assert expected == pytest.approx(values.sum())


def simulated(judge, *, n=40, samples=300, units=200, population=False):
    """Return how often intervals hold the true mean, and the mean widths of both and of people alone."""
    random = np.random.default_rng(11)
    true, predicted = world(7, judge, 5000 if population else units)
    truth, held, widths, estimates = true.mean(), 0, np.zeros(2), []
    for _ in range(samples):
        of = random.choice(len(true), units, replace=False)
        places = random.choice(units, n, replace=False)
        clusters = Clusters(np.arange(units), units) if population else None
        both = drawn_alike(true[of], predicted[of], places, clusters=clusters)
        alone = drawn_alike(true[of], None, places, clusters=clusters)
        held += both.interval.low <= truth <= both.interval.high
        widths += both.width, alone.width
        estimates.append(both.estimate)
    return held / samples, *(widths / samples), float(np.mean(estimates)) - truth


GOOD, WEAK, USELESS, BIASED = (0.1, 0.8, 0.1, 0.0), (0.3, 0.3, 0.2, 0.2), None, (0.0, 0.1, 0.5, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("judge", [GOOD, BIASED])
def test_intervals_cover_and_are_shorter_than_peoples(judge, population):
    covered, width, alone, bias = simulated(judge, population=population)
    assert 0.915 <= covered <= 0.985  # 0.95 ± 2.8 standard errors of 300 samples
    assert width < 0.9 * alone
    assert abs(bias) < 0.02


@pytest.mark.parametrize("n", [25, 50, 100])
@pytest.mark.parametrize("samples", [pytest.param(100), pytest.param(4000, marks=pytest.mark.full)])
def test_a_judge_that_says_anything_costs_little_width_and_no_coverage(n, samples):
    random = np.random.default_rng(5)
    held, used, widths = 0, 0, np.zeros(2)
    for _ in range(samples):
        true, noise = random.binomial(3, 0.4, 200).astype(float), random.integers(0, 4, 200).astype(float)
        places = random.choice(200, n, replace=False)
        found, alone = drawn_alike(true, noise, places), drawn_alike(true, None, places)
        assert found.width <= 1.05 * alone.width
        assert (found == alone) == (found.tuning == 0)
        widths += found.width, alone.width
        used += found.tuning != 0
        held += found.interval.low <= true.mean() <= found.interval.high
    assert used > 0
    assert widths[0] < 1.025 * widths[1]
    assert held / samples >= 0.945 - 3 * np.sqrt(0.05 * 0.95 / samples)


@pytest.mark.slow
@pytest.mark.parametrize("units", [300, 5000])
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_as_many_units_as_are_said_make_intervals_that_share_as_wide(units, share):
    """In simulations, a sample of the size that the first one asks for has an interval of the wanted width."""
    shares, sizes = [], []
    for seed in range(120):
        true, judge = world(seed, GOOD, units)
        drawn = np.random.default_rng(seed).permutation(units)
        first = drawn_alike(true, judge, drawn[:60])
        sizes.append(first.sampled_for(share))
        shares.append(drawn_alike(true, judge, drawn[: sizes[-1]]).width / first.width)
    assert set(sizes) == {math.ceil(1 / (1 / units + share**2 * (1 / 60 - 1 / units)))}
    assert 0.92 * share <= np.mean(shares) <= 1.01 * share  # small samples are widened besides, so it is a little less


def test_few_units_have_an_estimate_and_no_interval():
    true, judge = world(0)
    found = drawn_alike(true, judge, np.arange(FEWEST_SAMPLED - 1))
    assert np.isfinite(found.estimate)
    assert np.isnan(found.interval).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probability": [0.5, 0.0]}, "probability: found 0; expected the chance"),
        ({"probability": [0.5, 1.5]}, "probability: found 1.5"),
        ({"probability": [0.5]}, "1 probabilities"),
        ({"sampled": [0, 0]}, "each at most once"),
        ({"sampled": [0, 3]}, "from 0 to 2"),
        ({"values": [0.1, np.nan]}, "one number of each"),
        ({"predictions": [0.1, 0.2]}, "predictions: found 2 numbers; expected one for each of the 3 units"),
        ({"predictions": [0.1, 0.2, np.nan]}, "predictions: found 2 numbers"),
        ({"confidence": 95}, "confidence: found 95"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    given = {
        "values": [0.1, 0.2],
        "sampled": [0, 1],
        "probability": [0.5, 0.5],
        "predictions": [0.1, 0.2, 0.3],
        "weights": [1.0, 1.0, 1.0],
    } | change
    with pytest.raises(ConfigurationError, match=message):
        corrected_total(given.pop("values"), given.pop("sampled"), given.pop("probability"), **given)
