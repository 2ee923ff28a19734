"""Evaluations on disk: plain files in one folder, never a pickle.

run.json         what was asked and measured: spec, stages, notes, versions, dataset hash; the format's version
queries.jsonl    the queries with their labels, as they were resolved
chunks.jsonl     each distinct chunk that was returned or that touches a passage, once
traces.jsonl     one line a query: for each stage the hits (chunk number, score) and seconds, or the error
scores.parquet   one row a query, stage and metric
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from raglift.records import Metric

__all__ = ["CHUNKS", "CHUNK_FIELDS", "FORMAT", "QUERIES", "RUN", "SCORES", "TRACES", "score_keys"]

FORMAT = 1
"""The version of the files; a folder with a higher one was written by a newer raglift."""

RUN, QUERIES, CHUNKS, TRACES, SCORES = (
    "run.json",
    "queries.jsonl",
    "chunks.jsonl",
    "traces.jsonl",
    "scores.parquet",
)
CHUNK_FIELDS = ("id", "doc_id", "start", "end", "text")


def score_keys(query_ids: tuple[str, ...], stages: tuple[str, ...], metrics: tuple[Metric, ...]) -> pd.DataFrame:
    """Return what each row of the scores is about, in the order of the values.

    Parquet holds UTF-8 alone: of half a character in an id, the backslash form.
    """
    import pandas as pd

    texts = [str(metric) for metric in metrics]
    of_stage = np.repeat(np.array(texts, dtype=object), len(query_ids))
    return pd.DataFrame(
        {
            "query_id": np.tile(np.array([*map(_utf8, query_ids)], dtype=object), len(stages) * len(texts)),
            "stage": np.repeat(np.array([*map(_utf8, stages)], dtype=object), len(of_stage)),
            "metric": np.tile(of_stage, len(stages)),
        },
        dtype=object,
    )


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
