"""Which place of the new documents is a passage's own, if its text is there word for word.

A text that occurs once before and once now is found by itself, if it is long enough not to be a phrase that was written
twice. Otherwise the text around decides: the place is certain if passage and surroundings together occur once before
and once now.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from raglift.updating.folded import is_whole_blocks, is_whole_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.auditing.records import Place
    from raglift.updating.folded import FoldedDocuments, Spot

_REACH = 600
"""As many characters around a passage are compared."""
_MOST = 500
"""A text with more occurrences is not told apart."""
_CONTEXT = 20
"""Letters around a passage that have to be the same, before it or after it."""
_LONG = 60
"""Letters of a text that is not written twice by chance in one collection of documents …"""
_LONG_IN_DOCUMENT = 30
"""… and in one document."""


class Found(NamedTuple):
    """A place of a passage's text in the new documents, and what is the same around it."""

    spot: Spot
    before: int
    """Characters before it that are the same."""
    after: int
    """Characters after it."""


class Exact(NamedTuple):
    """What was found of a passage, word for word."""

    rule: str
    """Why its place is certain, or why not."""
    found: tuple[Found, ...] = ()
    """The places of its text: its own first if that is certain, else those with most in common around them first."""
    is_certain: bool = False
    by_context: bool = False
    """Whether the text around it decided."""
    is_claimed: bool = False
    """Whether the text is at fewer places than before."""
    is_extended: bool = False
    """Whether more was written into its paragraph."""


def own_place(
    spot: Spot, place: Place, before: Sequence[Spot], now: Sequence[Spot], old: FoldedDocuments, new: FoldedDocuments
) -> Exact:
    """Return which of the places of a passage's text is its own.

    Args:
        spot: the passage in the old documents.
        place: the same as a place in the source.
        before: all places of its text in the old documents.
        now: all places in the new documents.
        old: the old documents.
        new: the new documents.
    """
    if not now:
        return Exact("its text is not in the documents")
    if max(len(before), len(now)) > _MOST:
        return Exact(f"its text occurs {len(now):,} times")
    found = sorted(
        (Found(each, *_shared(old, spot, new, each)) for each in now), key=lambda each: -each.before - each.after
    )
    here = new.number.get(place.doc_id)
    in_document = [each for each in found if each.spot.document == here]
    beside = [each for each in before if each.document == spot.document]
    own = _lone(spot, beside, in_document, old, new) or _lone(spot, before, found, old, new)
    is_only = len(before) == len(now) == 1
    by_context = own is not None
    if is_only and own is None:
        enough = _LONG_IN_DOCUMENT if in_document else _LONG
        own = found[0] if _letters(old.text(spot)) >= enough else None
    if own is None and is_only:
        return Exact("its text is there, but it is short, and the text around it is another", (*found,))
    if own is None:
        times = f"its text occurs {len(now):,} times now, {len(before):,} before"
        return Exact(f"{times}; the text around it does not decide", (*found,), is_claimed=len(now) < len(before))
    found = [own, *(each for each in found if each is not own)]
    if is_whole_blocks(old.documents[spot.document].text, place.start, place.end):
        there = new.place(own.spot, with_number=True)
        if not is_whole_lines(new.documents[own.spot.document].text, there.start, there.end):
            return Exact("its text is there, and more in the same paragraph", (*found,), is_extended=True)
    rule = "the text around it is the same" if by_context else "its text occurs once, before and now"
    return Exact(rule, (*found,), is_certain=True, by_context=by_context)


def _lone(
    spot: Spot, before: Sequence[Spot], found: Sequence[Found], old: FoldedDocuments, new: FoldedDocuments
) -> Found | None:
    """Return the first place found if it is certain to be the passage's own.

    Passage and text around it, as far as it is the same at both places, must occur once in each version.
    """
    if not found:
        return None
    best = found[0]
    twins = [_shared(old, spot, old, each) for each in before if each != spot]
    rivals = [_shared(old, spot, new, each.spot) for each in found[1:]]
    if any(one[0] >= best.before and one[1] >= best.after for one in (*twins, *rivals)):
        return None
    text = old.texts[spot.document]
    around = text[spot.start - best.before : spot.start], text[spot.end : spot.end + best.after]
    return best if max(map(_letters, around)) >= _CONTEXT else None


def _shared(old: FoldedDocuments, spot: Spot, new: FoldedDocuments, other: Spot) -> tuple[int, int]:
    """Return how many characters before and after two spans are the same."""
    one, two = old.texts[spot.document], new.texts[other.document]
    before = zip(
        reversed(one[max(0, spot.start - _REACH) : spot.start]),
        reversed(two[max(0, other.start - _REACH) : other.start]),
        strict=False,
    )
    after = zip(one[spot.end : spot.end + _REACH], two[other.end : other.end + _REACH], strict=False)
    return _same(before), _same(after)


def _same(pairs: zip[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
