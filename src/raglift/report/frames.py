"""Evaluations as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics import mean_title

if TYPE_CHECKING:
    import pandas as pd

    from raglift.records import Evaluation

__all__ = ["evaluation_frame", "per_query_frame"]


def evaluation_frame(evaluation: Evaluation) -> pd.DataFrame:
    """Return one row a metric and k.

    Columns: `metric` (the family, as MRR), `k`, `before`, `after` and `lift` (missing for a system of one stage, and
    lift where there is no fair pair), `n` (queries that the means are over), `truncated` (whether k is deeper than a
    stage could return), and one column `stage:<name>` a stage.
    """
    import pandas as pd

    scores = evaluation.scores
    one_stage = len(scores.stages) == 1
    rows = []
    for metric in scores.metrics:
        lift = evaluation.mean_lift(metric)
        row = {
            "metric": mean_title(metric).partition("@")[0],
            "k": metric.k,
            "before": scores.mean(evaluation.before, metric),
            "after": np.nan if one_stage else scores.mean(evaluation.after, metric),
            "lift": np.nan if lift is None else lift,
            "n": scores.n(evaluation.before, metric),
            "truncated": any(evaluation.is_truncated(stage, metric) for stage in scores.stages),
        }
        rows.append(row | {f"stage:{stage}": scores.mean(stage, metric) for stage in scores.stages})
    return pd.DataFrame(rows).astype({"k": "Int64"})


def per_query_frame(evaluation: Evaluation) -> pd.DataFrame:
    """Return one row a query, metric and stage.

    Columns: `query_id`, `query`, `tags`, `metric` (as `ndcg@10`), `stage`, `value` (NaN for a query that is left out),
    `hits` (how many the stage returned), `seconds`, `error`.
    """
    import pandas as pd

    scores, run = evaluation.scores, evaluation.run
    rows = []
    for number, (query, trace) in enumerate(zip(evaluation.dataset.queries, run.traces, strict=True)):
        finished = {stage.stage: stage for stage in trace.stages}
        for stage_number, stage in enumerate(scores.stages):
            done = finished.get(stage)
            for metric_number, metric in enumerate(scores.metrics):
                rows.append(
                    {
                        "query_id": query.id,
                        "query": query.text,
                        "tags": ",".join(query.tags),
                        "metric": str(metric),
                        "stage": stage,
                        "value": scores.values[stage_number, metric_number, number],
                        "hits": len(done.ranking) if done else 0,
                        "seconds": done.seconds if done else np.nan,
                        "error": trace.error,
                    }
                )
    return pd.DataFrame(rows)
