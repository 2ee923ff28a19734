"""Which retrieved texts are in a text that a model was given: a prompt, or what a tool answered.

Prompts have texts as they are, or as a part of JSON or of Python's `repr`, and white space may have changed. A text
that was cut off is there by its beginning.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.adapters.stages import place_in
from raglift.types.rankings import Hit, Ranking

if TYPE_CHECKING:
    from raglift.types.documents import Chunk


_LEAST = 40
"""So many characters a beginning has at least, white space folded: shorter ones may be in a prompt by chance."""
_TAKEN = "\x00"


class _Prompt:
    """A text in which others are looked for, white space folded.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self._text = _folded(text)
        self._left = self._text

    def find(self, text: str) -> int | None:
        """Return where a text is as a whole; None if it is not there."""
        return next((at for form in _forms(text) if (at := self._text.find(form)) >= 0), None)

    def has_in_order(self, texts: Iterable[str]) -> bool:
        """Whether all texts are there as a whole, each behind the one before it."""
        end = 0
        for text in texts:
            ends = (at + len(form) for form in _forms(text) if (at := self._text.find(form, end)) >= 0)
            end = next(ends, -1)
            if end < 0:
                return False
        return True

    def take(self, texts: Iterable[str]) -> None:
        """Take whole texts away, so that what others begin with is not found in them."""
        for form in sorted({form for text in texts for form in _forms(text)}, key=len, reverse=True):
            self._left = self._left.replace(form, _TAKEN * len(form))

    def beginning(self, text: str) -> tuple[int, int] | None:
        """Return where a beginning of a text is, and how many of the text's own characters it has.

        Returns:
            None where it is shorter than what can be told from chance.
        """
        least, most, at = 0, len(text), -1
        while least < most:  # what begins with a beginning that is there is there too
            length = (least + most + 1) // 2
            found = self._place(text[:length])
            if found < 0:
                most = length - 1
            else:
                least, at = length, found
        return (at, least) if len(_folded(text[:least])) >= _LEAST else None

    def _place(self, text: str) -> int:
        return next((at for form in _forms(text) if (at := self._left.find(form)) >= 0), -1)


def places_of(prompt: str, texts: Sequence[str]) -> list[int]:
    """Return which of some texts are in a prompt, wholly or by their beginning, in the order in which they are there.

    Args:
        prompt: the text that a model was given.
        texts: what is looked for; of equal ones all are there or none.

    Returns:
        The numbers of the texts.
    """
    if _Prompt(prompt).has_in_order(texts):  # a short text may be in a longer one too, ahead of its own place
        return list(range(len(texts)))
    at = {text: place for text, (place, _) in _found(prompt, texts).items()}
    return sorted((number for number, text in enumerate(texts) if text in at), key=lambda one: (at[texts[one]], one))


def hits_in(prompt: str, hits: Iterable[Hit]) -> Ranking:
    """Return the hits that a prompt has, in the order in which they are in it; of equal texts the first hit.

    Args:
        prompt: the text that a model was given.
        hits: what could be in it. Of a hit that was cut off, its beginning is returned, with its place in the document.
    """
    by_text: dict[str, Hit] = {}
    for hit in hits:
        by_text.setdefault(hit.chunk.text, hit)
    found = sorted(_found(prompt, by_text).items(), key=lambda one: one[1][0])
    return Ranking.of((_cut(by_text[text].chunk, length), by_text[text].score) for text, (_, length) in found)


def _found(prompt: str, texts: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return where each text is in a prompt, and how many of its own characters are there; those that are not, not."""
    read, distinct = _Prompt(prompt), dict.fromkeys(texts)
    found = {text: (at, len(text)) for text in distinct if (at := read.find(text)) is not None}
    read.take(found)
    cut = {text: began for text in distinct if text not in found and (began := read.beginning(text)) is not None}
    for text in sorted(cut, key=lambda one: -cut[one][1]):  # of texts that begin alike, the one that goes on longest
        if (began := read.beginning(text)) is not None:
            found[text] = began
            read.take([text[: began[1]]])
    return found


def _cut(chunk: Chunk, length: int) -> Chunk:
    if length == len(chunk.text):
        return chunk
    piece = chunk.text[:length]
    start, end = place_in(chunk, piece)
    return replace(chunk, text=piece, start=start, end=end, origin=None)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _forms(text: str) -> Iterator[str]:
    """Yield how a text may be written in a prompt: as it is, in JSON, in JSON of ASCII alone, in Python's `repr`."""
    seen = set()
    for form in (text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1], repr(text)[1:-1]):
        folded = _folded(form)
        if folded and folded not in seen:
            seen.add(folded)
            yield folded
