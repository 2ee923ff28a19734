"""The figures of a run compared with their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.gating.bounds import LATENCIES, Bound
from raglift.gating.records import Check
from raglift.metrics.registry import MEASURES
from raglift.running.scoring import rescore

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric


_WORST = 10
"""The most queries of a check that are named as the worst."""


def with_metrics(evaluation: Evaluation, metrics: Sequence[Metric], whose: str) -> Evaluation:
    """Return an evaluation that has scored some metrics, scored again where it had not."""
    lacking = [metric for metric in dict.fromkeys(metrics) if metric not in evaluation.scores.metrics]
    if not lacking:
        return evaluation
    candidates = int(evaluation.run.spec["candidates"])
    for metric in lacking:
        known = evaluation.scores.metrics
        scored = ", ".join(str(one) for one in known if one.name == metric.name) or ", ".join(map(str, known))
        if metric.depth is None and MEASURES[metric.name].takes_k:
            raise ConfigurationError(
                f"{metric}: found no such metric of {whose}; expected a depth, as "
                f"{MEASURES[metric.name].example}, or one that was scored: {scored}"
            )
        if metric.k is not None and metric.k > candidates:
            raise ConfigurationError(
                f"{metric}: {whose} was not scored at that depth, and its {candidates} candidates do not reach it; "
                f"expected a depth of at most {candidates}: evaluate again with more candidates"
            )
    return _together(evaluation, rescore(evaluation, metrics=lacking))


def _together(evaluation: Evaluation, rescored: Evaluation) -> Evaluation:
    """Return an evaluation with what was scored besides; what it had scored stays as it is, whoever's metric it was."""
    scores, more = evaluation.scores, rescored.scores
    return replace(
        evaluation,
        scores=replace(
            scores,
            metrics=(*scores.metrics, *more.metrics),
            values=np.concatenate([scores.values, more.values], axis=1),
        ),
        # What is said of the metric that decides by default, it has of its own
        remarks=tuple(dict.fromkeys((*evaluation.remarks, *rescored.remarks_but("unjudged", "primary")))),
        match_table=rescored.match_table,
        truncated_tokens=rescored.truncated_tokens or evaluation.truncated_tokens,
        beyond_candidates={**rescored.beyond_candidates, **evaluation.beyond_candidates},
    )


def check_of(evaluation: Evaluation, bound: Bound) -> Check:
    """Return one figure next to its bound.

    Raises:
        ConfigurationError: a latency that was not measured.
    """
    if bound.metric is not None:
        return _metric_check(evaluation, bound, bound.metric)
    return _latency_check(evaluation, bound) if bound.figure in LATENCIES else _count_check(evaluation, bound)


def _metric_check(evaluation: Evaluation, bound: Bound, metric: Metric) -> Check:
    stage = bound.stage or evaluation.after
    values = evaluation.scores.of(stage, metric)
    n = evaluation.scores.n(stage, metric)
    order = np.argsort(values if bound.is_minimum else -values, kind="stable")  # NaN comes last either way
    wrong = values < bound.bound if bound.is_minimum else values > bound.bound
    worst = [place for place in order.tolist() if wrong[place]][:_WORST]
    note = "" if n else "no question has labels that count"
    if n and evaluation.is_truncated(stage, metric):
        note = evaluation.truncation(stage)
    return Check(
        bound.name,
        evaluation.scores.mean(stage, metric),
        bound.bound,
        bound.is_minimum,
        n=n,
        worst=tuple((evaluation.scores.query_ids[place], float(values[place])) for place in worst),
        metric=metric,
        stage=stage,
        note=note,
    )


def _latency_check(evaluation: Evaluation, bound: Bound) -> Check:
    cost = evaluation.run.cost
    found = None if cost is None else cost.whole
    if cost is not None and bound.stage is not None:
        found = next((one for one in cost.latencies if one.stage == bound.stage), None)
    if found is None:
        raise ConfigurationError(
            f"{bound.name}: found a run whose latency was not measured; expected one with a latency pass: evaluate "
            "with --latency 50 (latency=50 in Python)"
        )
    failed = f"{found.failed:,} of the timed questions failed and {'is' if found.failed == 1 else 'are'} left out"
    return Check(
        bound.name,
        float(getattr(found, LATENCIES[bound.figure])),
        bound.bound,
        is_minimum=False,
        unit="s",
        n=found.queries,
        stage=bound.stage,
        note=failed if found.failed else "" if found.queries else "no question came through the latency pass",
    )


def _count_check(evaluation: Evaluation, bound: Bound) -> Check:
    stage = bound.stage or evaluation.after
    queries = evaluation.dataset.queries
    labelled = {query.id for query in queries if query.is_labelled}
    n = len(queries)
    if bound.figure == "failures":
        counted = [trace.query_id for trace in evaluation.run.traces if trace.error is not None]
    elif bound.figure == "unlabelled":
        counted = [query.id for query in queries if query.answerable and query.id not in labelled]
    else:
        n = len(labelled)  # that nothing comes back for a question without an answer is as it should be
        counted = [
            trace.query_id
            for trace in evaluation.run.traces
            for done in trace.stages
            if trace.query_id in labelled and done.stage == stage and not done.ranking.hits
        ]
    return Check(
        bound.name,
        float(len(counted)),
        bound.bound,
        is_minimum=False,
        n=n,
        queries=tuple(counted),
        stage=stage if bound.figure == "empty" else None,
    )
