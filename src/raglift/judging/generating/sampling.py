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
        self._left = set(numbers)
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self._left)

    def draw(self, count: int) -> list[int]:
        """Return so many passages, in order; fewer where fewer are left."""
        count = min(count, len(self._left))
        line = sorted(self._left) if count else []
        bounds = [len(line) * part // max(1, count) for part in range(count + 1)]
        drawn = [line[self._random.integers(low, high)] for low, high in pairwise(bounds)]
        self._left.difference_update(drawn)
        return drawn

    def take(self, candidates: Iterable[int]) -> int | None:
        """Return the first of some passages that was not drawn yet, and draw it; None where all were."""
        found = next((number for number in candidates if number in self._left), None)
        self._left.discard(-1 if found is None else found)
        return found
