"""The best that any choice of k among given chunks can do for a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.diagnosis.attainable import Best, best_facts_at
from raglift.diagnosis.requirements import requirements_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.diagnosis.requirements import Pieces
    from raglift.matching import MatchRule
    from raglift.records import Query

__all__ = ["best_of_query"]


def best_of_query(query: Query, pieces: Pieces, rule: MatchRule, ks: Sequence[int]) -> list[Best]:
    """Return the most facts of a query that k of the chunks can satisfy, for each of several k.

    The chunks may be those of an index, or the candidates of a reranker. What is computed with and without the white
    space beside the covered parts bounds the truth from both sides; it is exact where they agree.

    Args:
        query: the query.
        pieces: which chunk covers which part of which passage.
        rule: what counts as a match.
        ks: how many chunks.
    """
    wide = requirements_of(query, pieces, rule)
    narrow = requirements_of(query, pieces, rule, widened=False)
    most = best_facts_at(wide, ks)
    if narrow == wide:
        return most
    return [
        Best(high.facts, high.exact and low.exact and low.facts == high.facts)
        for low, high in zip(best_facts_at(narrow, ks), most, strict=True)
    ]
