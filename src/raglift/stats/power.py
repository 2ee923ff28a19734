"""The minimum detectable effect of differences that were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import (
    TIED,
    checked_fraction,
    checked_integer,
    normal_quantile,
    numbers,
    t_quantile,
    transformed_back,
)
from raglift.stats.skewness import STRONG

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


# The minimum detectable effect of differences that were seen, for the test that is used on them. Samples are drawn from
# the differences, with replacement. In each, one can say how much larger the mean must have been for the test to find
# it: as much as its critical value takes, less what the sample's mean is above the true one by chance. The effect that
# is found in 80 of 100 samples is the 80 % quantile of that. So the differences' own skewness, spread and steps count,
# which a formula for normal differences does not know of.


_SAMPLES = 1000
_COLUMNS = 256
"""How many columns are looked at together: 2 MB for each array of them."""
_BLOCK = 1_000_000
"""How many numbers are drawn at a time: 8 MB."""
_EXACT_DIGITS = 52
_MOST_DIGITS = 16
"""Differences are rounded to so many binary digits of the largest, fewer if sums of their cubes would not be exact."""
_OVERTONES = np.arange(1, 7)[:, np.newaxis]


def minimum_detectable_effects(
    matrix: ArrayLike, *, seed: int, power: float = 0.8, alpha: float = 0.05
) -> NDArray[np.float64]:
    """Return, for each column of differences, the smallest true mean that the test of it would find with the power.

    It is the effect in the direction of the mean that was seen, of the two-sided test that `paired_differences` makes:
    sign flips or, where differences are strongly skewed against the mean, Hall's transformed t.

    Args:
        matrix: queries × columns; NaN if a query has no difference.
        seed: draws the samples, the same for all columns: an integer of at least 0.
        power: the chance of finding it.
        alpha: the chance of finding a difference where there is none.

    Returns:
        One effect for each column, above 0 and in the unit of the differences. NaN with so few queries that p cannot be
        alpha even if all are won (5 or fewer for 0.05), or if all differ by the same amount, since they do not say how
        much others would vary.

    Raises:
        ConfigurationError: a negative seed, a power or alpha that is not between 0 and 1, a power not above alpha, or a
            matrix that is not one of finite numbers.
    """
    seed = checked_integer("seed", seed, least=0)
    power, alpha = _checked_powers(power, alpha)
    values = numbers("matrix", matrix, dimensions=2)
    found = np.full(values.shape[1], np.nan)
    if not values.size:
        return found
    known = ~np.isnan(values)
    steps, unit = _whole_steps(values)
    varied = np.where(known, steps, -np.inf).max(axis=0) > np.where(known, steps, np.inf).min(axis=0)
    varied &= 2.0 ** (1.0 - known.sum(axis=0)) <= alpha
    places = np.flatnonzero(varied)
    for start in range(0, len(places), _COLUMNS):
        some = places[start : start + _COLUMNS]
        found[some] = _effects(steps[:, some], known[:, some], seed, power, alpha) * unit[some]
    return found


def _effects(
    steps: NDArray[np.float64], known: NDArray[np.bool_], seed: int, power: float, alpha: float
) -> NDArray[np.float64]:
    """Return the effects of columns in whole steps, not all of one value."""
    n, totals = known.sum(axis=0), steps.sum(axis=0)
    steps, totals = np.where(totals < 0.0, -steps, steps), np.abs(totals)
    many, mean, second, third = _means_of_samples(steps, known, seed)
    variance = np.maximum(second - mean**2, 0.0)
    spread = variance > 1e-9 * second
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.where(spread, (third - 3.0 * mean * second + 2.0 * mean**3) / variance**1.5, 0.0)
    deviation = np.sqrt(variance)  # of a sample with replacement √((n − 1) / n) too small, as the mean's spread is
    # Sign flips compare the sum with √Σd²; a sum that moves in steps passes the border by half a step on average.
    sizes = np.sqrt(np.maximum(second, 1e-300) * n)
    step = np.array([_half_step(column) for column in steps.T])
    border = np.minimum(normal_quantile(1.0 - alpha / 2.0) + step / sizes, _MOST_OF_ROOT * np.sqrt(n))
    critical = border * np.sqrt((n - 1) / (n - border**2))
    student = np.array([t_quantile(int(freedom), 1.0 - alpha / 2.0) for freedom in n - 1])
    skewed = skewness < -STRONG * np.sqrt(6.0 / n)
    critical = np.where(skewed, np.maximum(critical, transformed_back(student, skewness / np.sqrt(n))), critical)
    ahead = (mean - totals / n) * np.sqrt(many / n)
    needed = np.quantile(critical * deviation / np.sqrt(n) - ahead, power, axis=0)
    effects: NDArray[np.float64] = needed * np.sqrt(n / (n - 1))
    return effects


def _means_of_samples(
    steps: NDArray[np.float64], known: NDArray[np.bool_], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return how many queries with a value each sample holds of each column, and their mean d, d² and d³."""
    generator, rows = np.random.default_rng(seed), len(steps)
    powers = np.concatenate((known.astype(np.float64), steps, steps**2, steps**3), axis=1)
    at_a_time = max(1, _BLOCK // rows)
    sums = []
    for start in range(0, _SAMPLES, at_a_time):
        samples = min(at_a_time, _SAMPLES - start)
        drawn = generator.integers(0, rows, size=(samples, rows)) + rows * np.arange(samples)[:, np.newaxis]
        often = np.bincount(drawn.ravel(), minlength=samples * rows).reshape(samples, rows).astype(np.float64)
        sums.append(often @ powers)  # of whole numbers, and exact: no column depends on the others or on the processor
    many, first, second, third = np.split(np.concatenate(sums), 4, axis=1)
    many = np.maximum(many, 1.0)
    return many, first / many, second / many, third / many


_MOST_OF_ROOT = 0.99
"""The sum of n differences is at most √n times √Σd², so no border may be at or beyond it."""


def _whole_steps(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each column in whole steps, with 0 where there is no value, and what a step is worth."""
    filled = np.where(np.abs(values) > TIED, values, 0.0)  # NaN compares as false
    digits = min(_MOST_DIGITS, (_EXACT_DIGITS - len(values).bit_length()) // 3)
    unit = np.abs(filled).max(axis=0) / 2.0**digits
    unit = np.where(unit > 0.0, unit, 1.0)
    return np.rint(filled / unit), unit


def _half_step(steps: NDArray[np.float64]) -> float:
    """Return half the step by which the sum of differences under random signs moves: their size where all are alike.

    The steps are those of the commonest size, or a whole part of it. They count as far as the sums keep to them, which
    |E exp(iuS)| = Π |cos(u d)| says: 1 for differences that are all a multiple of one size, 0 where they are dense.
    """
    sizes = np.abs(steps[steps != 0.0])
    known, often = np.unique(sizes, return_counts=True)
    commonest = float(known[np.argmax(often)])
    product = np.abs(np.cos(np.pi / commonest * _OVERTONES * sizes)).prod(axis=1)
    return float((product * commonest / _OVERTONES[:, 0]).max())


def _checked_powers(power: float, alpha: float) -> tuple[float, float]:
    power, alpha = checked_fraction("power", power), checked_fraction("alpha", alpha)
    if power <= alpha:
        raise ConfigurationError(f"power: found {power:g}, with alpha {alpha:g}; expected a power above alpha")
    return power, alpha
