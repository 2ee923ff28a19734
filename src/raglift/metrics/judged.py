"""How much of what came back somebody judged at all: no measure of quality, but of how far to trust those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.metrics.satisfied import count_by_query, depth, per_query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raglift.matching import Judgements
    from raglift.records import Metric

__all__ = ["judged", "unjudged_share"]


def judged(judgements: Judgements, metric: Metric) -> NDArray[np.float64]:
    """Judged@k = hits among the first k that were judged / hits among the first k; 0 without hits. Range [0, 1].

    A hit was judged when it matches a passage of a fact, or is or lies inside one that was judged irrelevant; one that
    merely contains such a passage was not. The denominator is k, or
    the number of hits where fewer came back, as in ir_measures' Judged@k: unlike Precision@k, a short ranking is not
    less judged. Every other measure counts a hit that nobody judged as irrelevant, so systems that differ in
    Judged@k may differ in what was judged, and not in what they find.
    """
    return per_query(*_counts(judgements, metric.k))


def unjudged_share(judgements: Judgements, k: int | None) -> float:
    """Return which share of the first k hits of the labelled queries nobody judged, over all of them; 0 without any.

    Args:
        judgements: what matched.
        k: how many hits count; None for all.
    """
    found, hits = _counts(judgements, k)
    labelled = count_by_query(judgements.facts.query, judgements) > 0
    return float(1 - found[labelled].sum() / hits[labelled].sum()) if hits[labelled].any() else 0.0


def _counts(judgements: Judgements, k: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many of each query's first k hits were judged, and how many hits these are."""
    matches, irrelevant = judgements.matches, judgements.irrelevant
    query = np.concatenate((matches.query, irrelevant.query))
    rank = np.concatenate((matches.rank, irrelevant.rank))
    within = rank <= depth(k)
    once = np.unique(np.stack((query[within], rank[within])), axis=1)
    return count_by_query(once[0], judgements), np.minimum(judgements.hits, depth(k)).astype(np.float64)
