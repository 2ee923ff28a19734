"""trec_eval's conventions: `profile="trec"`; pytrec_eval runs its code, and ranx gives the same values.

Every label is a relevant document, alternatives too, and a hit that is the first to match it retrieves it. trec_eval
refuses a ranking with an id twice; here the second keeps its rank and is not a document. Where labels are texts, each
passage stands for a document, and a further hit that matches only what was matched before is irrelevant likewise.
Grades are gains; those of 0 and less are irrelevant. What trec_eval has under the same definition as the default
(success_k, recip_rank) is the default's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.metrics.graded_measures import discounted_sum, gain_of
from raglift.metrics.measure import count_by_query, per_query
from raglift.metrics.profiles.hits import (
    Profile,
    average_precision_of,
    f1_of,
    first_matches,
    ideal_ranking,
    labels,
    ndcg_of,
    recall_of_labels,
    returned,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric

    Values = NDArray[np.float64]


def precision(match_table: MatchTable, metric: Metric) -> Values:
    """P_k = relevant documents among the first k hits / k; set_P, without a depth, divides by the hits."""
    found = count_by_query(first_matches(match_table, metric).query, match_table)
    return per_query(found, returned(match_table, metric)) if metric.k is None else found / metric.k


def r_precision(match_table: MatchTable, metric: Metric) -> Values:
    """Rprec = relevant documents among the first R hits / R, with R all relevant documents."""
    facts = count_by_query(labels(match_table)[0], match_table)
    hits = first_matches(match_table, metric)
    return per_query(count_by_query(hits.query[hits.rank <= facts[hits.query]], match_table), facts)


def average_precision(match_table: MatchTable, metric: Metric) -> Values:
    """map_cut_k = Σ over relevant documents among the first k of the precision there / relevant documents."""
    return average_precision_of(first_matches(match_table, metric), match_table)


def dcg(match_table: MatchTable, metric: Metric) -> Values:
    """DCG@k = Σ over relevant documents among the first k of gain / log2(rank + 1)."""
    hits = first_matches(match_table, metric)
    return discounted_sum(hits.query, hits.rank, gain_of(hits.grade, metric), metric.k, match_table.queries)


def idcg(match_table: MatchTable, metric: Metric) -> Values:
    """IDCG@k = the relevant documents, best first, cut at k."""
    query, position, grade = ideal_ranking(match_table)
    return discounted_sum(query, position, gain_of(grade, metric), metric.k, match_table.queries)


PROFILE = Profile(
    name="trec",
    source="trec_eval 9.0.8, as pytrec_eval-terrier 0.5.11 runs it: m_P.c, m_recall.c, m_map*.c, m_ndcg*.c, m_set_*.c",
    functions={
        "precision": precision,
        "r_precision": r_precision,
        "recall": recall_of_labels,
        "f1": f1_of(precision, recall_of_labels),
        "ap": average_precision,
        "dcg": dcg,
        "idcg": idcg,
        "ndcg": ndcg_of(dcg, idcg),
    },
    without_k=frozenset({"precision", "f1"}),
)
"""trec_eval's conventions."""
