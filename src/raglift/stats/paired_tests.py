"""Paired tests of a mean difference, and Holm's correction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import (
    DIFFERENCE_METHOD,
    TIED,
    checked_fraction,
    checked_integer,
    difference_interval,
    numbers,
)
from raglift.stats.skewness import DECISIVE, HALL_TEST, hall_p, log_wealth, skewness_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray


# The sign-flip permutation test of a mean paired difference. If two systems do equally well, each query's difference
# is as likely to be d as −d. So the observed sum is compared with the sums under other signs; the p-value is the part
# of them, the observed one included, that are at least as far from 0. (Fisher, The Design of Experiments, 1935;
# Phipson and Smyth, 2010, on why the observed one is included.)


RESAMPLES = 10_000
"""How many assignments of signs are drawn if there are more; the least p-value is one in one more."""
_STEPS = 36
"""Differences are rounded to this many binary digits of the largest one, fewer if their sums would not be exact."""
_EXACT_DIGITS = 52
_BLOCK = 2_000_000
"""How many numbers are held at a time: 16 MB."""


@dataclass(frozen=True)
class SignFlipTest:
    """The outcome of one sign-flip permutation test."""

    p: float
    """Two-sided p-value, never 0: (b + 1) / (resamples + 1), or of all assignments if exact."""
    exact: bool
    """Whether every assignment of signs was counted, and not a sample of them."""
    assignments: int
    """How many assignments of signs were looked at: 2^m for m non-zero differences if exact, else the resamples."""

    @property
    def name(self) -> str:
        """The test's name, as a report states it."""
        how = f"all {self.assignments:,}" if self.exact else f"{self.assignments:,} random"
        plural = "s" if self.assignments != 1 else ""
        return f"paired sign-flip permutation test of the mean, two-sided, {how} assignment{plural} of signs"


def sign_flip_test(matrix: ArrayLike, *, seed: int, resamples: int = RESAMPLES) -> list[SignFlipTest]:
    """Test each column's mean difference against 0.

    A column with m non-zero differences is tested exactly where that is no more work than sampling (2^m ≤ resamples);
    otherwise signs are drawn, the same for all columns: what a column yields depends on nothing but itself, its
    length and the seed. NaN and ties count as 0, whose sign does not matter.

    Sums are taken of whole numbers (each difference in steps of 2⁻³⁶ of the column's largest, fewer beyond 65,536
    queries), so they are exact: no result depends on the order of summing, on the processor, or on a neighbour.

    Args:
        matrix: queries × columns.
        seed: an integer of at least 0.
        resamples: how many assignments of signs are drawn.

    Raises:
        ConfigurationError: a negative seed, no resamples, or a matrix that is not one of finite numbers.
    """
    seed, resamples = checked_integer("seed", seed, least=0), checked_integer("resamples", resamples, least=1)
    values = numbers("matrix", matrix, dimensions=2)
    rows, columns = values.shape
    steps = np.zeros((rows, columns), order="F")
    for column in range(columns):
        steps[:, column] = _whole_steps(values[:, column])
    counts = np.count_nonzero(steps, axis=0)
    sampled = np.flatnonzero([2 ** int(count) > resamples for count in counts])
    beyond = dict(zip(sampled.tolist(), _beyond(steps[:, sampled], seed, resamples).tolist(), strict=True))
    return [
        SignFlipTest((beyond[column] + 1) / (resamples + 1), exact=False, assignments=resamples)
        if column in beyond
        else _exact(steps[:, column])
        for column in range(columns)
    ]


def _whole_steps(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return differences in whole steps, so small a part of the largest one that rounding does not tell."""
    sizes = np.abs(differences)
    untied = np.where(sizes > TIED, differences, 0.0)  # NaN compares as false
    largest = float(np.abs(untied).max(initial=0.0))
    if largest == 0.0:
        return untied
    digits = min(_STEPS, _EXACT_DIGITS - len(untied).bit_length())
    return np.rint(untied / largest * 2.0**digits)


def _exact(steps: NDArray[np.float64]) -> SignFlipTest:
    changed = steps[steps != 0.0]
    if not len(changed):
        return SignFlipTest(1.0, exact=True, assignments=1)
    # Turning every sign around changes no distance from 0: the first sign stays, half the assignments are enough.
    sums = changed[:1]
    for step in changed[1:]:
        sums = np.concatenate((sums + step, sums - step))
    share = float((np.abs(sums) >= _far(steps)).mean())
    return SignFlipTest(share, exact=True, assignments=2 * len(sums))


def _far(steps: NDArray[np.float64]) -> float:
    """Return from which distance on a sum is as far from 0 as the observed one.

    Rounding moves each of the two sums by at most half a step per difference: what is nearer than that is a tie.
    """
    return abs(float(steps.sum())) - int(np.count_nonzero(steps))


def _beyond(steps: NDArray[np.float64], seed: int, resamples: int) -> NDArray[np.int64]:
    """Count the drawn assignments whose sum is at least as far from 0 as the observed one, per column."""
    columns = steps.shape[1]
    totals = steps.sum(axis=0)
    far = np.array([_far(steps[:, column]) for column in range(columns)])
    beyond = np.zeros(columns, dtype=np.int64)
    if columns:
        for plus in _signs(len(steps), columns, seed, resamples):
            beyond += (np.abs(2.0 * (plus @ steps) - totals) >= far).sum(axis=0)
    return beyond


def _signs(rows: int, columns: int, seed: int, resamples: int) -> Iterator[NDArray[np.float64]]:
    """Draw assignments in blocks, 1 where a sign is plus; the blocks' size does not change what is drawn."""
    generator = np.random.default_rng(seed)
    words = -(-rows // 64)
    at_a_time = max(1, _BLOCK // max(64 * words, columns))
    for start in range(0, resamples, at_a_time):
        drawn = generator.integers(0, 2**64, size=(min(at_a_time, resamples - start), words), dtype=np.uint64)
        bits = np.unpackbits(drawn.astype("<u8", copy=False).view(np.uint8), axis=1, count=rows)
        yield bits.astype(np.float64)


# Holm's correction for testing several hypotheses at once.


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values so that the chance of any false positive among them stays at the level they are compared with.

    The smallest of m is multiplied by m, the next by m − 1, and so on; none may be smaller than the one before it, or
    larger than 1. Holm, "A simple sequentially rejective multiple test procedure", 1979. Valid however the tests depend
    on each other, and never less powerful than Bonferroni's.

    Args:
        p_values: in any order; NaN if there was no test, which counts for nothing and stays NaN.

    Returns:
        The adjusted p-values, in the order given.

    Raises:
        ConfigurationError: a value outside [0, 1].
    """
    found = numbers("p_values", p_values, dimensions=1)
    outside = found[(found < 0.0) | (found > 1.0)]
    if len(outside):
        raise ConfigurationError(f"p_values: found {outside[0]:g}; expected numbers from 0 to 1, or NaN for no test")
    adjusted = np.full(len(found), np.nan)
    tested = np.flatnonzero(~np.isnan(found))
    order = tested[np.argsort(found[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(found[order] * factors), 1.0)
    return adjusted


# The statistics of one paired difference: mean, interval, p-value, wins and effect size.


FEW_QUERIES = 30
"""With fewer queries than this, intervals and tests say little, and a report should warn."""
FEWEST_CHECKED = 20
"""As many queries as each half of a held-out check has at least."""


@dataclass(frozen=True)
class PairedDifference:
    """How two systems differ on the same queries; where more is better, positive favours the one subtracted from."""

    n: int
    """How many queries have a difference."""
    mean: float
    """Their mean, in the metric's unit; NaN without queries."""
    low: float
    """The lower bound of the mean's confidence interval; NaN with fewer than 2 queries, or if all differ alike."""
    high: float
    """The upper bound."""
    p: float
    """Two-sided p-value of no difference, above 0; 1 where there is nothing to test. That of the sign-flip test or,
    where differences are strongly skewed against their mean, of Hall's transformed t if it is larger."""
    wins: int
    """Queries with a difference above 1e-9."""
    ties: int
    """Queries with a difference within 1e-9 of 0."""
    losses: int
    """Queries with a difference below −1e-9."""
    effect_size: float
    """Paired Cohen's d: mean / standard deviation (n − 1). If all are equal: 0 if they are 0, else NaN (no scale)."""
    confidence: float
    """How often such intervals hold the true mean, as 0.95."""
    test: str
    """The name of the test behind p."""
    interval: str
    """The name of the method behind low and high."""
    seed: int
    """What drew the random signs."""
    skewness: float = math.nan
    """Of the differences: below 0 where few losses are larger than the wins; NaN if all differ alike."""
    too_skewed: bool = False
    """Whether p is at most 1 − confidence and still decides nothing: at most one query differs the other way by half of
    the average win (or loss), and large differences that way, too rare to be in the sample, could outweigh what was
    seen."""


def paired_difference(
    differences: ArrayLike,
    *,
    seed: int,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    bound: float | None = None,
) -> PairedDifference:
    """Describe the differences between two systems on the same queries.

    Args:
        differences: one number per query, as NDCG after minus before; NaN if a query has none, which is left out.
        seed: draws the signs of the permutation test: an integer of at least 0.
        confidence: how often such intervals hold the true mean.
        resamples: how many assignments of signs are drawn where there are too many to try all.
        bound: how large a difference can be, as 1 for metrics between 0 and 1. Without one, whether differences are too
            skewed to decide is not looked at.

    Raises:
        ConfigurationError: an argument outside its range, or differences that are not finite numbers.
    """
    column = numbers("differences", differences, dimensions=1)[:, np.newaxis]
    return paired_differences(column, seed=seed, confidence=confidence, resamples=resamples, bounds=[bound])[0]


def paired_differences(
    matrix: ArrayLike,
    *,
    seed: int,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    bounds: Sequence[float | None] | None = None,
) -> list[PairedDifference]:
    """Describe each column of differences, as `paired_difference` does it for that column alone.

    Args:
        matrix: queries × columns, as metrics, systems or both; NaN if a query has no difference.
        seed: draws the signs of the permutation tests, the same for all columns: an integer of at least 0.
        confidence: how often such intervals hold the true mean.
        resamples: how many assignments of signs are drawn where there are too many to try all.
        bounds: how large the differences of each column can be; None for one that has no bound, or for all.

    Raises:
        ConfigurationError: an argument outside its range, or differences that are not finite numbers.
    """
    confidence = checked_fraction("confidence", confidence)
    values = numbers("matrix", matrix, dimensions=2)
    limits = _checked_bounds(bounds, values.shape[1])
    tests = sign_flip_test(values, seed=seed, resamples=resamples)
    return [
        _described(column, test, bound, confidence, int(seed))
        for column, test, bound in zip(values.T, tests, limits, strict=True)
    ]


def _checked_bounds(bounds: Sequence[float | None] | None, columns: int) -> Sequence[float | None]:
    if bounds is None:
        return [None] * columns
    if len(bounds) != columns:
        raise ConfigurationError(f"bounds: found {len(bounds)} for {columns} columns; expected one for each")
    wrong = [bound for bound in bounds if bound is not None and not 0.0 < bound < math.inf]
    if wrong:
        raise ConfigurationError(
            f"bounds: found {wrong[0]:g}; expected numbers above 0, or None where there is no bound"
        )
    return bounds


def _described(
    column: NDArray[np.float64], test: SignFlipTest, bound: float | None, confidence: float, seed: int
) -> PairedDifference:
    found = column[~np.isnan(column)]
    found[np.abs(found) <= TIED] = 0.0  # a copy: masks never give a view
    n, wins, losses = len(found), int((found > 0.0).sum()), int((found < 0.0).sum())
    mean = float(found.mean()) if n else math.nan
    deviation = _standard_deviation(found)
    low, high = difference_interval(found, confidence=confidence)
    p, name = test.p, test.name
    if (against_skew := hall_p(found)) is not None and against_skew > p:
        p, name = against_skew, HALL_TEST
    alpha = 1.0 - confidence
    return PairedDifference(
        n=n,
        mean=mean,
        low=low,
        high=high,
        p=p,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        effect_size=_effect_size(mean, deviation),
        confidence=confidence,
        test=name,
        interval=DIFFERENCE_METHOD,
        seed=seed,
        skewness=skewness_of(found),
        too_skewed=bound is not None
        and p <= alpha
        and float(log_wealth(found[:, np.newaxis], bound, DECISIVE)[0]) < math.log(1.0 / alpha),
    )


def _standard_deviation(found: NDArray[np.float64]) -> float:
    """Return the standard deviation of the queries, exactly 0 where all are equal but for rounding."""
    if len(found) < 2:
        return math.nan
    if np.ptp(found) <= TIED:
        return 0.0
    return float(found.std(ddof=1))


def _effect_size(mean: float, deviation: float) -> float:
    if deviation == 0.0:
        return 0.0 if mean == 0.0 else math.nan
    return mean / deviation
