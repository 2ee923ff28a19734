"""How often intervals for a mean paired difference hold the true mean, by simulation.

Samples of 60 and 120 differences are drawn from populations whose mean is known, and each method's 95 % interval is
looked at: ours, and others in use. Populations are like the differences of HitRate (−1, 0, 1), of RR (0, and steps
between 1, 1/2, 1/3, …), of NDCG and of token counts. With a saved evaluation (as of `raglift evaluate shop_support
--reranker late-interaction --output FOLDER`) its own differences after minus before are populations too. Run it as

    python benchmarks/interval_coverage.py [--samples 10000] [--evaluation FOLDER] [--random 40]
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from raglift.stats.intervals import difference_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Bounds = tuple[Numbers, Numbers]

CONFIDENCE, BAND = 0.95, (0.93, 0.97)
QUERIES = (60, 120)
RESAMPLES = 999
_TAIL = (1 - CONFIDENCE) / 2
_AT_A_TIME = 1000

GAINS = np.array([1 / 2, 2 / 3, 1, 1 / 6, 3 / 4, 1 / 3, 9 / 10])
"""How far a reciprocal rank moves: 2 to 1, 3 to 1, outside to 1, 3 to 2, 4 to 1, 6 to 2 or 3 to outside, 10 to 1."""
OFTEN = np.array([0.35, 0.15, 0.15, 0.12, 0.05, 0.12, 0.06])
HIT_RATE = (
    *((0.05, 0), (0.08, 0), (0.12, 0), (0.04, 0.01), (0.06, 0.01), (0.07, 0.01), (0.1, 0.01), (0.15, 0.01)),
    *((0.05, 0.02), (0.06, 0.02), (0.08, 0.02), (0.1, 0.02), (0.2, 0.02), (0.03, 0.03), (0.04, 0.04), (0.06, 0.04)),
    *((0.05, 0.05), (0.1, 0.05), (0.15, 0.05), (0.1, 0.1), (0.3, 0.1), (0.3, 0.3)),
)
RECIPROCAL_RANK = (
    *((0.12, 0), (0.05, 0.02), (0.08, 0.02), (0.15, 0.02), (0.2, 0.02), (0.06, 0.04), (0.3, 0.05)),
    *((0.1, 0.1), (0.2, 0.1), (0.3, 0.15)),
)


@dataclass(frozen=True)
class Population:
    """Differences to draw from, with replacement."""

    name: str
    values: Numbers
    chances: Numbers

    @property
    def mean(self) -> float:
        """The true mean."""
        return float(self.values @ self.chances)

    @property
    def tellable(self) -> float:
        """The part of the queries, in effect, that the mean depends on."""
        squares = float(self.values**2 @ self.chances)
        return squares**2 / float(self.values**4 @ self.chances)


def main() -> None:
    """Draw, and print the coverages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--evaluation", help="the folder of a saved evaluation with a reranker")
    parser.add_argument("--random", type=int, default=0, help="take so many populations made at random instead")
    asked = parser.parse_args()
    given = measured(asked.evaluation) if asked.evaluation else ()
    everything = list(at_random(asked.random)) if asked.random else [*made_up(), *given]
    error = math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / asked.samples)
    say(f"{asked.samples:,} samples each, seed {asked.seed}: standard error {error:.4f}; * is outside {BAND}")
    for n in QUERIES:
        say(f"\n{n} queries".ljust(29) + "expected " + " ".join(name.rjust(11) for name in METHODS))
        table = [row(population, n, asked.samples, asked.seed) for population in everything]
        inside = [f"{held} of {len(table)}".rjust(12) for held in np.sum([kept(r) for r in table], axis=0)]
        say("in the band".ljust(37) + "".join(inside))


def row(population: Population, n: int, samples: int, seed: int) -> list[float]:
    """Print and return one population's coverage by each method."""
    generator = np.random.default_rng(seed)
    held = np.zeros(len(METHODS))
    for start in range(0, samples, _AT_A_TIME):
        rows = min(_AT_A_TIME, samples - start)
        drawn = generator.choice(population.values, size=(rows, n), p=population.chances)
        for number, method in enumerate(METHODS.values()):
            low, high = method(drawn, generator)
            held[number] += ((low <= population.mean + 1e-12) & (high >= population.mean - 1e-12)).sum()
    found = [float(share) for share in held / samples]
    marks = [f"{share:11.3f}{' ' if inside else '*'}" for share, inside in zip(found, kept(found), strict=True)]
    say(f"{population.name:28}{n * population.tellable:8.1f} " + "".join(marks))
    return found


def kept(coverages: list[float]) -> list[bool]:
    """Return which coverages are in the band."""
    return [BAND[0] <= coverage <= BAND[1] for coverage in coverages]


def made_up() -> Iterator[Population]:
    """Yield populations like the differences of HitRate, RR, NDCG and token counts."""
    for wins, losses in HIT_RATE:
        chances = np.array([wins, 1 - wins - losses, losses])
        yield Population(f"HitRate +{wins:.0%} -{losses:.0%}", np.array([1.0, 0.0, -1.0]), chances)
    for wins, losses in RECIPROCAL_RANK:
        chances = np.r_[wins * OFTEN, 1 - wins - losses, losses * OFTEN]
        yield Population(f"RR +{wins:.0%} -{losses:.0%}", np.r_[GAINS, 0.0, -GAINS], chances)
    small = np.array([1 / rank - 1 / (rank + 1) for rank in range(3, 10)])
    values = np.r_[1.0, 0.5, -1.0, -0.5, small, -small, 0.0]
    for wins, losses in ((0.06, 0.02), (0.04, 0.01)):
        chances = np.r_[wins / 2, wins / 2, losses / 2, losses / 2, np.full(14, 0.02), 0.72 - wins - losses]
        yield Population(f"RR +{wins:.0%} -{losses:.0%}, many tiny", values, chances)
    for losses in (0.05, 0.03):
        chances = np.array([0.2, 0.2, 0.6 - losses, losses])
        yield Population(f"RR small wins, -{losses:.0%}", np.array([0.1, 0.05, 0.0, -1.0]), chances)
    yield from dense()


def dense() -> Iterator[Population]:
    """Yield populations with few ties or none."""
    generator, size = np.random.default_rng(0), 200_000
    lost, some = generator.random(size) < 0.06, generator.random(size) < 0.7
    yield even("NDCG normal", generator.normal(0.1, 0.25, size).clip(-1, 1))
    yield even("NDCG Laplace", generator.laplace(0.05, 0.12, size).clip(-1, 1))
    yield even("NDCG skewed, 30 % ties", some * (generator.exponential(0.15, size) - 0.05).clip(-1, 1))
    yield even("NDCG skewed, no ties", generator.exponential(0.15, size).clip(0, 1))
    yield even("NDCG small wins, -6%", np.where(lost, -generator.random(size), generator.gamma(2, 0.03, size)))
    yield even("tokens, all about 500", generator.normal(500, 10, size))
    yield even("tokens, skewed", generator.lognormal(5, 0.6, size))
    yield even("tokens, very skewed", generator.lognormal(5, 1.0, size))


def at_random(count: int) -> Iterator[Population]:
    """Yield populations of a few changes of reciprocal rank each, of 8 to 40 % of the queries."""
    generator = np.random.default_rng(0)
    for number in range(count):
        changes = int(generator.integers(3, 9))
        ranks = generator.integers(1, 12, size=(changes, 2))
        before, after = np.where(ranks == 11, 0.0, 1.0 / ranks).T
        shares = generator.dirichlet(np.ones(changes)) * generator.uniform(0.08, 0.4)
        yield Population(f"RR at random {number}", np.r_[after - before, 0.0], np.r_[shares, 1 - shares.sum()])


def measured(folder: str) -> Iterator[Population]:
    """Yield the differences that a saved evaluation measured."""
    import raglift
    from raglift.metrics.graded_measures import NDCG
    from raglift.metrics.rank_measures import RR, HitRate, Recall

    evaluation = raglift.load_evaluation(folder)
    for metric in (RR @ 10, HitRate @ 10, NDCG @ 10, Recall @ 10, HitRate @ 1, HitRate @ 3):
        lift = evaluation.lift(metric)
        yield even(f"measured {metric}", lift[~np.isnan(lift)])


def even(name: str, values: Numbers) -> Population:
    """Return a population whose members are drawn alike."""
    return Population(name, values, np.full(len(values), 1 / len(values)))


def ours(drawn: Numbers, _generator: np.random.Generator) -> Bounds:
    """Return raglift's intervals; what has none holds nothing."""
    bounds = np.array([difference_interval(sample, confidence=CONFIDENCE) for sample in drawn])
    return bounds[:, 0], bounds[:, 1]


def by_t(drawn: Numbers, _generator: np.random.Generator) -> Bounds:
    """Return Student's t intervals."""
    n = drawn.shape[1]
    half = stats.t.ppf(1 - _TAIL, n - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(n)
    return drawn.mean(axis=1) - half, drawn.mean(axis=1) + half


def with_pseudo_observations(drawn: Numbers, _generator: np.random.Generator) -> Bounds:
    """Return t intervals after adding half a win and half a loss of the usual size, as Agresti and Min do for ±1."""
    n, squares = drawn.shape[1], (drawn**2).sum(axis=1)
    size = squares / np.maximum((drawn != 0).sum(axis=1), 1)
    centre = drawn.sum(axis=1) / (n + 1)
    variance = np.maximum((squares + size) / (n + 1) - centre**2, 0.0)
    half = stats.t.ppf(1 - _TAIL, n - 1) * np.sqrt(variance / (n + 1))
    return centre - half, centre + half


def by_percentile(drawn: Numbers, generator: np.random.Generator) -> Bounds:
    """Return percentile bootstrap intervals."""
    low, high = np.quantile(drawn @ weights(drawn, generator), (_TAIL, 1 - _TAIL), axis=1)
    return low, high


def by_bca(drawn: Numbers, generator: np.random.Generator) -> Bounds:
    """Return bias-corrected and accelerated bootstrap intervals (Efron, 1987)."""
    means, mean = np.sort(drawn @ weights(drawn, generator), axis=1), drawn.mean(axis=1)
    below = ((means < mean[:, None] - 1e-12).sum(axis=1) + (means <= mean[:, None] + 1e-12).sum(axis=1)) / 2
    bias = stats.norm.ppf(np.clip(below / RESAMPLES, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    apart = drawn - mean[:, None]
    power = np.maximum((apart**2).sum(axis=1), 1e-12) ** 1.5
    acceleration = (apart**3).sum(axis=1) / power / 6
    ends = []
    for quantile in stats.norm.ppf((_TAIL, 1 - _TAIL)):
        share = stats.norm.cdf(bias + (bias + quantile) / (1 - acceleration * (bias + quantile)))
        place = np.clip(np.rint(share * (RESAMPLES - 1)), 0, RESAMPLES - 1).astype(int)
        ends.append(means[np.arange(len(means)), place])
    return ends[0], ends[1]


def by_bootstrap_t(drawn: Numbers, generator: np.random.Generator) -> Bounds:
    """Return studentized bootstrap intervals; a resample without spread counts as infinitely far off."""
    n, shares = drawn.shape[1], weights(drawn, generator)
    mean, deviation = drawn.mean(axis=1), drawn.std(axis=1)
    means = drawn @ shares
    deviations = np.sqrt(np.maximum(drawn**2 @ shares - means**2, 0.0))
    away = means - mean[:, None]
    spread = deviations > 1e-9
    ratio = np.where(spread, away / np.where(spread, deviations, 1.0), np.where(np.abs(away) < 1e-12, 0, away * 1e9))
    low, high = np.quantile(ratio, (_TAIL, 1 - _TAIL), axis=1)
    return mean - high * deviation * math.sqrt(n / (n - 1)), mean - low * deviation * math.sqrt(n / (n - 1))


def by_inverted_test(drawn: Numbers, generator: np.random.Generator) -> Bounds:
    """Return the shifts that a sign-flip test does not reject: quantiles of the means of random subsets (Hartigan)."""
    chosen = generator.random((drawn.shape[1], RESAMPLES)) < 0.5
    low, high = np.quantile(drawn @ (chosen / np.maximum(chosen.sum(axis=0), 1)), (_TAIL, 1 - _TAIL), axis=1)
    return low, high


def weights(drawn: Numbers, generator: np.random.Generator) -> Numbers:
    """Return how much each query counts in each resample: queries × resamples."""
    n = drawn.shape[1]
    return generator.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).T / n


METHODS: dict[str, Callable[[Numbers, np.random.Generator], Bounds]] = {
    "raglift": ours,
    "t": by_t,
    "t+½win½loss": with_pseudo_observations,
    "percentile": by_percentile,
    "BCa": by_bca,
    "bootstrap-t": by_bootstrap_t,
    "sign flips": by_inverted_test,
}


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
