"""Passages that questions are written about: how documents are cut into them, and which are chosen."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.chunkers import RecursiveChunker, check_sizes, chunks_at
from raglift.text.normalization import normalize
from raglift.text.words import words_of
from raglift.types.documents import Document
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.retrieval.chunkers import Span
    from raglift.types.documents import Chunk
    from raglift.types.labels import Fact, Passage


LEFT_OUT = {
    "short": "under 150 bytes of UTF-8 (150 English letters, 50 Chinese ones), of which nothing can be asked",
    "digits or markup": "under 65% of its characters, white space left out, are letters",
    "no sentences": "under half of it lies in sentences: a list of headings, a table of contents, a table",
    "repeated": "over half of it, in runs of eight words, stands in a passage before it",
}
"""Why no question is written about a passage, each by its rule; the first that holds is counted."""

_SHORTEST = 150  # bytes
_LEAST_LETTERS = 0.65
_LEAST_IN_SENTENCES = 0.5
_SENTENCE_BYTES = 30  # in UTF-8: about ten Chinese characters, or six English words
_RUN = 8  # words
_MOST_REPEATED = 0.5
# Also of Arabic, Urdu, and the scripts of India
_SENTENCE_END = re.compile(r"[.!?…؟۔।॥][\"'”’»)\]]*(?=\s|$)|[。！？][”’」』）]*")
_BREAK = re.compile(rf"(?:{_SENTENCE_END.pattern})\s*|\n\s*\n\s*")
_PARAGRAPH = re.compile(r"\n\s*\n")

_NEAR = 2  # passages: one that is as near belongs to the same place
_RELATED = 30
_RARE_WORDS = 8
_MOST_SHARED = 0.02
_DEEP = 10
_COVERED = 0.5

DIFFICULTIES = ("easy", "medium", "hard")
"""The tags of how hard BM25 finds a query."""


def split_into_passages(documents: Iterable[Document], size: int) -> tuple[Chunk, ...]:
    """Return whole paragraphs together as far as they fit; a longer one is cut between sentences, without overlap.

    A sentence that alone is longer is cut at lines and words.

    Args:
        documents: the corpus.
        size: the most characters of a passage.

    Raises:
        ConfigurationError: a size that is not positive.
    """
    check_sizes(size, 0, "characters")
    return tuple(chunk for document in documents for chunk in chunks_at(document, _merged(document.text, size)))


def _merged(text: str, size: int) -> Iterator[Span]:
    """Yield runs of neighbouring pieces, as long as may be."""
    begin, last = 0, 0
    for start, end in _pieces(text, size):
        if last and end - begin > size:
            yield begin, last
            last = 0
        begin, last = (begin if last else start), end
    if last:
        yield begin, last


def _pieces(text: str, size: int) -> Iterator[Span]:
    """Yield paragraphs; of one that is too long its sentences, and of such a sentence what fits."""
    for paragraph in _between(_PARAGRAPH, text, (0, len(text))):
        for start, end in [paragraph] if paragraph[1] - paragraph[0] <= size else _between(_BREAK, text, paragraph):
            if end - start <= size:
                yield start, end
                continue
            for part in RecursiveChunker(size, 0).split([Document("sentence", text[start:end])]):
                yield from _between(None, text, (start + (part.start or 0), start + (part.end or 0)))


def _between(breaks: re.Pattern[str] | None, text: str, span: Span) -> Iterator[Span]:
    """Yield what lies between breaks in a span, each with its own end and without white space around it."""
    start, end = span
    for stop in (*(found.end() for found in breaks.finditer(text, start, end)), end) if breaks else (end,):
        inner = text[start:stop]
        first = start + len(inner) - len(inner.lstrip())
        if inner.strip():
            yield first, first + len(inner.strip())
        start = stop


def _why_left_out(text: str) -> str | None:
    """Return why nothing can be asked of a text; None if something can."""
    solid = "".join(text.split())
    if _bytes(text) < _SHORTEST:
        return "short"
    # a sign on a letter is a vowel in the scripts of India and Thailand
    if sum(one.isalpha() or unicodedata.category(one)[0] == "M" for one in solid) < _LEAST_LETTERS * len(solid):
        return "digits or markup"
    pieces = (text[start:end] for start, end in _between(_BREAK, text, (0, len(text))))
    sentences = (one for one in pieces if _SENTENCE_END.search(one) and _bytes(one) >= _SENTENCE_BYTES)
    return "no sentences" if sum(map(len, sentences)) < _LEAST_IN_SENTENCES * len(text) else None


def _bytes(text: str) -> int:
    """Return the length in UTF-8, in which a script that says much in few characters is long."""
    return len(text.encode("utf-8", "replace"))


class Passages:
    """All passages of a corpus, under one BM25 index, and those that questions are written about.

    Args:
        documents: the corpus.
        size: the most characters of a passage.

    Raises:
        ConfigurationError: the size is not positive, or no passage carries anything to ask about.
        MissingDependency: bm25s is not installed.
    """

    def __init__(self, documents: Sequence[Document], size: int) -> None:
        self.chunks = split_into_passages(documents, size)
        """All of them, in the order of the documents."""
        self.usable: list[int] = []
        """Which of them carry enough to be asked about."""
        counts: Counter[str] = Counter()
        seen: set[int] = set()
        for number, chunk in enumerate(self.chunks):
            reason = _why_left_out(chunk.text)
            if reason is None:
                words = normalize(chunk.text).split()
                runs = [hash(tuple(words[at : at + _RUN])) for at in range(max(1, len(words) - _RUN + 1))]
                if sum(run in seen for run in runs) > _MOST_REPEATED * len(runs):
                    reason = "repeated"
                seen.update(runs)
            if reason is None:
                self.usable.append(number)
            else:
                counts[reason] += 1
        self.left_out = {reason: counts[reason] for reason in LEFT_OUT if counts[reason]}
        """How many of the others there are, by reason."""
        if not self.usable:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.left_out.items()) or "nothing"
            raise ConfigurationError(
                f"generate: found no passage to ask about in {counted(len(documents), 'document')} "
                f"(left out: {reasons}); expected prose, with a passage size ({size}) that holds some sentences of it"
            )
        self._bm25 = BM25Retriever(self.chunks)
        self._number = {chunk.id: number for number, chunk in enumerate(self.chunks)}

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
        near, usable = self._near(number), set(self.usable)
        for other in self.best(" ".join(rare), _RELATED) if rare else ():
            if other in usable and other not in near:
                yield other

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
        at = int(np.random.default_rng([seed, int.from_bytes(digest[:8], "little")]).integers(others))
        return self.usable[at if at < first else at + last - first]

    def _near(self, number: int) -> range:
        """Return the passages of the same document that belong to the same location as one."""
        around = range(max(0, number - _NEAR), min(len(self.chunks), number + _NEAR + 1))
        same = [other for other in around if self.chunks[other].doc_id == self.chunks[number].doc_id]
        return range(same[0], same[-1] + 1)

    def difficulty(self, question: str, facts: Sequence[Fact]) -> str:
        """Return how hard BM25 finds what answers a question, over all passages.

        A fact is found at the first rank whose passage holds at least half of its label's characters. With m facts, a
        question is `easy` if all are found within the first m ranks (one fact: at rank 1), `medium` if they are within
        the first 10, else `hard`.
        """
        hits = [self.chunks[number] for number in self.best(question, _DEEP)]
        last = max(_rank(hits, fact.passages[0]) for fact in facts)
        return "easy" if last <= len(facts) else "medium" if last <= _DEEP else "hard"


def _rank(hits: Sequence[Chunk], label: Passage) -> int:
    """Return the first rank that holds enough of a label; one past the last if none does."""
    for rank, hit in enumerate(hits, start=1):
        shared = min(hit.end or 0, label.end or 0) - max(hit.start or 0, label.start or 0)
        if hit.doc_id == label.doc_id and shared >= _COVERED * len(label.text or ""):
            return rank
    return _DEEP + 1


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
        """Return so many passages, in order; fewer if fewer are left."""
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
