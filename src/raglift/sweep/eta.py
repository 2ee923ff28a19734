"""The progress of a sweep: its steps, and the estimated remaining time."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.sweep.specification.cells import NO_RERANKER, Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raglift.sweep.planning import Plan


# Progress and estimated remaining time of a sweep.


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
    begun_with: int = 0
    """How many were done when the first were: what they took includes loading the model."""
    begun_after: float = 0.0
    """How long these took."""

    @property
    def rate(self) -> float | None:
        """Units a second, without the first few where there are more; None before any is done."""
        if self.done > self.begun_with and self.seconds > self.begun_after:
            return (self.done - self.begun_with) / (self.seconds - self.begun_after)
        return self.done / self.seconds if self.done and self.seconds > 0 else None


class TimeEstimate:
    """The steps of a sweep, and how fast each goes.

    Args:
        steps: in the order in which they are taken.
        say: called with a line of text whenever something is done.
        clock: seconds, from any beginning.
    """

    def __init__(
        self, steps: Sequence[Step], say: Callable[[str], None], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.steps = list(steps)
        self._say = say
        self._clock = clock
        self._now: Step | None = None
        self._since = 0.0

    @contextmanager
    def taking(self, label: str, total: int | None = None) -> Iterator[None]:
        """Work on a step until the end of the block, after which nothing is left of it.

        Args:
            label: the step's.
            total: how many units there are, now that it is known.
        """
        step = next(step for step in self.steps if step.label == label)
        step.total = step.total if total is None else total
        self._now, self._since = step, self._clock() - step.seconds
        self._tell()
        try:
            yield
        finally:
            step.total = step.done
            self._now = None

    def merge(self, labels: Sequence[str], label: str) -> None:
        """Make one step of some of the same unit, in the place of the first: what is done at once has no order."""
        merged = [step for step in self.steps if step.label in labels]
        place = self.steps.index(merged[0])
        rest = [step for step in self.steps if step not in merged]
        self.steps = [*rest[:place], Step(label, merged[0].unit, sum(step.total for step in merged)), *rest[place:]]

    def skip(self, *labels: str) -> None:
        """Say that nothing more is done in some steps: something that they need has failed."""
        for step in self.steps:
            if step.label in labels:
                step.total = step.done

    def advance(self, unit: str, count: int) -> None:
        """Say that some units are done; units that the step does not count are parts of what it counts."""
        step = self._now
        if step is not None and step.unit == unit:
            step.done += count
            step.seconds = self._clock() - self._since
            if not step.begun_with:
                step.begun_with, step.begun_after = step.done, step.seconds
        self._tell()

    def seconds_left(self) -> float:
        """Return how long the rest will take: units left over the rate of their step.

        A step of which nothing is done is given the rate of others with the same unit, else a usual one.
        """
        return sum(max(step.total - step.done, 0) / self._rate(step) for step in self.steps)

    def _rate(self, step: Step) -> float:
        if step.rate is not None:
            return step.rate
        rates = [other.rate for other in self.steps if other.unit == step.unit and other.rate is not None]
        return len(rates) / sum(1 / rate for rate in rates) if rates else _USUAL_RATES.get(step.unit, 1.0)

    def _tell(self) -> None:
        if self._now is None:
            return
        number = self.steps.index(self._now) + 1
        left = f"about {duration(self.seconds_left())} left"
        of_it = f"{self._now.done:,}/{self._now.total:,} {self._now.unit}"
        self._say(f"sweep: step {number} of {len(self.steps)}, {self._now.label} ({of_it}); {left}")


def duration(seconds: float) -> str:
    """Return a time span as people say it: `40 s`, `3 min`, `2 h 10 min`."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


# Progress of a sweep, in steps.


ASKING_LABEL = "ask systems on the cluster"
TIMING_LABEL = "time the cells"


def steps_of(plan: Plan, todo: Sequence[Cell], missing: Sequence[Cell], *, latency: int) -> list[Step]:
    """Return what is to be done, in the order in which it is."""
    steps = []
    for entry in plan.embeddings:
        steps.append(Step(embedding_label(entry.model), "chunks", _known(entry.missing, entry.texts)))
        steps.append(Step(query_label(entry.model), "queries", _known(entry.missing_queries, entry.queries)))
    for source in missing:  # a system of the user's may be slow, so its queries are counted
        unit, total = ("rankings", 1) if source.system is None else ("queries", plan.queries)
        steps.append(Step(retrieval_label(source), unit, total))
    for planned in plan.rerankings:
        cells = sum(cell.reranker == planned.reranker for cell in todo)
        steps.append(Step(scoring_label(planned.reranker), "pairs", _known(planned.missing, planned.pairs)))
        steps.append(Step(measuring_label(planned.reranker), "cells", cells))
    if latency:
        steps.append(Step(TIMING_LABEL, "cells", len(plan.cells)))
    return steps


def _known(exact: int | None, most: int) -> int:
    return most if exact is None else exact


def embedding_label(model: str) -> str:
    """Return the label of the step for the texts of chunks."""
    return f"embed with {model}"


def query_label(model: str) -> str:
    """Return the label of the step for the queries."""
    return f"embed queries with {model}"


def retrieval_label(source: Cell) -> str:
    """Return the label of the step for one index or system."""
    return f"retrieve {source.name.removesuffix(f' · {NO_RERANKER}')}"


def scoring_label(reranker: str) -> str:
    """Return the label of the step for pairs."""
    return f"score with {reranker}"


def measuring_label(reranker: str) -> str:
    """Return the label of the step for cells."""
    return f"measure with {reranker}"
