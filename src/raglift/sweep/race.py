"""A race between cells: rung by rung it is decided how many go on and how many queries they are asked next."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from raglift.stats.racing import Race

ALPHA = 0.05
"""How often any of the best cells may be dropped, at most."""
BATCH = 6
"""Each batch has one query of so many windows; a rung is several batches."""
FIRST_QUERIES = 12
"""About how many queries every cell is asked at first."""
_GROWTH = 1.5
"""By how much the number of queries asked grows from rung to rung."""
_HALVINGS = 50
_EFFORT = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>%|minutes?)")
_EXPECTED = "a share of the questions such as 40%, or minutes such as 30 minutes"


@dataclass(frozen=True)
class Effort:
    """How much a sweep may do: a part of the questions that all cells would be asked, or so many minutes."""

    share: float | None = None
    """Of the questions of a whole sweep, which are cells × queries."""
    minutes: float | None = None
    """Of computing, embedding included; a sweep that was stopped goes on with what is left."""

    @classmethod
    def parse(cls, text: object) -> Effort:
        """Return the effort of `40%` or `30 minutes`."""
        found = _EFFORT.fullmatch(text.strip()) if isinstance(text, str) else None
        number = 0.0 if found is None else float(found["number"])
        if found is None or number <= 0 or (found["unit"] == "%" and number > 100):
            raise ConfigurationError(f"effort: found {text!r}; expected {_EXPECTED}")
        return cls(share=number / 100) if found["unit"] == "%" else cls(minutes=number)

    def questions(self, cells: int, queries: int) -> float:
        """Return how many questions may be asked; infinite for minutes."""
        return math.inf if self.share is None else self.share * cells * queries

    def __str__(self) -> str:
        if self.share is not None:
            return f"{100 * self.share:.6g}%"
        return f"{self.minutes:g} minute{'' if self.minutes == 1 else 's'}"


@dataclass(frozen=True)
class Rung:
    """What is decided for the next step."""

    keep: int
    """How many of the running cells go on, the best by their means; at least one."""
    batches: int
    """How many batches of queries have been asked after it."""


@dataclass(frozen=True)
class RungRecord:
    """One step of a race: some cells were asked further queries."""

    cells: int
    """How many were asked."""
    queries: int
    """How many queries had been asked after it."""
    dropped: int
    """How many were dropped after it, because they are significantly worse."""
    set_aside: int
    """How many went no further before it, so that the effort would last."""
    left: int
    """How many are running after it."""


def least_batches(sizes: Sequence[int]) -> int:
    """Return how many batches all cells are asked at least: those with the queries of a full one."""
    return 1 if sizes[0] == sizes[-1] else 2


def first_batches(cells: int, sizes: Sequence[int], work: float) -> int | None:
    """Return how many batches all cells are asked: those of the first queries, in half of the effort.

    Returns:
        At least those with the queries of a full batch, and fewer than all; None if the effort does not last for these.
    """
    asked = list(itertools.accumulate(sizes))
    least = least_batches(sizes)
    if cells * asked[least - 1] > work:
        return None
    nearest = FIRST_QUERIES + sizes[-1] / 2
    return max(least, sum(queries < nearest and cells * queries <= work / 2 for queries in asked[:-1]))


def next_rung(running: int, asked: int, batches: int, work: float, *, is_estimate: bool = False) -> Rung | None:
    """Return how the rest of an effort is spent best: as successive halving, so that the last cells get all queries.

    From rung to rung the number of queries grows by half and the number of cells falls by the same share; that share is
    the largest with which the effort lasts until all queries are asked (successive halving: Karnin, Koren and Somekh
    2013, Jamieson and Talwalkar 2016, with the share that fits in place of a half).

    Args:
        running: how many cells there are.
        asked: how many batches these were asked.
        batches: how many there are.
        work: how many further batches may be asked, each of one cell.
        is_estimate: whether that is only what the time is expected to last for. Then, if it seems not to last for the
            best cell alone, half of the cells go on: what is left when it ends is the answer.

    Returns:
        None if the effort does not last for one more batch of one cell, or all are asked.
    """
    counts, count = [], asked
    while count < batches:
        count = min(batches, max(count + 1, math.ceil(count * _GROWTH)))
        counts.append(count)
    if not counts:
        return None
    low, high = 0.0, 1.0
    if _cost(1.0, running, asked, counts) > work:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = _cost(middle, running, asked, counts) <= work
            low, high = (middle, high) if fits else (low, middle)
        high = 0.5 if is_estimate and not low else low
    keep = _share_of(running, high)
    affordable = int(min(work, keep * batches) // keep)
    return Rung(keep, min(counts[0], asked + affordable)) if affordable else None


def _cost(share: float, running: int, asked: int, counts: Sequence[int]) -> float:
    """Return what is spent if that share of the cells, the best, goes on after each rung."""
    total = 0
    for before, count in itertools.pairwise([asked, *counts]):
        running = _share_of(running, share)
        total += running * (count - before)
    return total


def _share_of(running: int, share: float) -> int:
    return max(1, math.ceil(running * share - 1e-9))


@dataclass
class Course:
    """A race on its way. Cells are numbers, and who answers is a function, so that it can be tried on stored scores."""

    race: Race
    batches: Sequence[NDArray[np.intp]]
    """Positions of queries, as of `stratified_batches` of the size `BATCH`."""
    ask: Callable[[int, Sequence[int], range], NDArray[np.float64]]
    """Returns the values of some cells on some batches, queries × cells: a column of NaN for one that failed. The first
    argument is the number of the rung."""
    questions_left: Callable[[int], float]
    """Returns how many questions may still be asked once so many were."""
    is_estimate: bool = False
    """Whether that is an estimate from the time that questions took."""
    decided: Callable[[int, Callable[[], Rung | None]], Rung | None] = lambda _, decide: decide()
    """Returns what is decided for a rung: as before a sweep was stopped, or what the function returns."""
    rungs: list[RungRecord] = field(default_factory=list)
    """What was done, in order."""
    questions: int = 0
    """How many were asked: queries × cells."""
    asked: int = 0
    """How many batches were asked."""

    def run(self, first: int) -> Race:
        """Race until one cell is left, the effort is spent or all queries were asked."""
        self._go_on(range(len(self.race.totals)), first, set_aside=0)
        while self.rungs and self.asked < len(self.batches) and len(self.race.running) > 1:
            rung = self.decided(len(self.rungs) - 1, partial(self._next))
            if rung is None:
                break
            running = self.race.running
            best_first = running[np.argsort(-self.race.totals[running], kind="stable")].tolist()
            keep = best_first[: rung.keep]
            until = min(max(rung.batches, self.asked + 1), len(self.batches))
            if not self._go_on(sorted(keep), until, set_aside=len(best_first) - len(keep)):
                break
        return self.race

    def _next(self) -> Rung | None:
        left = self.questions_left(self.questions) / BATCH
        return next_rung(len(self.race.running), self.asked, len(self.batches), left, is_estimate=self.is_estimate)

    def _go_on(self, cells: Sequence[int], until: int, *, set_aside: int) -> bool:
        """Ask some cells the batches until one, and bet on these one after the other; return whether any answered.

        A cell that failed is asked no more.
        """
        values = self.ask(len(self.rungs), cells, range(self.asked, until))
        self.questions += values.size
        answered = ~np.isnan(values).any(axis=0)
        if not answered.any():
            return False
        left, values, row = np.asarray(cells, dtype=np.intp)[answered], values[:, answered], 0
        for batch in self.batches[self.asked : until]:
            self.race = self.race.after(values[row : row + len(batch)], systems=left)
            still = np.isin(left, self.race.survivors)
            left, values, row = left[still], values[:, still], row + len(batch)
        self.asked = until
        dropped = int(self.race.dropped.sum()) - sum(rung.dropped for rung in self.rungs)
        self.rungs.append(RungRecord(len(cells), self.race.asked, dropped, set_aside, len(self.race.running)))
        return True
