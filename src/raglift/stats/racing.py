"""Racing: systems are dropped while queries come in, by a test that stays valid however often one looks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import checked_fraction, checked_integer, numbers
from raglift.utilities.display import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]

RACE_METHOD = (
    "bets on the lag behind the leading systems (Waudby-Smith and Ramdas 2024), with Holm's correction for the number "
    "of systems"
)
"""How systems are dropped, as a report states it."""

Estimand = Literal["queries", "population"]
"""Whose mean a race is about: that of these queries, or that of a population of which they are a sample."""

_BETS = np.array([0.9, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04])
"""Shares of the wealth that are staked; each has an equal part of it at first, so that none need be chosen."""
_SHARPNESS = 4.0
"""How much the leading systems count among those that the others are measured against."""

# Why it is valid. Of a system i that is among the best, no other system l has a higher mean. Let w be weights of the
# systems that add up to 1 and follow from earlier batches alone, d_q = Σ w_l x_lq − x_iq its lag at query q, and m an
# upper bound of the mean lag of the queries that are still to come: 0 for a population; for these N queries, of which n
# had a total lag of S, m = −S / (N − n), since the lag of all of them is at most 0. A wealth that is multiplied by
# Π (1 + λ (d_q − m)) over a batch does not grow on average:
#
# - one query is drawn from each of b windows of equal size, independently, so the expectation of the product is that of
#   the factors, Π (1 + λ (d̄_j − m)) with the means of the windows, at most (1 + λ (d̄ − m))^b ≤ 1 by the inequality of
#   arithmetic and geometric means;
# - the first N mod b queries are drawn without replacement from all: Maclaurin's inequality bounds the expectation by
#   that with replacement.
#
# So the wealth is a non-negative supermartingale at the ends of batches, as is the mean over several λ, and by Ville's
# inequality it ever reaches 1/α with a probability of at most α. Holm's step-down procedure at these p-values, valid at
# all times together, drops any of the best with at most α in all, however many there are.


def stratified_batches(
    queries: int, size: int, *, strata: Sequence[object] | None = None, seed: int
) -> tuple[NDArray[np.intp], ...]:
    """Return the order in which queries are asked: batches in which each stratum has its share.

    The queries are sorted by stratum, at random within each, and cut into `size` windows of equal length; each batch
    has one query of each window, drawn without replacement. What is left over is a smaller batch of its own, the first.

    Args:
        queries: how many there are.
        size: of a batch.
        strata: the stratum of each query, in any values that can be told apart; None for a purely random order.
        seed: an integer of at least 0.

    Returns:
        Positions of queries; each occurs once.

    Raises:
        ConfigurationError: an argument outside its range, or strata of another number of queries.
    """
    queries, size = checked_integer("queries", queries, least=1), checked_integer("size", size, least=1)
    draw = np.random.default_rng(checked_integer("seed", seed, least=0))
    if strata is not None and len(strata) != queries:
        raise ConfigurationError(f"strata: found {len(strata):,}; expected one for each of {queries:,} queries")
    size = min(size, queries)
    drawn = draw.permutation(queries)
    first, rest = drawn[: queries % size], drawn[queries % size :]
    if strata is not None:
        numbered = {stratum: number for number, stratum in enumerate(dict.fromkeys(strata))}
        stratum_of = np.array([numbered[stratum] for stratum in strata])
        rest = rest[np.argsort(stratum_of[rest], kind="stable")]
    windows = draw.permuted(rest.reshape(size, -1), axis=1)
    batches = tuple(np.sort(windows[:, column]) for column in range(windows.shape[1]))
    return (np.sort(first), *batches) if len(first) else batches


@dataclass(frozen=True, eq=False)
class Race:
    """What is known of some systems after some of the queries, and which are still in it.

    `Race.of` begins one; `after` returns the race after a further batch of queries.

    A system is dropped when what a gambler wins who bets that it lags behind the leading ones is convincing: of systems
    that are among the best, however many are tied, any is dropped with a probability of at most `alpha`, however often
    one looks and whenever one stops. This is exact, without an assumption about the distribution of values, for the
    mean over all `queries` in the order of `stratified_batches`; for the mean of a population of which the queries are
    a sample it is exact in a purely random order. Bets: Waudby-Smith and Ramdas, "Estimating means of bounded random
    variables by betting", 2024; step-down correction: Holm 1979.
    """

    alpha: float
    """How often any of the best may be dropped, at most."""
    queries: int
    """How many there are in all."""
    estimand: Estimand
    """Whether the mean over these queries decides, or that of a population."""
    low: float
    """The least value that a system can have at a query."""
    high: float
    """The greatest."""
    asked: int
    """How many queries have been asked."""
    totals: Numbers
    """The sum of each system's values over the queries that it was asked."""
    asked_of: NDArray[np.intp]
    """How many queries each system was asked."""
    dropped: NDArray[np.bool_]
    """Whether each system was dropped: it is worse than another."""
    _wealth: Numbers
    """The logarithm of what each bet has made of 1: systems × bets."""
    _most: Numbers
    """The logarithm of the greatest wealth that each system's lag has made so far."""

    @classmethod
    def of(
        cls,
        systems: int,
        queries: int,
        *,
        alpha: float = 0.05,
        estimand: Estimand = "queries",
        low: float = 0.0,
        high: float = 1.0,
    ) -> Race:
        """Return a race that has not begun.

        Args:
            systems: how many take part.
            queries: how many queries there are in all.
            alpha: how often any of the best may be dropped, at most.
            estimand: whether the mean over these queries decides, or that of a population of which they are a sample.
            low: the least value that a system can have at a query.
            high: the greatest.

        Raises:
            ConfigurationError: an argument outside its range.
        """
        systems, queries = checked_integer("systems", systems, least=1), checked_integer("queries", queries, least=1)
        if estimand not in ("queries", "population"):
            raise ConfigurationError(f"estimand: found {estimand!r}; expected 'queries' or 'population'")
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigurationError(f"low, high: found {low}, {high}; expected two numbers, the first below the other")
        return cls(
            checked_fraction("alpha", alpha),
            queries,
            estimand,
            float(low),
            float(high),
            0,
            np.zeros(systems),
            np.zeros(systems, dtype=np.intp),
            np.zeros(systems, dtype=np.bool_),
            np.zeros((systems, len(_BETS))),
            np.zeros(systems),
        )

    @property
    def survivors(self) -> NDArray[np.intp]:
        """The positions of the systems that were not dropped, ascending; one at least."""
        return np.flatnonzero(~self.dropped)

    @property
    def running(self) -> NDArray[np.intp]:
        """The positions of the survivors that were asked all queries so far, ascending.

        The others were set aside.
        """
        return np.flatnonzero(~self.dropped & (self.asked_of == self.asked))

    @property
    def means(self) -> Numbers:
        """The mean of each system over the queries that it was asked; NaN before the first."""
        with np.errstate(invalid="ignore"):
            return self.totals / self.asked_of

    @property
    def leader(self) -> int:
        """The position of the running system with the highest mean, of equal ones the first."""
        running = self.running
        return int(running[np.argmax(self.totals[running])])

    @property
    def p(self) -> Numbers:
        """For each system the p-value of its being among the best, valid at all times together, not corrected."""
        return np.exp(-self._most)

    def after(self, values: ArrayLike, *, systems: Sequence[int] | NDArray[np.intp] | None = None) -> Race:
        """Return the race after a batch of queries, and drop what lags.

        Args:
            values: of the batch, queries × systems; more is better.
            systems: which survivors were asked, ascending; the others are set aside: they are asked no more, nothing is
                measured against them, and they are not dropped. By default all that are not set aside.

        Raises:
            ConfigurationError: values of another shape, outside their range or missing, more queries than there are, or
                systems that were dropped or set aside before.
        """
        running = self.running if systems is None else self._checked(systems)
        table = numbers("values", values, dimensions=2)
        if table.shape[1] != len(running):
            raise ConfigurationError(f"values: found {table.shape[1]:,} systems; expected {len(running):,}")
        if self.asked + len(table) > self.queries:
            raise ConfigurationError(
                f"values: found {len(table):,} queries; expected at most {self.queries - self.asked:,} more"
            )
        if not ((table >= self.low) & (table <= self.high)).all():
            raise ConfigurationError(f"values: found others; expected all from {self.low:g} to {self.high:g}")
        total = self.asked + len(table)
        totals, asked_of = self.totals.copy(), self.asked_of.copy()
        totals[running] += table.sum(axis=0)
        asked_of[running] = total
        wealth, most = self._bet(running, table)
        later = replace(self, asked=total, totals=totals, asked_of=asked_of, _wealth=wealth, _most=most)
        return replace(later, dropped=_dropped(later, running, most))

    def _checked(self, systems: Sequence[int] | NDArray[np.intp]) -> NDArray[np.intp]:
        chosen = np.array([checked_integer("systems", one, least=0) for one in systems], dtype=np.intp)
        if len(chosen) == 0 or not np.isin(chosen, self.running).all() or (np.diff(chosen) <= 0).any():
            raise ConfigurationError(
                f"systems: found {shorten(str(chosen.tolist()), 80)}; expected some of those that are still running, "
                "ascending"
            )
        return chosen

    def _bet(self, running: NDArray[np.intp], table: Numbers) -> tuple[Numbers, Numbers]:
        """Return what each bet has made after a batch, and the most that each system's lag ever made."""
        span = self.high - self.low
        weights = self._weights(running)
        lags = (table @ weights)[:, None] - table
        largest_mean = np.zeros(len(running))
        if self.estimand == "queries" and self.asked:
            so_far = self.totals[running] @ weights - self.totals[running]
            largest_mean = -so_far / (self.queries - self.asked) / span
        stakes = _BETS / (1.0 + np.maximum(largest_mean, 0.0))[:, None]
        wealth, most = self._wealth.copy(), self._most.copy()
        wealth[running] += np.log1p(stakes * (lags / span - largest_mean)[:, :, None]).sum(axis=0)
        most[running] = np.maximum(most[running], np.logaddexp.reduce(wealth[running], axis=1) - math.log(len(_BETS)))
        return wealth, most

    def _weights(self, running: NDArray[np.intp]) -> Numbers:
        """Return how much each survivor counts among what the others are measured against; by what is known so far."""
        if not self.asked:
            return np.full(len(running), 1.0 / len(running))
        means = self.totals[running] / self.asked / (self.high - self.low)
        weights = np.exp(_SHARPNESS * math.sqrt(self.asked) * (means - means.max()))
        return np.asarray(weights / weights.sum())


def _dropped(race: Race, running: NDArray[np.intp], most: Numbers) -> NDArray[np.bool_]:
    """Return what is dropped once some systems were asked a batch, by Holm's procedure; their leader stays."""
    dropped = race.dropped.copy()
    best = race.totals[running].max()
    remaining = int(np.count_nonzero(~dropped))
    for position in running[np.argsort(-most[running], kind="stable")]:
        if most[position] < math.log(remaining / race.alpha):
            break
        if race.totals[position] < best:
            dropped[position] = True
            remaining -= 1
    return dropped
