"""Metrics that ask how good and how early: DCG, IDCG, NDCG (Järvelin and Kekäläinen 2002).

Each fact is credited once, so that duplicated or overlapping chunks cannot lift a score above 1. Facts satisfied at
the same rank are spread over consecutive positions, because an ideal ranking has one fact a position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.custom import metric
from raglift.metrics.registry import function_of
from raglift.metrics.satisfied import depth, first_satisfactions, per_query, sum_by
from raglift.metrics.settings import Choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Metric

__all__ = ["DCG", "IDCG", "NDCG", "discounted_sum", "gain_of"]

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
def DCG(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """DCG@k = Σ gain_j / log2(p_j + 1) over positions p_j ≤ k. Range [0, IDCG@k].

    The satisfied facts are ordered by rank (ties: higher gain first, then label order); fact j gets the position
    p_j = max(its rank, p_{j−1} + 1). A better alternative of the same fact found later adds the difference at
    max(that rank, p_j). The gain is the grade, or 2^grade − 1 with `gain="exponential"`.
    """
    first = first_satisfactions(judgements)
    position = _positions(first.query, first.rank)
    position_of_fact = np.zeros(len(judgements.facts.query), dtype=np.int64)
    position_of_fact[first.fact] = position
    satisfied = judgements.satisfied
    gain = gain_of(satisfied.grade, metric)
    same_fact = np.zeros(len(gain), dtype=bool)
    same_fact[1:] = satisfied.fact[1:] == satisfied.fact[:-1]
    added = gain.copy()
    added[same_fact] -= gain[:-1][same_fact[1:]]
    at = np.maximum(satisfied.rank, position_of_fact[satisfied.fact])
    return discounted_sum(judgements.facts.query[satisfied.fact], at, added, metric.k, judgements.queries)


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
def IDCG(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """IDCG@k = the facts by ideal gain, best first, one a position, cut at k. Range [0, ∞)."""
    facts = judgements.facts
    order = np.lexsort((-facts.ideal_grade, facts.query))
    query = facts.query[order]
    position = np.arange(len(query)) - np.searchsorted(query, query) + 1
    return discounted_sum(query, position, gain_of(facts.ideal_grade[order], metric), metric.k, judgements.queries)


@metric("ndcg", title="NDCG", formula="DCG@k / IDCG@k", source=_SOURCE, settings=(GAIN,), vectorized=True)
def NDCG(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """NDCG@k = DCG@k / IDCG@k; 0 if nothing is relevant. Range [0, 1], without clipping."""
    return per_query(function_of(DCG)(judgements, metric), function_of(IDCG)(judgements, metric))


def _positions(query: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
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
