"""How one chunk relates to one passage: which part of the passage it covers, and whether that is a match."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.matching.judgements import Direction
from raglift.matching.overlap import SHORTEST_OVERLAP, longest_overlap

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.matching.texts import Text
    from raglift.records import Chunk, Passage

__all__ = ["PassageMatch", "cover_passage", "covering_characters", "match_passage"]


class PassageMatch(NamedTuple):
    """Which part of a passage a chunk covers."""

    direction: int
    """One of the values of `Direction`."""
    start: int
    """First covered character of the passage's own text; 0 for a chunk-id label."""
    end: int
    """One past the last; 0 for a chunk-id label."""
    relevant: bool
    """Whether the hit is relevant for this passage alone. By coverage: it covers at least 20 normalized characters,
    or all."""


class _Piece(NamedTuple):
    """What the normalized texts of a passage and a chunk share."""

    direction: int
    start: int
    """The covered part of the passage, …"""
    end: int
    at: int
    """… and where it is in the chunk: from here, …"""
    to: int
    """… to here."""


def match_passage(chunk: Chunk, passage: Passage, rule: MatchRule, text: Text) -> PassageMatch | None:
    """Return how a chunk contributes to satisfying a fact by this passage, or None when it does not.

    By coverage, whatever it covers contributes; otherwise it matches by itself or not at all.
    """
    piece = cover_passage(chunk, passage, rule, text)
    return piece if piece is not None and (piece.relevant or rule.mode == "coverage") else None


def cover_passage(chunk: Chunk, passage: Passage, rule: MatchRule, text: Text) -> PassageMatch | None:
    """Return which part of a passage a chunk covers, whether or not the rule calls that a match.

    The part comes from offsets where both have them and have the same text there, else from the texts: containment,
    or an end of one that is the beginning of the other, of at least 20 normalized characters.
    """
    if passage.chunk_id is not None:
        return PassageMatch(Direction.SAME_ID, 0, 0, relevant=True) if chunk.id == passage.chunk_id else None
    if passage.doc_id is not None and chunk.doc_id is not None and passage.doc_id != chunk.doc_id:
        return None
    shared = _by_offsets(chunk, passage)
    if shared is not None and rule.mode == "coverage":
        return _located(chunk, passage, shared, text, relevant=True)
    wanted, found = text(passage.text or ""), text(chunk.text)
    if not wanted or not found:
        return None
    # What contains the other, or begins within it, has its own beginning there
    may_share = wanted[:SHORTEST_OVERLAP] in found or found[:SHORTEST_OVERLAP] in wanted
    piece = _contained(wanted, found, rule) if may_share else None
    if piece is None and rule.mode == "fuzzy":
        piece = _alike(wanted, found, rule)
    if piece is None and shared is not None:
        return _located(chunk, passage, shared, text, relevant=False)
    if piece is None and may_share:
        piece = _overlapping(wanted, found)
    if piece is None:
        return None
    direction, start, end, _, _ = piece
    by_coverage = direction == Direction.CHUNK_CONTAINS_PASSAGE or end - start >= SHORTEST_OVERLAP
    relevant = by_coverage if rule.mode == "coverage" else direction != Direction.OVERLAP
    if direction == Direction.PASSAGE_CONTAINS_CHUNK and shared is not None and shared[0] < shared[1]:
        # Its words may stand there twice: what it covers is where it is
        return PassageMatch(direction, *shared, relevant)
    return PassageMatch(direction, *text.placed(passage.text or "").source_span(start, end), relevant)


def covering_characters(
    chunk: Chunk, passage: Passage, match: PassageMatch, rule: MatchRule, text: Text
) -> tuple[int, int]:
    """Return the characters of a chunk's own text that are the covered part of a passage: first, and one past the last.

    Where places told what is covered, they tell this too; else it is where the words stand in the chunk, the first time
    if they stand there more than once. `(0, 0)` for a match by id.

    Args:
        chunk: the chunk.
        passage: a passage that it covers a part of.
        match: what `cover_passage` returned for the two.
        rule: by which it did.
        text: normalizes texts.
    """
    if match.direction == Direction.SAME_ID:
        return 0, 0
    shared = _by_offsets(chunk, passage)
    if shared is not None and shared[0] <= match.start and match.end <= shared[1]:
        moved = (passage.start or 0) - (chunk.start or 0)
        return match.start + moved, match.end + moved
    wanted, found = text(passage.text or ""), text(chunk.text)
    piece = _contained(wanted, found, rule)
    if piece is None and rule.mode == "fuzzy":
        piece = _alike(wanted, found, rule)
    if piece is None:
        piece = _overlapping(wanted, found)
    # A match was found, so there is a piece, unless the rule is another than the match was made by
    return (0, 0) if piece is None else text.placed(chunk.text).source_span(piece.at, piece.to)


def _contained(wanted: str, found: str, rule: MatchRule) -> _Piece | None:
    at = found.find(wanted)
    if at >= 0:
        return _Piece(Direction.CHUNK_CONTAINS_PASSAGE, 0, len(wanted), at, at + len(wanted))
    if len(found) >= rule.minimum_length:
        start = wanted.find(found)
        if start >= 0:
            return _Piece(Direction.PASSAGE_CONTAINS_CHUNK, start, start + len(found), 0, len(found))
    return None


def _alike(wanted: str, found: str, rule: MatchRule) -> _Piece | None:
    """Return where the shorter text is nearly a part of the longer one."""
    from rapidfuzz.fuzz import partial_ratio_alignment

    if len(found) < min(rule.minimum_length, len(wanted)):
        return None
    alignment = partial_ratio_alignment(wanted, found, score_cutoff=100 * (rule.threshold or 0))
    if alignment is None:
        return None
    of_chunk = alignment.dest_start, alignment.dest_end
    if len(wanted) <= len(found):
        return _Piece(Direction.CHUNK_CONTAINS_PASSAGE, 0, len(wanted), *of_chunk)
    return _Piece(Direction.PASSAGE_CONTAINS_CHUNK, alignment.src_start, alignment.src_end, *of_chunk)


def _overlapping(wanted: str, found: str) -> _Piece | None:
    head = longest_overlap(found, wanted)
    tail = longest_overlap(wanted, found)
    if not head and not tail:
        return None
    if head >= tail:
        return _Piece(Direction.OVERLAP, 0, head, len(found) - head, len(found))
    return _Piece(Direction.OVERLAP, len(wanted) - tail, len(wanted), 0, tail)


def _by_offsets(chunk: Chunk, passage: Passage) -> tuple[int, int] | None:
    """Return the shared part in characters of the passage; empty when they do not meet; None when it cannot be told.

    It cannot be told without a place of both in one document, nor where the two have different texts at the
    characters that they are said to share: then a place is wrong.
    """
    if chunk.doc_id is None or passage.doc_id is None:
        return None
    if chunk.start is None or chunk.end is None or passage.start is None or passage.end is None:
        return None
    start, end = max(chunk.start, passage.start), min(chunk.end, passage.end)
    if start >= end:
        return 0, 0
    in_chunk = chunk.text[start - chunk.start : end - chunk.start]
    in_passage = (passage.text or "")[start - passage.start : end - passage.start]
    return (start - passage.start, end - passage.start) if in_chunk == in_passage else None


def _located(
    chunk: Chunk, passage: Passage, shared: tuple[int, int], text: Text, *, relevant: bool
) -> PassageMatch | None:
    """Return the piece that offsets tell; None when it is empty or white space."""
    start, end = shared
    if start == end:
        return None
    placed = text.placed(passage.text or "")
    first = int(np.searchsorted(placed.ends, start, side="right"))
    last = int(np.searchsorted(placed.starts, end, side="left"))
    if first >= last:
        return None
    everything = first == 0 and last == len(placed.text)
    if everything:
        direction = Direction.CHUNK_CONTAINS_PASSAGE
    elif end - start == len(chunk.text):
        direction = Direction.PASSAGE_CONTAINS_CHUNK
    else:
        direction = Direction.OVERLAP
    return PassageMatch(direction, start, end, relevant and (everything or last - first >= SHORTEST_OVERLAP))
