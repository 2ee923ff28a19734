"""Passages that a question can be written about: whole sentences of documents, without those that carry nothing."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.chunking import RecursiveChunker
from raglift.chunking.protocol import check_sizes, chunks_at
from raglift.records import Document
from raglift.text import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.chunking.protocol import Span
    from raglift.records import Chunk

__all__ = ["LEFT_OUT", "SentenceChunker", "Usable", "usable_passages"]

LEFT_OUT = {
    "short": "under 150 bytes of UTF-8 (150 English letters, 50 Chinese ones), of which nothing can be asked",
    "digits or markup": "under 65 % of its characters, white space left out, are letters",
    "no sentences": "under half of it lies in sentences: a list of headings, a table of contents, a table",
    "boilerplate": "two or more phrases of copyright notices, cookie banners and tables of contents (English only)",
    "repeated": "over half of it, in runs of eight words, stands in a passage before it",
}
"""Why a passage is left out, each by its rule; the first that holds is counted."""

_SHORTEST = 150  # bytes
_LEAST_LETTERS = 0.65
_LEAST_IN_SENTENCES = 0.5
_SENTENCE_BYTES = 30  # in UTF-8: about ten Chinese characters, or six English words
_RUN = 8  # words
_MOST_REPEATED = 0.5
_BOILERPLATE = re.compile(
    r"©|\b(?:all rights reserved|copyright|terms of (?:use|service)|privacy policy|cookies?|table of contents|"
    r"unsubscribe|log ?in|sign up|project gutenberg|isbn|no part of this (?:book|publication))\b",
    re.IGNORECASE,
)
# Also of Arabic, Urdu, and the scripts of India
_SENTENCE_END = re.compile(r"[.!?…؟۔।॥][\"'”’»)\]]*(?=\s|$)|[。！？][”’」』）]*")
_BREAK = re.compile(rf"(?:{_SENTENCE_END.pattern})\s*|\n\s*\n\s*")


@dataclass(frozen=True)
class SentenceChunker:
    """Whole paragraphs together as far as they fit; a longer paragraph is cut between sentences, without overlap.

    A sentence that alone is longer is cut at lines and words.

    Raises:
        ConfigurationError: a size that is not positive.
    """

    size: int = 800
    """The most characters in a passage."""

    def __post_init__(self) -> None:
        check_sizes(self.size, 0, "characters")

    def __str__(self) -> str:
        return f"sentences:{self.size}"

    def split(self, documents: Iterable[Document]) -> tuple[Chunk, ...]:
        """Split each document; chunk ids are the document's id and the chunk's offsets."""
        return tuple(chunk for document in documents for chunk in chunks_at(document, self._spans(document)))

    def _spans(self, document: Document) -> Iterator[Span]:
        text = document.text
        for paragraphs in RecursiveChunker(self.size, 0, separators=("\n\n",)).split([document]):
            start, end = _stripped(text, paragraphs.start or 0, paragraphs.end or 0)
            if end - start <= self.size:
                yield from [(start, end)] if start < end else []
            else:
                yield from self._merged(text, _sentences(text, start, end))

    def _merged(self, text: str, sentences: Iterable[Span]) -> Iterator[Span]:
        """Yield runs of neighbouring sentences, as long as may be."""
        begin = last = None
        for start, end in sentences:
            if begin is not None and last is not None and end - begin > self.size:
                yield begin, last
                begin = None
            if end - start > self.size:
                yield from self._cut(text, start, end)
                continue
            begin, last = (start if begin is None else begin), end
        if begin is not None and last is not None:
            yield begin, last

    def _cut(self, text: str, start: int, end: int) -> Iterator[Span]:
        for piece in RecursiveChunker(self.size, 0).split([Document("sentence", text[start:end])]):
            yield from _present(text, start + (piece.start or 0), start + (piece.end or 0))


@dataclass(frozen=True)
class Usable:
    """The passages of a corpus, and which of them are asked about."""

    chunks: tuple[Chunk, ...]
    """All of them, in the order of the documents."""
    numbers: tuple[int, ...]
    """Which of them carry enough to be asked about."""
    left_out: Mapping[str, int]
    """How many of the others were left out, by reason."""


def usable_passages(documents: Sequence[Document], size: int) -> Usable:
    """Cut documents into passages, and leave out those that carry nothing, by the rules of `LEFT_OUT`."""
    chunks = SentenceChunker(size).split(documents)
    seen: set[int] = set()
    numbers = []
    left_out: Counter[str] = Counter()
    for number, chunk in enumerate(chunks):
        reason = _nothing_in(chunk.text) or _repeats(chunk.text, seen)
        if reason is None:
            numbers.append(number)
        else:
            left_out[reason] += 1
    return Usable(chunks, tuple(numbers), {reason: left_out[reason] for reason in LEFT_OUT if left_out[reason]})


def _nothing_in(text: str) -> str | None:
    """Return why nothing can be asked of a text; None where something can."""
    solid = "".join(text.split())
    if _bytes(text) < _SHORTEST:
        return "short"
    if sum(map(_is_letter, solid)) < _LEAST_LETTERS * len(solid):
        return "digits or markup"
    if _in_sentences(text) < _LEAST_IN_SENTENCES * len(text):
        return "no sentences"
    return "boilerplate" if len(_BOILERPLATE.findall(text)) > 1 else None


def _is_letter(character: str) -> bool:
    """Whether it is a letter, or a sign on one: in the scripts of India and Thailand these are vowels."""
    return character.isalpha() or unicodedata.category(character)[0] == "M"


def _in_sentences(text: str) -> int:
    """Return how many characters lie in sentences: what ends as one does, and is long enough for one."""
    pieces = (text[start:end] for start, end in _sentences(text, 0, len(text)))
    return sum(len(piece) for piece in pieces if _SENTENCE_END.search(piece) and _bytes(piece) >= _SENTENCE_BYTES)


def _bytes(text: str) -> int:
    """Return the length in UTF-8, in which what says much in few characters is long."""
    return len(text.encode("utf-8", "replace"))


def _repeats(text: str, seen: set[int]) -> str | None:
    """Note the runs of words of a text; return `repeated` where most of them were noted before."""
    words = normalize(text).split()
    runs = [hash(tuple(words[at : at + _RUN])) for at in range(max(1, len(words) - _RUN + 1))]
    known = sum(run in seen for run in runs)
    seen.update(runs)
    return "repeated" if known > _MOST_REPEATED * len(runs) else None


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences of a span, without the white space between them."""
    begin = start
    for found in _BREAK.finditer(text, start, end):
        yield from _present(text, begin, found.end())
        begin = found.end()
    yield from _present(text, begin, end)


def _present(text: str, start: int, end: int) -> Iterator[Span]:
    start, end = _stripped(text, start, end)
    if start < end:
        yield start, end


def _stripped(text: str, start: int, end: int) -> Span:
    """Return a span without the white space at its ends."""
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip())
    return start, start + len(inner.strip())
