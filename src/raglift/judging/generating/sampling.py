"""Passages drawn so that every sample is spread over all documents, and over each from its beginning to its end."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Sampler"]


class Sampler:
    """Draws passages, none twice.

    The passages stand in one line, in the order of the documents. A draw of n cuts the line of those that are left
    into n stretches of equal length and takes one at random from each: so a document is drawn from in proportion to
    its length, all parts of it alike, and every passage has a chance.

    Args:
        numbers: the passages, in the order of the documents.
        seed: the same seed gives the same draws.
    """

    def __init__(self, numbers: Iterable[int], seed: int) -> None:
        self._left = sorted(numbers)
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self._left)

    def draw(self, count: int) -> list[int]:
        """Return so many passages, in order; fewer where fewer are left."""
        count = min(count, len(self._left))
        bounds = [len(self._left) * part // max(1, count) for part in range(count + 1)]
        drawn = [self._left[self._random.integers(low, high)] for low, high in pairwise(bounds)]
        self._left = sorted(set(self._left) - set(drawn))
        return drawn

    def take(self, candidates: Iterable[int]) -> int | None:
        """Return the first of some passages that was not drawn yet, and draw it; None where all were."""
        left = set(self._left)
        found = next((number for number in candidates if number in left), None)
        if found is not None:
            self._left.remove(found)
        return found
