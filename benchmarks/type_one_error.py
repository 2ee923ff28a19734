"""How often the test of a mean paired difference is wrong where there is none, and how often it finds one.

Samples of 40, 100 and 300 differences are drawn from populations whose mean is 0: symmetric ones, skewed ones with few
large losses among many small wins, and such as HitRate, RR and NDCG have. The share of samples that are told to differ
must not be above 5 % by more than chance, and each end of the 95 % interval must leave the mean outside in 2.5 %.
Then the mean is moved to the minimum detectable effect that samples state on average, which 80 % of samples must find.
Last, populations with few wins and fewer large losses: how often differences are found where there are none, and where
there are some, with and without the verdict "too skewed to decide".

    python benchmarks/type_one_error.py [--samples 4000] [--queries 40 100 300]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.stats.paired_tests import paired_differences, sign_flip_test
from raglift.stats.power import minimum_detectable_effects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

QUERIES = (40, 100, 300)
ALPHA = 0.05
RESAMPLES = 2000
FEWEST = 8
"""So many differences of each sign that occurs must be expected for the interval's ends to be held to what they say."""
RANK_MOVES = ((1 / 2, 0.35), (2 / 3, 0.15), (1.0, 0.15), (1 / 6, 0.12), (3 / 4, 0.05), (1 / 3, 0.12), (9 / 10, 0.06))
"""How far a reciprocal rank moves, and how often."""


@dataclass(frozen=True)
class Population:
    """Differences to draw from, with replacement."""

    name: str
    values: Numbers
    chances: Numbers | None = None
    """None where all are drawn alike."""

    @property
    def mean(self) -> float:
        """The true mean."""
        return float(np.average(self.values, weights=self.chances))

    @property
    def deviation(self) -> float:
        """The true standard deviation."""
        return float(np.sqrt(np.average((self.values - self.mean) ** 2, weights=self.chances)))

    def draw(self, samples: int, n: int, seed: int) -> Numbers:
        """Return samples, one a column."""
        generator = np.random.default_rng(seed)
        if self.chances is None:
            return self.values[generator.integers(0, len(self.values), size=(n, samples))]
        return generator.choice(self.values, p=self.chances, size=(n, samples))

    def has_enough(self, n: int) -> bool:
        """Whether enough differences of each sign that occurs are expected of n."""
        signs = (self.values > 1e-9, self.values < -1e-9)
        shares = [float(np.average(sign, weights=self.chances)) for sign in signs]
        return all(share == 0.0 or n * share >= FEWEST - 1e-9 for share in shares)

    def moved(self, by: float) -> Population:
        """Return the population with another mean.

        Ties stay ties. Of symmetric sparse differences more are wins, and all others are larger.
        """
        if self.chances is None:
            return replace(self, values=self.values + by)
        up, down = self.values > 0.0, self.values < 0.0
        share = float(self.chances[up | down].sum())
        if share == 1.0 or not np.isclose(self.chances[up].sum(), self.chances[down].sum()):
            return replace(self, values=np.where(up | down, self.values + by / share, 0.0))
        size = float(self.chances[up] @ self.values[up]) / float(self.chances[up].sum())
        wins = min(0.5 + by / size / share / 2.0, 1.0)
        chances = np.where(up, 2.0 * wins, np.where(down, 2.0 * (1.0 - wins), 1.0)) * self.chances
        return replace(self, chances=chances)


def symmetric() -> Iterator[Population]:
    """Yield populations as differences usually are: dense, or few of them other than 0, and symmetric."""
    generator, size = np.random.default_rng(0), 200_000
    yield centred("normal", generator.normal(0.0, 0.2, size))
    yield centred("Laplace", generator.laplace(0.0, 0.12, size))
    for share in (0.1, 0.3):
        yield sparse(f"sparse, {share:.0%} differ", share, ((0.37, 0.4), (0.5, 0.3), (0.63, 0.3)))
    for share in (0.2, 0.4):
        yield sparse(f"HitRate, {share:.0%} differ", share, ((1.0, 1.0),))
        yield sparse(f"RR, {share:.0%} differ", share, RANK_MOVES)


def skewed() -> Iterator[Population]:
    """Yield populations with few large losses among many small wins, and the like."""
    generator, size = np.random.default_rng(0), 200_000
    yield centred("exponential", -generator.exponential(0.1, size))
    yield centred("lognormal", -0.1 * generator.lognormal(0.0, 1.0, size))
    for losses, loss in ((0.2, 0.5), (0.1, 0.5), (0.05, 0.7), (0.03, 0.9)):
        yield two_points(losses, loss, ties=0.0)
    for losses, loss in ((0.2, 0.5), (0.1, 0.5)):
        yield two_points(losses, loss, ties=0.5)
    wins = np.array([0.1, 0.05, 0.0, -0.5])
    yield Population("RR, many small wins, 6% lose 0.5", wins, np.array([0.2, 0.2, 0.54, 0.06]))
    lost = generator.random(size) < 0.06
    small = generator.gamma(2.0, 0.25 * 0.06 / 0.94, size)
    yield centred("NDCG, small wins, 6% lose 0 to 1", np.where(lost, -generator.random(size), small))


def rare_losses() -> Iterator[Population]:
    """Yield populations of mean 0 with some wins, perhaps small losses, and large losses that a sample may lack.

    The last four are mirrored: some losses and rare large wins.
    """
    yield few(0.12, 0.25)
    yield few(0.20, 0.30)
    yield few(0.10, 0.40)
    yield few(0.12, 0.49)
    yield few(0.06, 0.55)
    yield few(0.12, 0.25, loss=0.5)
    yield few(0.12, 0.25, 0.10, 0.02)
    yield few(0.15, 0.25, 0.15, 0.05)
    yield few(0.20, 0.25, 0.20, 0.11)
    yield few(0.30, 0.10, 0.20, 0.03)
    yield few(0.12, 0.25, mirrored=True)
    yield few(0.15, 0.30, loss=0.7, mirrored=True)
    yield few(0.20, 0.20, 0.20, 0.05, mirrored=True)
    yield few(0.10, 0.45, 0.10, 0.10, mirrored=True)


def gains() -> Iterator[Population]:
    """Yield populations whose mean is above 0, to show what the verdict "too skewed to decide" costs."""
    yield Population("dense", np.clip(np.random.default_rng(0).normal(0.08, 0.25, 200_000), -1.0, 1.0))
    for wins, win, losses, loss in (
        (0.18, 1.0, 0.07, 1.0),
        (0.30, 0.30, 0.0, 0.0),
        (0.20, 0.25, 0.06, 0.25),
        (0.15, 0.30, 0.0, 0.0),
    ):
        name = f"{wins:.0%} win {win:g}, " + (f"{losses:.0%} lose {loss:g}" if losses else "none lose")
        yield Population(name, np.array([win, -loss, 0.0]), np.array([wins, losses, 1.0 - wins - losses]))


def few(
    wins: float, win: float, small_losses: float = 0.0, small: float = 0.0, *, loss: float = 1.0, mirrored: bool = False
) -> Population:
    """Return a population in which as many lose `loss` as make up for the wins; the others tie."""
    losses = (wins * win - small_losses * small) / loss
    sign, won, lost = (-1.0, "lose", "win") if mirrored else (1.0, "win", "lose")
    some = f"{small_losses:.0%} {lost} {small:g}, " if small_losses else ""
    name = f"{wins:.0%} {won} {win:g}, {some}{losses:.1%} {lost} {loss:g}"
    chances = np.array([wins, small_losses, losses, 1.0 - wins - small_losses - losses])
    return Population(name, sign * np.array([win, -small, -loss, 0.0]), chances)


def centred(name: str, values: Numbers) -> Population:
    """Return a population of mean 0."""
    return Population(name, values - values.mean())


def sparse(name: str, share: float, moves: tuple[tuple[float, float], ...]) -> Population:
    """Return a population of ties and of differences of some sizes, each as often up as down."""
    sizes, often = np.array(moves).T
    chances = share / 2.0 * often / often.sum()
    return Population(name, np.r_[sizes, -sizes, 0.0], np.r_[chances, chances, 1.0 - share])


def two_points(losses: float, loss: float, *, ties: float) -> Population:
    """Return a population of one size of win and one size of loss."""
    win = loss * losses / (1.0 - losses)
    told = f"{losses:.0%} lose {loss:g}, others win {win:.3f}" + (f", {ties:.0%} ties" if ties else "")
    chances = np.array([(1.0 - losses) * (1.0 - ties), losses * (1.0 - ties), ties])
    return Population(told, np.array([win, -loss, 0.0]), chances)


@dataclass(frozen=True)
class Errors:
    """Shares of the samples of a population whose mean is 0."""

    sign_flip: float
    """Told to differ by the sign-flip test alone."""
    found: float
    """Told to differ."""
    too_skewed: float
    """Told to be too skewed to decide."""
    below: float
    """The true mean is below the interval."""
    above: float
    """It is above."""
    apart: float
    """p and the interval disagree, of those that are not too skewed to decide."""


def errors(population: Population, n: int, samples: int, seed: int = 0) -> Errors:
    """Return how often samples of a population are told wrongly."""
    drawn = population.draw(samples, n, seed)
    flipped = np.array([test.p for test in sign_flip_test(drawn, seed=seed, resamples=RESAMPLES)])
    described = paired_differences(drawn, seed=seed, resamples=RESAMPLES, bounds=[1.0] * samples)
    p, low, high = np.array([(one.p, one.low, one.high) for one in described]).T
    undecided = np.array([one.too_skewed for one in described])
    mean, found = population.mean, (p <= ALPHA) & ~undecided
    without = (low > 0.0) | (high < 0.0)
    return Errors(
        float((flipped <= ALPHA).mean()),
        float(found.mean()),
        float(undecided.mean()),
        float((low > mean + 1e-12).mean()),
        float((high < mean - 1e-12).mean()),
        float(((p <= ALPHA) != without)[~undecided].mean()),
    )


@dataclass(frozen=True)
class Power:
    """What is found of a mean as large as the minimum detectable effect that is stated on average."""

    effect: float
    found: float
    sign_flip: float
    too_skewed: float


def power(population: Population, n: int, samples: int, direction: int = 1, seed: int = 0) -> Power | None:
    """Return how often a mean of the stated size is found; None where none that the population can have is enough."""
    low, high = 0.0, 8.0 * population.deviation / np.sqrt(n)
    if stated(population.moved(direction * high), n, direction) > abs(population.moved(direction * high).mean):
        return None
    for _ in range(10):
        middle = (low + high) / 2.0
        alternative = population.moved(direction * middle)
        enough = direction * alternative.mean >= stated(alternative, n, direction)
        low, high = (low, middle) if enough else (middle, high)
    alternative = population.moved(direction * high)
    drawn = alternative.draw(samples, n, seed + 1)
    described = paired_differences(drawn, seed=seed, resamples=RESAMPLES, bounds=[1.0] * samples)
    right = np.sign([one.mean for one in described]) == direction
    p = np.array([one.p for one in described])
    undecided = np.array([one.too_skewed for one in described])
    flipped = np.array([test.p for test in sign_flip_test(drawn, seed=seed, resamples=RESAMPLES)])
    return Power(
        direction * alternative.mean,
        float(((p <= ALPHA) & right).mean()),
        float(((flipped <= ALPHA) & right).mean()),
        float(undecided.mean()),
    )


def stated(population: Population, n: int, direction: int) -> float:
    """Return the minimum detectable effect that samples with a mean in the true direction state, on average."""
    drawn = population.draw(300, n, 7)
    right = drawn[:, np.sign(drawn.mean(axis=0)) == direction]
    return float(np.nanmean(minimum_detectable_effects(right, seed=0))) if right.shape[1] > 30 else np.inf


def main() -> None:
    """Draw, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--queries", type=int, nargs="+", default=QUERIES)
    asked = parser.parse_args()
    for n in asked.queries:
        say(
            f"{n} queries, a mean of 0".ljust(50)
            + "sign-flip   found  too skewed  mean below, above  p and interval differ"
        )
        for population in (*symmetric(), *skewed(), *rare_losses()):
            one = errors(population, n, asked.samples)
            ends = f"{one.below:7.1%} {one.above:6.1%}" if population.has_enough(n) else "      –      –"
            say(
                f"  {population.name:48}{one.sign_flip:9.1%} {one.found:7.1%} {one.too_skewed:11.1%}  {ends}    "
                f"{one.apart:12.1%}"
            )
        say(f"{n} queries, the stated effect".ljust(50) + "   effect   found   sign-flip  too skewed")
        for population in (*symmetric(), *skewed()):
            skews = population.name not in {usual.name for usual in symmetric()}
            for direction in (1, -1) if skews else (1,):
                told = power(population, n, asked.samples, direction) if population.has_enough(n) else None
                if told is not None:
                    name = population.name + (", mean above 0" if direction > 0 else ", mean below 0") * skews
                    row = f"{told.effect:9.3f} {told.found:7.1%} {told.sign_flip:10.1%} {told.too_skewed:11.1%}"
                    say(f"  {name:48}{row}")
        say(f"{n} queries, small wins".ljust(50) + "   effect   found   too skewed")
        for population in gains():
            one = errors(population, n, asked.samples)
            say(f"  {population.name:48}{population.mean:9.3f} {one.found:7.1%} {one.too_skewed:11.1%}")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
