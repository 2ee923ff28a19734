"""The passages of a corpus: which are related, which are others, and how hard BM25 finds them."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from raglift.errors import ConfigurationError
from raglift.judging.generating.passages import usable_passages
from raglift.printable import counted
from raglift.retrieval import BM25Retriever
from raglift.text import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from raglift.records import Chunk, Document, Fact, Passage

__all__ = ["Passages"]

_NEAR = 2  # passages: one that is as near belongs to the same place
_RELATED = 30
_RARE_WORDS = 8
_MOST_SHARED = 0.02
_DEEP = 10
_COVERED = 0.5
_WORD = re.compile(r"\w+")


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
        return Counter(word for chunk in self.chunks for word in set(_words(chunk.text)))

    def best(self, question: str, count: int) -> list[int]:
        """Return BM25's first passages for a question."""
        return [self._number[hit.chunk.id] for hit in self._bm25.retrieve([question], count)[0].hits]

    def related(self, number: int) -> Iterator[int]:
        """Yield passages that share the rarest words of one, in other places, the most alike first.

        The words are eight, those in the fewest passages, but in two at least and in 2 % at most.
        """
        most = max(3, int(_MOST_SHARED * len(self.chunks)))
        words = sorted(set(_words(self.chunks[number].text)), key=lambda word: (self._occurrences[word], word))
        rare = [word for word in words if 2 <= self._occurrences[word] <= most and not word.isdigit()][:_RARE_WORDS]
        if not rare:
            return
        near = self._near(number)
        yield from (
            other for other in self.best(" ".join(rare), _RELATED) if self._is_usable(other) and other not in near
        )

    def other(self, number: int, seed: int) -> int | None:
        """Return a usable passage from another place, at random; None where there is none.

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
        """Return the passages of the same document that belong to the same place as one."""
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


def _words(text: str) -> list[str]:
    return _WORD.findall(normalize(text))
