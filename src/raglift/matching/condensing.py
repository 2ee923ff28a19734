"""Match tables of condensed lists: some of the hits taken out of each ranking, and the others moved up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.matching.match import satisfied_by_hits
from raglift.matching.matches import CallTable, HitPositions, Matches, MatchTable
from raglift.records.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def condensed(match_table: MatchTable, keep: NDArray[np.bool_]) -> MatchTable:
    """Return the matches as they would be if only some of the hits had come back, without gaps between them.

    Facts and passages stay as they are, and so does what reached the prompt of a session's answer.

    Args:
        match_table: all hits.
        keep: for each hit, query after query in the order of rank, whether it stays.
    """
    first = np.cumsum(match_table.hits) - match_table.hits
    query = np.repeat(np.arange(match_table.queries), match_table.hits)
    new_positions = np.cumsum(keep)
    before = np.concatenate(([0], new_positions))[first]
    new_rank = new_positions - before[query]

    def places(query: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(first[query] + rank - 1, dtype=np.int64)

    def moved(rows: Matches) -> Matches:
        at = places(rows.query, rows.rank)
        remaining = keep[at]
        return replace(rows.take(remaining), rank=new_rank[at[remaining]])

    def moved_positions(rows: HitPositions) -> HitPositions:
        at = places(rows.query, rows.rank)
        remaining = keep[at]
        return HitPositions(rows.query[remaining], new_rank[at[remaining]])

    satisfied = satisfied_by_hits(match_table, keep)
    at = places(match_table.facts.query[satisfied.fact], satisfied.rank)
    hits = np.bincount(query[keep], minlength=match_table.queries).astype(np.int64)
    return replace(
        match_table,
        hits=hits,
        rankings=_without(match_table.rankings, keep, first),
        matches=moved(match_table.matches),
        overlaps=moved(match_table.overlaps),
        satisfied=replace(satisfied, rank=new_rank[at]),
        irrelevant=moved_positions(match_table.irrelevant),
        pooled=moved_positions(match_table.pooled),
        repeats=moved_positions(match_table.repeats),
        sessions=_calls(match_table, keep, query),
        whole=None,
    )


def _without(rankings: Sequence[Ranking], keep: NDArray[np.bool_], first: NDArray[np.int64]) -> list[Ranking]:
    """Return the rankings of the hits that stay; none where they are not known."""
    shorter = []
    for ranking, start in zip(rankings, first.tolist(), strict=False):
        stays = keep[start : start + len(ranking)].tolist()
        shorter.append(
            Ranking.of((hit.chunk, hit.score) for hit, is_kept in zip(ranking.hits, stays, strict=True) if is_kept)
        )
    return shorter


def _calls(match_table: MatchTable, keep: NDArray[np.bool_], query: NDArray[np.int64]) -> CallTable | None:
    calls = match_table.sessions
    if calls is None:
        return None
    rank = np.arange(len(query)) - (np.cumsum(match_table.hits) - match_table.hits)[query] + 1
    row = calls.rows(query, rank)
    return CallTable(calls.query, np.bincount(row[keep], minlength=len(calls.query)).astype(np.int64))
