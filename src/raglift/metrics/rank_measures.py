"""Measures of binary relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.custom import metric
from raglift.metrics.measure import count_by_query, depth, first_satisfactions, per_query, relevant_hits, sum_by
from raglift.metrics.registry import function_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching.matches import MatchTable
    from raglift.types.metric import Metric


# Set metrics of the first k hits, in any order: HitRate, Precision, RPrecision, Recall, F1.


@metric(
    "hit_rate",
    title="HitRate",
    formula="1 if some fact is satisfied by rank k",
    source="trec_eval's success",
    aliases=("hit", "hitrate", "success"),
    vectorized=True,
)
def HitRate(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """HitRate@k = 1 if some fact is satisfied by rank k, else 0. Range {0, 1}.

    Also called Success@k, as in trec_eval, which it equals where one hit is enough to satisfy a fact.
    """
    return np.asarray(_satisfied_facts(match_table, metric.k) > 0, dtype=np.float64)


@metric(
    "precision",
    title="Precision",
    formula="relevant hits among the first k / k",
    source="trec_eval's P",
    aliases=("p",),
    needs_k=True,
    vectorized=True,
)
def Precision(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """Precision@k = hits among the first k that match some passage / k, also when fewer came back. Range [0, 1].

    As trec_eval's P_k.
    """
    assert metric.k is not None, "checked by compute()"  # noqa: S101
    matches = match_table.matches
    within = matches.rank <= metric.k
    relevant = np.unique(np.stack((matches.query[within], matches.rank[within])), axis=1)
    return count_by_query(relevant[0], match_table) / metric.k


@metric(
    "r_precision",
    title="RPrecision",
    formula="relevant hits among the first R / R, with R the facts of the question",
    source="trec_eval's Rprec",
    aliases=("rprecision", "rprec"),
    takes_k=False,
    vectorized=True,
)
def RPrecision(match_table: MatchTable, _metric: Metric) -> NDArray[np.float64]:
    """RPrecision = hits among the first R that match some passage / R, with R the facts of the query. Range [0, 1].

    Precision at the depth at which Precision and Recall could both be 1, so it takes no depth; where fewer than R hits
    were asked for, those are all that can count. As trec_eval's Rprec.
    """
    facts = count_by_query(match_table.facts.query, match_table)
    query, rank, _grade = relevant_hits(match_table, None)
    return per_query(count_by_query(query[rank <= facts[query]], match_table), facts)


@metric(
    "recall",
    title="Recall",
    formula="facts satisfied by rank k / facts",
    source="trec_eval's recall",
    aliases=("r", "set_recall"),
    vectorized=True,
)
def Recall(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """Recall@k = facts satisfied by rank k / facts. Range [0, 1]."""
    return per_query(_satisfied_facts(match_table, metric.k), count_by_query(match_table.facts.query, match_table))


@metric(
    "f1",
    title="F1",
    formula="harmonic mean of Precision@k and Recall@k",
    source="van Rijsbergen 1979",
    needs_k=True,
    vectorized=True,
)
def F1(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """F1@k = 2PR / (P + R) of the query's own Precision@k and Recall@k; 0 if both are 0. Range [0, 1].

    The mean of F1 is not the F1 of the means.
    """
    return harmonic_mean(function_of(Precision)(match_table, metric), function_of(Recall)(match_table, metric))


def harmonic_mean(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 2ab / (a + b), elementwise; 0 where both are 0."""
    return per_query(2 * first * second, first + second)


def _satisfied_facts(match_table: MatchTable, k: int | None) -> NDArray[np.float64]:
    first = first_satisfactions(match_table)
    return count_by_query(first.query[first.rank <= depth(k)], match_table)


Success = HitRate
"""trec_eval's name of `HitRate`."""


# Rank-aware binary metrics: reciprocal rank and average precision.


@metric(
    "rr",
    title="RR",
    formula="1 / first rank ≤ k at which a fact is satisfied",
    source="Voorhees 1999, the TREC-8 question answering track",
    mean_title="MRR",
    aliases=("mrr", "recip_rank"),
    vectorized=True,
)
def RR(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """RR@k = 1 / the first rank ≤ k at which a fact is satisfied; 0 if none. Range [0, 1]. The mean is MRR."""
    first = first_satisfactions(match_table)
    query, place = np.unique(first.query, return_index=True)
    rank = first.rank[place]
    values = np.zeros(match_table.queries)
    values[query] = np.where(rank <= depth(metric.k), 1 / rank, 0)
    return values


@metric(
    "ap",
    title="AP",
    formula="Σ over facts satisfied by rank k of N(r)/r, / facts",
    source="trec_eval's map_cut",
    mean_title="MAP",
    aliases=("map",),
    vectorized=True,
)
def AP(match_table: MatchTable, metric: Metric) -> NDArray[np.float64]:
    """AP@k = (1/R) Σ over facts satisfied by rank k of N(r)/r. Range [0, 1]. The mean is MAP.

    R is the number of facts, r the rank at which the fact is first satisfied, and N(r) the number of ranks ≤ r at
    which some fact was newly satisfied. Where hits and facts match one to one, this is trec_eval's map_cut_k.
    """
    first = first_satisfactions(match_table)
    new_query = np.ones(len(first.query), dtype=bool)
    new_query[1:] = first.query[1:] != first.query[:-1]
    new_rank = new_query.copy()
    new_rank[1:] |= first.rank[1:] != first.rank[:-1]
    ranks_so_far = np.cumsum(new_rank)
    before_query = (ranks_so_far - 1)[new_query]
    place_of_query = np.cumsum(new_query) - 1
    newly_satisfied = ranks_so_far - before_query[place_of_query] if len(first.query) else ranks_so_far
    within = first.rank <= depth(metric.k)
    terms = newly_satisfied[within] / first.rank[within]
    sums = sum_by(first.query[within], terms, match_table.queries)
    return per_query(sums, count_by_query(match_table.facts.query, match_table))


MRR = RR
"""The name of the mean of `RR`."""
MAP = AP
"""The name of the mean of `AP`."""
