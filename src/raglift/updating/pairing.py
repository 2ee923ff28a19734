"""Which new document is an old one, and what is the same in both, in the same order."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.updating.folded import FoldedDocuments

_LINE = 20
"""Characters of a line that documents have in common because one is the other under a new name."""
_HALF = 0.5
"""The share of the lines of a renamed document that it still has."""
_SAME_NAME = 0.1
"""The same for a document that was moved to another folder."""
_WINDOW = 6
"""Words of a text that is the same in both versions of a document, and occurs once in each."""
_WORDS = re.compile(r"\S+")


def partners_of(old: FoldedDocuments, new: FoldedDocuments) -> dict[int, int]:
    """Return the new document of each old one: that of the same id, or the one that it was renamed to.

    A document whose id is gone was renamed to the document with a new id that has most of its lines: at least half of
    them, or a tenth if the file has the same name. No other may be as good, and it may have no more of another document
    that is gone.
    """
    partners = {number: new.number[id_] for id_, number in old.number.items() if id_ in new.number}
    lost = [number for number in range(len(old.documents)) if number not in partners]
    documents_of: dict[str, list[int]] = {}
    for id_, number in new.number.items():
        if lost and id_ not in old.number:
            for line in _lines(new.documents[number].text):
                documents_of.setdefault(line, []).append(number)
    best: dict[int, list[tuple[int, int]]] = {}
    for number in lost:
        lines = _lines(old.documents[number].text)
        shared = Counter(document for line in lines for document in documents_of.get(line, ()))
        (first, count), (_, other) = [*shared.most_common(2), (-1, 0), (-1, 0)][:2]
        if first >= 0 and count > other:
            has_name = _name(new.documents[first].id) == _name(old.documents[number].id)
            if count >= (_SAME_NAME if has_name else _HALF) * len(lines):
                best.setdefault(first, []).append((count, number))
    for document, candidates in best.items():
        (count, number), (other, _) = [*sorted(candidates, reverse=True), (0, -1)][:2]
        if count > other:
            partners[number] = document
    return partners


def _name(doc_id: str) -> str:
    return doc_id.rpartition("/")[2]


def _lines(text: str) -> set[str]:
    return {line for line in map(str.strip, text.splitlines()) if len(line) >= _LINE}


def anchors_of(old: str, new: str) -> list[tuple[int, int]]:
    """Return where the same words begin in two versions of a document, in order in both.

    These are the rows of six words that occur once in each version; of those that change places, the longest row that
    keeps its order is taken (a patience diff by words, so that wrapping makes no difference).

    Args:
        old: the folded text of a document.
        new: that of its new version.
    """
    there = {words: at for words, at in _windows(new) if at >= 0}
    pairs = sorted((at, there[words]) for words, at in _windows(old) if at >= 0 and words in there)
    ends: list[int] = []
    last: list[int] = []
    before = [-1] * len(pairs)
    for number, (_, at) in enumerate(pairs):
        place = bisect_left(ends, at)
        before[number] = last[place - 1] if place else -1
        ends[place : place + 1], last[place : place + 1] = [at], [number]
    anchors: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        anchors.append(pairs[number])
        number = before[number]
    return anchors[::-1]


def _windows(text: str) -> Iterator[tuple[str, int]]:
    """Yield each row of six words with its place; -1 if it occurs more than once."""
    spans = [found.span() for found in _WORDS.finditer(text)]
    places: dict[str, int] = {}
    for (start, _), (_, end) in zip(spans, spans[_WINDOW - 1 :], strict=False):
        words = text[start:end]
        places[words] = -1 if words in places else start
    yield from places.items()
