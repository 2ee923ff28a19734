"""Which place of the new documents is a passage's own, if its text is there word for word.

A text that occurs once before and once now is found by itself, if it is long enough not to be a phrase that was written
twice. Otherwise the text around decides: the place is certain if passage and surroundings together occur once before
and once now.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from raglift.updating.folded import Spot, is_set_aside, is_whole_blocks, letters, list_of, rest_of_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.auditing.records import Place
    from raglift.updating.folded import FoldedDocuments

_REACH = 600
"""As many characters around a passage are compared."""
_MOST = 500
"""A text with more occurrences is compared with those in its document alone, and not at all if there are more."""
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
    is_edited: bool = False
    """Whether its words are the same, but its paragraph, its sentence or a number is another."""


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
    text, here = old.texts[spot.document], new.number.get(place.doc_id)
    is_renamed = here is None and old.only_with(text) is not None and letters(text) >= _LONG_IN_DOCUMENT
    same = new.only_with(text) if is_renamed else here
    if same is not None and text == new.texts[same]:
        own = Found(Spot(same, spot.start, spot.end), spot.start, len(text) - spot.end)
        rule = f"its document is the same but for its {'name' if is_renamed else 'format'}"
        exact = Exact(rule, (own,), is_certain=True, by_context=True)
    else:
        exact = _chosen(spot, before, now, here, old, new)
    if not exact.is_certain:
        return exact
    there = new.place(exact.found[0].spot)
    was_in = list_of(old.documents[spot.document].text, place.start)
    if not exact.by_context and was_in != list_of(new.documents[exact.found[0].spot.document].text, there.start):
        return exact._replace(rule="its text is there, but as an item of another list", is_certain=False)
    doubt = _doubt(exact.found[0], spot, place, old, new)
    return exact if doubt is None else exact._replace(rule=doubt, is_certain=False, is_edited=True)


def _chosen(
    spot: Spot,
    before: Sequence[Spot],
    now: Sequence[Spot],
    here: int | None,
    old: FoldedDocuments,
    new: FoldedDocuments,
) -> Exact:
    """Return which place is the passage's own, as far as its text and the text around it decide."""
    if not now:
        return Exact("its text is not in the documents")
    beside, those = [each for each in before if each.document == spot.document], now
    if is_frequent := max(len(before), len(now)) > _MOST:
        those = [each for each in now if each.document == here]
        if not those or max(len(beside), len(those)) > _MOST:
            found = [Found(each, 0, 0) for each in (those or now)[:_MOST]]
            return Exact(f"its text occurs {len(now):,} times", (*found,), is_claimed=len(now) < len(before))
    found = sorted(
        (Found(each, *_shared(old, spot, new, each)) for each in those), key=lambda each: -each.before - each.after
    )
    in_document = [each for each in found if each.spot.document == here]
    own = _lone(spot, beside, in_document, old, new)
    own = own or (None if is_frequent else _lone(spot, before, found, old, new))
    is_only = len(before) == len(now) == 1
    by_context = own is not None
    if is_only and own is None:
        enough = _LONG_IN_DOCUMENT if in_document else _LONG
        own = found[0] if letters(old.text(spot)) >= enough else None
    if own is None and is_only:
        return Exact("its text is there, but it is short, and the text around it is another", (*found,))
    if own is None:
        times = f"its text occurs {len(now):,} times now, {len(before):,} before"
        return Exact(f"{times}; the text around it does not decide", (*found,), is_claimed=len(now) < len(before))
    rule = "the text around it is the same" if by_context else "its text occurs once, before and now"
    found = [own, *(each for each in found if each is not own)]
    return Exact(rule, (*found,), is_certain=True, by_context=by_context)


def _doubt(own: Found, spot: Spot, place: Place, old: FoldedDocuments, new: FoldedDocuments) -> str | None:
    """Return why the same words may say something else at the place found; None if they do not."""
    there = new.place(own.spot, with_number=old.has_number(spot, place))
    before, now = old.numbers(place), new.numbers(there)
    if not all(is_listed for each, is_listed in (before | now).items() if (each in before) != (each in now)):
        return "its text is there, with another number"
    text, document = old.documents[spot.document].text, new.documents[own.spot.document].text
    if old.texts[spot.document] == new.texts[own.spot.document]:
        return None
    if is_set_aside(document, there.start) and not is_set_aside(text, place.start):
        return "its text is in a comment or a quotation"
    if is_whole_blocks(text, place.start, place.end):
        there = new.place(own.spot, with_number=True)
        is_whole = is_whole_blocks(document, there.start, there.end)
        return None if is_whole else "its text is there, and more in the same paragraph"
    head, tail = rest_of_sentence(text, place.start, place.end)
    if own.before < len(head) or own.after < len(tail):
        return "its text is there, but the rest of its sentence is another"
    return None


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
    return best if max(map(letters, around)) >= _CONTEXT else None


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
