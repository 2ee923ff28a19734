"""LlamaIndex's conventions: `profile="llamaindex"`, read from its `evaluation/retrieval/metrics.py`.

Its expected ids are all labels, alternatives too. It has no k and scores what a retriever returned: here that is the
first k hits. It raises where nothing came back; here such a query counts 0. Grades do not count. Every hit with an
expected id counts, also one that comes back again, so AP and NDCG can pass 1. HitRate and MRR are the default's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.graded_measures import discounted_sum
from raglift.metrics.profiles.hits import (
    Profile,
    average_precision_of,
    f1_of,
    ideal_ranking,
    ndcg_of,
    precision_of_ids,
    recall_of_labels,
    relevant_hits,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric

    Values = NDArray[np.float64]


def average_precision(match_table: MatchTable, metric: Metric) -> Values:
    """AP = Σ over relevant hits of relevant hits so far / rank, / expected ids."""
    return average_precision_of(relevant_hits(match_table, metric), match_table)


def dcg(match_table: MatchTable, metric: Metric) -> Values:
    """DCG = Σ over relevant hits of 1 / log2(rank + 1)."""
    hits = relevant_hits(match_table, metric)
    return discounted_sum(hits.query, hits.rank, np.ones(len(hits.rank)), None, match_table.queries)


def idcg(match_table: MatchTable, metric: Metric) -> Values:  # noqa: ARG001 — the same at every depth
    """IDCG = Σ of 1 / log2(position + 1) over as many positions as there are expected ids, whatever came back."""
    query, position, _ = ideal_ranking(match_table)
    return discounted_sum(query, position, np.ones(len(query)), None, match_table.queries)


PROFILE = Profile(
    name="llamaindex",
    source="llama-index-core 0.14.25, llama_index/core/evaluation/retrieval/metrics.py",
    functions={
        "precision": precision_of_ids,
        "recall": recall_of_labels,
        "f1": f1_of(precision_of_ids, recall_of_labels),
        "ap": average_precision,
        "dcg": dcg,
        "idcg": idcg,
        "ndcg": ndcg_of(dcg, idcg),
    },
    without_k=frozenset({"precision", "f1"}),
)
"""LlamaIndex's conventions."""
