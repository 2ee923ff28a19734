"""Evaluations as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics import mean_title
from raglift.printable import encodable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from raglift.result_records import EvaluationRecord

__all__ = ["evaluation_frame", "per_query_frame", "per_query_frames"]


def evaluation_frame(evaluation: EvaluationRecord) -> pd.DataFrame:
    """Return one row a metric and depth.

    Columns: `metric` (the family, as MRR), `k`, `tokens` (the budget; one of these two is missing, or both), `before`,
    `after` and `lift` (missing for a system of one stage, and lift where there is no fair pair), `n` and `n_after`
    (queries that the two means are over; they differ only where a profile leaves queries out), `truncated` (whether the
    depth is more than a stage could return), and one column `stage:<name>` a stage.
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
            "tokens": None if metric.budget is None else metric.budget.most,
            "before": scores.mean(evaluation.before, metric),
            "after": np.nan if one_stage else scores.mean(evaluation.after, metric),
            "lift": np.nan if lift is None else lift,
            "n": scores.n(evaluation.before, metric),
            "n_after": scores.n(evaluation.after, metric),
            "truncated": any(evaluation.is_truncated(stage, metric) for stage in scores.stages),
        }
        rows.append(row | {f"stage:{stage}": scores.mean(stage, metric) for stage in scores.stages})
    return pd.DataFrame(rows).astype({"k": "Int64", "tokens": "Int64"})


def per_query_frame(evaluation: EvaluationRecord) -> pd.DataFrame:
    """Return one row a query, metric and stage.

    Columns: `query_id`, `query`, `tags`, `metric` (as `ndcg@10`), `stage`, `value` (NaN for a query that is left out),
    `hits` (how many the stage returned), `seconds`, `error`.
    """
    import pandas as pd

    scores, traces = evaluation.scores, evaluation.run.traces
    stages, metrics, _ = scores.values.shape
    queries = evaluation.dataset.queries
    finished = [{done.stage: done for done in trace.stages} for trace in traces]
    done = [[by_name.get(stage) for stage in scores.stages] for by_name in finished]

    def a_query(texts: list[str | None]) -> NDArray[np.object_]:
        told = [None if text is None else encodable(text) for text in texts]  # pandas keeps texts as UTF-8
        return np.repeat(np.array([*told, None], dtype=object)[:-1], stages * metrics)

    return pd.DataFrame(
        {
            "query_id": a_query([query.id for query in queries]),
            "query": a_query([query.text for query in queries]),
            "tags": a_query([",".join(query.tags) for query in queries]),
            "metric": np.tile(
                np.array([str(metric) for metric in scores.metrics], dtype=object), len(queries) * stages
            ),
            "stage": np.tile(np.repeat(np.array(scores.stages, dtype=object), metrics), len(queries)),
            "value": scores.values.transpose(2, 0, 1).ravel(),
            "hits": np.repeat([len(trace.ranking) if trace else 0 for row in done for trace in row], metrics),
            "seconds": np.repeat([trace.seconds if trace else np.nan for row in done for trace in row], metrics),
            "error": a_query([trace.error for trace in traces]),
        }
    )


def per_query_frames(evaluations: Mapping[str, EvaluationRecord], named: str) -> pd.DataFrame:
    """Return the rows of `per_query_frame` of several systems, one system after the other.

    Args:
        evaluations: what was measured, by name.
        named: the first column, which holds the names.
    """
    import pandas as pd

    frames = [per_query_frame(evaluation) for evaluation in evaluations.values()]
    for name, frame in zip(evaluations, frames, strict=True):
        frame.insert(0, named, pd.Series([name] * len(frame), dtype=object))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame({named: []})
