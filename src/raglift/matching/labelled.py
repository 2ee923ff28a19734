"""What the labels of a query say of one chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.matching.judgements import Direction
from raglift.matching.pieces import cover_passage

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.matching.texts import Text
    from raglift.records import Chunk, Passage, Query

__all__ = ["grade_by_labels", "is_inside"]


def is_inside(chunk: Chunk, passage: Passage, rule: MatchRule, text: Text) -> bool:
    """Return whether a chunk is a passage itself, or lies inside it: then what was judged of the passage holds for it.

    So is told which hits were judged irrelevant. A chunk that merely contains such words is not judged by that: the
    rest of it may help.

    Args:
        chunk: what was returned.
        passage: what was judged.
        rule: what counts as a match.
        text: what normalizes, made for the rule.
    """
    piece = cover_passage(chunk, passage, rule, text)
    if piece is None or not piece.relevant or piece.direction == Direction.OVERLAP:
        return False
    if piece.direction != Direction.CHUNK_CONTAINS_PASSAGE:
        return True
    wanted, found = text(passage.text or ""), text(chunk.text)
    return wanted == found or (rule.mode == "fuzzy" and _are_alike(wanted, found, rule))


def _are_alike(wanted: str, found: str, rule: MatchRule) -> bool:
    """Return whether two texts are nearly one, from end to end."""
    from rapidfuzz.fuzz import ratio

    return ratio(wanted, found) >= 100 * (rule.threshold or 0)


def grade_by_labels(query: Query, chunk: Chunk, rule: MatchRule, text: Text) -> int | None:
    """Return the grade that labels give to a chunk by itself.

    It is the highest grade of a passage of a fact that the chunk matches; 0 where it matches none, and is or lies
    inside what was judged irrelevant; None where the labels say nothing of it.

    Args:
        query: with its labels.
        chunk: what was returned.
        rule: what counts as a match.
        text: what normalizes, made for the rule.
    """
    passages = [passage for fact in query.facts for passage in fact.passages] if query.answerable else []
    grades = [
        passage.grade
        for passage in passages
        if (piece := cover_passage(chunk, passage, rule, text)) is not None and piece.relevant
    ]
    if grades:
        return max(grades)
    return 0 if any(is_inside(chunk, passage, rule, text) for passage in query.judged_irrelevant) else None
