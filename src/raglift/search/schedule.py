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
    least = 1 if asked[0] == sizes[-1] else 2
    if systems * asked[least - 1] > work:
        return None
    nearest = wanted + sizes[-1] / 2.0
    many = sum(queries < nearest and systems * queries <= work / 2.0 for queries in asked[:-1])
    return max(least, many)


def next_rung(running: int, asked: int, queries: int, work: float, *, joining: int = 0) -> Rung | None:
    """Return how the rest of a budget is spent best: as successive halving, so that the last systems get all queries.

    From rung to rung the number of queries grows by half and the number of systems falls by the same share; that share
    is the largest with which the budget lasts until all queries are asked (successive halving: Karnin, Koren and Somekh
    2013, Jamieson and Talwalkar 2016, with the share that fits in place of a half).

    Args:
        running: how many systems are running.
        asked: how many queries these were asked.
        queries: how many there are.
        work: how many questions may still be asked: systems × queries.
        joining: how many systems join for each that goes on, and are asked the queries so far, too.

    Returns:
        None where the budget does not last for one more query of one system.
    """
    if asked >= queries or running < 1:
        return None
    counts = _counts(asked, queries)
    low, high = 0.0, 1.0
    if _cost(1.0, running, asked, counts, joining) > work:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            fits = _cost(middle, running, asked, counts, joining) <= work
            low, high = (middle, high) if fits else (low, middle)
        high = low
    keep = _kept(running, high)
    each = keep * (1 + joining)
    affordable = int((work - keep * joining * asked) // each)
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


def _cost(share: float, running: int, asked: int, counts: list[int], joining: int) -> float:
    """Return how many questions are asked if that share of the systems goes on after each rung."""
    total, before = 0.0, asked
    for number, count in enumerate(counts):
        running = _kept(running, share)
        if number == 0:
            total += running * joining * asked
            running *= 1 + joining
        total += running * (count - before)
        before = count
    return total


def _kept(running: int, share: float) -> int:
    return max(1, math.ceil(running * share - 1e-9))
