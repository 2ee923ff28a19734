"""How a budget is spent: how many queries the systems are asked next, and how many of them go on."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GROWTH = 1.5
"""By how much the number of queries asked grows from rung to rung."""
_HALVINGS = 50
_HALF = 0.5


@dataclass(frozen=True)
class Rung:
    """What is done next."""

    keep: int
    """How many of the running systems go on, the best by their means; at least one."""
    queries: int
    """How many queries have been asked after it."""
    joins: bool = False
    """Whether others join."""


def first_rung(systems: int, wanted: int, sizes: Sequence[int], work: float) -> int | None:
    """Return how many batches the systems that begin are asked: those of the wanted queries, in half of the budget.

    Args:
        systems: how many begin.
        wanted: how many queries they are asked if the budget is large.
        sizes: of the batches, all alike but for the first, which may be smaller.
        work: how many questions may be asked: systems × queries.

    Returns:
        So many that they have the queries of a full batch, at least, and fewer than all; None where the budget does not
        last for these.
    """
    asked = list(itertools.accumulate(sizes))
    least = least_batches(sizes)
    if systems * asked[least - 1] > work:
        return None
    nearest = wanted + sizes[-1] / 2.0
    many = sum(queries < nearest and systems * queries <= work / 2.0 for queries in asked[:-1])
    return max(least, many)


def least_batches(sizes: Sequence[int]) -> int:
    """Return how many batches all systems are asked at least: those with the queries of a full one."""
    return 1 if sizes[0] == sizes[-1] else 2


def next_rung(
    prices: Sequence[float], asked: int, queries: int, work: float, *, joining: int = 0, is_measured: bool = False
) -> Rung | None:
    """Return how the rest of a budget is spent best: as successive halving, so that the last systems get all queries.

    From rung to rung the number of queries grows by half and the number of systems falls by the same share; that share
    is the largest with which the budget lasts until all queries are asked (successive halving: Karnin, Koren and Somekh
    2013, Jamieson and Talwalkar 2016, with the share that fits in place of a half).

    Args:
        prices: what a question of each running system costs, the best system first.
        asked: how many queries these were asked.
        queries: how many there are.
        work: what may still be spent, as `prices` are.
        joining: how many systems join for each that goes on, and are asked the queries so far, too.
        is_measured: whether prices are only what questions cost so far. Then, where the budget seems not to last for
            the best system alone, half of the systems go on: what is left when it ends is the answer.

    Returns:
        None where the budget does not last for one more query of one system.
    """
    if asked >= queries or not prices:
        return None
    counts = _counts(asked, queries)
    low, high = 0.0, 1.0
    if _cost(1.0, prices, asked, counts, joining) > work:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            fits = _cost(middle, prices, asked, counts, joining) <= work
            low, high = (middle, high) if fits else (low, middle)
        high = low
        if is_measured and not low:
            high = _HALF
    keep = _kept(len(prices), high)
    each = sum(prices[:keep]) * (1 + joining)
    affordable = int((work - sum(prices[:keep]) * joining * asked) // each) if each else queries
    if affordable < 1:
        return None
    return Rung(keep, min(counts[0], asked + affordable), joins=joining > 0)


def _counts(asked: int, queries: int) -> list[int]:
    """Return how many queries have been asked after each rung."""
    counts = []
    while asked < queries:
        asked = min(queries, max(asked + 1, math.ceil(asked * GROWTH)))
        counts.append(asked)
    return counts


def _cost(share: float, prices: Sequence[float], asked: int, counts: list[int], joining: int) -> float:
    """Return what is spent if that share of the systems, the best, goes on after each rung."""
    total, before, running = 0.0, asked, len(prices)
    sums = list(itertools.accumulate(prices))
    more = sums[-1] / len(prices) if joining else 0.0
    for number, count in enumerate(counts):
        running = _kept(running, share)
        joined = running - len(prices) if running > len(prices) else 0
        each = sums[min(running, len(prices)) - 1] + joined * more
        if number == 0:
            total += each * joining * asked
            running *= 1 + joining
            each *= 1 + joining
        total += each * (count - before)
        before = count
    return total


def _kept(running: int, share: float) -> int:
    return max(1, math.ceil(running * share - 1e-9))
