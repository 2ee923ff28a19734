"""`explain_metrics()`: why tools give one query different numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.diagnosis.conventions.agreeing import same
from raglift.diagnosis.conventions.choosing import choose_query
from raglift.diagnosis.conventions.judged import judged_by_profile, values_under
from raglift.diagnosis.conventions.notes import notes_of
from raglift.diagnosis.conventions.ranking import ranked_hits
from raglift.diagnosis.conventions.reasons import Reasons
from raglift.diagnosis.conventions.records import MetricsExplanationRecord, MetricUnderProfiles, ProfileValue
from raglift.diagnosis.rejudged import rule_of
from raglift.errors import ConfigurationError
from raglift.metrics import MEASURES, mean_of, parse, require_installed
from raglift.metrics.profiles import DEFAULT
from raglift.records import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.result_records import EvaluationRecord

__all__ = ["explain_metrics"]


def explain_metrics(
    evaluation: EvaluationRecord,
    query_id: str | None = None,
    *,
    metrics: Metric | str | Sequence[Metric | str] | None = None,
    stage: str | None = None,
) -> MetricsExplanationRecord:
    """Return one query's metrics under every profile, and for each that differs from the default's what makes it so.

    Everything is computed from what the system returned; it is not asked again.

    Args:
        evaluation: what was measured.
        query_id: the id of the query; by default that whose values differ most between profiles.
        metrics: what to look at; by default what was scored.
        stage: the stage; by default the last.

    Raises:
        DatasetError: no query has that id.
        ConfigurationError: no stage has that name; a metric that is unknown, needs a depth, or looks deeper than the
            run's candidates; no query is asked for and none has labels.
    """
    stage, chosen = _stage(evaluation, stage), _metrics(evaluation, metrics)
    judged = judged_by_profile(evaluation, stage, chosen)
    values = {name: values_under(evaluation, stage, of_profile, chosen, name) for name, of_profile in judged.items()}
    queries, choice = evaluation.dataset.queries, None
    if query_id is None:
        number, choice = choose_query(evaluation.dataset, chosen, values)
    else:
        number = queries.index(evaluation.dataset.query(query_id))
    return MetricsExplanationRecord(
        query=queries[number],
        stage=stage,
        match=str(rule_of(evaluation)),
        profile=evaluation.profile,
        profiles=tuple(values),
        metrics=_under_profiles(chosen, values, number, Reasons(evaluation, stage, judged, number)),
        hits=ranked_hits(judged, number, evaluation.hits(queries[number].id, stage), chosen),
        error=evaluation.run.traces[number].error,
        choice=choice,
        queries=sum(query.is_labelled for query in queries),
        notes=notes_of(evaluation, queries[number], stage, chosen),
        label_sources=evaluation.label_sources,
    )


def _stage(evaluation: EvaluationRecord, given: str | None) -> str:
    stages = evaluation.scores.stages
    if given is not None and given not in stages:
        raise ConfigurationError(f"stage: found {given!r}; expected one of {', '.join(stages)}")
    return evaluation.after if given is None else given


def _metrics(evaluation: EvaluationRecord, given: Metric | str | Sequence[Metric | str] | None) -> tuple[Metric, ...]:
    """Return what to look at, checked.

    Raises:
        ConfigurationError: nothing, or a metric that cannot be computed from the run.
    """
    if given is None:
        # A user's own whose function is not here has a saved value, and none under another profile
        given = [metric for metric in evaluation.scores.metrics if MEASURES[metric.name].is_installed]
    wanted = (given,) if isinstance(given, (str, Metric)) else tuple(given)
    chosen = tuple(dict.fromkeys(parse(str(metric)) for metric in wanted))
    if not chosen:
        raise ConfigurationError("metrics: found none; expected at least one, as ['ndcg@10']")
    require_installed(chosen)
    candidates = int(evaluation.run.spec["candidates"])
    for metric in chosen:
        measure = MEASURES[metric.name]
        if measure.needs_k and metric.k is None:
            raise ConfigurationError(
                f"{metric}: found no depth; expected one, as '{metric.name}@{min(10, candidates)}': the default "
                "divides by k"
            )
        if metric.k is not None and metric.k > candidates:
            raise ConfigurationError(
                f"metric: found {metric}; expected a depth of at most {candidates}, the number of candidates that the "
                "run asked for: evaluate again with more candidates"
            )
        if measure.needs_chunks and evaluation.run.inventory is None:
            raise ConfigurationError(
                f"{metric}: found a run whose system did not tell its chunks; expected them, as "
                "evaluate(..., chunks=chunks)"
            )
    return chosen


def _under_profiles(
    metrics: Sequence[Metric], values: Mapping[str, NDArray[np.float64]], query: int, reasons: Reasons
) -> tuple[MetricUnderProfiles, ...]:
    """Return the metrics of one query; `values` has an array of shape (metrics, queries) for each profile."""
    return tuple(
        _of_metric(metric, {name: table[place] for name, table in values.items()}, query, reasons)
        for place, metric in enumerate(metrics)
    )


def _of_metric(
    metric: Metric, values: Mapping[str, NDArray[np.float64]], query: int, reasons: Reasons
) -> MetricUnderProfiles:
    """Return one metric of one query; `values` are those of all queries, for each profile."""
    of_default, (mean_of_default, n_of_default) = values[DEFAULT.name][query], _mean(metric, values[DEFAULT.name])
    cells = []
    for profile, of_profile in values.items():
        value, (mean, n) = float(of_profile[query]), _mean(metric, of_profile)
        agrees = same(value, of_default)
        cells.append(
            ProfileValue(
                profile=profile,
                value=value,
                mean=mean,
                n=n,
                agrees=agrees,
                mean_agrees=n == n_of_default and same(mean, mean_of_default),
                why="" if agrees else reasons.why(metric, profile, value),
                numbers=reasons.numbers(metric, profile, value),
            )
        )
    return MetricUnderProfiles(metric, tuple(cells))


def _mean(metric: Metric, values: NDArray[np.float64]) -> tuple[float, int]:
    """Return the mean over the queries that count, NaN when none does, and how many they are."""
    return mean_of(metric, values), int(np.count_nonzero(~np.isnan(values)))
