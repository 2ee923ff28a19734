"""ragas' conventions: `profile="ragas"`, read from its `metrics/_context_precision.py` and `_context_recall.py`.

Precision and recall are its IDBasedContextPrecision and IDBasedContextRecall; AP is the formula of its context
precision, in all its forms, with a hit as useful when it is relevant. Its reference ids are all labels, alternatives
too. It has no k: the retrieved contexts are the first k hits. What ragas does not have is the default's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.measure import count_by_query
from raglift.metrics.profiles.hits import (
    Profile,
    f1_of,
    precision_of_ids,
    recall_of_labels,
    relevant_hits,
    sums_of_precision,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric

    Values = NDArray[np.float64]


_ADDED = 1e-10
"""What ragas adds to the denominator of average precision, so that it is never 0."""


def average_precision(match_table: MatchTable, metric: Metric) -> Values:
    """AP = Σ over relevant hits of relevant hits so far / rank, / (relevant hits + 1e-10)."""
    hits = relevant_hits(match_table, metric)
    return np.asarray(
        sums_of_precision(hits, match_table) / (count_by_query(hits.query, match_table) + _ADDED), dtype=np.float64
    )


PROFILE = Profile(
    name="ragas",
    source="ragas 0.4.3, ragas/metrics/_context_precision.py and _context_recall.py",
    functions={
        "precision": precision_of_ids,
        "recall": recall_of_labels,
        "f1": f1_of(precision_of_ids, recall_of_labels),
        "ap": average_precision,
    },
    without_k=frozenset({"precision", "f1"}),
    leaves_out_empty=frozenset({"precision", "f1"}),
)
"""ragas' conventions."""
