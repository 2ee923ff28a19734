"""What labels say of pooled chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.judging.pool import Pool
    from raglift.matching import MatchRule
    from raglift.records import Query

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
    raise NotImplementedError
