"""Metrics that ask how early relevant hits come: reciprocal rank and average precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.custom import metric
from raglift.metrics.satisfied import count_by_query, depth, first_satisfactions, per_query, sum_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Metric

__all__ = ["AP", "RR"]


@metric(
    "rr",
    title="RR",
    formula="1 / first rank ≤ k at which a fact is satisfied",
    source="Voorhees 1999, the TREC-8 question answering track",
    mean_title="MRR",
    aliases=("mrr", "recip_rank"),
    vectorized=True,
)
def RR(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """RR@k = 1 / the first rank ≤ k at which a fact is satisfied; 0 if none. Range [0, 1]. The mean is MRR."""
    first = first_satisfactions(judgements)
    query, place = np.unique(first.query, return_index=True)
    rank = first.rank[place]
    values = np.zeros(judgements.queries)
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
def AP(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """AP@k = (1/R) Σ over facts satisfied by rank k of N(r)/r. Range [0, 1]. The mean is MAP.

    R is the number of facts, r the rank at which the fact is first satisfied, and N(r) the number of ranks ≤ r at
    which some fact was newly satisfied. Where hits and facts match one to one, this is trec_eval's map_cut_k.
    """
    first = first_satisfactions(judgements)
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
    sums = sum_by(first.query[within], terms, judgements.queries)
    return per_query(sums, count_by_query(judgements.facts.query, judgements))


MRR = RR
"""The name of the mean of `RR`."""
MAP = AP
"""The name of the mean of `AP`."""
