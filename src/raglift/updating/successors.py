"""Where a passage may be now whose text is not there word for word: proposals, best first, which decide nothing.

Its lines and sentences are looked for, and the text before and after it. Where several of them agree, the text there is
compared with the passage.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz.distance import Indel
from rapidfuzz.fuzz import partial_ratio_alignment

from raglift.auditing.records import Place
from raglift.matching.nearest import nearest_passages
from raglift.text.reformatting import fold_format
from raglift.updating.folded import Spot, is_whole_lines, letters, whole_lines, whole_words
from raglift.updating.records import Candidate
from raglift.utilities.progress import track

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.types.documents import Document
    from raglift.updating.exact import Exact, OwnPlaces
    from raglift.updating.folded import FoldedDocuments

SAME_TEXT = "it has the same text"
SOME_LINES = "it has some of its lines"
BETWEEN = "it is between the same neighbours"
BESIDE = "it is beside the same neighbour"
MOST_SIMILAR = "it is the most similar text"
"""Reasons of candidates."""
_SENTENCES = re.compile(r"(?<=[.!?;:])\s+|(?<=[。！？；])\s*")
_BREAK = re.compile(r"(?<=[.!?])[\"')\]*_”’]*\s+|\n\s*")
"""What stands between two sentences."""
_TO_SENTENCE = 60
"""Characters by which a proposal is widened or cut to whole sentences."""
_MOST_SENTENCES = 4
_FEWEST = 10
"""Letters of a line or sentence that is looked for."""
_AROUND = 50
"""Characters before and after a passage that are looked for …"""
_DISTANCES = (0, 120, 300)
"""… at these distances."""
_COMMON = 20
"""What occurs more often says nothing of a place."""
_MOST_GROUPS = 8
"""So many places with parts of a passage are compared with it."""
_LONGEST = 4000
"""Characters that are compared."""
_LONGEST_ALIGNED = 2000
"""Characters of a passage that is laid along a text, which takes the square of them; a longer one has many lines."""
_ALIGNED = 1.2
"""What counts more than likeness: that the text before a passage and after it is still around a place."""
_LEAST_ALIGNED, _LIKE_THE_SAME = 0.3, 0.65
"""Likeness of such a text; and if the text of the passage is elsewhere."""
_SLACK = 400
"""Characters that may be between a passage and the same text before it and after it."""
_SHOWN = 3
_BESIDE = -0.2
"""What is beside one neighbour may be another passage that was there before."""
_LEAST = 0.5
"""Likeness of a text that is proposed without a line or a neighbour in common."""


class _Piece(NamedTuple):
    """A part of a passage, or of the text around it."""

    text: str
    offset: int
    """Where it begins, counted from the beginning of the passage."""
    side: str
    """`in`, `before`, `after`, or `near` for what is before or after at a distance."""


class _Vote(NamedTuple):
    piece: _Piece
    spot: Spot
    weight: float


@dataclass(frozen=True)
class Undecided:
    """A passage whose own place is not certain."""

    spot: Spot
    """Where it was."""
    place: Place
    """The same in the source."""
    exact: Exact
    """What was found of it word for word."""


def propose(
    passages: Sequence[Undecided], old: FoldedDocuments, new: FoldedDocuments, places: OwnPlaces
) -> list[tuple[Candidate, ...]]:
    """Return where each passage may be now, best first."""
    pieces = [tuple(_pieces(each, old)) for each in passages]
    spots = new.find({piece.text: (False, False) for of in pieces for piece in of}, "look for parts of passages")
    ranked: list[list[tuple[float, Candidate]]] = []
    with track("compare passages", len(passages), "labels", show=new.show) as advance:
        for passage, of in zip(passages, pieces, strict=True):
            here = new.number.get(passage.place.doc_id)
            votes = [vote for piece in of for vote in _votes(piece, spots[piece.text], here)]
            near = [*_near_votes(passage, votes, old, new), *_aligned(passage, old, new, places)]
            ranked.append([*_word_for_word(passage, new), *near])
            advance(1)
    lost = [number for number, found in enumerate(ranked) if not any(weight >= _LEAST for weight, _ in found)]
    texts = [old.source(passages[number].place) for number in lost]
    for number, like in zip(lost, nearest_passages(texts, new.documents), strict=True):
        spot = None if like is None else new.spot(Place(like.doc_id, like.start, like.end))
        if spot is not None:
            ranked[number] += _compared(passages[number], spot, MOST_SIMILAR, old, new)
    return [_best(of) for of in ranked]


def _best(ranked: list[tuple[float, Candidate]]) -> tuple[Candidate, ...]:
    """Return the best candidates, of those that overlap the best alone."""
    chosen: list[Candidate] = []
    for _, each in sorted(ranked, key=lambda pair: -pair[0]):
        one = each.place
        if not any(
            one.doc_id == other.place.doc_id and max(one.start, other.place.start) < min(one.end, other.place.end)
            for other in chosen
        ):
            chosen.append(each)
    return tuple(chosen[:_SHOWN])


# What is looked for: parts of the passage, and of the text around it.


def _pieces(passage: Undecided, old: FoldedDocuments) -> Iterator[_Piece]:
    spot = passage.spot
    text = old.texts[spot.document]
    own = text[spot.start : spot.end]
    lines = [fold_format(line).text for line in old.source(passage.place).splitlines()]
    for part in dict.fromkeys([*lines, *_SENTENCES.split(own)]):
        if letters(part) >= _FEWEST and part != own and (offset := own.find(part)) >= 0:
            yield _Piece(part, offset, "in")
    for distance in _DISTANCES:
        start, end = spot.start - distance, spot.end + distance
        before, after = text[max(0, start - _AROUND) : max(start, 0)], text[end : end + _AROUND]
        if (cut := (before.partition(" ")[2] or before).strip()) and letters(cut) >= _FEWEST:
            yield _Piece(cut, -distance - len(cut) - 1, "near" if distance else "before")
        if (cut := (after.rpartition(" ")[0] or after).strip()) and letters(cut) >= _FEWEST:
            yield _Piece(cut, len(own) + distance + 1, "near" if distance else "after")


def _votes(piece: _Piece, spots: Sequence[Spot], here: int | None) -> Iterator[_Vote]:
    """Yield the places of a piece, those in the passage's document if it is in many."""
    if len(spots) > _COMMON:
        spots = [spot for spot in spots if spot.document == here]
    if len(spots) <= _COMMON:
        for spot in spots:
            yield _Vote(piece, spot, letters(piece.text) / len(spots))


# What is proposed: the text at these places.


def _word_for_word(passage: Undecided, new: FoldedDocuments) -> Iterator[tuple[float, Candidate]]:
    """Yield the places of the passage's text itself."""
    for found in passage.exact.found[:_SHOWN]:
        place = new.place(found.spot, with_number=True)
        around = min(found.before + found.after, 100) / 100
        weight = 0.9 - 0.5 * passage.exact.is_claimed + around + 0.2 * (place.doc_id == passage.place.doc_id)
        yield weight, Candidate(place, new.source(place), 1.0, SAME_TEXT)


def _aligned(
    passage: Undecided, old: FoldedDocuments, new: FoldedDocuments, places: OwnPlaces
) -> Iterator[tuple[float, Candidate]]:
    """Yield what is in the passage's document between the same text before it and after it."""
    document, found = places.partner(passage.spot.document), places.neighbours(passage.spot)
    length = passage.spot.end - passage.spot.start
    if document is None or found is None:
        return
    (a, b), (start, end) = found
    has_neighbour = a > 0 or b < len(old.texts[passage.spot.document])
    if not has_neighbour or b - a > length + _SLACK or not 0 < end - start <= 4 * length + _SLACK:
        return
    number = new.number[document]
    own, window = old.text(passage.spot)[:_LONGEST], new.texts[number][start:end][: 2 * _LONGEST]
    if b - a > length + 2 and len(own) <= len(window):
        near = partial_ratio_alignment(own, window)
        if near is not None:
            start, end = start + near.dest_start, start + near.dest_end
    least = _LIKE_THE_SAME if passage.exact.found else _LEAST_ALIGNED
    for weight, candidate in _compared(passage, Spot(number, start, end), BETWEEN, old, new, _ALIGNED):
        if candidate.likeness >= least:
            yield weight, candidate


def _near_votes(
    passage: Undecided, votes: Sequence[_Vote], old: FoldedDocuments, new: FoldedDocuments
) -> Iterator[tuple[float, Candidate]]:
    """Yield what is between the same neighbours, and around lines and sentences of the passage."""
    length = passage.spot.end - passage.spot.start
    tolerance = max(300, length)
    by_document: dict[int, list[_Vote]] = defaultdict(list)
    for vote in votes:
        by_document[vote.spot.document].append(vote)
    groups = [group for of in by_document.values() for group in _groups(of, tolerance)]
    for group in sorted(groups, key=lambda group: -sum(vote.weight for vote in group))[:_MOST_GROUPS]:
        yield from _of_group(passage, group, old, new)


def _groups(votes: list[_Vote], tolerance: int) -> Iterator[list[_Vote]]:
    """Yield votes that agree where the passage would begin."""
    votes = sorted(votes, key=lambda vote: vote.spot.start - vote.piece.offset)
    group = votes[:1]
    for vote in votes[1:]:
        last = group[-1]
        if (vote.spot.start - vote.piece.offset) - (last.spot.start - last.piece.offset) > tolerance:
            yield group
            group = []
        group.append(vote)
    yield group


def _of_group(
    passage: Undecided, group: Sequence[_Vote], old: FoldedDocuments, new: FoldedDocuments
) -> Iterator[tuple[float, Candidate]]:
    document = group[0].spot.document
    text, length = new.texts[document], passage.spot.end - passage.spot.start
    inside = [vote for vote in group if vote.piece.side == "in"]
    before = [vote.spot.end for vote in group if vote.piece.side == "before"]
    after = [vote.spot.start for vote in group if vote.piece.side == "after"]
    gap = _gap(before, after, length)
    if gap is not None and not inside:
        start, end = gap
        if not text[start:end].strip():
            return  # the neighbours are side by side: what was between them is gone
        spot = Spot(document, start, end)
        yield from _compared(passage, spot, BETWEEN, old, new, 0.6)
        return
    if not inside and not (before or after):
        return
    first = group[0].spot.start - group[0].piece.offset
    start = max(0, min([first, *(vote.spot.start for vote in inside)]) - length // 4 - 50)
    end = max([first + length, *(vote.spot.end for vote in inside)]) + length // 4 + 50
    if gap is not None:
        start, end = max(start, gap[0]), min(end, gap[1])
    own, window = old.text(passage.spot)[:_LONGEST], text[start:end][: 2 * _LONGEST]
    near = partial_ratio_alignment(own, window) if len(own) <= min(len(window), _LONGEST_ALIGNED) else None
    low, high = (start + near.dest_start, start + near.dest_end) if near is not None else (start, end)
    if inside:
        lo, hi = min(vote.spot.start for vote in inside), max(vote.spot.end for vote in inside)
        if hi - lo <= 3 * length + 500:
            low, high = (lo, hi) if near is None else (min(low, lo), max(high, hi))
    survived = sum(letters(vote.piece.text) for vote in inside) / max(letters(own), 1)
    reason = SOME_LINES if inside else BESIDE
    bonus = min(survived, 1) + (0.3 if gap is not None else 0.15 if before or after else 0) if inside else _BESIDE
    yield from _compared(passage, Spot(document, low, high), reason, old, new, bonus)


def _gap(before: Sequence[int], after: Sequence[int], length: int) -> tuple[int, int] | None:
    """Return the shortest span between a text before and a text after that is not much longer than the passage."""
    gaps = [(end - start, start, end) for start in before for end in after if 0 <= end - start <= 4 * length + 400]
    return min(gaps)[1:] if gaps else None


def _compared(
    passage: Undecided, spot: Spot, reason: str, old: FoldedDocuments, new: FoldedDocuments, bonus: float = 0.0
) -> Iterator[tuple[float, Candidate]]:
    """Yield the text of a span, widened to whole lines or words, with its likeness; nothing if it is not alike."""
    found_at = whole_words(new.texts[spot.document], spot)
    if found_at.start >= found_at.end:
        return
    place = new.place(found_at, with_number=True)
    own, document = passage.place, new.documents[spot.document]
    if is_whole_lines(old.documents[passage.spot.document].text, own.start, own.end):
        widened = [whole_lines(document, place), *_sentences(document, place)]
    else:
        widened = [place, *_sentences(document, place)]
    compared = [(_likeness(old.text(passage.spot), new.source(each)), each) for each in widened]
    likeness, place = max(compared, key=lambda pair: pair[0])
    found = new.source(place)
    reason = SAME_TEXT if old.text(passage.spot) == fold_format(found).text else reason
    if bonus or likeness >= _LEAST:
        same = 0.1 * (place.doc_id == own.doc_id)
        was = old.number.get(place.doc_id)
        if was is not None and reason != SAME_TEXT and fold_format(found).text in old.texts[was]:
            bonus -= 0.2  # it was there beside the passage: it says something else
        yield likeness + bonus + same, Candidate(place, found, likeness, reason)


def _likeness(folded: str, text: str) -> float:
    return Indel.normalized_similarity(folded[:_LONGEST], fold_format(text).text[:_LONGEST])


def _sentences(document: Document, place: Place) -> Iterator[Place]:
    """Yield places that begin and end where sentences do, close to where a place does."""
    first, last = max(0, place.start - _TO_SENTENCE), min(len(document.text), place.end + _TO_SENTENCE)
    breaks = [found.span() for found in _BREAK.finditer(document.text, first, last)]
    starts = [end for _, end in breaks if abs(end - place.start) <= _TO_SENTENCE] + [0] * (first == 0)
    ends = [
        first + len(document.text[first:start].rstrip())
        for start, _ in breaks
        if abs(start - place.end) <= _TO_SENTENCE
    ]
    for start in starts[-_MOST_SENTENCES:]:
        for end in [*ends[:_MOST_SENTENCES], *[last] * (last == len(document.text))]:
            if start < end:
                yield Place(place.doc_id, start, end)
