"""Passages that questions are written about: how they are found, sampled and related to each other."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from raglift.base.display import counted
from raglift.base.normalization import normalize
from raglift.base.words import words_of
from raglift.components.bm25 import BM25Retriever
from raglift.components.chunkers import RecursiveChunker, check_sizes, chunks_at
from raglift.errors import ConfigurationError
from raglift.records.documents import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.components.chunkers import Span
    from raglift.records.documents import Chunk
    from raglift.records.labels import Fact, Passage


# Passages that a question can be written about: whole sentences of documents that carry information.


LEFT_OUT = {
    "short": "under 150 bytes of UTF-8 (150 English letters, 50 Chinese ones), of which nothing can be asked",
    "digits or markup": "under 65% of its characters, white space left out, are letters",
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
    """Return why nothing can be asked of a text; None if something can."""
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


# The passages of a corpus: related passages, distractors, and how hard they are for BM25.


_NEAR = 2  # passages: one that is as near belongs to the same place
_RELATED = 30
_RARE_WORDS = 8
_MOST_SHARED = 0.02
_DEEP = 10
_COVERED = 0.5


class Passages:
    """All passages of a corpus, under one BM25 index.

    Args:
        documents: the corpus.
        size: the most characters of a passage.

    Raises:
        ConfigurationError: the size is not positive, or no passage carries anything to ask about.
        MissingDependency: bm25s is not installed.
    """

    def __init__(self, documents: Sequence[Document], size: int) -> None:
        usable = usable_passages(documents, size)
        if not usable.numbers:
            left_out = ", ".join(f"{reason} {count:,}" for reason, count in usable.left_out.items()) or "nothing"
            read = counted(len(documents), "document")
            raise ConfigurationError(
                f"generate: found no passage to ask about in {read} (left out: {left_out}); "
                f"expected prose, with a passage size ({size}) that holds some sentences of it"
            )
        self.chunks = usable.chunks
        self.usable = usable.numbers
        self.left_out = usable.left_out
        self._bm25 = BM25Retriever(usable.chunks)
        self._number = {chunk.id: number for number, chunk in enumerate(usable.chunks)}

    @cached_property
    def _occurrences(self) -> Mapping[str, int]:
        """In how many passages each word occurs."""
        return Counter(word for chunk in self.chunks for word in set(words_of(chunk.text)))

    def best(self, question: str, count: int) -> list[int]:
        """Return BM25's first passages for a question."""
        return [self._number[hit.chunk.id] for hit in self._bm25.retrieve([question], count)[0].hits]

    def related(self, number: int) -> Iterator[int]:
        """Yield passages that share the rarest words of one, in other locations, the most alike first.

        The words are eight, those in the fewest passages, but in two at least and in 2 % at most.
        """
        most = max(3, int(_MOST_SHARED * len(self.chunks)))
        words = sorted(set(words_of(self.chunks[number].text)), key=lambda word: (self._occurrences[word], word))
        rare = [word for word in words if 2 <= self._occurrences[word] <= most and not word.isdigit()][:_RARE_WORDS]
        if not rare:
            return
        near = self._near(number)
        yield from (
            other for other in self.best(" ".join(rare), _RELATED) if self._is_usable(other) and other not in near
        )

    def other(self, number: int, seed: int) -> int | None:
        """Return a usable passage from another location, at random; None if there is none.

        It follows from the passage and the seed alone, so the same question is checked with the same passage.
        """
        near = self._near(number)
        first, last = bisect_left(self.usable, near.start), bisect_left(self.usable, near.stop)
        others = len(self.usable) - (last - first)
        if not others:
            return None
        digest = hashlib.sha256(self.chunks[number].id.encode("utf-8", "surrogatepass")).digest()
        random = np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
        at = int(random.integers(others))
        return self.usable[at if at < first else at + last - first]

    def _near(self, number: int) -> range:
        """Return the passages of the same document that belong to the same location as one."""
        around = range(max(0, number - _NEAR), min(len(self.chunks), number + _NEAR + 1))
        same = [other for other in around if self.chunks[other].doc_id == self.chunks[number].doc_id]
        return range(same[0], same[-1] + 1)

    def _is_usable(self, number: int) -> bool:
        at = bisect_left(self.usable, number)
        return at < len(self.usable) and self.usable[at] == number

    def difficulty(self, question: str, facts: Sequence[Fact]) -> str:
        """Return how hard BM25 finds what answers a question, over all passages.

        A fact is found at the first rank whose passage holds at least half of its label's characters. With m facts, a
        question is `easy` where all are found within the first m ranks (one fact: at rank 1), `medium` where they are
        within the first 10, else `hard`.
        """
        hits = [self.chunks[number] for number in self.best(question, _DEEP)]
        ranks = [_rank(hits, fact.passages[0]) for fact in facts]
        last = max(ranks)
        return "easy" if last <= len(facts) else "medium" if last <= _DEEP else "hard"


def _rank(hits: Sequence[Chunk], label: Passage) -> int:
    """Return the first rank that holds enough of a label; one past the last where none does."""
    for rank, hit in enumerate(hits, start=1):
        if hit.doc_id == label.doc_id and _shared(hit, label) >= _COVERED * len(label.text or ""):
            return rank
    return _DEEP + 1


def _shared(hit: Chunk, label: Passage) -> int:
    """Return how many characters of a label lie in a chunk of its document."""
    return min(hit.end or 0, label.end or 0) - max(hit.start or 0, label.start or 0)


# Sampling of passages, spread over all documents and over the whole length of each.


class Sampler:
    """Draws passages, none twice.

    The passages stand in one line, in the order of the documents. A draw of n cuts the line of those that are left
    into n stretches of equal length and takes one at random from each: so a document is drawn from in proportion to
    its length, all parts of it alike, and every passage has a chance.

    Args:
        numbers: the passages, in the order of the documents.
        seed: the same seed gives the same draws.
    """

    def __init__(self, numbers: Iterable[int], seed: int) -> None:
        self._left = set(numbers)
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self._left)

    def draw(self, count: int) -> list[int]:
        """Return so many passages, in order; fewer where fewer are left."""
        count = min(count, len(self._left))
        line = sorted(self._left) if count else []
        bounds = [len(line) * part // max(1, count) for part in range(count + 1)]
        drawn = [line[self._random.integers(low, high)] for low, high in pairwise(bounds)]
        self._left.difference_update(drawn)
        return drawn

    def take(self, candidates: Iterable[int]) -> int | None:
        """Return the first of some passages that was not drawn yet, and draw it; None if all were."""
        found = next((number for number in candidates if number in self._left), None)
        self._left.discard(-1 if found is None else found)
        return found
