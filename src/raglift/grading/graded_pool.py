"""Metrics from the grades of a pool's pairs: as sums of weighted grades, and of complete lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.errors import ConfigurationError, DatasetError
from raglift.metrics.computing import score_rankings, title
from raglift.metrics.graded_measures import GAIN, UTILITY
from raglift.metrics.graded_measures import PERSISTENCE as PERSISTENCE_OF
from raglift.metrics.registry import MEASURES

if TYPE_CHECKING:
    from raglift.grading.pooling import Pool
    from raglift.types.metric import Metric


def frame_of(pairs: Pool, k: int) -> list[tuple[int, int]]:
    """Return the pairs that some system of a pool has among its first k hits, of queries that have an answer."""
    return [
        (query, chunk)
        for query, entry in enumerate(pairs.queries)
        if entry.query.answerable
        for chunk, pooled in enumerate(entry.chunks)
        if min(pooled.ranks.values()) <= k
    ]


# Metrics that are sums over hits: what a grade is worth, times what a hit weighs at its rank.


def is_sum_over_hits(metric: Metric) -> bool:
    """Whether a metric of a query is Σ weight(rank) · gain(grade) over its first k hits, with no other term."""
    if metric.name == "rbp":
        return UTILITY.of(metric) == UTILITY.values[0]
    return metric.name in ("precision", "dcg")


def weight_of(metric: Metric) -> Callable[[int], float]:
    """Return what a hit weighs at a rank: 1/k of Precision, 1/log2(rank + 1) of DCG, (1 − p) p^(rank − 1) of RBP."""
    k = metric.k
    if k is None or not is_sum_over_hits(metric):
        raise ConfigurationError(
            f"metric: found {metric}; expected a metric that is a sum over the first k hits, as precision@10, dcg@10 "
            "or rbp@10"
        )
    persistence = PERSISTENCE_OF.of(metric) or 0.0 if metric.name == "rbp" else 0.0

    def weigh(rank: int) -> float:
        if rank > k:
            return 0.0
        if metric.name == "precision":
            return 1.0 / k
        if metric.name == "dcg":
            return 1.0 / float(np.log2(rank + 1))
        return float((1.0 - persistence) * persistence ** (rank - 1))

    return weigh


def gain_of_grades(metric: Metric, grades: NDArray[np.float64], relevant_from: int) -> NDArray[np.float64]:
    """Return what grades are worth in a metric that is a sum over hits; below `relevant_from`, nothing."""
    relevant = grades >= relevant_from
    if metric.name != "dcg":
        return relevant.astype(np.float64)
    gain = np.exp2(grades) - 1.0 if GAIN.of(metric) == "exponential" else grades
    return np.where(relevant, gain, 0.0)


def weights_of(metric: Metric, pairs: Pool, frame: Iterable[tuple[int, int]], system: str) -> NDArray[np.float64]:
    """Return what each pair weighs in the mean of a metric of one system over the pool's answerable queries."""
    weigh = weight_of(metric)
    queries = sum(entry.query.answerable for entry in pairs.queries)
    ranks = (pairs.queries[query].chunks[chunk].ranks.get(system) for query, chunk in frame)
    return np.array([0.0 if rank is None else weigh(rank) / queries for rank in ranks], dtype=np.float64)


# Metrics of complete lists: all pairs of a query are graded by one annotator.


def values_by_query(
    metric: Metric,
    pairs: Pool,
    grades: Mapping[tuple[int, int], int],
    system: str,
    queries: Sequence[int],
    relevant_from: int,
) -> NDArray[np.float64]:
    """Return the values of a metric of one system, for queries all of whose pairs have grades; 0 if none is relevant.

    Args:
        metric: any that can be computed from ids and grades.
        pairs: the pool.
        grades: of the pairs, by the numbers of query and chunk; what has none is unjudged.
        system: as in the pool.
        queries: the numbers of the queries in the pool.
        relevant_from: the lowest grade that is relevant; lower ones count as 0.
    """
    rankings, relevant = {}, {}
    for number in queries:
        entry = pairs.queries[number]
        ranked = sorted(
            (pooled.ranks[system], place) for place, pooled in enumerate(entry.chunks) if system in pooled.ranks
        )
        rankings[str(number)] = _filled(ranked)
        relevant[str(number)] = {
            str(place): grade if grade >= relevant_from else 0
            for place in range(len(entry.chunks))
            if (grade := grades.get((number, place))) is not None
        }
    measure = MEASURES[metric.name]
    if measure.is_conditional:
        raise ConfigurationError(
            f"{title(metric)}: its mean is not one value a question added up, and cannot be corrected"
        )
    try:
        values = score_rankings(rankings, relevant, [metric]).of(metric)
    except (ConfigurationError, DatasetError) as error:
        raise ConfigurationError(f"{title(metric)}: it cannot be computed from grades alone: {error}") from error
    return np.nan_to_num(values)


def _filled(ranked: list[tuple[int, int]]) -> list[str]:
    """Return the ids by rank, with one that nobody graded where a rank is missing: a hit that came back before."""
    by_rank = dict(ranked)
    return [
        str(by_rank[rank]) if rank in by_rank else f"again {rank}" for rank in range(1, max(by_rank, default=0) + 1)
    ]
