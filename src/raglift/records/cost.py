"""What a system's answers cost: seconds per stage, queries a second, and the index behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Cost", "IndexCost", "StageLatency"]


@dataclass(frozen=True)
class StageLatency:
    """How long one stage took for one query, over the queries that were asked one at a time.

    Percentiles are interpolated linearly between the two nearest of the sorted times (NumPy's default).
    """

    stage: str
    """The stage's name: `retrieve`, `rerank`, …"""
    queries: int
    """How many queries came through the stage; the percentiles are over these."""
    p50: float
    """The median, in seconds; NaN when no query came through."""
    p95: float
    """The 95th percentile, in seconds; NaN when no query came through."""
    failed: int = 0
    """How many queries failed in the stage; they are left out of the percentiles."""


@dataclass(frozen=True)
class IndexCost:
    """What an index took to build, and what it holds."""

    chunks: int
    """How many chunks are indexed."""
    distinct_texts: int
    """How many different texts they have."""
    embedded_now: int
    """How many distinct texts went through the embedding model when the index was built; the vectors of the others
    were in the cache. 0 for an index without vectors."""
    seconds: float | None
    """Wall time of embedding and indexing, without loading the model; None when vectors came from the cache,
    because then nobody waited for them."""
    bytes: int
    """Size of the vectors, or of the postings and the vocabulary; the chunks' texts are not counted."""

    @classmethod
    def together(cls, parts: Sequence[IndexCost]) -> IndexCost:
        """Return the cost of several indexes over the same chunks, as a hybrid retriever has them.

        Texts embedded, seconds and bytes add up; the chunks are counted once. The seconds are None when any part's are.

        Args:
            parts: at least one.
        """
        seconds = [part.seconds for part in parts if part.seconds is not None]
        return cls(
            chunks=max(part.chunks for part in parts),
            distinct_texts=max(part.distinct_texts for part in parts),
            embedded_now=sum(part.embedded_now for part in parts),
            seconds=sum(seconds) if len(seconds) == len(parts) else None,
            bytes=sum(part.bytes for part in parts),
        )


@dataclass(frozen=True)
class Cost:
    """Cost beside quality; the machine it was measured on is in the run's spec, under `environment`."""

    latencies: tuple[StageLatency, ...] = ()
    """Seconds of each stage, in the order of the stages, from a pass of its own: one query at a time, models warm,
    cache off. Empty when it was not asked for."""
    whole: StageLatency | None = None
    """Seconds of all stages together, over the queries that came through them all; None when it was not asked for."""
    index: IndexCost | None = None
    """What the index took; None for a system that does not say."""
    throughput: Mapping[str, float | None] = field(default_factory=dict)
    """For each stage, queries answered a second when all queries of the dataset were asked, at the run's concurrency;
    None where answers came from the cache. Empty when latency was not asked for: perhaps no model was loaded."""
    tokens_billed: int | None = None
    """How many tokens a provider counted; None when none did."""
    dollars: float | None = None
    """What a provider's tokens cost, in US dollars; None when it is not known."""
