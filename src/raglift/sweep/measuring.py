"""The parts of a sweep that can be done anywhere: each is a function of what can be sent, and returns its error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from raglift.evaluation import evaluate, rerank
from raglift.execution import Policy
from raglift.execution.policy import describe_error
from raglift.latency import OneAtATime, measure_latency
from raglift.matching import Provenance
from raglift.records import Cost
from raglift.references import load_system
from raglift.sweep.parts import KnownScores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.execution import Stage
    from raglift.records import Dataset, Evaluation
    from raglift.reranking.pairs import Pair
    from raglift.sweep.specification.cells import Cell
    from raglift.sweep.specification.record import Sweep

__all__ = ["Measurement", "Outcome", "ask_system", "candidate_pairs", "evaluated", "latency_of", "measure"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """An evaluation, or why there is none."""

    evaluation: Evaluation | None = None
    error: str | None = None


@dataclass(frozen=True, eq=False)
class Measurement:
    """What it takes to measure a cell that reranks: its candidates and their scores."""

    cell: Cell
    source: Evaluation
    """The cell without its reranker."""
    reranker: str
    """What gave the scores, for people."""
    scores: Mapping[Pair, float]
    """Of every candidate."""


def evaluated(system: Any, sweep: Sweep, dataset: Dataset, *, progress: bool | None) -> Evaluation:
    """Evaluate a system as a sweep asks for it, without a reranker."""
    return evaluate(
        system,
        dataset,
        ks=sweep.ks,
        candidates=sweep.candidates,
        match=sweep.rule,
        profile=sweep.profile,
        metrics=sweep.metrics,
        doc_key=sweep.doc_key,
        concurrency=sweep.concurrency,
        timeout=sweep.timeout,
        retries=sweep.retries,
        progress=progress,
    )


def ask_system(sweep: Sweep, dataset: Dataset, progress: bool | None, cell: Cell) -> Outcome:
    """Evaluate a system of the user's, made from its reference or object."""
    try:
        system = load_system(sweep.system(str(cell.system)).system)
        evaluation = evaluated(system, sweep, dataset, progress=progress)
    except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever a user's system does fails its cells alone
        return Outcome(error=describe_error(error))
    errors = [trace.error for trace in evaluation.run.traces if trace.error is not None]
    if errors and len(errors) == len(evaluation.run.traces):
        return Outcome(error=f"every query failed; the first: {errors[0]}")
    return Outcome(evaluation)


def candidate_pairs(evaluation: Evaluation) -> set[Pair]:
    """Return the distinct pairs of each query with the texts of its last ranking."""
    return {
        (query.text, chunk.text)
        for query, trace in zip(evaluation.dataset.queries, evaluation.run.traces, strict=True)
        if trace.error is None
        for chunk in trace.stages[-1].ranking.chunks
    }


def measure(item: Measurement) -> Outcome:
    """Rerank a cell's candidates by their scores, match, and score."""
    try:
        evaluation = rerank(item.source, KnownScores(item.reranker, item.scores), policy=Policy(progress=False))
    except Exception as error:  # noqa: BLE001 — what fails here fails one cell, not the sweep
        return Outcome(error=describe_error(error))
    return Outcome(evaluation)


def latency_of(evaluation: Evaluation, stages: Sequence[Stage], sweep: Sweep, progress: bool | None) -> Cost:
    """Return the cost of an evaluation with the seconds of its stages, asked one query at a time.

    Args:
        evaluation: what is known; queries that failed in it are not asked again.
        stages: the system, which remembers nothing.
        sweep: says how many queries, and the seed that chooses them.
        progress: whether to show progress.
    """
    policy = Policy(progress=progress)
    asked = OneAtATime(
        stages, int(evaluation.run.spec["candidates"]), policy, Provenance(evaluation.dataset, sweep.doc_key)
    )
    queries = zip(evaluation.dataset.queries, evaluation.run.traces, strict=True)
    texts = [query.text for query, trace in queries if trace.error is None]
    latencies, whole = measure_latency(asked, texts, sweep.latency, seed=sweep.seed)
    return replace(evaluation.run.cost or Cost(), latencies=latencies, whole=whole)
