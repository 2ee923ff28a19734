"""BM25, through the library bm25s."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.errors import ConfigurationError, MissingDependency
from raglift.retrieval.analyzers import NO_LANGUAGE, Analyzer, language_of
from raglift.types.filters import Filter, by_filter
from raglift.types.rankings import IndexCost, Ranking
from raglift.utilities.cache import content_key
from raglift.utilities.display import short_repr

if TYPE_CHECKING:
    from raglift.types.documents import Chunk


K1, B = 1.2, 0.75
"""Lucene's defaults. Anserini's are 0.9 and 0.4."""
BM25_VERSION = 3
"""Raised whenever the same settings rank otherwise: a sweep that was begun with another is not resumed."""


@dataclass(frozen=True)
class BM25Settings:
    """How BM25 reads texts and weighs terms.

    Raises:
        ConfigurationError: an unknown language or stemmer, or a k1 or b outside its range.
    """

    language: str | None = None
    """An ISO 639-1 code, or `none` for words as they are; None decides by the chunks."""
    stemmer: str | None = None
    """A Snowball stemmer, `porter` or `none`; None for that of the language."""
    k1: float = K1
    """How much a repeated term counts, 0 or more; at 0 it counts once."""
    b: float = B
    """How much longer texts are marked down, from 0 (not at all) to 1 (in proportion to their length)."""

    def __post_init__(self) -> None:
        Analyzer(self.language or "none", self.stemmer)
        for name, most in (("k1", math.inf), ("b", 1.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
                expected = "a number from 0 to 1" if name == "b" else "a number, 0 or more"
                raise ConfigurationError(f"bm25 {name}: found {short_repr(value)}; expected {expected}")

    def changed(self) -> dict[str, str | float]:
        """Return the settings that are not the defaults, by name."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != each.default}

    def retriever(self, chunks: Iterable[Chunk]) -> BM25Retriever:
        """Return a retriever with these settings."""
        return BM25Retriever(chunks, language=self.language, stemmer=self.stemmer, k1=self.k1, b=self.b)


class BM25Retriever:
    """Ranks chunks by BM25 as Lucene computes it.

    The score of a chunk is the sum over the terms t of the query, repeated ones each time, of

        ln(1 + (N − n + ½) / (n + ½)) · f / (f + k1 · (1 − b + b · l / L)),

    with N chunks, n of them with t, f occurrences of t in the chunk, which has l of L terms on average (Robertson and
    Zaragoza, “The Probabilistic Relevance Framework”, 2009, without the constant factor k1 + 1, as Lucene since 8.0).
    Chunks without any term of the query are left out; equal scores keep the order of the chunks.

    Terms are words in lower case, without the stop words of the language, stemmed by Snowball's stemmer for it. Where
    words are not told by spaces, terms are pairs of characters: see `raglift.text.words`.

    Args:
        chunks: at least one.
        language: an ISO 639-1 code as `en`, or `none` for words as they are; by default the chunks are
            identified (`language_of`).
        stemmer: a Snowball stemmer, `porter` or `none`; by default that of the language.
        k1: how much a repeated term counts; Lucene's default.
        b: how much longer chunks are marked down; Lucene's default. Anserini has k1 = 0.9 and b = 0.4.

    Raises:
        ConfigurationError: there is no chunk, no chunk has a word, or a setting that there is not.
        MissingDependency: bm25s is not installed.
    """

    def __init__(
        self,
        chunks: Iterable[Chunk],
        *,
        language: str | None = None,
        stemmer: str | None = None,
        k1: float = K1,
        b: float = B,
    ) -> None:
        try:
            import bm25s
        except ImportError:
            raise MissingDependency("bm25s", None, "BM25 retrieval") from None
        self.settings = BM25Settings(language, stemmer, k1, b)
        started = time.perf_counter()
        self.chunks = tuple(chunks)
        chosen = language_of(chunk.indexed_text for chunk in self.chunks) if language is None else language
        self.analyzer = Analyzer(chosen, stemmer)
        known: dict[str, str] = {}  # a term is one text, however often it occurs: a fifth of the memory
        read = (self.analyzer.terms(chunk.indexed_text) for chunk in self.chunks)
        terms = [[known.setdefault(term, term) for term in each] for each in read]
        if not any(terms):
            found = "no words to look for in the chunks" if self.chunks else "no chunks"
            raise ConfigurationError(f"BM25Retriever: found {found}; expected at least one")
        self._model = bm25s.BM25(k1=float(k1), b=float(b), method="lucene")
        self._model.index(terms, show_progress=False)
        self._seconds = time.perf_counter() - started

    takes_filters = True

    def __str__(self) -> str:
        unknown = self.settings.language is None and self.analyzer.language == NO_LANGUAGE
        language = "unknown language" if unknown else self.analyzer.language
        how = f"{language}: {self.analyzer}; k1={self.settings.k1:g}, b={self.settings.b:g}"
        return f"bm25 ({how}; {len(self.chunks):,} chunks)"

    @property
    def cost(self) -> IndexCost:
        """What the index took to build, and the size of its postings and vocabulary."""
        return IndexCost(
            chunks=len(self.chunks),
            distinct_texts=len({content_key(chunk.indexed_text) for chunk in self.chunks}),
            embedded_now=0,
            seconds=self._seconds,
            bytes=_bytes_of(self._model),
        )

    def retrieve(self, queries: Sequence[str], k: int, filters: Sequence[Filter | None] | None = None) -> list[Ranking]:
        """Return the best `k` chunks of each query; chunks that share no term with it are left out.

        Args:
            queries: their texts.
            k: the most hits of each.
            filters: for each query, which chunks may be found; None for all. Weights of terms stay those of all chunks.
        """
        rankings = [Ranking()] * len(queries)
        for given, places in by_filter(filters, len(queries)).items():
            allowed = None
            if given is not None:
                allowed = np.array([given.matches(chunk.metadata) for chunk in self.chunks], dtype=np.bool_)
            for place in places:
                rankings[place] = self._ranking(queries[place], k, allowed)
        return rankings

    def _ranking(self, query: str, k: int, allowed: np.ndarray[Any, np.dtype[np.bool_]] | None) -> Ranking:
        vocabulary = self._model.vocab_dict
        known = [term for term in self.analyzer.terms(query) if term in vocabulary]
        if not known:
            return Ranking.of(())
        scores = self._model.get_scores(known)
        if allowed is not None:
            scores = np.where(allowed, scores, 0)
        places = _best(scores, k)
        return Ranking.of((self.chunks[place], float(scores[place])) for place in places.tolist())


def _best(scores: np.ndarray[Any, np.dtype[Any]], k: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return the places of the k highest scores above 0, best first, equal ones in order."""
    found = np.flatnonzero(scores > 0)
    if 0 < k < len(found):
        least = np.partition(scores[found], len(found) - k)[len(found) - k]
        found = found[scores[found] >= least]
    return found[np.argsort(-scores[found], kind="stable")][:k]


def _bytes_of(model: Any) -> int:
    postings = sum(getattr(array, "nbytes", 0) for array in model.scores.values())
    return int(postings) + sum(len(word.encode("utf-8", "surrogatepass")) for word in model.vocab_dict)
