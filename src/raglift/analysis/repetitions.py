"""Repetitions: the same query run several times, because agents differ from run to run.

The value of a query is the mean over its runs, so that tests and intervals have one value a query, as they need: runs
of one query are not independent of each other. How much runs differ is told by variance components.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.upper_bound import rule_of
from raglift.metrics.computing import Scores, rankings_by_stage, score
from raglift.metrics.parsing import as_metric
from raglift.metrics.session_prefixes import match_run
from raglift.stats.variances import VarianceComponents, variance_components
from raglift.types.rankings import Run, Trace

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
    from raglift.text.tokens import TokenCounts
    from raglift.types.dataset import Dataset
    from raglift.types.metric import Metric


def over_repetitions(
    run: Run, dataset: Dataset, first: Scores, rule: MatchRule, profile: str, counter: TokenCounts
) -> Scores:
    """Return scores of which each value is the mean over the runs of its query."""
    if not any(trace.repetitions for trace in run.traces):
        return first
    values = _of_all_runs(run, dataset, first, rule, profile, counter)
    known = np.count_nonzero(~np.isnan(values), axis=0)
    sums = np.nansum(values, axis=0)
    return replace(first, values=np.divide(sums, known, out=np.full_like(sums, np.nan), where=known > 0))


def values_by_repetition(evaluation: Evaluation, metric: Metric | str) -> NDArray[np.float64]:
    """Return one metric after the last stage, run by run: a row per run, and a column per query.

    Args:
        evaluation: of sessions.
        metric: any that can be computed here.

    Returns:
        NaN if a query was not run so often, or is left out of the mean.
    """
    wanted, run = as_metric(metric), evaluation.run
    rule = rule_of(evaluation)
    tables = match_run(run, rankings_by_stage(run), evaluation.dataset.queries, rule)
    first = score(run, evaluation.dataset, tables, [wanted], evaluation.profile)
    return _of_all_runs(run, evaluation.dataset, first, rule, evaluation.profile, tables[0].counter)[:, -1, 0]


def repetition_components(evaluation: Evaluation, metric: Metric | str) -> VarianceComponents | None:
    """Return how much of a metric's variance is between queries, and how much between runs of the same query.

    Args:
        evaluation: of sessions.
        metric: any that can be computed here.

    Returns:
        None if no query was run twice, or fewer than two queries have a value.
    """
    wanted = as_metric(metric)
    if not any(trace.repetitions for trace in evaluation.run.traces):
        return None
    return variance_components(values_by_repetition(evaluation, wanted))


def _of_all_runs(
    run: Run, dataset: Dataset, first: Scores, rule: MatchRule, profile: str, counter: TokenCounts
) -> NDArray[np.float64]:
    """Return values of shape (runs, stages, metrics, queries); NaN if a query was not run so often."""
    found = [first.values]
    for again, was_run in further_runs(run):
        tables = match_run(again, rankings_by_stage(again), dataset.queries, rule, counter=counter)
        scores = score(again, dataset, tables, first.metrics, profile)
        found.append(np.where(was_run, scores.values, np.nan))
    return np.stack(found)


def further_runs(run: Run) -> Iterator[tuple[Run, NDArray[np.bool_]]]:
    """Yield the second run of each query, the third, …, with the queries that were run so often."""
    for number in range(max((len(trace.repetitions) for trace in run.traces), default=0)):
        was_run = np.array([len(trace.repetitions) > number for trace in run.traces], dtype=np.bool_)
        traces = [
            trace.repetitions[number] if len(trace.repetitions) > number else Trace(trace.query_id, calls=())
            for trace in run.traces
        ]
        yield replace(run, traces=tuple(traces)), was_run
