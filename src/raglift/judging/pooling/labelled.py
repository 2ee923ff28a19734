"""What labels say of pooled chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.matching import MatchRule, Text, grade_by_labels
from raglift.records import Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.judging.pooling.pool import Pool

__all__ = ["label_grades"]


def label_grades(
    pool: Pool, queries: Sequence[Query], rule: MatchRule | None = None
) -> tuple[tuple[int | None, ...], ...]:
    """Return the grade that labels give to each pooled chunk, query by query in the order of the pool.

    It is the highest grade of a passage that the chunk matches; 0 where it matches none, and is or lies inside what was
    judged irrelevant; None where the labels say nothing of it.

    Args:
        pool: the pairs.
        queries: the labels, found by the queries' ids; a query that is not among them has none.
        rule: what counts as a match; containment by default.
    """
    rule = rule or MatchRule()
    text = Text(rule)
    by_id = {query.id: query for query in queries}
    labelled = [by_id.get(each.query.id, Query(each.query.id, each.query.text)) for each in pool.queries]
    return tuple(
        tuple(grade_by_labels(query, pooled.chunk, rule, text) for pooled in each.chunks)
        for query, each in zip(labelled, pool.queries, strict=True)
    )
