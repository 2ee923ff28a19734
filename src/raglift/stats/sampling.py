"""Samples of a known size in which each unit has a known probability, drawn with a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.stats.intervals import checked_integer, numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_WHOLE = 1e-9


def inclusion_probabilities(sizes: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return probabilities that sum to n and are proportional to sizes, but at most 1.

    Units that would have more than 1 are certain, and the rest of n is divided among the others.

    Args:
        sizes: one a unit, above 0; equal ones give a uniform sample.
        n: how many units to draw; all, where there are no more.

    Raises:
        ConfigurationError: sizes that are not above 0, or no n of at least 1.
    """
    n = checked_integer("n", n, least=1)
    found = numbers("sizes", sizes, dimensions=1)
    if not np.all(found > 0.0):
        raise ConfigurationError(f"sizes: found {found.min():g}; expected numbers above 0: each unit may be drawn")
    if n >= len(found):
        return np.ones(len(found))
    certain = np.zeros(len(found), dtype=np.bool_)
    while True:
        left = n - int(certain.sum())
        chance = np.where(certain, 1.0, found * (left / found[~certain].sum()))
        larger = ~certain & (chance >= 1.0 - _WHOLE)
        if not larger.any():
            return chance
        certain |= larger


def draw_sample(probability: ArrayLike, seed: int = 0) -> NDArray[np.int64]:
    """Return the numbers of drawn units, in random order; each is drawn with its probability, and how many is fixed.

    Equal probabilities give a simple random sample without replacement; others a systematic sample of the units in
    random order (Goodman and Kish 1950; Hartley and Rao 1962), whose inclusion probabilities are exactly those given.

    Args:
        probability: of each unit, above 0 and at most 1; together they are a whole number.
        seed: of the draw.

    Raises:
        ConfigurationError: probabilities out of range, or whose sum is not a whole number.
    """
    chance = numbers("probability", probability, dimensions=1)
    total = float(chance.sum())
    if not np.all((chance > 0.0) & (chance <= 1.0)) or abs(total - round(total)) > _WHOLE * max(len(chance), 1):
        raise ConfigurationError(
            f"probability: found numbers from {chance.min(initial=1.0):g} to {chance.max(initial=0.0):g} that sum to "
            f"{total:g}; expected numbers above 0 and at most 1 that sum to a whole number"
        )
    generator = np.random.default_rng(checked_integer("seed", seed, least=0))
    order = generator.permutation(len(chance))
    if np.ptp(chance) <= _WHOLE:
        return np.asarray(order[: round(total)], dtype=np.int64)
    ends = np.cumsum(chance[order])
    points = generator.random() + np.arange(round(total))
    places = np.minimum(np.searchsorted(ends, points, side="right"), len(chance) - 1)
    return np.asarray(generator.permutation(order[places]), dtype=np.int64)
