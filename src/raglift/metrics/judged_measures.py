"""The judged share of the hits, and Bpref, which ignores unjudged hits.

Judged does not measure quality, but how far to trust the other measures. Bpref is for labels of only a part of the
collection: it needs what was judged irrelevant. Every label is a document to it, alternatives too, as under
`profile="trec"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.matches import HitPositions
from raglift.metrics.custom import metric
from raglift.metrics.measure import count_before, count_by_query, depth, irrelevant_hits, per_query, sum_by
from raglift.metrics.profiles.hits import first_matches, labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric


@metric(
    "judged",
    title="Judged",
    formula="hits among the first k that somebody judged, relevant or not / hits among the first k",
    source="ir_measures' Judged",
    is_earned=False,
    is_neutral=True,
    vectorized=True,
)
def Judged(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """Judged@k = hits among the first k that were judged / hits among the first k; 0 without hits. Range [0, 1].

    A hit was judged when it matches a passage of a fact, or is or lies inside one that was judged irrelevant; one that
    merely contains such a passage was not. The denominator is k, or the number of hits where fewer came back, as in
    ir_measures' Judged@k: unlike Precision@k, a short ranking is not less judged. Every other measure counts a hit that
    were not judged as irrelevant, so systems that differ in Judged@k may differ in what was judged, and not in what
    they find.
    """
    return per_query(*_counts(match_table, metric.k))


def _counts(match_table: MatchTable, k: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many of each query's first k hits were judged, and how many hits these are."""
    matches, irrelevant = match_table.matches, match_table.irrelevant
    query = np.concatenate((matches.query, irrelevant.query))
    rank = np.concatenate((matches.rank, irrelevant.rank))
    within = rank <= depth(k)
    once = np.unique(np.stack((query[within], rank[within])), axis=1)
    return count_by_query(once[0], match_table), np.minimum(match_table.hits, depth(k)).astype(np.float64)


@metric(
    "bpref",
    title="Bpref",
    formula="mean over labels of 1 − (judged irrelevant hits before it, at most R) / min(R, judged irrelevant); "
    "0 for one that did not come back",
    source="Buckley and Voorhees 2004",
    needs_irrelevant=True,
    vectorized=True,
)
def Bpref(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """Bpref@k = (1/R) Σ over labels among the first k of 1 − min(n, R) / min(N, R). Range [0, 1].

    n is how many hits before it were judged irrelevant, N the number of irrelevant labels of the query, and R the
    number of relevant ones. Unjudged hits are ignored, so the measure suits labels that are far from complete.
    """
    hits, relevant = first_matches(match_table, metric), count_by_query(labels(match_table)[0], match_table)
    irrelevant = irrelevant_hits(match_table, metric.k)
    before = count_before(match_table, irrelevant, HitPositions(hits.query, hits.rank))
    judged = match_table.judged_irrelevant if len(match_table.judged_irrelevant) else np.zeros(match_table.queries)
    # Several hits may lie inside one text that was judged irrelevant; they count no more often than there are texts
    most = np.minimum(relevant, judged)[hits.query]
    terms = 1 - per_query(np.minimum(before, most), most)
    return per_query(sum_by(hits.query, terms, match_table.queries), relevant)
