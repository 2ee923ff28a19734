"""Scores for (query, text) pairs: each distinct pair once, in planned batches, kept in the cache."""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from raglift.cache import Cache, content_key, default_cache
from raglift.errors import ModelOutputError
from raglift.progress import track
from raglift.records import Hit, Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Pair", "PairReranker"]

Pair = tuple[str, str]
"""A query's text and a chunk's text."""


class PairReranker(ABC):
    """A reranker that scores a query and a text together, and sorts by the score.

    A subclass says how pairs are put into batches and how a batch is scored. Batches are planned from the whole
    sorted list before the cache is asked, and a batch with anything missing is scored whole, because the
    composition of a batch changes the last bits of a score.

    Args:
        cache: where scores are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.
    """

    def __init__(self, *, cache: Cache | None = None, progress: bool | None = None) -> None:
        self._cache = cache
        self._progress = progress

    @property
    @abstractmethod
    def identity(self) -> str:
        """Everything that decides a score besides the pair: model, revision, dtype, settings."""

    @abstractmethod
    def plan(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        """Put distinct pairs into batches, in an order that depends on nothing but the pairs."""

    @abstractmethod
    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return one score a pair; higher is better."""

    def __str__(self) -> str:
        return self.identity

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Sort the hits of each ranking by their score; equal scores keep their order.

        Raises:
            ModelOutputError: the model gave a score that is not a number.
        """
        pairs = {(query, hit.chunk.text) for query, ranking in zip(queries, rankings, strict=True) for hit in ranking}
        scores = self.scores(sorted(pairs))
        return [
            _sorted_by_score(ranking, [scores[query, hit.chunk.text] for hit in ranking])
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    def scores(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        """Score distinct pairs.

        Raises:
            ModelOutputError: the model gave a score that is not a number.
        """
        if not pairs:
            return {}
        cache = default_cache() if self._cache is None else self._cache
        identity = self.identity
        keys = {pair: content_key("score", identity, *pair) for pair in pairs}
        entries = cache.get_many(keys.values())
        missing = [batch for batch in self.plan(pairs) if any(keys[pair] not in entries for pair in batch)]
        with track("rerank", sum(map(len, missing)), "pairs", show=self._progress) as advance:
            for batch in reversed(missing):  # longest first, so that the time left is not underestimated
                made = {keys[pair]: _packed(pair, score) for pair, score in zip(batch, self.score(batch), strict=True)}
                new = {key: value for key, value in made.items() if key not in entries}
                cache.put_many(new)
                entries.update(new)
                advance(len(batch))
        return {pair: struct.unpack("<d", entries[keys[pair]])[0] for pair in pairs}


def _packed(pair: Pair, score: float) -> bytes:
    if not math.isfinite(score):
        raise ModelOutputError(
            f"the reranker gave {score} for the query {pair[0][:80]!r} and a text of {len(pair[1])} characters; "
            "expected a number (float16 overflows on some models: try dtype='float32')"
        )
    return struct.pack("<d", score)


def _sorted_by_score(ranking: Ranking, scores: Sequence[float]) -> Ranking:
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    return Ranking(tuple(Hit(ranking[place].chunk, rank, scores[place]) for rank, place in enumerate(order, 1)))
