"""Which place of the new documents is a passage's own, if its text is there word for word.

Its own document decides first: the same file, or the one that it was renamed to. There the text around a passage, or
the order of what is the same before it and after it, tells equal passages apart. In another document a place is its own
only if the text is new there alone and gone from its old document alone, and if nothing like it is left at the old
place: otherwise it was copied, and the original was edited.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz.fuzz import partial_ratio_alignment

from raglift.updating.folded import Spot, is_set_aside, is_whole_blocks, letters, list_of, rest_of_sentence, whole_words
from raglift.updating.pairing import anchors_of, has_section, partners_of, share_of
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.auditing.records import Place
    from raglift.updating.folded import FoldedDocuments
    from raglift.updating.pairing import Anchor

_REACH = 600
"""As many characters around a passage are compared."""
_MOST = 500
"""Of a text with more occurrences in a document, none is told from the others."""
_CONTEXT = 20
"""Letters around a passage that have to be the same, before it or after it."""
_LONG = 20
"""Letters of a text that is not written twice by chance."""
_NEAR = 400
"""Characters to the next text that is the same in both versions of a document, before a passage or after it."""
_ALIKE = 70.0
"""From this partial ratio on a text is like a passage."""
_WORD = 5
"""Letters beside such a text that are the same as beside the passage."""
_COMMON = 10
"""In more documents, a text is likely to be written again."""
_MOST_OF_IT = 0.5
"""The share of a document that its copy has."""

SAME_DOCUMENT = "its document is the same, but for its format"
SAME_CONTEXT = "the text around it is the same"
SAME_ORDER = "it is the only such text between the same neighbours"
EDITED = "its text is there, but at its old place is one that is like it"
ONLY_PLACE = "its document has it once, before and now"
MOVED = "it is the only such text that is gone from a document, and the only one that is new in another"


Span = tuple[int, int]


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
    """Places of its text: its own first, if one was found; then at most 500, those with most in common around first."""
    is_certain: bool = False
    stays: bool = False
    """Whether it is certain, and in its document among the same text."""
    is_claimed: bool = False
    """Whether the text is at fewer places than before."""
    is_edited: bool = False
    """Whether its words are the same, but its paragraph, its sentence or a number is another."""


class OwnPlaces:
    """Finds the own places of passages."""

    def __init__(self, old: FoldedDocuments, new: FoldedDocuments) -> None:
        self._old, self._new = old, new
        self._partners = partners_of(old, new)
        self._old_of = {now: before for before, now in self._partners.items()}
        self._anchors: dict[tuple[int, Span, Span], list[Anchor]] = {}

    def partner(self, document: int) -> str | None:
        """Return the id of the new document that an old one is now; None if it is gone."""
        found = self._partners.get(document)
        return None if found is None else self._new.documents[found].id

    def find(self, spot: Spot, place: Place, before: Sequence[Spot], now: Sequence[Spot]) -> Exact:
        """Return which of the places of a passage's text is its own."""
        if not now:
            return Exact("its text is not in the documents")
        here = self._partners.get(spot.document)
        beside = [each for each in before if each.document == spot.document]
        inside = [each for each in now if each.document == here]
        own, rule = self._in_document(spot, beside, inside, before, now)
        if own is None and not rule:
            own, rule = self._elsewhere(spot, place, before, now)
        rest = tuple(each for each in self._by_context(spot, now) if each.spot != own)
        if own is None:
            return Exact(rule, rest, is_claimed=len(now) < len(before))
        found = (Found(own, *self._shared(spot, own)), *rest)
        if rule in (ONLY_PLACE, SAME_ORDER) and self._is_in_another_list(place, own):
            return Exact("its text is there, but as an item of another list", found)
        doubt = _doubt(found[0], spot, place, self._old, self._new)
        if doubt is not None:
            return Exact(doubt, found, is_edited=True)
        stays = self._new.documents[own.document].id == place.doc_id and rule not in (ONLY_PLACE, MOVED)
        return Exact(rule, found, is_certain=True, stays=stays)

    def _in_document(
        self, spot: Spot, beside: Sequence[Spot], inside: Sequence[Spot], before: Sequence[Spot], now: Sequence[Spot]
    ) -> tuple[Spot | None, str]:
        """Return the own place in the passage's own document, and the rule."""
        if not inside:
            return None, ""
        if self._old.texts[spot.document] == self._new.texts[inside[0].document]:
            return spot._replace(document=inside[0].document), SAME_DOCUMENT
        is_short = letters(self._old.text(spot)) < _LONG
        between, near = (None if is_short else self._between_neighbours(spot, beside, inside)) or (None, 0)
        if between is not None and near == 2 and not self._is_edited(spot, between):
            return between, SAME_CONTEXT
        if max(len(beside), len(inside)) > _MOST:
            return None, ""
        best, *others = self._by_context(spot, inside)
        if any(self._contradicts(spot, each, best) for each in others):
            return None, ""
        if self._is_lone(spot, best, beside, others, is_short=is_short):
            return best.spot, SAME_CONTEXT
        if between is not None and near:
            return (None, EDITED) if self._is_edited(spot, between) else (between, SAME_ORDER)
        is_only = len(beside) == len(inside) == 1 and len(now) <= _MOST
        if is_only and not is_short and len(before) <= _COMMON and not self._is_edited(spot, best.spot):
            elsewhere = (each for each in self._by_context(spot, now) if each.spot != best.spot)
            if not any(self._contradicts(spot, each, best) for each in elsewhere):
                return best.spot, ONLY_PLACE
        return None, ""

    def _is_lone(
        self, spot: Spot, best: Found, beside: Sequence[Spot], others: Sequence[Found], *, is_short: bool
    ) -> bool:
        """Whether a passage with as much of the text around it as is the same is once in its document, before and now.

        So much must be the same before it or after it; of a short one, as Yes., before it and after it. On one side
        alone, it must not have been edited.
        """
        twins = (_shared(self._old, spot, self._old, each) for each in beside if each != spot)
        shared = [*twins, *(self._shared(spot, each.spot) for each in others)]
        if any(one[0] >= best.before and one[1] >= best.after for one in shared):
            return False
        before, after = self._letters_around(spot, best)
        if min(before, after) >= _CONTEXT:
            return True
        if is_short:
            old, new = self._old.texts[spot.document], self._new.texts[best.spot.document]
            begins = best.before == spot.start == best.spot.start
            ends = best.after == len(old) - spot.end == len(new) - best.spot.end
            return (begins or before >= _CONTEXT) and (ends or after >= _CONTEXT)
        return max(before, after) >= _CONTEXT and not self._is_edited(spot, best.spot)

    def _is_in_another_list(self, place: Place, own: Spot) -> bool:
        """Whether a passage is an item below another heading of its document, which was there before."""
        document = self._old.number[place.doc_id]
        before = list_of(self._old.documents[document].text, place.start)
        now = list_of(self._new.documents[own.document].text, self._new.place(own).start)
        return before != now and now is not None and now in self._old.texts[document]

    def neighbours(self, spot: Spot) -> tuple[Span, Span] | None:
        """Return what is between the next text before a passage, and after it, that both versions of its document have.

        Rows of words that occur once in each version come first, then those that occur once between these, and so on.

        Returns:
            The spans in the old document and in the new one; None if that is gone. Before and after the first and the
            last such text, they reach to the end of the document.
        """
        document = self._partners.get(spot.document)
        if document is None:
            return None
        texts = self._old.texts[spot.document], self._new.texts[document]
        old, new = (0, len(texts[0])), (0, len(texts[1]))
        while True:
            key = spot.document, old, new
            if key not in self._anchors:
                self._anchors[key] = anchors_of(texts[0][slice(*old)], texts[1][slice(*new)])
            anchors = self._anchors[key]
            at = bisect_right(anchors, spot.start - old[0], key=lambda anchor: anchor.old_end)
            to = bisect_left(anchors, spot.end - old[0], key=lambda anchor: anchor.old)
            first = anchors[at - 1] if at else None
            last = anchors[to] if to < len(anchors) else None
            inner = (
                old[0] + first.old_end if first else old[0],
                old[0] + last.old if last else old[1],
            )
            within = (
                new[0] + first.new_end if first else new[0],
                new[0] + last.new if last else new[1],
            )
            if inner == old or within[0] > within[1]:
                return old, new
            old, new = inner, within

    def _between_neighbours(
        self, spot: Spot, beside: Sequence[Spot], inside: Sequence[Spot]
    ) -> tuple[Spot, int] | None:
        """Return the only such text between what is the same before and after, if there was one there before.

        And how many of the two neighbours are near.
        """
        found = self.neighbours(spot)
        if found is None:
            return None
        (a, b), (c, d) = found
        were = [each for each in beside if a <= each.start and each.end <= b]
        are = [each for each in inside if c <= each.start and each.end <= d]
        if len(were) != 1 or len(are) != 1:
            return None
        # The beginning and the end of a document are no neighbours: all between them may be another text
        is_near = (
            a > 0 and max(spot.start - a, are[0].start - c) <= _NEAR,
            b < len(self._old.texts[spot.document]) and max(b - spot.end, d - are[0].end) <= _NEAR,
        )
        return are[0], sum(is_near)

    def _is_edited(self, spot: Spot, own: Spot) -> bool:
        """Whether something like a passage is at its old place that was not in its document before.

        Then the passage was edited, and the same words elsewhere are another passage. Its old place has more of the
        text before it, or after it.
        """
        document, found = self._partners.get(spot.document), self.neighbours(spot)
        if document is None or found is None:
            return False
        (_, (start, end)), text = found, self._new.texts[document]
        reach = 3 * (spot.end - spot.start) + _REACH
        end = min(end + _REACH, len(text))
        if end - start > 2 * reach:
            start, end = (start, start + reach) if start else (max(end - reach, 0), end)
        spans = [(start, end)]
        if own.document == document:
            spans = [(start, min(own.start, end)), (max(own.end, start), end)]
        words, known = self._old.text(spot), self._old.texts[spot.document]
        beside = self._letters_around(spot, Found(own, *self._shared(spot, own)))
        for first, last in spans:
            near = partial_ratio_alignment(words, text[first:last], score_cutoff=_ALIKE)
            if near is None:
                continue
            rival = whole_words(text, Spot(document, first + near.dest_start, first + near.dest_end))
            around = self._letters_around(spot, Found(rival, *self._shared(spot, rival)))
            has_place = any(count >= _WORD and count > other for count, other in zip(around, beside, strict=True))
            if has_place and text[rival.start : rival.end] not in known:
                return True
        return False

    def _elsewhere(
        self, spot: Spot, place: Place, before: Sequence[Spot], now: Sequence[Spot]
    ) -> tuple[Spot | None, str]:
        """Return the own place in another document, and the rule, or why there is none."""
        times = f"its text occurs {counted(len(now), 'time')} now, {len(before):,} before"
        lost, new = self._lost_and_new(before, now)
        places = [each for each in now if each.document in new]
        if lost != {spot.document: 1} or len(places) != 1:
            return None, f"{times}; nothing decides which place is its own"
        own = places[0]
        around = self._letters_around(spot, Found(own, *self._shared(spot, own)))
        if letters(self._old.text(spot)) < _LONG and max(around) < _CONTEXT:
            return None, "its text is in another document, but it is short, and the text around it is another"
        if self._is_edited(spot, own):
            return None, EDITED
        if self._is_copy(spot, place, own.document):
            return None, "its text is in a copy of its document"
        return own, MOVED

    def _is_copy(self, spot: Spot, place: Place, other: int) -> bool:
        """Whether another document has most of what was around a passage, whose section is still in its own.

        Then that document is an old version.
        """
        partner = self._partners.get(spot.document)
        if partner is None:
            return False
        old, text = self._old.documents[spot.document].text, self._old.texts[spot.document]
        rest = text[: spot.start] + text[spot.end :]
        is_most = share_of(rest, self._new.texts[other]) >= _MOST_OF_IT
        return is_most and has_section(self._new.documents[partner].text, old, place.start)

    def _lost_and_new(self, before: Sequence[Spot], now: Sequence[Spot]) -> tuple[dict[int, int], dict[int, int]]:
        """Return how many places of a text each old document has lost, and how many each new document has won."""
        were, are = Counter(each.document for each in before), Counter(each.document for each in now)
        lost = {n: count - are[self._partners.get(n, -1)] for n, count in were.items()}
        new = {n: count - were[self._old_of.get(n, -1)] for n, count in are.items()}
        return {n: count for n, count in lost.items() if count > 0}, {n: count for n, count in new.items() if count > 0}

    def _contradicts(self, spot: Spot, other: Found, best: Found) -> bool:
        """Whether another place has more of the text before the passage, or after it, than the best."""
        is_more = other.before > best.before, other.after > best.after
        around = self._letters_around(spot, other)
        return any(more and count >= _CONTEXT for more, count in zip(is_more, around, strict=True))

    def _letters_around(self, spot: Spot, found: Found) -> tuple[int, int]:
        """Return how many letters are the same before a passage, and after it."""
        text = self._old.texts[spot.document]
        before, after = text[spot.start - found.before : spot.start], text[spot.end : spot.end + found.after]
        return letters(before), letters(after)

    def _by_context(self, spot: Spot, now: Sequence[Spot]) -> list[Found]:
        """Return places, those with most in common around them first; of too many, some, and nothing is compared."""
        if len(now) > _MOST:
            return [Found(each, 0, 0) for each in now[:_MOST]]
        found = (Found(each, *self._shared(spot, each)) for each in now)
        return sorted(found, key=lambda each: -each.before - each.after)

    def _shared(self, spot: Spot, other: Spot) -> tuple[int, int]:
        return _shared(self._old, spot, self._new, other)


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


def _shared(old: FoldedDocuments, spot: Spot, new: FoldedDocuments, other: Spot) -> tuple[int, int]:
    """Return how many characters before and after two spans are the same."""
    one, two = old.texts[spot.document], new.texts[other.document]
    before = one[max(0, spot.start - _REACH) : spot.start], two[max(0, other.start - _REACH) : other.start]
    after = one[spot.end : spot.end + _REACH], two[other.end : other.end + _REACH]
    return _same(before[0][::-1], before[1][::-1]), _same(*after)


def _same(one: str, two: str) -> int:
    """Return the length of the common beginning of two texts."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return low
