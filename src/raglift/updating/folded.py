"""Documents without their format, and spans of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raglift.auditing.records import Place
from raglift.text.occurrences import Patterns
from raglift.text.reformatting import fold_format, numbers
from raglift.utilities.progress import track

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.text.normalization import NormalizedText
    from raglift.text.reformatting import Number
    from raglift.types.documents import Document

_SHOWN = 2_000_000
"""From so many characters on progress is shown."""
_MOST_OFFSETS = 2_000_000
"""Characters whose offsets are held, those of the last document aside."""
# What a line may have before its words, and the lines that begin a block without a blank line before them
_BEFORE_WORDS = re.compile(
    r"(?:[ \t>*+\-•|:`~\[\]_]|#+[ \t]+(?:\d{1,3}(?:\.\d{1,3})*[.)]?[ \t])?|\d{1,3}(?:\.\d{1,3}){0,8}[.)][ \t])*"
)
_BLOCK = r"[ \t>]*(?:[-*+•] |\d+[.)] |#{1,6} |\||`{3,}|~{3,}|:::|!!!|<|\.\. |\r?$)"
_BEGINS_BLOCK = re.compile(_BLOCK)
_IS_BEFORE_BLOCK = re.compile(r"[ \t>]*(?:#{1,6} .*|(?:`{3,}|~{3,}|:::|!!!).*|\r?)")
# Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U000fffff]")
_ENDS_SENTENCE = re.compile(
    rf"[.!?][\"'”’“»)\]*_]*\s+|[。！？]|\f|^[ \t>]*#.*\n|\n(?={_BLOCK})|\n[ \t>]*(?:[-*+•]|\d+[.)]) ", re.MULTILINE
)
_SENTENCE = 600
"""Characters of a sentence before and after a passage."""


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
        self._held = 0
        self._numbers_of: dict[str, tuple[list[Number], dict[tuple[str, str], int]]] = {}

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

    def numbers(self, place: Place) -> dict[tuple[str, str], bool]:
        """Return the marks and numbers that were left out at a place, and whether each is one of a list."""
        if place.doc_id not in self._numbers_of:
            found = numbers(self.documents[self.number[place.doc_id]].text)
            self._numbers_of[place.doc_id] = found, {each[1:]: each.start for each in reversed(found)}
        of, first_at = self._numbers_of[place.doc_id]
        first, last = bisect_left(of, (place.start,)), bisect_left(of, (place.end,))
        return {each[1:]: each.is_in(first_at) for each in of[first:last]}

    def source(self, place: Place) -> str:
        """Return the text at a place, as it is in its document."""
        return self.documents[self.number[place.doc_id]].text[place.start : place.end]

    def find(self, texts: Mapping[str, tuple[bool, bool]], what: str) -> dict[str, list[Spot]]:
        """Return the spans at which folded texts occur."""
        found: dict[str, list[Spot]] = {text: [] for text in texts}
        if not texts:
            return found
        wanted = list(texts)
        with track(what, sum(map(len, self.texts)), "characters", show=self.show) as advance:
            for number, occurrences in enumerate(Patterns(wanted).find(self.texts)):
                for pattern, start in zip(occurrences.pattern.tolist(), occurrences.position.tolist(), strict=True):
                    text = wanted[pattern]
                    spot = Spot(number, start, start + len(text))
                    if all(may or not cuts for may, cuts in zip(texts[text], self.cuts(spot), strict=True)):
                        found[text].append(spot)
                advance(len(self.texts[number]))
        return found

    def cuts(self, spot: Spot) -> tuple[bool, bool]:
        """Whether a span begins, and whether it ends, in mid-word, or within a mark such as `###` or `6.3.`."""
        text, start = self.texts[spot.document], spot.start
        is_after_number = text[start] in ".)" and text[max(start - 1, 0)].isdecimal()
        return is_after_number or _is_inside(text, start), _is_inside(text, spot.end)

    def _offsets(self, number: int) -> NormalizedText:
        found = self._offsets_of.pop(number, None)
        if found is None:
            found = fold_format(self.documents[number].text)
            self._held += len(found.text)
            while self._offsets_of and self._held > _MOST_OFFSETS:
                self._held -= len(self._offsets_of.pop(next(iter(self._offsets_of))).text)
        self._offsets_of[number] = found
        return found


def _left_out(offsets: NormalizedText, text: str, start: int) -> str:
    """Return the number before a character that was left out, if there was one."""
    before = int(offsets.ends[start - 1]) if start else 0
    return text[before : int(offsets.starts[start])].lstrip()


def _is_inside(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before.isalnum() and after.isalnum():
        return not (_UNSPACED.match(before) or _UNSPACED.match(after))
    return before == after and after in "#*_~`>=-"


def is_whole_lines(text: str, start: int, end: int) -> bool:
    """Whether a span begins where the words of a line do, and ends at the end of a line."""
    first, last = _line(text, start, end)
    return _BEFORE_WORDS.fullmatch(text, first, start) is not None and not text[end:last].strip(" \t\r\\|")


def is_whole_blocks(text: str, start: int, end: int) -> bool:
    """Whether a span is whole lines, and paragraphs, items, headings or rows of a table begin and end with them."""
    if not is_whole_lines(text, start, end):
        return False
    first, last = _line(text, start, end)
    before = text[text.rfind("\n", 0, max(first - 1, 0)) + 1 : max(first - 1, 0)]
    after = text[last + 1 : last + 100].split("\n", 1)[0]
    begins = _IS_BEFORE_BLOCK.fullmatch(before) or _BEGINS_BLOCK.match(text[first:last])
    return begins is not None and _BEGINS_BLOCK.match(after) is not None


def is_set_aside(text: str, start: int) -> bool:
    """Whether a place is within a comment or a quotation of Markdown."""
    is_comment = text.rfind("<!--", 0, start) > text.rfind("-->", 0, start)
    return is_comment or text[(line := text.rfind("\n", 0, start) + 1) : line + 10].lstrip(" \t").startswith(">")


def list_of(text: str, start: int) -> str | None:
    """Return the heading above an item of a list; None for what is no item."""
    line = text.rfind("\n", 0, start) + 1
    if not re.match(r"[ \t>]*[-*+•] ", text[line : line + 100]):
        return None
    above = text.rfind("\n#", 0, line) + 1
    return fold_format(text[above : above + 500].split("\n", 1)[0]).text if text.startswith("#", above) else ""


def letters(text: str) -> int:
    """Return how many letters and digits a text has; one of Chinese, Japanese or Korean counts as three."""
    return sum(3 if letter >= "\u2e80" else 1 for letter in text if letter.isalnum())


def rest_of_sentence(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what a sentence has before and after a span of it, without its format."""
    before, after = text[max(0, start - _SENTENCE) : start], text[max(start, end - 10) : end + _SENTENCE]
    first = max((found.end() for found in _ENDS_SENTENCE.finditer(before)), default=0)
    passage = min(10, end - start)
    ended = next((found.start() for found in _ENDS_SENTENCE.finditer(after) if found.end() > passage), len(after))
    return fold_format(before[first:]).text, fold_format(after[passage : max(passage, ended + 1)]).text


def whole_words(text: str, spot: Spot) -> Spot:
    """Return a span widened to whole words, without white space at its ends."""
    start, end = spot.start, min(spot.end, len(text))
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end -= len(text[start:end]) - len(text[start:end].rstrip())
    while start < end and start and not text[start - 1].isspace():
        start -= 1
    while start < end < len(text) and not text[end].isspace():
        end += 1
    return Spot(spot.document, start, end)


def whole_lines(document: Document, place: Place) -> Place:
    """Return a place widened to whole lines, without white space at its ends."""
    first, last = _line(document.text, place.start, place.end)
    found = document.text[first:last]
    return Place(place.doc_id, first + len(found) - len(found.lstrip()), last - (len(found) - len(found.rstrip())))


def _line(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the line of the first character begins, and where that of the last ends."""
    last = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, last if last >= 0 else len(text)
