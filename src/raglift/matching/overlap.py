"""Which part of a passage a chunk covers, and how much of all passages chunks cover."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raglift.matching.coverage import Interval, covered_length, trimmed
from raglift.matching.matches import Direction, FactTable, PassageTable
from raglift.text.words import beginning_of, is_as_long_as

if TYPE_CHECKING:
    from raglift.matching.rule import MatchRule, Text
    from raglift.text.normalization import NormalizedText
    from raglift.types.documents import Chunk
    from raglift.types.labels import Passage


# The overlap of two parts of one text, computed from the texts alone. A chunk and a passage are both
# contiguous parts of the source. So one contains the other, or the end of one is the start of the other.


SHORTEST_OVERLAP = 20
"""The fewest normalized characters that tell, by text alone, that a chunk and a passage overlap: fewer may be shared by
chance. They are counted as letters of an alphabet (`raglift.text.words.length_in_letters`)."""


def longest_overlap(left: str, right: str) -> int:
    """Return the most characters, `SHORTEST_OVERLAP` or more, that end `left` and begin `right`; 0 when there are none.

    Compared is only where the beginning of `right` occurs near the end of `left`: in most texts nowhere, or once.
    """
    anchor = beginning_of(right, SHORTEST_OVERLAP)
    if not is_as_long_as(anchor, SHORTEST_OVERLAP):
        return 0
    at = left.find(anchor, max(0, len(left) - len(right)))
    while at >= 0:
        if right.startswith(left[at:]):
            return len(left) - at
        at = left.find(anchor, at + 1)
    return 0


# The overlap of one chunk with one passage: which part of the passage it covers, and whether it is a match.


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


class _Overlap(NamedTuple):
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
    overlap = cover_passage(chunk, passage, rule, text)
    return overlap if overlap is not None and (overlap.relevant or rule.by_coverage) else None


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
    passage_text, chunk_text = text(passage.text or ""), text(chunk.text)
    if not passage_text or not chunk_text:
        return None
    # What contains the other, or begins within it, has its own beginning there
    may_share = (
        beginning_of(passage_text, SHORTEST_OVERLAP) in chunk_text
        or beginning_of(chunk_text, SHORTEST_OVERLAP) in passage_text
    )
    overlap = _contained(passage_text, chunk_text, rule) if may_share else None
    if overlap is None and rule.mode == "fuzzy":
        overlap = _alike(passage_text, chunk_text, rule)
    if overlap is None and shared is not None:
        return _located(chunk, passage, shared, text, relevant=False)
    if overlap is None and may_share:
        overlap = _overlapping(passage_text, chunk_text)
    if overlap is None:
        return None
    direction, start, end, _, _ = overlap
    by_coverage = direction == Direction.CHUNK_CONTAINS_PASSAGE or is_as_long_as(
        passage_text[start:end], SHORTEST_OVERLAP
    )
    relevant = by_coverage if rule.by_coverage else direction != Direction.OVERLAP
    placed = text.placed(passage.text or "")
    if direction == Direction.PASSAGE_CONTAINS_CHUNK:
        return PassageMatch(direction, *_where_it_is(placed, start, end, shared), relevant)
    return PassageMatch(direction, *placed.source_span(start, end), start, end, relevant)


def covering_characters(
    chunk: Chunk, passage: Passage, match: PassageMatch, rule: MatchRule, text: Text
) -> tuple[int, int]:
    """Return the characters of a chunk's own text that are the covered part of a passage: first, and one past the last.

    If locations determined what is covered, they determine this too; otherwise the first position at which the text
    occurs in the chunk. `(0, 0)` for a match by id.
    """
    if match.direction == Direction.SAME_ID:
        return 0, 0
    shared = shared_by_offsets(chunk, passage)
    if shared is not None and shared[0] <= match.start and match.end <= shared[1]:
        moved = (passage.start or 0) - (chunk.start or 0)
        return match.start + moved, match.end + moved
    overlap = _by_text(chunk, passage, rule, text)
    # A match was found, so there is a piece, unless the rule is another than the match was made by
    return (0, 0) if overlap is None else text.placed(chunk.text).source_span(overlap.at, overlap.to)


def characters_until(chunk: Chunk, passage: Passage, reached: int, rule: MatchRule, text: Text) -> int:
    """Return how many characters of a chunk's own text are read until a passage is read up to a character.

    By offsets where both have them, under coverage; otherwise where the passage's text is in the chunk. A chunk inside
    the passage, or one with the id that the passage names, is read to its end.

    Args:
        chunk: one that covers some of the passage.
        passage: the passage.
        reached: one past the last character of the passage's normalized text that is to be read.
        rule: by which the chunk matches it.
        text: normalizes texts.
    """
    whole = len(chunk.text)
    if passage.chunk_id is not None:
        return whole
    if rule.by_coverage and shared_by_offsets(chunk, passage) is not None:
        end = int(text.placed(passage.text or "").ends[reached - 1])
        return end + (passage.start or 0) - (chunk.start or 0)
    overlap = _by_text(chunk, passage, rule, text)
    if overlap is None or (not rule.by_coverage and overlap.direction != Direction.CHUNK_CONTAINS_PASSAGE):
        return whole
    last = min(overlap.at + reached - overlap.start, overlap.to) if rule.by_coverage else overlap.to
    return int(text.placed(chunk.text).ends[last - 1])


def _by_text(chunk: Chunk, passage: Passage, rule: MatchRule, text: Text) -> _Overlap | None:
    passage_text, chunk_text = text(passage.text or ""), text(chunk.text)
    overlap = _contained(passage_text, chunk_text, rule)
    if overlap is None and rule.mode == "fuzzy":
        overlap = _alike(passage_text, chunk_text, rule)
    return _overlapping(passage_text, chunk_text) if overlap is None else overlap


def _contained(passage_text: str, chunk_text: str, rule: MatchRule) -> _Overlap | None:
    at = chunk_text.find(passage_text)
    if at >= 0:
        return _Overlap(Direction.CHUNK_CONTAINS_PASSAGE, 0, len(passage_text), at, at + len(passage_text))
    if is_as_long_as(chunk_text, rule.minimum_length):
        start = passage_text.find(chunk_text)
        if start >= 0:
            return _Overlap(Direction.PASSAGE_CONTAINS_CHUNK, start, start + len(chunk_text), 0, len(chunk_text))
    return None


def _alike(passage_text: str, chunk_text: str, rule: MatchRule) -> _Overlap | None:
    """Return where the shorter text is nearly a part of the longer one."""
    from rapidfuzz.fuzz import partial_ratio_alignment

    if len(chunk_text) < len(passage_text) and not is_as_long_as(chunk_text, rule.minimum_length):
        return None
    if not may_be_alike(passage_text, chunk_text, rule.threshold or 0):
        return None
    alignment = partial_ratio_alignment(passage_text, chunk_text, score_cutoff=100 * (rule.threshold or 0))
    if alignment is None:
        return None
    of_chunk = alignment.dest_start, alignment.dest_end
    if len(passage_text) <= len(chunk_text):
        return _Overlap(Direction.CHUNK_CONTAINS_PASSAGE, 0, len(passage_text), *of_chunk)
    return _Overlap(Direction.PASSAGE_CONTAINS_CHUNK, alignment.src_start, alignment.src_end, *of_chunk)


def may_be_alike(text: str, other: str, likeness: float) -> bool:
    """Whether two texts have enough in common for the shorter to be as like a part of the longer; else it is not.

    To align texts of some thousand characters takes seconds, and this takes milliseconds. A part of m' characters with
    c of the shorter text's m in their order is as like as 2c / (m + m'), and m' is at least c: so 2c / (m + c) is not
    less.
    """
    from rapidfuzz.distance import LCSseq

    common, shorter = LCSseq.similarity(text, other), min(len(text), len(other))
    return 2 * common >= likeness * (shorter + common) - _ROUNDING


_ROUNDING = 1e-6


def _overlapping(passage_text: str, chunk_text: str) -> _Overlap | None:
    head = longest_overlap(chunk_text, passage_text)
    tail = longest_overlap(passage_text, chunk_text)
    if not head and not tail:
        return None
    if head >= tail:
        return _Overlap(Direction.OVERLAP, 0, head, len(chunk_text) - head, len(chunk_text))
    return _Overlap(Direction.OVERLAP, len(passage_text) - tail, len(passage_text), 0, tail)


def shared_by_offsets(chunk: Chunk, passage: Passage) -> tuple[int, int] | None:
    """Return the part of a passage that a chunk shares, as start and end in the passage's own text.

    The two are equal where the chunk ends at the passage's first character or begins after its last one, and the end is
    before the start where they are apart. None if it is unknown: without a location of both in one document, and where
    the two have different texts at the characters that they are said to share, for then a location is wrong.
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

    Its text may occur there twice. So the location decides, if it is known, otherwise the first occurrence.
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
    relevant = relevant and (everything or is_as_long_as(placed.text[first:last], SHORTEST_OVERLAP))
    return PassageMatch(direction, start, end, first, last, relevant)


def _normalized_span(placed: NormalizedText, start: int, end: int) -> tuple[int, int]:
    """Return the characters of a normalized text that are in a span of the source, without blanks at its ends."""
    first = int(np.searchsorted(placed.ends, start, side="right"))
    last = int(np.searchsorted(placed.starts, end, side="left"))
    return trimmed(first, last, placed.text)


# How many characters of a query's passages are covered, counting each character of the source once.


def covered_characters(
    queries: int, facts: FactTable, passages: PassageTable, overlaps: dict[int, list[Interval]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each query, how many characters of its passages are covered, and how many there are.

    Of alternatives, the one that is covered best counts. Passages of one document are on one line, so that what two of
    them share counts once; a passage without a location is on a line of its own, with all that have the same text.

    Args:
        queries: how many queries there are.
        facts: all facts.
        passages: their passages.
        overlaps: for each row of `passages`, the intervals of its characters that are covered.
    """
    lines: dict[int, dict[Hashable, tuple[list[Interval], list[Interval]]]] = {}
    for fact, row in enumerate(best_covered(facts, passages, overlaps)):
        text = None if row is None else passages.texts[row]
        if row is None or text is None:
            continue
        name, offset = passages.places[row] or (("text", text), 0)
        of_query = lines.setdefault(int(facts.query[fact]), {})
        covered, labelled = of_query.setdefault(name, ([], []))
        labelled.append((offset, offset + len(text)))
        covered += [(offset + start, offset + end) for start, end in overlaps.get(row, ())]
    totals = np.zeros((2, queries), dtype=np.int64)
    for query, of_query in lines.items():
        for covered, labelled in of_query.values():
            totals[0, query] += covered_length(covered)
            totals[1, query] += covered_length(labelled)
    return totals[0], totals[1]


def best_covered(facts: FactTable, passages: PassageTable, overlaps: dict[int, list[Interval]]) -> list[int | None]:
    """Return, for each fact, the row of the passage of which the greatest part is covered, the first of equals.

    None for a fact that has chunk ids alone.
    """
    best: list[int | None] = []
    for first, count in zip(passages.first.tolist(), facts.passages.tolist(), strict=True):
        chosen, greatest = None, -1.0
        for row in range(first, first + count):
            text = passages.texts[row]
            part = covered_length(overlaps.get(row, ())) / len(text) if text else -1.0
            if part > greatest:
                chosen, greatest = row, part
        best.append(chosen)
    return best
