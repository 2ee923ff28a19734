"""First satisfaction of each fact: what most metrics start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raglift.matching import FirstSatisfactions, HitPlaces, Judgements, Matches

__all__ = [
    "count_before",
    "count_by_query",
    "depth",
    "first_satisfactions",
    "irrelevant_hits",
    "judged_hits",
    "one_row_a_hit",
    "per_query",
    "relevant_hits",
    "sum_by",
    "unjudged_hits",
]


def first_satisfactions(judgements: Judgements) -> FirstSatisfactions:
    """Return, for each satisfied fact, the first rank and the grade there; found once for all metrics."""
    return judgements.first


def relevant_hits(judgements: Judgements, k: int | None) -> tuple[NDArray[np.int64], ...]:
    """Return query, rank and highest matched grade of each relevant hit among the first k, by query, then rank."""
    matches = judgements.matches
    within = matches.rank <= depth(k)
    return one_row_a_hit(matches.query[within], matches.rank[within], matches.grade[within])


def irrelevant_hits(judgements: Judgements, k: int | None) -> HitPlaces:
    """Return the hits among the first k that were judged irrelevant and match nothing; an id that comes again is none.

    What is in the pool but was not judged, as a grade below 0 says, is not among them.
    """
    found = judgements.irrelevant
    others = (judgements.matches, judgements.pooled, judgements.repeats)
    return found.take((found.rank <= depth(k)) & ~np.isin(_keys(judgements, found), _all_keys(judgements, others)))


def judged_hits(judgements: Judgements, k: int | None) -> NDArray[np.float64]:
    """Return how many of each query's first k hits were judged, relevant or not."""
    relevant, _, _ = relevant_hits(judgements, k)
    judged, places = judgements.irrelevant, (judgements.matches, judgements.pooled)
    other = (judged.rank <= depth(k)) & ~np.isin(_keys(judgements, judged), _all_keys(judgements, places))
    return count_by_query(relevant, judgements) + count_by_query(judged.query[other], judgements)


def unjudged_hits(judgements: Judgements, k: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return query and rank of each hit among the first k that nobody judged."""
    hits = np.minimum(judgements.hits, depth(k))
    query = np.repeat(np.arange(judgements.queries), hits)
    rank = np.arange(len(query)) - (np.cumsum(hits) - hits)[query] + 1
    irrelevant, pooled = judgements.irrelevant, judgements.pooled
    judged = ~np.isin(_keys(judgements, irrelevant), _keys(judgements, pooled))
    known = _all_keys(judgements, (judgements.matches, irrelevant.take(judged)))
    rest = ~np.isin(query * _span(judgements) + rank, known)
    return query[rest], rank[rest]


def count_before(judgements: Judgements, places: HitPlaces, hits: HitPlaces) -> NDArray[np.int64]:
    """Return for each of some hits how many of the places are above it in its ranking.

    Args:
        judgements: what they are of.
        places: sorted by query, then rank.
        hits: the hits.
    """
    keys = _keys(judgements, places)
    first = np.searchsorted(keys, hits.query * _span(judgements))
    return np.asarray(np.searchsorted(keys, _keys(judgements, hits)) - first, dtype=np.int64)


def _span(judgements: Judgements) -> int:
    return int(judgements.hits.max(initial=0)) + 1


def _keys(judgements: Judgements, places: HitPlaces | Matches) -> NDArray[np.int64]:
    """Return a number for each place, which no other place has, ascending as query and rank are."""
    return np.asarray(places.query * _span(judgements) + places.rank, dtype=np.int64)


def _all_keys(judgements: Judgements, places: Sequence[HitPlaces | Matches]) -> NDArray[np.int64]:
    return np.concatenate([_keys(judgements, each) for each in places])


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
