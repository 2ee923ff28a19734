"""Documents without their format, and spans of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.auditing.records import Place
from raglift.text.occurrences import Patterns
from raglift.text.reformatting import fold_format
from raglift.utilities.progress import track

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.text.normalization import NormalizedText
    from raglift.types.documents import Document

_SHOWN = 2_000_000
"""From so many characters on progress is shown."""
_MOST_OFFSETS = 2_000_000
"""Characters whose offsets are held, those of the last document aside."""
# What a line may have before its words, and the lines that begin a block without a blank line before them
_BEFORE_WORDS = re.compile(r"[ \t>#*+\-•|.):`~\d\[\]]*")
_BEGINS_BLOCK = re.compile(r"[ \t>]*(?:[-*+•] |\d+[.)] |#{1,6} |\||`{3,}|~{3,}|:::|!!!|<|\.\. |$)")
_IS_BEFORE_BLOCK = re.compile(r"[ \t>]*(?:#{1,6} .*|(?:`{3,}|~{3,}|:::|!!!).*|)")


_CJK = "\u2e80"
"""From here on a word is a character."""


class Spot(NamedTuple):
    """A span of a document without its format."""

    document: int
    """Index into the documents."""
    start: int
    """First character."""
    end: int
    """One past the last."""


class FoldedDocuments:
    """Documents without their format (`fold_format`).

    Offsets take sixteen times the memory of the text, so those of the last few documents alone are held.

    Args:
        documents: the source texts.
        what: what the progress is of.
    """

    def __init__(self, documents: Sequence[Document], what: str) -> None:
        self.documents = tuple(documents)
        self.number = {document.id: number for number, document in enumerate(documents)}
        self.texts: list[str] = []
        size = sum(len(document.text) for document in documents)
        self.show = None if size > _SHOWN else False
        with track(what, size, "characters", show=self.show) as advance:
            for document in documents:
                self.texts.append(fold_format(document.text).text)
                advance(len(document.text))
        self._offsets_of: dict[int, NormalizedText] = {}

    def text(self, spot: Spot) -> str:
        """Return the folded text of a span."""
        return self.texts[spot.document][spot.start : spot.end]

    def spot(self, place: Place) -> Spot | None:
        """Return the folded span of a place; None if formatting is all that is there."""
        number = self.number[place.doc_id]
        offsets = self._offsets(number)
        start = int(np.searchsorted(offsets.starts, place.start))
        end = int(np.searchsorted(offsets.ends, place.end, side="right"))
        text = offsets.text[start:end]
        start, end = start + len(text) - len(text.lstrip()), end - (len(text) - len(text.rstrip()))
        return Spot(number, start, end) if start < end else None

    def place(self, spot: Spot, *, with_number: bool = False) -> Place:
        """Return the place of a folded span in its document.

        Args:
            spot: the span.
            with_number: whether a number that was left out before it belongs to it.
        """
        offsets, document = self._offsets(spot.document), self.documents[spot.document]
        start, end = offsets.source_span(spot.start, spot.end)
        if with_number:
            start -= len(_left_out(offsets, document.text, spot.start))
        return Place(document.id, start, end)

    def has_number(self, spot: Spot, place: Place) -> bool:
        """Whether a place includes what was left out before its first character, or nothing was."""
        offsets = self._offsets(spot.document)
        left_out = _left_out(offsets, self.documents[spot.document].text, spot.start)
        return place.start <= int(offsets.starts[spot.start]) - len(left_out)

    def source(self, place: Place) -> str:
        """Return the text at a place, as it is in its document."""
        return self.documents[self.number[place.doc_id]].text[place.start : place.end]

    def find(self, texts: Sequence[str], what: str) -> list[list[Spot]]:
        """Return the spans at which folded texts occur that neither begin nor end in mid-word.

        Args:
            texts: what is looked for.
            what: what the progress is of.
        """
        found: list[list[Spot]] = [[] for _ in texts]
        if not texts:
            return found
        lengths = [len(text) for text in texts]
        with track(what, sum(map(len, self.texts)), "characters", show=self.show) as advance:
            for number, occurrences in enumerate(Patterns(texts).find(self.texts)):
                text = self.texts[number]
                for pattern, start in zip(occurrences.pattern.tolist(), occurrences.position.tolist(), strict=True):
                    end = start + lengths[pattern]
                    if not (_in_word(text, start) or _in_word(text, end)):
                        found[pattern].append(Spot(number, start, end))
                advance(len(text))
        return found

    def _offsets(self, number: int) -> NormalizedText:
        found = self._offsets_of.pop(number, None) or fold_format(self.documents[number].text)
        while self._offsets_of and sum(len(each.text) for each in self._offsets_of.values()) > _MOST_OFFSETS:
            del self._offsets_of[next(iter(self._offsets_of))]
        self._offsets_of[number] = found
        return found


def _left_out(offsets: NormalizedText, text: str, start: int) -> str:
    """Return the number before a character that was left out, if there was one."""
    before = int(offsets.ends[start - 1]) if start else 0
    return text[before : int(offsets.starts[start])].lstrip()


def _in_word(text: str, at: int) -> bool:
    """Whether a word, or a row of one sign as `##`, goes on across an offset."""
    if not 0 < at < len(text):
        return False
    one, two = text[at - 1], text[at]
    return one == two if not two.isalnum() else one.isalnum() and two < _CJK


def is_whole_lines(text: str, start: int, end: int) -> bool:
    """Whether a span begins where the words of a line do, and ends at the end of a line."""
    first, last = _line(text, start, end)
    return _BEFORE_WORDS.fullmatch(text, first, start) is not None and not text[end:last].strip(" \t\\|")


def is_whole_blocks(text: str, start: int, end: int) -> bool:
    """Whether a span is whole lines, and paragraphs, items, headings or rows of a table begin and end with them."""
    if not is_whole_lines(text, start, end):
        return False
    first, last = _line(text, start, end)
    before = text[text.rfind("\n", 0, max(first - 1, 0)) + 1 : max(first - 1, 0)]
    after = text[last + 1 : last + 100].split("\n", 1)[0]
    begins = _IS_BEFORE_BLOCK.fullmatch(before) or _BEGINS_BLOCK.match(text[first:last])
    return begins is not None and _BEGINS_BLOCK.match(after) is not None


def whole_lines(document: Document, place: Place) -> Place:
    """Return a place widened to whole lines, without white space at its ends."""
    first, last = _line(document.text, place.start, place.end)
    found = document.text[first:last]
    return Place(place.doc_id, first + len(found) - len(found.lstrip()), last - (len(found) - len(found.rstrip())))


def _line(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the line of the first character begins, and where that of the last ends."""
    last = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, last if last >= 0 else len(text)
