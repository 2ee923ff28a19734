"""Scores for (query, text) pairs: each distinct pair once, kept in the cache."""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

from raglift.cache import Cache, content_key, default_cache
from raglift.errors import ModelOutputError
from raglift.progress import track
from raglift.records import Hit, Ranking
from raglift.work import HERE, Workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Pair", "PairReranker", "sorted_by_score"]

Pair = tuple[str, str]
"""A query's text and a chunk's text."""


class PairReranker(ABC):
    """A reranker that scores a query and a text together, and sorts by the score.

    A subclass says how pairs are put into batches and how a batch is scored. Only the pairs that the cache lacks are
    put into batches, so a pair's score must not depend on what else is in its batch (see `raglift.batches`).

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
        """Put distinct pairs into batches, longest last."""

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
            sorted_by_score(ranking, [scores[query, hit.chunk.text] for hit in ranking])
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    def scores(self, pairs: Sequence[Pair], *, workers: Workers = HERE) -> dict[Pair, float]:
        """Score distinct pairs, asking the cache first; only what it lacks goes through the model.

        Args:
            pairs: queries with texts.
            workers: who computes the batches; the calling process alone writes to the cache.

        Raises:
            ModelOutputError: the model gave a score that is not a number.
        """
        if not pairs:
            return {}
        cache = self._used_cache()
        identity = self.identity
        keys = _keys(identity, pairs)
        entries = cache.get_many(keys.values())
        missing = sorted(pair for pair, key in keys.items() if key not in entries)
        with track("rerank", len(missing), "pairs", show=self._progress) as advance:
            batches = self.plan(missing) if missing else []
            # Longest first, so that the time left is not underestimated
            for batch, made in workers.map(partial(_entries_of, self, identity), batches[::-1]):
                cache.put_many(made)
                entries.update(made)
                advance(len(batch))
        return {pair: struct.unpack("<d", entries[keys[pair]])[0] for pair in pairs}

    def missing(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the distinct pairs whose scores the cache lacks, sorted, without loading the model."""
        if not self.has_known_identity:
            return sorted(set(pairs))
        keys = _keys(self.identity, pairs)
        entries = self._used_cache().get_many(keys.values())
        return sorted(pair for pair, key in keys.items() if key not in entries)

    @property
    def has_known_identity(self) -> bool:
        """Whether the identity can be told without loading the model."""
        return True

    def _used_cache(self) -> Cache:
        return default_cache() if self._cache is None else self._cache

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the cache: whoever receives the reranker computes, and the sender keeps the scores."""
        return vars(self) | {"_cache": None}


def _keys(identity: str, pairs: Iterable[Pair]) -> dict[Pair, bytes]:
    return {pair: content_key("score", identity, *pair) for pair in dict.fromkeys(pairs)}


def _entries_of(reranker: PairReranker, identity: str, batch: Sequence[Pair]) -> dict[bytes, bytes]:
    """Score one batch, for the identity of whoever asked: another machine may know the same model by another."""
    keys = _keys(identity, batch)
    return {keys[pair]: _packed(pair, score) for pair, score in zip(batch, reranker.score(batch), strict=True)}


def _packed(pair: Pair, score: float) -> bytes:
    if not math.isfinite(score):
        raise ModelOutputError(
            f"the reranker gave {score} for the query {pair[0][:80]!r} and a text of {len(pair[1])} characters; "
            "expected a number (float16 overflows on some models: try dtype='float32')"
        )
    return struct.pack("<d", score)


def sorted_by_score(ranking: Ranking, scores: Sequence[float]) -> Ranking:
    """Return the hits by their scores, one a hit, highest first; equal scores keep their order."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    return Ranking(tuple(Hit(ranking[place].chunk, rank, scores[place]) for rank, place in enumerate(order, 1)))
