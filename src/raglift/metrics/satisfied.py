"""First satisfaction of each fact: what most metrics start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching import FirstSatisfactions, Judgements

__all__ = ["count_by_query", "depth", "first_satisfactions", "one_row_a_hit", "per_query", "relevant_hits", "sum_by"]


def first_satisfactions(judgements: Judgements) -> FirstSatisfactions:
    """Return, for each satisfied fact, the first rank and the grade there; found once for all metrics."""
    return judgements.first


def relevant_hits(judgements: Judgements, k: int | None) -> tuple[NDArray[np.int64], ...]:
    """Return query, rank and highest matched grade of each relevant hit among the first k, by query, then rank."""
    matches = judgements.matches
    within = matches.rank <= depth(k)
    return one_row_a_hit(matches.query[within], matches.rank[within], matches.grade[within])


def one_row_a_hit(
    query: NDArray[np.int64], rank: NDArray[np.int64], grade: NDArray[np.int64]
) -> tuple[NDArray[np.int64], ...]:
    """Return query, rank and the highest of the grades of each hit, by query, then rank."""
    order = np.lexsort((-grade, rank, query))
    query, rank, grade = query[order], rank[order], grade[order]
    best = np.ones(len(query), dtype=bool)
    best[1:] = (query[1:] != query[:-1]) | (rank[1:] != rank[:-1])
    return query[best], rank[best], grade[best]


def count_by_query(query: NDArray[np.int64], judgements: Judgements) -> NDArray[np.float64]:
    """Return how many rows each query has."""
    return np.bincount(query, minlength=judgements.queries).astype(np.float64)


def sum_by(place: NDArray[np.int64], terms: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Return the sum of the terms at each place, as floats also when there are none."""
    sums: NDArray[np.float64] = np.bincount(place, weights=terms, minlength=length).astype(np.float64)
    return sums


def per_query(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide, with 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def depth(k: int | None) -> int:
    """Return k as a number that ranks can be compared with."""
    return np.iinfo(np.int64).max if k is None else k
