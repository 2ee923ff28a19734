"""The judged share of the hits, and measures that ignore unjudged hits.

Judged and Unjudged do not measure quality, but how far to trust the other measures. Bpref and InfAP are for labels of
only a part of the collection: they need what was judged irrelevant. Every label is a document to them, alternatives
too, as under `profile="trec"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.matches import HitPositions
from raglift.metrics.custom import metric
from raglift.metrics.measure import count_before, count_by_query, depth, irrelevant_hits, judged_hits, per_query, sum_by
from raglift.metrics.profiles.hits import first_matches, labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric


_EPSILON = 1e-5
"""What trec_eval adds to the counts of judged hits, to avoid a precision of 0/0."""


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
    "unjudged",
    title="Unjudged",
    formula="hits among the first k that nobody judged / k",
    source="trec_eval 10's unj",
    aliases=("unj",),
    needs_k=True,
    is_earned=False,
    is_neutral=True,
    vectorized=True,
)
def Unjudged(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """Unjudged@k = hits among the first k that were not judged / k, also when fewer came back. Range [0, 1].

    Other than 1 − Judged@k, it divides by k, and an id with a grade below 0 was not judged.
    """
    assert metric.k is not None, "checked by compute()"  # noqa: S101
    return (np.minimum(match_table.hits, metric.k) - judged_hits(match_table, metric.k)) / metric.k


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
    return _bpref(match_table, metric)


@metric(
    "gm_bpref",
    title="GMBpref",
    formula="Bpref; its mean over queries is geometric",
    source="trec_eval's gm_bpref",
    aliases=("gmbpref",),
    mean="geometric",
    needs_irrelevant=True,
    vectorized=True,
)
def GMBpref(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """GMBpref@k = Bpref@k, whose mean over queries is geometric. Range [0, 1].

    One bad query lowers it more than a good one raises it. Values below 0.00001 count as that.
    """
    return _bpref(match_table, metric)


def _bpref(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    hits, relevant = first_matches(match_table, metric), count_by_query(labels(match_table)[0], match_table)
    irrelevant = irrelevant_hits(match_table, metric.k)
    before = count_before(match_table, irrelevant, HitPositions(hits.query, hits.rank))
    judged = match_table.judged_irrelevant if len(match_table.judged_irrelevant) else np.zeros(match_table.queries)
    # Several hits may lie inside one text that was judged irrelevant; they count no more often than there are texts
    most = np.minimum(relevant, judged)[hits.query]
    terms = 1 - per_query(np.minimum(before, most), most)
    return per_query(sum_by(hits.query, terms, match_table.queries), relevant)


@metric(
    "inf_ap",
    title="InfAP",
    formula="AP whose precision is inferred from the hits that were judged; the other hits in the pool are passed over",
    source="Yilmaz and Aslam 2006, trec_eval's infAP",
    aliases=("infap",),
    needs_irrelevant=True,
    vectorized=True,
)
def InfAP(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """InfAP@k = (1/R) Σ over labels among the first k of the precision at its rank r that the judged hits let expect.

    That is 1/r + ((r − 1)/r) · (pool / (r − 1)) · (relevant + ε) / (relevant + irrelevant + 2ε), of the hits before r:
    those in the pool, judged relevant, and judged irrelevant; ε is 0.00001. In the pool and not judged is what has a
    grade below 0, as in the qrels of a sampled pool. Range [0, 1].
    """
    hits, relevant = first_matches(match_table, metric), count_by_query(labels(match_table)[0], match_table)
    places = HitPositions(hits.query, hits.rank)
    irrelevant = count_before(match_table, irrelevant_hits(match_table, metric.k), places)
    pooled = count_before(match_table, match_table.pooled, places)
    above, found = (each.astype(np.float64) - 1 for each in (hits.rank, hits.found_so_far))
    in_pool = per_query(found + irrelevant + pooled, above)
    precision = (found + _EPSILON) / (found + irrelevant + 2 * _EPSILON)
    terms = 1 / hits.rank + (above / hits.rank) * in_pool * precision
    return per_query(sum_by(hits.query, terms, match_table.queries), relevant)
