"""The most facts of a query that any k of the given chunks can satisfy.

No retriever over these chunks, and no reranker over these candidates, can do better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from raglift.matching.coverage import Choices, covered_length, fewest_intervals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from raglift.matching.coverage import Interval

    _Curve: TypeAlias = NDArray[np.int64]

__all__ = ["MOST_CHOICES", "Alternative", "Best", "best_facts", "best_facts_at"]

MOST_CHOICES = 4096
"""The most choices of k among chunks that bear on each other that are all tried: enough for 14 chunks at any k, for 29
at k = 3."""

_MOST_INTERVALS = 1000


@dataclass(frozen=True)
class Alternative:
    """One way to satisfy a fact: chunks that together cover enough of a passage.

    Where a single matching chunk is enough (containment, ids), `needed` is 1 and each chunk covers `(0, 1)`.
    """

    needed: int
    """How many characters of the passage must be covered; 1 or more."""
    covers: tuple[tuple[int, int, int], ...]
    """(chunk, start, end) of each stretch that a chunk covers; a chunk is any integer that stands for it."""
    text: str = ""
    """The normalized text of the passage, whose blanks count as covered between covered parts."""

    @classmethod
    def any_of(cls, chunks: Iterable[int]) -> Alternative:
        """Return the alternative that each one of some chunks satisfies alone."""
        return cls(1, tuple((chunk, 0, 1) for chunk in chunks))


Requirement: TypeAlias = "Sequence[Alternative]"
"""The alternatives of one fact; none for a fact that nothing can satisfy."""


@dataclass(frozen=True)
class Best:
    """What can be reached at best."""

    facts: int
    """The most facts that k chunks can satisfy; where it is not exact, never less than that."""
    exact: bool
    """False for an upper bound, shown as ≤."""


def best_facts(requirements: Sequence[Requirement], k: int) -> Best:
    """Return the most facts that k chunks can satisfy together.

    Facts that share no chunk, not even by way of others, do not bear on each other: the chunks are shared out among
    such groups in the best way. Within a group every choice of k chunks is tried where there are few enough; otherwise
    there is a lower and an upper bound (`_bounds`), and where these differ the upper one is returned.

    Args:
        requirements: the facts of one query, each with its alternatives.
        k: how many chunks.
    """
    return best_facts_at(requirements, (k,))[0]


def best_facts_at(requirements: Sequence[Requirement], ks: Sequence[int]) -> list[Best]:
    """Return `best_facts` for each of several k.

    Args:
        requirements: the facts of one query, each with its alternatives.
        ks: how many chunks, at each depth.
    """
    touched = sum(any(each.covers for each in fact) for fact in requirements)
    if touched <= min(ks, default=0) and touched == sum(map(_by_one_chunk, requirements)):
        return [Best(touched, exact=True) for _ in ks]  # nothing to choose: by far the most queries
    deepest = max(ks, default=0)
    least = most = np.zeros(deepest + 1, dtype=np.int64)
    for group in _groups(requirements):
        low, high = _of_group(group, deepest)
        least, most = _shared_out(least, low), _shared_out(most, high)
    return [Best(int(most[k]), bool(least[k] == most[k])) for k in ks]


def _by_one_chunk(requirement: Requirement) -> bool:
    """Whether a single stretch is enough for a fact."""
    return any(end - start >= each.needed for each in requirement for _, start, end in each.covers)


def _shared_out(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the best sum when 0, 1, 2, … chunks are shared out among two groups."""
    sums = first[:, None] + second[None, :]
    flipped = np.fliplr(sums)
    size = len(first)
    return np.array([flipped.diagonal(size - 1 - k).max() for k in range(size)], dtype=np.int64)


def _groups(requirements: Sequence[Requirement]) -> list[list[list[Alternative]]]:
    """Return the facts that can be satisfied, in groups that share no chunk."""
    groups: list[tuple[set[int], list[list[Alternative]]]] = []
    for requirement in requirements:
        possible = [each for each in requirement if _covered(each.covers, each.text) >= each.needed]
        if not possible:
            continue
        chunks = {chunk for each in possible for chunk, _, _ in each.covers}
        facts = [possible]
        for group in [group for group in groups if not group[0].isdisjoint(chunks)]:
            groups.remove(group)
            chunks |= group[0]
            facts = group[1] + facts
        groups.append((chunks, facts))
    return [_without_duplicates(facts) for _, facts in groups]


def _without_duplicates(facts: list[list[Alternative]]) -> list[list[Alternative]]:
    """Keep one of the chunks that cover exactly the same: a second one adds nothing."""
    covers: dict[int, list[tuple[int, int, int]]] = {}
    alternatives = [each for fact in facts for each in fact]
    for number, each in enumerate(alternatives):
        for chunk, start, end in each.covers:
            covers.setdefault(chunk, []).append((number, start, end))
    kept = set({tuple(sorted(of)): chunk for chunk, of in covers.items()}.values())
    return [
        [replace(each, covers=tuple(cover for cover in each.covers if cover[0] in kept)) for each in fact]
        for fact in facts
    ]


def _of_group(facts: list[list[Alternative]], deepest: int) -> tuple[_Curve, _Curve]:
    """Return the most facts that 0, 1, 2, … chunks satisfy: at least, and at most."""
    chunks = sorted({chunk for fact in facts for each in fact for chunk, _, _ in each.covers})
    least, most = _bounds(facts, len(chunks), deepest)
    trial = _Trial(facts, chunks)
    for k in range(min(len(chunks), deepest) + 1):
        if least[k] < most[k] and math.comb(len(chunks), k) <= MOST_CHOICES:
            least[k] = most[k] = trial.best(k)
    return np.maximum.accumulate(least), most


class _Trial:
    """Every choice of so many chunks, tried."""

    def __init__(self, facts: list[list[Alternative]], chunks: list[int]) -> None:
        self._row = {chunk: row for row, chunk in enumerate(chunks)}
        self._facts = [[self._passage(each) for each in fact] for fact in facts]

    def _passage(self, alternative: Alternative) -> Choices:
        covers = [(self._row[chunk], start, end) for chunk, start, end in alternative.covers]
        return Choices(covers, len(self._row), alternative.needed, alternative.text)

    def best(self, k: int) -> int:
        """Return the most facts that a choice of k chunks satisfies."""
        choices = np.array(list(combinations(range(len(self._row)), k)), dtype=np.int64)
        satisfied = np.zeros(len(choices), dtype=np.int64)
        for fact in self._facts:
            satisfied += np.logical_or.reduce([passage.are_enough(choices) for passage in fact])
        return int(satisfied.max())


def _covered(covers: Iterable[tuple[int, int, int]], text: str) -> int:
    return covered_length([(start, end) for _, start, end in covers], text)


def _bounds(facts: list[list[Alternative]], chunks: int, deepest: int) -> tuple[_Curve, _Curve]:
    """Return a lower and an upper bound of the most facts that 0, 1, 2, … chunks satisfy.

    Alone, each fact needs at least so many chunks (`fewest`). At most: no fact that needs more than k can be had; and
    as a chunk helps only those facts whose passages it covers (`helps`), k chunks make at most as many pairs of a chunk
    and a fact that it helps as the k largest `helps` add up to, while each satisfied fact takes part in `fewest` pairs.
    At least: the facts that need fewest, each by chunks of its own; and all facts, with all chunks.
    """
    ks = np.arange(deepest + 1)
    counted = sorted(min(_fewest_chunks(each, deepest) for each in fact) for fact in facts)
    fewest = np.array([count for count, _ in counted])
    helped: dict[int, set[int]] = {}
    for number, fact in enumerate(facts):
        for chunk in {chunk for each in fact for chunk, _, _ in each.covers}:
            helped.setdefault(chunk, set()).add(number)
    helps = np.sort([len(of) for of in helped.values()])[::-1]
    pairs = np.concatenate(([0], np.cumsum(helps)))[np.minimum(ks, len(helps))]
    alone = np.searchsorted(fewest, ks, side="right")
    most = np.minimum(alone, np.searchsorted(np.cumsum(fewest), pairs, side="right"))
    reached = np.cumsum([count if is_exact else chunks for count, is_exact in counted])
    least = np.where(ks >= chunks, len(facts), np.searchsorted(reached, ks, side="right"))
    return least.astype(np.int64), most.astype(np.int64)


def _fewest_chunks(alternative: Alternative, at_most: int) -> tuple[int, bool]:
    """Return the fewest chunks that satisfy an alternative, and whether that is exact; else it is too small.

    More than `at_most` is `at_most + 1`.
    """
    covers: dict[int, list[Interval]] = {}
    for chunk, start, end in alternative.covers:
        covers.setdefault(chunk, []).append((start, end))
    stretches = list(covers.values())
    if len(stretches) <= _MOST_INTERVALS and all(len(of_chunk) == 1 for of_chunk in stretches):
        single = [of_chunk[0] for of_chunk in stretches]
        return fewest_intervals(single, alternative.needed, at_most, alternative.text), True
    lengths = sorted((covered_length(of_chunk, alternative.text) for of_chunk in stretches), reverse=True)
    if lengths[0] >= alternative.needed:
        return 1, True
    blanks = alternative.text.count(" ")
    return int(np.searchsorted(np.cumsum(lengths), alternative.needed - blanks)) + 1, False
