"""The War and Peace tutorial's conventions: `profile="tutorial"`.

Recall counts ground-truth texts (every alternative is one), a hit's relevance is the grade of the best passage it
matches, however often that passage was matched before, and NDCG's ideal is the retrieved list sorted, so what was
never retrieved costs nothing. The other metrics are the default's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.graded_measures import discounted_sum, gain_of
from raglift.metrics.measure import count_by_query, depth, per_query, sum_by
from raglift.metrics.profiles.hits import Profile, f1_of, ndcg_of, positions, relevant_hits
from raglift.metrics.rank_measures import Precision
from raglift.metrics.registry import function_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric


def recall(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """Recall@k = ground-truth texts matched by the first k hits / ground-truth texts."""
    matches = match_table.matches
    within = matches.rank <= depth(metric.k)
    matched = np.unique(np.stack((matches.fact[within], matches.passage[within])), axis=1)
    facts = match_table.facts
    texts = sum_by(facts.query, facts.passages.astype(np.float64), match_table.queries)
    return per_query(count_by_query(facts.query[matched[0]], match_table), texts)


def dcg(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """DCG@k = Σ over hits of relevance / log2(rank + 1)."""
    hits = relevant_hits(match_table, metric)
    return discounted_sum(hits.query, hits.rank, gain_of(hits.grade, metric), metric.k, match_table.queries)


def idcg(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """IDCG@k = the DCG of the first k hits sorted by relevance."""
    hits = relevant_hits(match_table, metric)
    order = np.lexsort((-hits.grade, hits.query))
    query, grade = hits.query[order], hits.grade[order]
    return discounted_sum(query, positions(query), gain_of(grade, metric), metric.k, match_table.queries)


PROFILE = Profile(
    name="tutorial",
    source="the War and Peace retrieval tutorial",
    functions={
        "recall": recall,
        "f1": f1_of(function_of(Precision), recall),
        "dcg": dcg,
        "idcg": idcg,
        "ndcg": ndcg_of(dcg, idcg),
    },
)
"""The tutorial's conventions."""
