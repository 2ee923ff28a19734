"""Lexical retrieval: BM25 by the library bm25s."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError, MissingDependency
from raglift.records import IndexCost, Ranking
from raglift.text import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Chunk

__all__ = ["BM25Retriever"]

_WORD = re.compile(r"\w+")


class BM25Retriever:
    """Ranks chunks by BM25 (Lucene's variant, k1 = 1.5, b = 0.75) over lower-cased words, without stemming.

    Args:
        chunks: at least one.

    Raises:
        ConfigurationError: there is no chunk, or no chunk has a word.
        MissingDependency: bm25s is not installed.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        try:
            import bm25s
        except ImportError:
            raise MissingDependency("bm25s", "local", "BM25 retrieval") from None
        started = time.perf_counter()
        words = [_words(chunk.text) for chunk in chunks]
        if not any(words):
            raise ConfigurationError("BM25Retriever: found no words in the chunks; expected at least one")
        self.chunks = tuple(chunks)
        self._model = bm25s.BM25()
        self._model.index(words, show_progress=False)
        self._seconds = time.perf_counter() - started

    def __str__(self) -> str:
        return f"bm25 ({len(self.chunks):,} chunks)"

    @property
    def cost(self) -> IndexCost:
        """What the index took to build, and the size of its postings and vocabulary."""
        return IndexCost(
            chunks=len(self.chunks),
            distinct_texts=len({chunk.text for chunk in self.chunks}),
            embedded_now=0,
            seconds=self._seconds,
            bytes=_bytes_of(self._model),
        )

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the best `k` chunks of each query; chunks that share no word with it are left out."""
        if not queries:
            return []
        depth = min(k, len(self.chunks))
        rankings = []
        for query in queries:
            numbers, scores = self._model.retrieve([_words(query)], k=depth, show_progress=False)
            found = zip(numbers[0].tolist(), scores[0].tolist(), strict=True)
            rankings.append(Ranking.of((self.chunks[number], score) for number, score in found if score > 0))
        return rankings


def _words(text: str) -> list[str]:
    return _WORD.findall(normalize(text))


def _bytes_of(model: Any) -> int:
    postings = sum(getattr(array, "nbytes", 0) for array in model.scores.values())
    return int(postings) + sum(len(word.encode("utf-8", "surrogatepass")) for word in model.vocab_dict)
