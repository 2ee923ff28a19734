"""What each fact of a query needs of a set of chunks: pieces of passages, as `best_facts` takes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from raglift.diagnosis.attainable import Alternative

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.matching import MatchRule, PassageMatch
    from raglift.records import Query

__all__ = ["Pieces", "requirements_of"]

Pieces: TypeAlias = "Mapping[tuple[int, int], Sequence[tuple[int, PassageMatch]]]"
"""For each (fact of the query, alternative), the chunks, as integers, that cover a part of it."""


def requirements_of(query: Query, pieces: Pieces, rule: MatchRule, *, widened: bool = True) -> list[list[Alternative]]:
    """Return the alternatives of each fact, with the chunks that contribute to them.

    White space between two covered parts counts as covered, which no interval by itself can say. Widened, each part
    takes the white space beside it along, also where nothing follows: so what is computed from these requirements is
    never less than what matching would find. Not widened, it is never more.

    Args:
        query: with its facts.
        pieces: which chunk covers which part of which passage.
        rule: what counts as a match.
        widened: whether parts are widened by the white space beside them.
    """
    return [
        [
            _alternative(passage.text, pieces.get((place, number), ()), rule, widened)
            for number, passage in enumerate(fact.passages)
        ]
        for place, fact in enumerate(query.facts)
    ]


def _alternative(
    text: str | None, found: Sequence[tuple[int, PassageMatch]], rule: MatchRule, widened: bool
) -> Alternative:
    if text is None or rule.mode != "coverage" or rule.threshold is None:
        return Alternative.any_of(dict.fromkeys(chunk for chunk, piece in found if piece.relevant))
    needed = max(1, math.ceil(rule.threshold * len(text) - 1e-9))
    spans = [_widened(text, piece) if widened else (piece.start, piece.end) for _, piece in found]
    return Alternative(needed, tuple((chunk, *span) for (chunk, _), span in zip(found, spans, strict=True)))


def _widened(text: str, piece: PassageMatch) -> tuple[int, int]:
    start = len(text[: piece.start].rstrip())
    end = len(text) - len(text[piece.end :].lstrip())
    return start, end
