"""Passages that questions are written about."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.retrieval.bm25 import BM25Retriever
from raglift.retrieval.chunkers import RecursiveChunker
from raglift.text.normalization import normalize
from raglift.text.words import words_of
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.types.documents import Document


_SHORTEST = 150  # bytes in UTF-8: 150 English letters, 50 Chinese ones
_LEAST_LETTERS = 0.65
_LEAST_IN_SENTENCES = 0.5
# Also of Arabic, Urdu, and the scripts of India
_SENTENCE_END = re.compile(r"[.!?…؟۔।॥][\"'”’»)\]]*(?=\s|$)|[。！？][”’」』）]*")
_PARAGRAPH = re.compile(r"\n\s*\n")
_NEAR = 2  # passages: one that is as near belongs to the same place
_RELATED = 30
_RARE_WORDS = 8
_MOST_SHARED = 0.02


def _why_left_out(text: str) -> str | None:
    """Return why nothing can be asked of a text; None if something can."""
    if len(text.encode("utf-8", "replace")) < _SHORTEST:
        return "short"
    solid = "".join(text.split())
    # A sign on a letter is a vowel in the scripts of India and Thailand
    if sum(one.isalpha() or unicodedata.category(one)[0] == "M" for one in solid) < _LEAST_LETTERS * len(solid):
        return "digits or markup"
    in_sentences = 0
    for paragraph in _PARAGRAPH.split(text):
        in_sentences += max((found.end() for found in _SENTENCE_END.finditer(paragraph)), default=0)
    return "no sentences" if in_sentences < _LEAST_IN_SENTENCES * len(text) else None


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
        self.chunks = RecursiveChunker(size, 0).split(documents)
        """All of them, in the order of the documents."""
        self.usable: list[int] = []
        """Which of them carry enough to be asked about."""
        counts: Counter[str] = Counter()
        seen: set[str] = set()
        for number, chunk in enumerate(self.chunks):
            words = normalize(chunk.text)
            reason = _why_left_out(chunk.text) or ("repeated" if words in seen else None)
            seen.add(words)
            if reason is None:
                self.usable.append(number)
            else:
                counts[reason] += 1
        self.left_out: Mapping[str, int] = dict(counts)
        """How many of the others there are, by reason."""
        if not self.usable:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in counts.items()) or "nothing"
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
        usable, doc_id = set(self.usable), self.chunks[number].doc_id
        for other in self.best(" ".join(rare), _RELATED) if rare else ():
            if other in usable and (self.chunks[other].doc_id != doc_id or abs(other - number) > _NEAR):
                yield other
