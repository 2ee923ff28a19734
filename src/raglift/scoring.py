"""Every metric at every stage, with the denominator fixed in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics import compute
from raglift.records import Metric, Ranking, Scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.matching import Judgements
    from raglift.records import Dataset, Run

__all__ = ["rankings_by_stage", "score"]


def rankings_by_stage(run: Run) -> list[list[Ranking]]:
    """Return, for each stage, one ranking a query; empty where the query failed before the stage finished."""
    names = [stage.name for stage in run.stages]
    by_query = [{stage.stage: stage.ranking for stage in trace.stages} for trace in run.traces]
    return [[rankings.get(name, Ranking()) for rankings in by_query] for name in names]


def score(
    run: Run, dataset: Dataset, judgements: Sequence[Judgements], metrics: Sequence[Metric], profile: str
) -> Scores:
    """Compute every metric at every stage.

    A mean is over all labelled queries: one that failed or returned nothing counts 0; one without labels, or that the
    corpus does not answer, is NaN and left out.

    Args:
        run: what the system returned.
        dataset: its queries, in the order of the run's traces.
        judgements: for each stage, what matched.
        metrics: what to compute.
        profile: whose conventions to use.

    Raises:
        ConfigurationError: an unknown profile, or a metric without the depth it needs.
    """
    unlabelled = np.array([not query.is_labelled for query in dataset.queries], dtype=bool)
    failed = np.array([trace.error is not None for trace in run.traces], dtype=bool)
    values = np.full((len(judgements), len(metrics), len(dataset)), np.nan)
    for stage, judged in enumerate(judgements):
        for place, metric in enumerate(metrics):
            computed = compute(judged, metric, profile)
            # A profile may leave a query out because nothing came back; a failure counts 0 all the same.
            computed = np.where(failed & np.isnan(computed), 0.0, computed)
            values[stage, place] = np.where(unlabelled, np.nan, computed)
    return Scores(
        query_ids=tuple(query.id for query in dataset.queries),
        stages=tuple(stage.name for stage in run.stages),
        metrics=tuple(metrics),
        values=values,
    )
