"""Rerankers: their protocols, and those that score pairs of a query and a text, each pair once and cached."""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import IntFlag
from functools import partial
from typing import Any, Protocol, runtime_checkable

from raglift.errors import MissingDependency, ModelError, ModelOutputError
from raglift.retrieval.batches import BATCH_SIZE, HERE, Workers, checked_batch_size, parts_by_length
from raglift.types.rankings import Hit, Ranking, ReadInPart
from raglift.utilities.cache import Cache, content_key, default_cache
from raglift.utilities.progress import track

# The protocols of rerankers, of one method each. A reranker that can take all queries at once implements `Reranker`; a
# remote or framework reranker that takes one query at a time implements `QueryReranker` (or its async version). One
# that knows what its model truncates also has `read_in_part(queries, rankings)`, asked when all is reranked: it gets
# what `rerank` gets and returns a `ReadInPart`, or None where it cannot be known.


@runtime_checkable
class Reranker(Protocol):
    """Reorders the rankings of all queries at once."""

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Return a new ranking for each query, in the order of the queries."""


@runtime_checkable
class QueryReranker(Protocol):
    """Reorders the ranking of one query."""

    def rerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking."""


@runtime_checkable
class AsyncQueryReranker(Protocol):
    """Reorders the ranking of one query, without blocking."""

    async def arerank_one(self, query: str, ranking: Ranking) -> Ranking:
        """Return a new ranking."""


# Scores of (query, text) pairs: each distinct pair is scored once and cached.


Pair = tuple[str, str]
"""A query's text and a chunk's text."""


class Truncated(IntFlag):
    """What of a pair is read by its beginning only."""

    NOTHING = 0
    TEXT = 1
    QUERY = 2


_NOT_KNOWN = b"\xff"
_SCORE = struct.Struct("<d")


class PairReranker(ABC):
    """A reranker that scores a query and a text together, and sorts by the score.

    A subclass says how pairs are scored. Only those that the cache lacks are, so a pair's score must not depend on what
    else is scored with it (see `raglift.retrieval.batches`).

    Args:
        batch_size: the most pairs of a batch.
        cache: where scores are looked up and kept; by default the user's.
        progress: whether to show progress; None decides by the terminal.
    """

    def __init__(
        self, *, batch_size: int = BATCH_SIZE, cache: Cache | None = None, progress: bool | None = None
    ) -> None:
        self.batch_size = checked_batch_size(batch_size)
        self._cache = cache
        self._progress = progress

    @property
    @abstractmethod
    def identity(self) -> str:
        """Everything that decides a score besides the pair: model, revision, dtype, settings."""

    @abstractmethod
    def score(self, batch: Sequence[Pair]) -> list[float]:
        """Return one score a pair; higher is better."""

    def __str__(self) -> str:
        return self.identity

    @property
    def by_pair(self) -> bool:
        """Whether a hit's score is its own, whatever other hits there are: then the order among fewer is known."""
        return type(self).rerank is PairReranker.rerank

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
            # Pairs on one text together; longest first, so that the time left is not underestimated
            parts = parts_by_length([pair[::-1] for pair in missing], lambda pair: len(pair[0]), self.batch_size)
            batches = [[(query, text) for text, query in part] for part in reversed(parts)]
            for batch, scores in workers.map(partial(_checked_scores, self), batches):
                made = dict(zip(_keys(identity, batch).values(), map(_SCORE.pack, scores), strict=True))
                cache.put_many(made)
                entries.update(made)
                advance(len(batch))
        return {pair: _SCORE.unpack(entries[keys[pair]])[0] for pair in pairs}

    def find_truncated(self, pairs: Sequence[Pair]) -> list[Truncated] | None:  # noqa: ARG002
        """Return what the model reads in part of each pair; None where it cannot be known."""
        return None

    def read_in_part(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> ReadInPart | None:
        """Return how many candidates the model reads in part; None where it cannot be known."""
        asked = [(query, [hit.chunk.text for hit in ranking]) for query, ranking in zip(queries, rankings, strict=True)]
        found = self.truncated([(query, text) for query, texts in asked for text in texts])
        return None if found is None else count_truncated(asked, found)

    def truncated(self, pairs: Sequence[Pair]) -> dict[Pair, Truncated] | None:
        """Return what the model reads in part of distinct pairs, asking the cache first; pairs read whole are left out.

        None where it cannot be known: the model does not say, or is not here any more (its scores were in the cache).
        """
        cache, identity = self._used_cache(), self.identity
        keys = {pair: content_key("read-in-part", identity, *pair) for pair in pairs}
        entries = cache.get_many(keys.values())
        missing = sorted(pair for pair, key in keys.items() if key not in entries)
        if missing:
            try:
                found = self.find_truncated(missing)
            except (ModelError, MissingDependency):
                return None
            flags = [_NOT_KNOWN] * len(missing) if found is None else [bytes([part]) for part in found]
            made = {keys[pair]: flag for pair, flag in zip(missing, flags, strict=True)}
            cache.put_many(made)
            entries.update(made)
        if any(entry == _NOT_KNOWN for entry in entries.values()):
            return None
        return {pair: Truncated(entries[key][0]) for pair, key in keys.items() if entries[key] != b"\x00"}

    def _used_cache(self) -> Cache:
        return default_cache() if self._cache is None else self._cache

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the cache: whoever receives the reranker computes, and the sender keeps the scores."""
        return vars(self) | {"_cache": None}


def _keys(identity: str, pairs: Iterable[Pair]) -> dict[Pair, bytes]:
    return {pair: content_key("score", identity, *pair) for pair in dict.fromkeys(pairs)}


def _checked_scores(reranker: PairReranker, batch: Sequence[Pair]) -> list[float]:
    """Score one batch of distinct pairs."""
    scores = reranker.score(batch)
    for (query, text), score in zip(batch, scores, strict=True):
        if not math.isfinite(score):
            raise ModelOutputError(
                f"the reranker gave {score} for the query {query[:80]!r} and a text of {len(text)} characters; "
                "expected a number (float16 overflows on some models: try dtype='float32')"
            )
    return scores


def sorted_by_score(ranking: Ranking, scores: Sequence[float]) -> Ranking:
    """Return the hits by their scores, one a hit, highest first; equal scores keep their order."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    return Ranking(tuple(Hit(ranking[place].chunk, rank, scores[place]) for rank, place in enumerate(order, 1)))


def count_truncated(asked: Iterable[tuple[str, Sequence[str]]], truncated: Mapping[Pair, Truncated]) -> ReadInPart:
    """Count the candidates and the queries that were read in part."""
    found = [[truncated.get((query, text), Truncated.NOTHING) for text in texts] for query, texts in asked]
    return ReadInPart(
        candidates=sum(Truncated.TEXT in part for row in found for part in row),
        of=sum(map(len, found)),
        queries=sum(any(Truncated.QUERY in part for part in row) for row in found),
    )
