"""Which new document is an old one, and what is the same in both, in the same order."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.types.documents import Document
    from raglift.updating.folded import FoldedDocuments

_SHORT, _LONG, _SAME_NAME = 0.8, 0.5, 0.1
"""The least share of a renamed document that the new one has: of a short one, of a long one or one that begins alike,
and if the files have one name."""
_MANY_ROWS = 100
"""A document with as many rows of its own is long."""
_WINDOW = 6
"""Words of a text that is the same in both versions of a document, and occurs once in each."""
_HEADING = re.compile(r"^##? .+", re.MULTILINE)
_WORDS = re.compile(r"\S+")


def partners_of(old: FoldedDocuments, new: FoldedDocuments) -> dict[int, int]:
    """Return the new document of each old one: that of the same id, or the one that it was renamed to.

    A document whose id is gone was renamed to the document with a new id that has most of what no other old document
    had, in rows of six words: at least 80%, or 50% if it is long or both begin with the same line, or 10% if the files
    have one name.
    No other may be as good, and it may not have as many such rows of another document that is gone.
    """
    partners = {number: new.number[id_] for id_, number in old.number.items() if id_ in new.number}
    lost = {number: _rows(text) for number, text in enumerate(old.texts) if number not in partners}
    if not lost:
        return partners
    owners = Counter(row for rows in lost.values() for row in rows)
    for number in partners:
        owners.update(_rows(old.texts[number]) & owners.keys())
    documents_of: dict[str, list[int]] = {}
    for number in set(new.number.values()).difference(partners.values()):
        for row in _rows(new.texts[number]) & owners.keys():
            documents_of.setdefault(row, []).append(number)
    best: dict[int, list[tuple[int, int]]] = {}
    for number, rows in lost.items():
        own = [row for row in rows if owners[row] == 1]
        shared = Counter(document for row in own for document in documents_of.get(row, ()))
        (first, count), (_, other) = [*shared.most_common(2), (-1, 0), (-1, 0)][:2]
        least = _least_share(old.documents[number], new.documents[first], len(own)) if count > other else 0.0
        if count > other and count >= len(own) * least:
            best.setdefault(first, []).append((count, number))
    for document, candidates in best.items():
        (count, number), (other, _) = [*sorted(candidates, reverse=True), (0, -1)][:2]
        if count > other:
            partners[number] = document
    return partners


def _least_share(old: Document, new: Document, rows: int) -> float:
    if old.id.rpartition("/")[2] == new.id.rpartition("/")[2]:
        return _SAME_NAME
    return _LONG if rows >= _MANY_ROWS or _begin_alike(old.text, new.text) else _SHORT


def _begin_alike(old: str, new: str) -> bool:
    """Whether the first lines of two texts are the same."""
    first, other = (text.strip().split("\n", 1)[0].strip(" #") for text in (old, new))
    return first == other


def has_section(new: str, old: str, at: int) -> bool:
    """Whether a text of Markdown has the `#` or `##` heading above a place in another: the last that is there once."""
    count = Counter(_HEADING.findall(old))
    own = [found[0] for found in _HEADING.finditer(old, 0, at) if count[found[0]] == 1]
    return bool(own) and own[-1] in _HEADING.findall(new)


def share_of(old: str, new: str) -> float:
    """Return the share of a text's rows of six words that another text has; of a shorter text, 1 if it is the same."""
    rows, others = _rows(" ".join(old.split())), _rows(" ".join(new.split()))
    return len(rows & others) / len(rows) if rows else float(old.split() == new.split())


def _rows(text: str) -> set[str]:
    return {row for row, _ in _windows(text)}


class Anchor(NamedTuple):
    """A row of words that is in two versions of a document."""

    old: int
    """Where it begins in the old one."""
    old_end: int
    new: int
    """Where it begins in the new one."""
    new_end: int


def anchors_of(old: str, new: str) -> list[Anchor]:
    """Return the same words in two versions of a document, or of a part of it, in order in both.

    These are the rows of six words that occur once in each version; of those that change places, the longest row that
    keeps its order is taken (a patience diff by words, so that wrapping makes no difference).
    """
    there = {words: at for words, at in _windows(new) if at >= 0}
    pairs = sorted((at, there[words], len(words)) for words, at in _windows(old) if at >= 0 and words in there)
    ends: list[int] = []
    last: list[int] = []
    before = [-1] * len(pairs)
    for number, (_, at, _) in enumerate(pairs):
        place = bisect_left(ends, at)
        before[number] = last[place - 1] if place else -1
        ends[place : place + 1], last[place : place + 1] = [at], [number]
    anchors: list[Anchor] = []
    number = last[-1] if last else -1
    while number >= 0:
        at, to, length = pairs[number]
        anchors.append(Anchor(at, at + length, to, to + length))
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
