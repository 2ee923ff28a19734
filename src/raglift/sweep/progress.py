"""The progress of a sweep: its steps, and about how long all of the rest will take."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.sweep.specification.cells import NO_RERANKER, Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raglift.sweep.planning import Plan


TIMING = "time the cells"
_USUAL_RATES = {"chunks": 80.0, "queries": 80.0, "rankings": 1.0, "pairs": 150.0, "cells": 2.0}
"""Units a second, for work of which nothing has been seen yet: a small model on two cores."""


@dataclass
class Step:
    """One kind of work with one model."""

    label: str
    """What is done, as “embed with minilm”; unique in a sweep."""
    unit: str
    """What is counted: `chunks`, `queries`, `rankings`, `pairs` or `cells`."""
    total: int
    """How many units there are; at most, if it is not known yet."""
    done: int = 0
    seconds: float = 0.0
    """How long the units that are done took."""

    @property
    def rate(self) -> float | None:
        """Units a second; None before any is done."""
        return self.done / self.seconds if self.done and self.seconds > 0 else None


class Steps:
    """The steps of a sweep, and how fast each goes.

    Args:
        steps: in the order in which they are taken.
        say: called with a line of text whenever something is done.
        clock: seconds, from any beginning.
    """

    def __init__(
        self, steps: Sequence[Step], say: Callable[[str], None], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._steps = {step.label: step for step in steps}
        self._say = say
        self._clock = clock
        self._current: Step | None = None
        self._began = 0.0

    @contextmanager
    def step(self, label: str, total: int | None = None) -> Iterator[None]:
        """Work on a step until the end of the block, after which nothing is left of it.

        Args:
            label: the step's.
            total: how many units there are, now that it is known.
        """
        step = self._steps[label]
        step.total = step.total if total is None else total
        self._current, self._began = step, self._clock()
        self._tell()
        try:
            yield
        finally:
            step.total = step.done
            self._current = None

    def skip(self, *labels: str) -> None:
        """Wait for some steps no longer: something that they need has failed."""
        for label in labels:
            self._steps[label].total = self._steps[label].done

    def advance(self, unit: str, count: int) -> None:
        """Note that some units are done; units that the step does not count are parts of what it counts."""
        step = self._current
        if step is not None and step.unit == unit:
            step.done += count
            step.seconds = self._clock() - self._began
        self._tell()

    def seconds_left(self) -> float:
        """Return how long the rest will take: units left over the rate of their step.

        A step of which nothing is done is given the mean rate of others with the same unit, else a usual one.
        """
        return sum(max(step.total - step.done, 0) / self._rate(step) for step in self._steps.values())

    def _rate(self, step: Step) -> float:
        if step.rate is not None:
            return step.rate
        rates = [other.rate for other in self._steps.values() if other.unit == step.unit and other.rate is not None]
        return sum(rates) / len(rates) if rates else _USUAL_RATES[step.unit]

    def _tell(self) -> None:
        step = self._current
        if step is None:
            return
        number = list(self._steps).index(step.label) + 1
        self._say(
            f"sweep: step {number} of {len(self._steps)}, {step.label} ({step.done:,}/{step.total:,} {step.unit}); "
            f"about {duration(self.seconds_left())} left"
        )


def duration(seconds: float) -> str:
    """Return a time span as people say it: `40 s`, `3 min`, `2 h 10 min`."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def steps_of(plan: Plan, todo: Sequence[Cell], missing: Sequence[Cell], *, latency: int) -> list[Step]:
    """Return what is to be done, in the order in which it is.

    Args:
        plan: of the sweep.
        todo: the cells that are not finished.
        missing: what is to be retrieved: cells without their rerankers.
        latency: how many queries each cell is timed on.
    """
    steps = []
    for entry in plan.embeddings:
        queries = entry.queries if entry.missing_queries is None else entry.missing_queries
        steps.append(
            Step(f"embed with {entry.model}", "chunks", entry.texts if entry.missing is None else entry.missing)
        )
        steps.append(Step(f"embed queries with {entry.model}", "queries", queries))
    for source in missing:  # a system of the user's may be slow, so its queries are counted
        unit, total = ("rankings", 1) if source.system is None else ("queries", plan.queries)
        steps.append(Step(retrieval_label(source), unit, total))
    for planned in plan.rerankings:
        cells = sum(cell.reranker == planned.reranker for cell in todo)
        steps.append(Step(f"score with {planned.reranker}", "pairs", planned.pairs))
        steps.append(Step(f"measure with {planned.reranker}", "cells", cells))
    if latency:
        steps.append(Step(TIMING, "cells", len(plan.cells)))
    return steps


def retrieval_label(source: Cell) -> str:
    """Return the label of the step for one index or system."""
    return f"retrieve {source.name.removesuffix(f' · {NO_RERANKER}')}"
