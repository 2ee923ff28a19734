"""The War and Peace tutorial's conventions: `profile="tutorial"`.

Recall counts ground-truth texts (every alternative is one), a hit's relevance is the grade of the best passage it
matches, however often that passage was matched before, and NDCG's ideal is the retrieved list sorted, so what was
never retrieved costs nothing. The other metrics are the default's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.graded import discounted_sum, gain_of
from raglift.metrics.profiles.record import Profile
from raglift.metrics.satisfied import count_by_query, depth, per_query, sum_by
from raglift.metrics.unordered import harmonic_mean, precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Metric

__all__ = ["PROFILE"]


def recall(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """Recall@k = ground-truth texts matched by the first k hits / ground-truth texts."""
    matches = judgements.matches
    within = matches.rank <= depth(metric.k)
    matched = np.unique(np.stack((matches.fact[within], matches.passage[within])), axis=1)
    facts = judgements.facts
    texts = sum_by(facts.query, facts.passages.astype(np.float64), judgements.queries)
    return per_query(count_by_query(facts.query[matched[0]], judgements), texts)


def f1(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """F1@k = 2PR / (P + R); 0 if both are 0."""
    return harmonic_mean(precision(judgements, metric), recall(judgements, metric))


def dcg(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """DCG@k = Σ over hits of relevance / log2(rank + 1)."""
    query, rank, grade = _relevance(judgements, metric)
    return discounted_sum(query, rank, gain_of(grade, metric), metric.k, judgements.queries)


def idcg(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """IDCG@k = the DCG of the first k hits sorted by relevance."""
    query, _, grade = _relevance(judgements, metric)
    order = np.lexsort((-grade, query))
    query, grade = query[order], grade[order]
    position = np.arange(len(query)) - np.searchsorted(query, query) + 1
    return discounted_sum(query, position, gain_of(grade, metric), metric.k, judgements.queries)


def ndcg(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """NDCG@k = DCG@k / IDCG@k; 0 if nothing relevant was retrieved."""
    return per_query(dcg(judgements, metric), idcg(judgements, metric))


def _relevance(judgements: Judgements, metric: Metric) -> tuple[NDArray[np.int64], ...]:
    """Return query, rank and best grade of each relevant hit among the first k."""
    matches = judgements.matches
    order = np.lexsort((-matches.grade, matches.rank, matches.query))
    query, rank, grade = matches.query[order], matches.rank[order], matches.grade[order]
    best = np.ones(len(query), dtype=bool)
    best[1:] = (query[1:] != query[:-1]) | (rank[1:] != rank[:-1])
    best &= rank <= depth(metric.k)
    return query[best], rank[best], grade[best]


PROFILE = Profile(
    name="tutorial",
    source="the War and Peace retrieval tutorial",
    functions={"recall": recall, "f1": f1, "dcg": dcg, "idcg": idcg, "ndcg": ndcg},
)
"""The tutorial's conventions."""
