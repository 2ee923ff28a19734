"""Costs of a run: latency of single queries, throughput of all queries, and the index.

Latency has a pass of its own, because the run says little about it: a stage that takes all queries at once shares its
time out among them, a cache answers in the model's place, and concurrent calls wait for each other. In the pass the
queries go through all stages one at a time, after a few that nobody counts, and every cache of raglift's is bypassed.
What the measured system itself keeps in memory is part of it and stays.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.adapters.stages import RetrieveStage, Stage
from raglift.running.execution import ask_stage
from raglift.types.rankings import Cost, IndexCost, StageLatency, Trace
from raglift.utilities.cache import bypassed, counted
from raglift.utilities.progress import quiet, track

if TYPE_CHECKING:
    from raglift.adapters.policy import Policy
    from raglift.matching.provenance import Provenance
    from raglift.types.labels import Query


_SEED = 0
_WARM_UP_QUERIES = 3
_WHOLE = "whole"


@dataclass(frozen=True)
class OneAtATime:
    """The stages of a system, asked one query after the other, with every cache bypassed."""

    stages: Sequence[Stage]
    """In order; a RetrieveStage first."""
    k: int
    """How many hits to retrieve."""
    policy: Policy
    """Timeout, retries, and what becomes of a failure; its concurrency does not count."""
    provenance: Provenance
    """Resolves documents, as between the stages of a run; not timed."""

    def seconds(self, text: str) -> list[float]:
        """Return the seconds of each stage that the query came through: fewer than there are stages if it failed.

        Raises:
            QueryFailed: the query failed and the policy says `raise`.
        """
        policy = replace(self.policy, concurrency=1, progress=False)
        seconds: list[float] = []
        given: Any = self.k
        with bypassed(), quiet():
            for stage in self.stages:
                outcome = ask_stage(stage, [(text, given)], policy, lambda _count: None)[0]
                if outcome.value is None:
                    break
                seconds.append(outcome.seconds)
                given = self.provenance.check(outcome.value)
        return seconds

    def warm_up(self, texts: Sequence[str]) -> None:
        """Ask a few queries so that models are loaded and connections open; what fails here fails again, and counts."""
        calm = replace(self, policy=replace(self.policy, on_error="keep"))
        for text in texts:
            calm.seconds(text)


def measure_latency(
    pipeline: OneAtATime, texts: Sequence[str], most: int, *, seed: int = _SEED
) -> tuple[tuple[StageLatency, ...], StageLatency]:
    """Return how long one query takes: p50 and p95 of each stage, and of all stages together.

    Args:
        pipeline: the stages, and how they are asked.
        texts: of queries; each distinct one is asked once at most.
        most: how many are asked at most, chosen at random.
        seed: decides which. The choice does not depend on the order of the texts.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
    """
    shuffled = _shuffled(texts, seed)
    chosen = shuffled[:most]
    pipeline.warm_up(_for_warming_up(shuffled))
    rows: list[list[float]] = []
    with track("latency", len(chosen), "questions", show=pipeline.policy.progress, live=False) as advance:
        for text in chosen:
            rows.append(pipeline.seconds(text))
            advance(1)
    latencies = []
    for number, stage in enumerate(pipeline.stages):
        entered = [row for row in rows if len(row) >= number]
        finished = [row[number] for row in entered if len(row) > number]
        latencies.append(_latency(stage.name, finished, len(entered) - len(finished)))
    complete = [sum(row) for row in rows if len(row) == len(pipeline.stages)]
    return tuple(latencies), _latency(_WHOLE, complete, len(rows) - len(complete))


@dataclass
class CostMeter:
    """Measures what a run costs: around it, and after it.

    Without queries for the latency pass, only the index is told: throughput too wants warm models.
    """

    asked: OneAtATime
    """The system."""
    queries: Sequence[Query]
    """Of the dataset."""
    most: int
    """How many queries the latency pass asks at most; 0 for no pass."""
    _seconds: dict[str, float] = field(default_factory=dict)
    _from_cache: set[str] = field(default_factory=set)

    def warm_up(self) -> None:
        """Ask a few queries before the run, so that its throughput is not that of loading models."""
        if self.most:
            self.asked.warm_up(_for_warming_up(_shuffled([query.text for query in self.queries], _SEED)))

    @contextmanager
    def watch(self, stage: Stage) -> Iterator[None]:
        """Time a stage of the run, and see whether a cache answers for it."""
        with counted() as lookups:
            started = time.perf_counter()
            yield
            self._seconds[stage.name] = self._seconds.get(stage.name, 0.0) + time.perf_counter() - started
        if lookups.found:
            self._from_cache.add(stage.name)

    def cost(self, traces: Sequence[Trace]) -> Cost | None:
        """Return what the run cost, with the latency pass if it was asked for; None when nothing is known.

        Args:
            traces: of the run. What it could not answer is not asked again.

        Raises:
            QueryFailed: a query failed in the latency pass and the policy says `raise`.
        """
        index = _index_cost(self.asked.stages)
        if not self.most:
            known = Cost(index=index)
            return None if known == Cost() else known
        answered = [query.text for query, trace in zip(self.queries, traces, strict=True) if trace.error is None]
        latencies, whole = measure_latency(self.asked, answered, self.most)
        return Cost(latencies, whole, index, self._throughput(traces))

    def _throughput(self, traces: Sequence[Trace]) -> dict[str, float | None]:
        rates: dict[str, float | None] = {}
        for number, stage in enumerate(self.asked.stages):
            finished = sum(len(trace.stages) > number for trace in traces)
            if finished:
                known = stage.name not in self._from_cache
                rates[stage.name] = finished / max(self._seconds[stage.name], 1e-9) if known else None
        return rates


def _shuffled(texts: Sequence[str], seed: int) -> list[str]:
    distinct = sorted(set(texts))
    return [distinct[place] for place in np.random.default_rng(seed).permutation(len(distinct))]


def _for_warming_up(shuffled: Sequence[str]) -> Sequence[str]:
    """Return the queries that are measured last, or not at all where there are enough of them."""
    return shuffled[-_WARM_UP_QUERIES:]


def _latency(stage: str, seconds: Sequence[float], failed: int) -> StageLatency:
    p50, p95 = np.percentile(seconds, (50, 95)).tolist() if seconds else (float("nan"), float("nan"))
    return StageLatency(stage, len(seconds), p50, p95, failed)


def _index_cost(stages: Sequence[Stage]) -> IndexCost | None:
    """Return what the index of the first stage cost; None if it does not say, or says it in its own way."""
    first = stages[0]
    cost = getattr(first.retriever, "cost", None) if isinstance(first, RetrieveStage) else None
    return cost if isinstance(cost, IndexCost) else None
