"""How one chunk relates to one passage: which part of the passage it covers, and whether that is a match."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.matching.coverage import trimmed
from raglift.matching.judgements import Direction
from raglift.matching.overlap import SHORTEST_OVERLAP, longest_overlap

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule
    from raglift.matching.texts import Text
    from raglift.records import Chunk, Passage
    from raglift.text import NormalizedText

__all__ = ["PassageMatch", "cover_passage", "covering_characters", "match_passage", "shared_by_offsets"]


class PassageMatch(NamedTuple):
    """Which part of a passage a chunk covers."""

    direction: int
    """One of the values of `Direction`."""
    start: int
    """First covered character of the passage's own text; 0 for a chunk-id label."""
    end: int
    """One past the last; 0 for a chunk-id label."""
    normalized_start: int
    """First covered character of the passage's normalized text, which is what coverage counts; 0 for a chunk-id
    label."""
    normalized_end: int
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
    return piece if piece is not None and (piece.relevant or rule.by_coverage) else None


def cover_passage(chunk: Chunk, passage: Passage, rule: MatchRule, text: Text) -> PassageMatch | None:
    """Return which part of a passage a chunk covers, whether or not the rule calls that a match.

    The part comes from offsets where both have them and have the same text there, else from the texts: containment,
    or an end of one that is the beginning of the other, of at least 20 normalized characters.
    """
    if passage.chunk_id is not None:
        return PassageMatch(Direction.SAME_ID, 0, 0, 0, 0, relevant=True) if chunk.id == passage.chunk_id else None
    if passage.doc_id is not None and chunk.doc_id is not None and passage.doc_id != chunk.doc_id:
        return None
    shared = shared_by_offsets(chunk, passage)
    if shared is not None and rule.by_coverage:
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
    relevant = by_coverage if rule.by_coverage else direction != Direction.OVERLAP
    placed = text.placed(passage.text or "")
    if direction == Direction.PASSAGE_CONTAINS_CHUNK:
        return PassageMatch(direction, *_where_it_is(placed, start, end, shared), relevant)
    return PassageMatch(direction, *placed.source_span(start, end), start, end, relevant)


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
    shared = shared_by_offsets(chunk, passage)
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


def shared_by_offsets(chunk: Chunk, passage: Passage) -> tuple[int, int] | None:
    """Return the part of a passage that a chunk shares, as start and end in the passage's own text.

    The two are equal where the chunk ends at the passage's first character or begins after its last one, and the end
    is before the start where they are apart. None where it cannot be told: without a place of both in one document, and
    where the two have different texts at the characters that they are said to share, for then a place is wrong.

    Args:
        chunk: with its place, if that is known.
        passage: likewise.
    """
    if chunk.doc_id is None or chunk.doc_id != passage.doc_id:
        return None
    if chunk.start is None or chunk.end is None or passage.start is None or passage.end is None:
        return None
    start, end = max(chunk.start, passage.start), min(chunk.end, passage.end)
    if start >= end:
        return start - passage.start, end - passage.start
    in_chunk = chunk.text[start - chunk.start : end - chunk.start]
    in_passage = (passage.text or "")[start - passage.start : end - passage.start]
    return (start - passage.start, end - passage.start) if in_chunk == in_passage else None


def _where_it_is(
    placed: NormalizedText, start: int, end: int, shared: tuple[int, int] | None
) -> tuple[int, int, int, int]:
    """Return what a chunk inside a passage covers of its text, and of its normalized text.

    Its words may stand there twice. So it is where the places say, if they do, else where the words stand first.
    """
    if shared is not None:
        first, last = _normalized_span(placed, *shared)
        if first < last:
            return *shared, first, last
    return *placed.source_span(start, end), start, end


def _located(
    chunk: Chunk, passage: Passage, shared: tuple[int, int], text: Text, *, relevant: bool
) -> PassageMatch | None:
    """Return the piece that offsets tell; None when it is empty or white space."""
    start, end = shared
    if start >= end:
        return None
    placed = text.placed(passage.text or "")
    first, last = _normalized_span(placed, start, end)
    if first >= last:
        return None
    everything = first == 0 and last == len(placed.text)
    if everything:
        direction = Direction.CHUNK_CONTAINS_PASSAGE
    elif end - start == len(chunk.text) or (passage.text or "")[start:end].strip() == chunk.text.strip():
        direction = Direction.PASSAGE_CONTAINS_CHUNK
    else:
        direction = Direction.OVERLAP
    relevant = relevant and (everything or last - first >= SHORTEST_OVERLAP)
    return PassageMatch(direction, start, end, first, last, relevant)


def _normalized_span(placed: NormalizedText, start: int, end: int) -> tuple[int, int]:
    """Return the characters of a normalized text that are in a span of the source, without blanks at its ends."""
    first = int(np.searchsorted(placed.ends, start, side="right"))
    last = int(np.searchsorted(placed.starts, end, side="left"))
    return trimmed(first, last, placed.text)
