"""AutoRAG's conventions: `profile="autorag"`, read from its `autorag/evaluation/metric/retrieval.py`.

Its ground truth is a list of groups, which are our facts, of ids, which are our passages. Precision divides by what
was retrieved; MRR and MAP are means over groups; NDCG's ideal is as long as the flattened ids or the retrieved list,
whichever is shorter. A query whose retrieval came back empty is left out of the mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.measure import count_by_query, depth, first_satisfactions, per_query, sum_by
from raglift.metrics.profiles.hits import Profile, f1_of, ndcg_of, relevant_hits, returned
from raglift.metrics.rank_measures import HitRate, Recall
from raglift.metrics.registry import function_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric

    Values = NDArray[np.float64]


def precision(match_table: MatchTable, metric: Metric) -> Values:
    """Precision = relevant hits / retrieved. An id that comes back twice is one relevant hit of two retrieved."""
    found = relevant_hits(match_table, metric, distinct=True)
    return per_query(count_by_query(found.query, match_table), returned(match_table, metric))


def reciprocal_rank(match_table: MatchTable, metric: Metric) -> Values:
    """MRR = mean over groups of 1 / the rank of the group's first hit; 0 for a group without one."""
    first = first_satisfactions(match_table)
    within = first.rank <= depth(metric.k)
    sums = sum_by(first.query[within], 1 / first.rank[within], match_table.queries)
    return per_query(sums, count_by_query(match_table.facts.query, match_table))


def average_precision(match_table: MatchTable, metric: Metric) -> Values:
    """MAP = mean over groups of Σ precision at the group's hits / its hits, counting only its hits as relevant."""
    matches = match_table.matches
    within = matches.rank <= depth(metric.k)
    fact, rank = np.unique(np.stack((matches.fact[within], matches.rank[within])), axis=1)
    hits_so_far = np.arange(len(fact)) - np.searchsorted(fact, fact) + 1
    facts = len(match_table.facts.query)
    sums = sum_by(fact, hits_so_far / rank, facts)
    of_group = per_query(sums, np.bincount(fact, minlength=facts).astype(np.float64))
    total = sum_by(match_table.facts.query, of_group, match_table.queries)
    return per_query(total, count_by_query(match_table.facts.query, match_table))


def dcg(match_table: MatchTable, metric: Metric) -> Values:
    """DCG = Σ over relevant hits of 1 / log2(rank + 1); grades do not count."""
    hits = relevant_hits(match_table, metric)
    return sum_by(hits.query, 1 / np.log2(hits.rank + 1), match_table.queries)


def idcg(match_table: MatchTable, metric: Metric) -> Values:
    """IDCG = the DCG of as many relevant hits as there are ids in all groups, or retrieved hits, if fewer."""
    facts = match_table.facts
    ids = sum_by(facts.query, facts.passages.astype(np.float64), match_table.queries)
    ones = np.minimum(ids, returned(match_table, metric)).astype(np.int64)
    ideal = np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2, ones.max(initial=0) + 2)))))
    return np.asarray(ideal[ones], dtype=np.float64)


_FUNCTIONS = {
    "hit_rate": function_of(HitRate),
    "precision": precision,
    "recall": function_of(Recall),
    "f1": f1_of(precision, function_of(Recall)),
    "rr": reciprocal_rank,
    "ap": average_precision,
    "dcg": dcg,
    "idcg": idcg,
    "ndcg": ndcg_of(dcg, idcg),
}

PROFILE = Profile(
    name="autorag",
    source="AutoRAG, autorag/evaluation/metric/retrieval.py",
    functions=_FUNCTIONS,
    without_k=frozenset({"precision", "f1"}),
    leaves_out_empty=frozenset(_FUNCTIONS),
)
"""AutoRAG's conventions."""
