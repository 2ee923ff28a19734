"""AutoRAG's conventions: `profile="autorag"`, read from its `autorag/evaluation/metric/retrieval.py`.

Its ground truth is a list of groups, which are our facts, of ids, which are our passages. Precision divides by what
was retrieved; MRR and MAP are means over groups; NDCG's ideal is as long as the flattened ids or the retrieved list,
whichever is shorter. A query whose retrieval came back empty is left out of the mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics import unordered
from raglift.metrics.profiles.record import Profile
from raglift.metrics.satisfied import count_by_query, depth, first_satisfactions, per_query, sum_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Metric

    Values = NDArray[np.float64]

__all__ = ["PROFILE"]


def _retrieved(judgements: Judgements, metric: Metric) -> Values:
    """Return how many hits AutoRAG would see: its retrieval is cut at top_k."""
    return np.minimum(judgements.hits, depth(metric.k)).astype(np.float64)


def _relevant(judgements: Judgements, metric: Metric) -> NDArray[np.int64]:
    """Return (query, rank) of each relevant hit within k, as two rows."""
    matches = judgements.matches
    within = matches.rank <= depth(metric.k)
    return np.unique(np.stack((matches.query[within], matches.rank[within])), axis=1)


def _empty_left_out(
    function: Callable[[Judgements, Metric], Values],
) -> Callable[[Judgements, Metric], Values]:
    def values(judgements: Judgements, metric: Metric) -> Values:
        came_back = (judgements.whole or judgements).hits > 0  # a first hit larger than a token budget did come back
        return np.where(came_back, function(judgements, metric), np.nan)

    return values


def precision(judgements: Judgements, metric: Metric) -> Values:
    """Precision = relevant hits / retrieved. An id that comes back twice is one relevant hit of two retrieved."""
    matches = judgements.matches
    first = (matches.rank <= depth(metric.k)) & ~matches.repeated
    relevant = np.unique(np.stack((matches.query[first], matches.rank[first])), axis=1)
    return per_query(count_by_query(relevant[0], judgements), _retrieved(judgements, metric))


def f1(judgements: Judgements, metric: Metric) -> Values:
    """F1 of its precision and recall."""
    return unordered.harmonic_mean(precision(judgements, metric), unordered.recall(judgements, metric))


def reciprocal_rank(judgements: Judgements, metric: Metric) -> Values:
    """MRR = mean over groups of 1 / the rank of the group's first hit; 0 for a group without one."""
    first = first_satisfactions(judgements)
    within = first.rank <= depth(metric.k)
    sums = sum_by(first.query[within], 1 / first.rank[within], judgements.queries)
    return per_query(sums, count_by_query(judgements.facts.query, judgements))


def average_precision(judgements: Judgements, metric: Metric) -> Values:
    """MAP = mean over groups of Σ precision at the group's hits / its hits, counting only its hits as relevant."""
    matches = judgements.matches
    within = matches.rank <= depth(metric.k)
    fact, rank = np.unique(np.stack((matches.fact[within], matches.rank[within])), axis=1)
    hits_so_far = np.arange(len(fact)) - np.searchsorted(fact, fact) + 1
    facts = len(judgements.facts.query)
    sums = sum_by(fact, hits_so_far / rank, facts)
    of_group = per_query(sums, np.bincount(fact, minlength=facts).astype(np.float64))
    total = sum_by(judgements.facts.query, of_group, judgements.queries)
    return per_query(total, count_by_query(judgements.facts.query, judgements))


def dcg(judgements: Judgements, metric: Metric) -> Values:
    """DCG = Σ over relevant hits of 1 / log2(rank + 1); grades do not count."""
    query, rank = _relevant(judgements, metric)
    return sum_by(query, 1 / np.log2(rank + 1), judgements.queries)


def idcg(judgements: Judgements, metric: Metric) -> Values:
    """IDCG = the DCG of as many relevant hits as there are ids in all groups, or retrieved hits, if fewer."""
    facts = judgements.facts
    ids = sum_by(facts.query, facts.passages.astype(np.float64), judgements.queries)
    ones = np.minimum(ids, _retrieved(judgements, metric)).astype(np.int64)
    ideal = np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2, ones.max(initial=0) + 2)))))
    return np.asarray(ideal[ones], dtype=np.float64)


def ndcg(judgements: Judgements, metric: Metric) -> Values:
    """NDCG = DCG / IDCG; 0 when there is nothing to find."""
    return per_query(dcg(judgements, metric), idcg(judgements, metric))


PROFILE = Profile(
    name="autorag",
    source="AutoRAG, autorag/evaluation/metric/retrieval.py",
    functions={
        name: _empty_left_out(function)
        for name, function in {
            "hit_rate": unordered.hit_rate,
            "precision": precision,
            "recall": unordered.recall,
            "f1": f1,
            "rr": reciprocal_rank,
            "ap": average_precision,
            "dcg": dcg,
            "idcg": idcg,
            "ndcg": ndcg,
        }.items()
    },
)
"""AutoRAG's conventions."""
