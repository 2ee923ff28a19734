"""The minimum detectable effect of a number of queries."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import checked_fraction, checked_integer, chi_square_quantiles, normal_below, t_quantile

_HALVINGS = 50
_SCORES = np.linspace(-8.0, 8.0, 2049)
"""Where χ² is looked at, as normal scores: sums over an even grid of a smooth and vanishing function are exact."""


def minimum_detectable_effect_of(standard_deviation: float, n: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the smallest true mean difference that a two-sided paired test would find with the given power.

    It solves P(|T| > t₁₋α/₂) = power, where T is noncentral t with n − 1 degrees of freedom and noncentrality
    difference · √n / standard deviation: the power of a paired t test. For large n it is
    (z₁₋α/₂ + z_power) · standard deviation / √n. The sign-flip test has the same power where differences are dense, and
    0.75 instead of 0.8 where they are few and of one size, as those of HitRate at 60 queries.

    Args:
        standard_deviation: of the differences between queries, in the metric's unit.
        n: how many queries.
        power: the chance of finding it.
        alpha: the chance of finding a difference where there is none.

    Returns:
        The difference, in the metric's unit. NaN if it is unknown: fewer than 2 queries, or a standard deviation that
        is 0 or NaN (queries that all differ by the same amount do not say how much others would vary).

    Raises:
        ConfigurationError: a negative standard deviation or n, or a power or alpha that is not between 0 and 1, or a
            power not above alpha.
    """
    n = checked_integer("n", n, least=0)
    power, alpha = checked_fraction("power", power), checked_fraction("alpha", alpha)
    if standard_deviation < 0.0:
        raise ConfigurationError(f"standard_deviation: found {standard_deviation:g}; expected at least 0")
    if power <= alpha:
        raise ConfigurationError(f"power: found {power:g}, with alpha {alpha:g}; expected a power above alpha")
    if n < 2 or standard_deviation == 0.0 or math.isnan(standard_deviation):
        return math.nan
    return _noncentrality(n, power, alpha) * standard_deviation / math.sqrt(n)


@lru_cache(maxsize=1024)
def _noncentrality(n: int, power: float, alpha: float) -> float:
    """Return the noncentrality at which the two-sided test has the power."""
    critical = t_quantile(n - 1, 1.0 - alpha / 2.0)
    # A t statistic is beyond its critical value where a normal variable is beyond that value times an independent
    # root of χ² / freedom: the power is the mean of normal tails over χ². (scipy's noncentral t gives NaN for large
    # noncentralities with few degrees of freedom, which 2 and 3 queries need.)
    shares = normal_below(_SCORES)
    limits = critical * np.sqrt(chi_square_quantiles(n - 1, shares) / (n - 1))
    density = np.exp(-(_SCORES**2) / 2.0)
    density /= density.sum()

    def power_at(noncentrality: float) -> float:
        beyond = normal_below(noncentrality - limits) + normal_below(-noncentrality - limits)
        return float(density @ beyond)

    low, high = 0.0, 1.0
    while power_at(high) < power:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if power_at(middle) < power else (low, middle)
    return (low + high) / 2.0
