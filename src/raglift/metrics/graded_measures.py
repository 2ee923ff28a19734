"""Measures of graded gain and of a reader who stops; the judged share of the hits, and Bpref, for labels of a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.matches import HitPositions
from raglift.metrics.custom import metric
from raglift.metrics.measure import (
    Choice,
    Number,
    count_before,
    count_by_query,
    depth,
    first_satisfactions,
    irrelevant_hits,
    per_query,
    relevant_hits,
    sum_by,
)
from raglift.metrics.profiles.hits import first_matches, labels
from raglift.metrics.registry import function_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric


# Graded, rank-aware metrics: DCG, IDCG, NDCG (Järvelin and Kekäläinen 2002). Each fact is credited once, so duplicated
# or overlapping chunks cannot raise a score above 1. Facts satisfied at the same rank are spread over consecutive
# positions, because an ideal ranking has one fact per position.


GAIN = Choice("gain", ("linear", "exponential"))
"""What a grade is worth."""
_SOURCE = "Järvelin and Kekäläinen 2002"


@metric(
    "dcg",
    title="DCG",
    formula="Σ gain / log2(position + 1), each fact once",
    source=_SOURCE,
    settings=(GAIN,),
    is_bounded=False,
    vectorized=True,
)
def DCG(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """DCG@k = Σ gain_j / log2(p_j + 1) over positions p_j ≤ k. Range [0, IDCG@k].

    The satisfied facts are ordered by rank (ties: higher gain first, then label order); fact j gets the position
    p_j = max(its rank, p_{j−1} + 1). A better alternative of the same fact found later adds the difference at
    max(that rank, p_j). The gain is the grade, or 2^grade − 1 with `gain="exponential"`.
    """
    first = first_satisfactions(match_table)
    position = positions(first.query, first.rank)
    position_of_fact = np.zeros(len(match_table.facts.query), dtype=np.int64)
    position_of_fact[first.fact] = position
    satisfied = match_table.satisfied
    gain = gain_of(satisfied.grade, metric)
    same_fact = np.zeros(len(gain), dtype=bool)
    same_fact[1:] = satisfied.fact[1:] == satisfied.fact[:-1]
    added = gain.copy()
    added[same_fact] -= gain[:-1][same_fact[1:]]
    at = np.maximum(satisfied.rank, position_of_fact[satisfied.fact])
    query = match_table.facts.query[satisfied.fact]
    order = np.lexsort((at, query))  # in the order of IDCG, so that rounding lifts no NDCG above 1
    return discounted_sum(query[order], at[order], added[order], metric.k, match_table.queries)


@metric(
    "idcg",
    title="IDCG",
    formula="the DCG of the best possible ranking",
    source=_SOURCE,
    settings=(GAIN,),
    aliases=("ideal_dcg",),
    is_earned=False,
    is_bounded=False,
    vectorized=True,
)
def IDCG(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """IDCG@k = the facts by ideal gain, best first, one a position, cut at k. Range [0, ∞)."""
    facts = match_table.facts
    order = np.lexsort((-facts.ideal_grade, facts.query))
    query = facts.query[order]
    position = np.arange(len(query)) - np.searchsorted(query, query) + 1
    return discounted_sum(query, position, gain_of(facts.ideal_grade[order], metric), metric.k, match_table.queries)


@metric("ndcg", title="NDCG", formula="DCG@k / IDCG@k", source=_SOURCE, settings=(GAIN,), vectorized=True)
def NDCG(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """NDCG@k = DCG@k / IDCG@k; 0 if nothing is relevant. Range [0, 1], without clipping."""
    return per_query(function_of(DCG)(match_table, metric), function_of(IDCG)(match_table, metric))


def positions(query: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return p_j = max(rank_j, p_{j−1} + 1) within each query, for rows sorted by query and rank.

    p_j − j is the running maximum of rank_j − j; lifting each query above all before it keeps them apart.
    """
    if not len(rank):
        return rank
    place = np.arange(len(query)) - np.searchsorted(query, query)
    span = int(rank.max()) + len(rank) + 1
    lifted = np.maximum.accumulate(rank - place + query * span)
    return np.asarray(lifted - query * span + place, dtype=np.int64)


def gain_of(grade: NDArray[np.int64], metric: Metric) -> NDArray[np.float64]:
    """Return the gain of each grade: the grade itself, or 2^grade − 1 with `gain="exponential"`."""
    if GAIN.of(metric) == "exponential":
        return np.exp2(grade.astype(np.float64)) - 1
    return grade.astype(np.float64)


def discounted_sum(
    query: NDArray[np.int64],
    position: NDArray[np.int64],
    gain: NDArray[np.float64],
    k: int | None,
    queries: int,
) -> NDArray[np.float64]:
    """Return, for each query, Σ gain / log2(position + 1) over positions up to k."""
    within = position <= depth(k)
    terms = gain[within] / np.log2(position[within] + 1)
    return sum_by(query[within], terms, queries)


# RBP: a reader who may stop at any hit.


PERSISTENCE = Number("p", 0, 1, default=0.8, is_open=True)
"""How likely the reader is to look at the next hit."""
UTILITY = Choice("gain", ("binary", "graded"))
"""What a relevant hit is worth: 1, or its grade / the highest grade of the query's labels."""


@metric(
    "rbp",
    title="RBP",
    formula="(1 − p) Σ over relevant hits of p^(rank − 1)",
    source="Moffat and Zobel 2008",
    settings=(PERSISTENCE, UTILITY),
    vectorized=True,
)
def RBP(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """RBP(p)@k = (1 − p) Σ over relevant hits at ranks i ≤ k of p^(i − 1). Range [0, 1).

    The share of relevant hits among those that a reader looks at who goes on to the next hit with probability p, after
    Moffat and Zobel 2008; p is 0.8 unless given, as `rbp(p=0.95)@10`. A hit is relevant or not: grades do not count,
    unless gain=graded makes a hit worth its grade / the highest grade of the query's labels. trec_eval 10's rbp is
    `rbp(gain=graded,p=0.9)`. The weights of the first k ranks add up to 1 − p^k, which is the most that RBP@k can be.
    """
    persistence = PERSISTENCE.of(metric) or 0.0
    query, rank, grade = relevant_hits(match_table, metric.k)
    weight = np.power(persistence, rank - 1, dtype=np.float64)
    if UTILITY.of(metric) == "graded":
        highest = np.ones(match_table.queries)
        np.maximum.at(highest, match_table.facts.query, match_table.facts.ideal_grade)
        weight *= grade / highest[query]
    return (1 - persistence) * sum_by(query, weight, match_table.queries)


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
