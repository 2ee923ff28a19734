"""What labels say of pooled chunks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.matching import MatchRule, judge
from raglift.records import Fact, Query, Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.judging.pooling.pool import Pool
    from raglift.matching import Matches

__all__ = ["label_grades"]


def label_grades(
    pool: Pool, queries: Sequence[Query], rule: MatchRule | None = None
) -> tuple[tuple[int | None, ...], ...]:
    """Return the grade that labels give to each pooled chunk, query by query in the order of the pool.

    It is the highest grade of a passage that the chunk matches, 0 where it matches only what was judged irrelevant, and
    None where it matches nothing.

    Args:
        pool: the pairs.
        queries: the labels, found by the queries' ids; a query that is not among them has none.
        rule: what counts as a match; containment by default.
    """
    rule = rule or MatchRule()
    by_id = {query.id: query for query in queries}
    labelled = [by_id.get(each.query.id, Query(each.query.id, each.query.text)) for each in pool.queries]
    rankings = [Ranking.of((pooled.chunk, None) for pooled in each.chunks) for each in pool.queries]
    grades: list[list[int | None]] = [[None] * len(each.chunks) for each in pool.queries]
    irrelevant = [replace(query, facts=_as_facts(query), answerable=True) for query in labelled]
    for query, place in _pairs(_matches(irrelevant, rankings, rule)):
        grades[query][place] = 0
    matches = _matches(labelled, rankings, rule)
    for (query, place), grade in zip(_pairs(matches), matches.grade.tolist(), strict=True):
        grades[query][place] = max(grade, grades[query][place] or 0)
    return tuple(map(tuple, grades))


def _as_facts(query: Query) -> tuple[Fact, ...]:
    """Return what was judged irrelevant in the form that is matched."""
    return (Fact(query.judged_irrelevant),) if query.judged_irrelevant else ()


def _matches(queries: Sequence[Query], rankings: Sequence[Ranking], rule: MatchRule) -> Matches:
    (judged,) = judge(queries, [rankings], rule)
    return judged.matches


def _pairs(matches: Matches) -> list[list[int]]:
    """Return the number of the query and the place of the chunk of each match."""
    pairs: list[list[int]] = np.stack([matches.query, matches.rank - 1], axis=1).tolist()
    return pairs
