"""The smallest difference that so many queries can show."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from raglift.errors import ConfigurationError
from raglift.stats.power import minimum_detectable_effect_of


def power_of(difference: float, deviation: float, n: int, alpha: float = 0.05) -> float:
    """Return the power of the two-sided t test by its definition: the mean is normal, the variance χ², independent."""
    freedom, away = n - 1, difference * math.sqrt(n) / deviation
    critical = stats.t.ppf(1 - alpha / 2, freedom)
    roots = np.linspace(0.0, math.sqrt(stats.chi2.isf(1e-12, freedom)), 20_001)
    limits = critical * roots / math.sqrt(freedom)
    beyond = special.ndtr(away - limits) + special.ndtr(-away - limits)
    return float(integrate.trapezoid(beyond * stats.chi.pdf(roots, freedom), roots))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30, 60, 312])
@pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.5, 0.01), (0.95, 0.1)])
def test_the_t_test_has_the_power_at_the_difference(n: int, power: float, alpha: float) -> None:
    found = minimum_detectable_effect_of(0.3, n, power, alpha)
    assert power_of(found, 0.3, n, alpha) == pytest.approx(power, abs=1e-4)


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_the_noncentral_t_of_scipy_says_the_same(n: int) -> None:
    found = minimum_detectable_effect_of(2.0, n) * math.sqrt(n) / 2.0
    critical = stats.t.ppf(0.975, n - 1)
    assert stats.nct.sf(critical, n - 1, found) + stats.nct.cdf(-critical, n - 1, found) == pytest.approx(0.8, abs=1e-6)


def test_with_many_queries_it_is_the_normal_formula() -> None:
    normal = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) / math.sqrt(100_000)
    assert minimum_detectable_effect_of(1.0, 100_000) == pytest.approx(normal, rel=2e-5)


def test_more_queries_show_less() -> None:
    found = [minimum_detectable_effect_of(1.0, n) for n in (*range(2, 40), 100, 1000, 10**6)]
    assert (np.diff(found) < 0.0).all()


@settings(deadline=None)
@given(st.floats(1e-6, 1e6), st.integers(2, 500))
def test_it_is_in_the_unit_of_the_standard_deviation(deviation: float, n: int) -> None:
    assert minimum_detectable_effect_of(deviation, n) == pytest.approx(deviation * minimum_detectable_effect_of(1.0, n))


@pytest.mark.parametrize(("deviation", "n"), [(0.0, 60), (math.nan, 60), (1.0, 1), (1.0, 0)])
def test_where_it_cannot_be_told_it_is_nan(deviation: float, n: int) -> None:
    assert math.isnan(minimum_detectable_effect_of(deviation, n))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0, 60), "standard_deviation: found -1; expected at least 0"),
        ((1.0, -1), "n: found -1; expected an integer of at least 0"),
        ((1.0, 60, 1.0), "power: found 1.0; expected a number between 0 and 1"),
        ((1.0, 60, 0.8, 0.0), "alpha: found 0.0; expected a number between 0 and 1"),
        ((1.0, 60, 0.04), "power: found 0.04, with alpha 0.05; expected a power above alpha"),
    ],
)
def test_what_it_cannot_use_is_refused(arguments: tuple[float, int], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        minimum_detectable_effect_of(*arguments)
