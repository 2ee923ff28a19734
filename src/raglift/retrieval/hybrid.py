"""Several retrievers' rankings as one, by weighted reciprocal rank fusion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.records import IndexCost, Ranking
from raglift.retrieval.notation import RRF_CONSTANT, checked_constant, checked_weights
from raglift.retrieval.protocol import Retriever

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Chunk

__all__ = ["HybridRetriever", "fuse"]


class HybridRetriever:
    """Asks several retrievers and fuses their rankings by `fuse`.

    Args:
        retrievers: at least two that take all queries at once, as `DenseRetriever` and `BM25Retriever`, over chunks
            that share their ids.
        weights: one above 0 for each; by default all alike.
        constant: what is added to each rank.
        depth: how many hits each retriever is asked for where that is more than are asked of the hybrid. None asks for
            as many as are asked of the hybrid: then its rankings are the fusion of what the retrievers return alone.

    Raises:
        ConfigurationError: fewer than two retrievers, something that is not a retriever, or a weight, a constant or a
            depth that makes no sense.
    """

    def __init__(
        self,
        retrievers: Sequence[Retriever],
        weights: Sequence[float] | None = None,
        *,
        constant: int = RRF_CONSTANT,
        depth: int | None = None,
    ) -> None:
        self.retrievers = tuple(retrievers)
        for retriever in self.retrievers:
            if isinstance(retriever, type) or not isinstance(retriever, Retriever):
                raise ConfigurationError(
                    f"HybridRetriever: found a {type(retriever).__name__}; expected objects with retrieve(queries, k)"
                )
        if len(self.retrievers) < 2:
            raise ConfigurationError(f"HybridRetriever: found {len(self.retrievers)} retrievers; expected two or more")
        if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 1):
            raise ConfigurationError(f"HybridRetriever: found the depth {depth!r}; expected an integer, 1 or more")
        self.weights = _weights(weights, len(self.retrievers))
        self.constant = checked_constant(constant)
        self.depth = depth

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks that the retrievers choose from, each once; empty where one does not tell its own."""
        parts: list[Sequence[Chunk]] = [getattr(retriever, "chunks", ()) for retriever in self.retrievers]
        return tuple({chunk.id: chunk for part in parts for chunk in part}.values()) if all(parts) else ()

    @property
    def cost(self) -> IndexCost | None:
        """What the retrievers' indexes took together; None where one does not say."""
        costs = [getattr(retriever, "cost", None) for retriever in self.retrievers]
        told = [cost for cost in costs if isinstance(cost, IndexCost)]
        return IndexCost.together(told) if len(told) == len(costs) else None

    def __str__(self) -> str:
        parts = " + ".join(
            f"{weight:g} × {retriever}" for weight, retriever in zip(self.weights, self.retrievers, strict=True)
        )
        deeper = "" if self.depth is None else f", depth {self.depth}"
        return f"hybrid (reciprocal rank fusion, constant {self.constant}{deeper}: {parts})"

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the best `k` chunks of each query; the score is that of the fusion."""
        depth = max(k, self.depth or 0)
        rankings = [retriever.retrieve(queries, depth) for retriever in self.retrievers]
        return fuse(rankings, self.weights, self.constant, k)


def fuse(
    rankings_by_part: Sequence[Sequence[Ranking]],
    weights: Sequence[float] | None = None,
    constant: int = RRF_CONSTANT,
    k: int | None = None,
) -> list[Ranking]:
    """Fuse several retrievers' rankings of the same queries: weighted reciprocal rank fusion.

    The score of a chunk is Σ weight / (constant + rank) over the rankings that hold it, by its id (Cormack, Clarke and
    Büttcher, “Reciprocal rank fusion outperforms Condorcet and individual rank learning methods”, SIGIR 2009, where
    all weights are 1). It lies in (0, Σ weights / (constant + 1)]. Chunks of the same score keep the order of the first
    ranking, then of the second, and so on. A chunk that a ranking holds twice counts there once, at its better rank.

    Args:
        rankings_by_part: for each retriever, one ranking a query, in the order of the queries.
        weights: one above 0 for each retriever; by default all 1.
        constant: what is added to each rank; the larger, the less the first ranks stand out.
        k: the most hits of each query; None for all.

    Raises:
        ConfigurationError: no retriever, weights or a constant that make no sense, or unequal numbers of rankings.
    """
    checked = _weights(weights, len(rankings_by_part))
    added = checked_constant(constant)
    counts = {len(rankings) for rankings in rankings_by_part}
    if len(counts) != 1:
        raise ConfigurationError(
            f"fuse: found rankings of {' and '.join(map(str, sorted(counts))) or 'no'} queries; "
            "expected rankings of the same queries from each retriever"
        )
    return [_fused(rankings, checked, added, k) for rankings in zip(*rankings_by_part, strict=True)]


def _fused(rankings: Sequence[Ranking], weights: Sequence[float], constant: int, k: int | None) -> Ranking:
    chunks: dict[str, Chunk] = {}
    ranks: dict[str, list[float]] = {}
    for part, ranking in enumerate(rankings):
        for rank, hit in enumerate(ranking, start=1):
            chunks.setdefault(hit.chunk.id, hit.chunk)
            places = ranks.setdefault(hit.chunk.id, [math.inf] * len(rankings))
            places[part] = min(places[part], rank)
    # fsum, for sums that do not depend on which retriever comes first: else ties would be broken by a last bit
    scores = {
        chunk_id: math.fsum(weight / (constant + rank) for weight, rank in zip(weights, places, strict=True))
        for chunk_id, places in ranks.items()
    }
    best = sorted(ranks, key=lambda chunk_id: (-scores[chunk_id], ranks[chunk_id]))
    return Ranking.of((chunks[chunk_id], scores[chunk_id]) for chunk_id in best[:k])


def _weights(weights: Sequence[float] | None, parts: int) -> tuple[float, ...]:
    return (1.0,) * parts if weights is None else checked_weights(weights, parts)
