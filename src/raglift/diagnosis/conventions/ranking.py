"""The ranking that is explained: which hit is relevant, for which fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raglift.diagnosis.conventions.counts import Counts
from raglift.diagnosis.conventions.records import RankedHit
from raglift.metrics.profiles import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.diagnosis.conventions.records import State
    from raglift.matching import Judgements
    from raglift.records import Hit, Metric

__all__ = ["ranked_hits", "relevant_ranks"]


def relevant_ranks(judged: Judgements, query: int, metric: Metric) -> list[int]:
    """Return the ranks of a query's relevant hits, down to the metric's depth."""
    return Counts.of(judged, query, metric).relevant_ranks()


def ranked_hits(
    judged: Mapping[str, Judgements], query: int, hits: Sequence[Hit], metrics: Sequence[Metric]
) -> tuple[RankedHit, ...]:
    """Return the hits of a query, down to the deepest of some metrics, with the facts that each matches.

    Args:
        judged: what the stage matched, for each profile.
        query: the number of the query.
        hits: its hits.
        metrics: what is looked at; one without a number of hits looks at all of them.
    """
    depths = [metric.k for metric in metrics]
    deepest = len(hits) if None in depths else max(k for k in depths if k is not None)
    relevant = {profile: _relevant(of_profile, query) for profile, of_profile in judged.items()}
    facts = _facts(judged, query)
    return tuple(RankedHit(hit, facts.get(hit.rank, ()), _only_under(relevant, hit.rank)) for hit in hits[:deepest])


def _relevant(judged: Judgements, query: int) -> set[int]:
    return set(judged.matches.rank[judged.matches.query == query].tolist())


def _only_under(relevant: Mapping[str, set[int]], rank: int) -> tuple[str, ...]:
    """Return the profiles under which the hit is relevant; none where it is so under all, or under none."""
    under = tuple(profile for profile, ranks in relevant.items() if rank in ranks)
    return () if len(under) == len(relevant) else under


def _facts(judged: Mapping[str, Judgements], query: int) -> dict[int, tuple[tuple[int, State], ...]]:
    """Return for each rank the facts that it matches under any profile, from 1; the default's word comes first."""
    found: dict[int, dict[int, State]] = {}
    for of_profile in [judged[DEFAULT.name], *judged.values()]:
        matches, facts = of_profile.matches, of_profile.facts
        rows = np.flatnonzero(facts.query == query)
        first = dict(zip(of_profile.first.fact.tolist(), of_profile.first.rank.tolist(), strict=True))
        for row in np.flatnonzero(matches.query == query).tolist():
            fact, rank = int(matches.fact[row]), int(matches.rank[row])
            at = first.get(fact)
            state: State = "in part" if at is None or rank < at else "first" if rank == at else "again"
            found.setdefault(rank, {}).setdefault(fact - int(rows[0]) + 1, state)
    return {rank: tuple(sorted(of_rank.items())) for rank, of_rank in found.items()}
