"""The parts of a sweep that can be done anywhere: each is a function of what can be sent, and returns its error."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from raglift.cache import Cache
from raglift.errors import CacheError, ModelOutputError
from raglift.evaluation import evaluate, rerank
from raglift.execution import Policy
from raglift.latency import OneAtATime, measure_latency
from raglift.matching import Provenance
from raglift.records import Cost, Dataset
from raglift.redaction import describe_error
from raglift.sweep.parts import KnownScores, Parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from raglift.execution import Stage
    from raglift.reranking.pairs import Pair, PairReranker
    from raglift.results import Evaluation
    from raglift.sweep.specification.cells import Cell
    from raglift.sweep.specification.record import Sweep
    from raglift.work import Workers

__all__ = [
    "Measurement",
    "Outcome",
    "ask_elsewhere",
    "ask_system",
    "candidate_pairs",
    "evaluated",
    "latency_of",
    "lost",
    "measure",
    "measurement",
    "score_pairs",
]


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
        dtype=sweep.dtype,
        progress=progress,
    )


def ask_system(parts: Parts, cell: Cell) -> Outcome:
    """Evaluate a system of the user's."""
    dataset = parts.dataset
    try:
        evaluation = evaluated(parts.system(str(cell.system)), parts.sweep, dataset, progress=parts.progress)
    except CacheError:  # nothing can be kept any more
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever a user's system does fails its cells alone
        return Outcome(error=describe_error(error))
    errors = [trace.error for trace in evaluation.run.traces if trace.error is not None]
    if errors and len(errors) == len(evaluation.run.traces):
        return Outcome(error=f"every query failed; the first: {errors[0]}")
    return Outcome(replace(evaluation, dataset=_bare(dataset)))


def _bare(dataset: Dataset) -> Dataset:
    """Return what stands for a dataset in what is sent: whoever gets it has the dataset."""
    return Dataset((), (), dataset.name)


def ask_elsewhere(sweep: Sweep, dataset: Dataset, cell: Cell) -> Outcome:
    """Evaluate a system of the user's in a process that has nothing of the sweep yet."""
    return ask_system(Parts(sweep, dataset, progress=False, cache=Cache(None)), cell)


def lost(error: Exception) -> Outcome:
    """Return what became of a cell whose worker was lost each time that it was tried."""
    return Outcome(error=describe_error(error))


def score_pairs(reranker: PairReranker, pairs: Iterable[Pair], workers: Workers) -> dict[Pair, float]:
    """Return the scores of pairs; a query for which the reranker gives none loses its own pairs, and no other's."""
    ordered = sorted(pairs)
    try:
        return reranker.scores(ordered, workers=workers)
    except ModelOutputError:
        scores: dict[Pair, float] = {}
        for _, group in groupby(ordered, key=itemgetter(0)):
            with suppress(ModelOutputError):
                scores |= reranker.scores(list(group))
        return scores


def candidate_pairs(evaluation: Evaluation) -> set[Pair]:
    """Return the distinct pairs of each query with the texts of its last ranking."""
    return {
        (query.text, chunk.text)
        for query, trace in zip(evaluation.dataset.queries, evaluation.run.traces, strict=True)
        if trace.error is None
        for chunk in trace.stages[-1].ranking.chunks
    }


def measurement(cell: Cell, source: Evaluation, reranker: str, scores: Mapping[Pair, float]) -> Measurement:
    """Return what it takes to measure a cell, without the dataset."""
    known = {pair: scores[pair] for pair in candidate_pairs(source) if pair in scores}
    return Measurement(cell, replace(source, dataset=_bare(source.dataset)), reranker, known)


def measure(dataset: Dataset, item: Measurement) -> Outcome:
    """Rerank a cell's candidates by their scores, match, and score."""
    source = replace(item.source, dataset=dataset)
    try:
        evaluation = rerank(source, KnownScores(item.reranker, item.scores), policy=Policy(progress=False))
    except Exception as error:  # noqa: BLE001 — what fails here fails one cell, not the sweep
        return Outcome(error=describe_error(error))
    return Outcome(replace(evaluation, dataset=_bare(dataset)))


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
