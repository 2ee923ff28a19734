"""What each fact of a query needs of a set of chunks: pieces of passages, as `best_facts` takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from raglift.diagnosis.attainable import Alternative
from raglift.matching import Text
from raglift.matching.coverage import characters_needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.matching import MatchRule, PassageMatch
    from raglift.records import Query

__all__ = ["Pieces", "requirements_of"]

Pieces: TypeAlias = "Mapping[tuple[int, int], Sequence[tuple[int, PassageMatch]]]"
"""For each (fact of the query, alternative), the chunks, as integers, that cover a part of it."""


def requirements_of(query: Query, pieces: Pieces, rule: MatchRule) -> list[list[Alternative]]:
    """Return the alternatives of each fact, with the chunks that contribute to them.

    Args:
        query: with its facts.
        pieces: which chunk covers which part of which passage.
        rule: what counts as a match.
    """
    text = Text(rule)
    return [
        [
            _alternative(passage.text, pieces.get((place, number), ()), rule, text)
            for number, passage in enumerate(fact.passages)
        ]
        for place, fact in enumerate(query.facts)
    ]


def _alternative(
    label: str | None, found: Sequence[tuple[int, PassageMatch]], rule: MatchRule, text: Text
) -> Alternative:
    if label is None or not rule.by_coverage:
        return Alternative.any_of(dict.fromkeys(chunk for chunk, piece in found if piece.relevant))
    covers = tuple((chunk, piece.normalized_start, piece.normalized_end) for chunk, piece in found)
    return Alternative(characters_needed(text(label), rule), covers, text(label))
