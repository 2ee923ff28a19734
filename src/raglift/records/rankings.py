"""What a system returned: hits in order, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from raglift.records.corpus import Chunk
    from raglift.records.cost import Cost

__all__ = ["Hit", "Inventory", "Ranking", "Run", "StageInfo", "StageTrace", "Trace"]


@dataclass(frozen=True)
class Hit:
    """A chunk at a rank with a score."""

    chunk: Chunk
    """What was returned; its id survives every reranker."""
    rank: int
    """1 is the first."""
    score: float | None = None
    """As the stage gave it, on the stage's own scale; None when it gave none."""


@dataclass(frozen=True)
class Ranking:
    """The ordered hits of one query after one stage."""

    hits: tuple[Hit, ...] = ()
    """Best first; ranks run from 1 without gaps."""

    @classmethod
    def of(cls, scored: Iterable[tuple[Chunk, float | None]]) -> Ranking:
        """Build a ranking from chunks and scores that are already in order, best first."""
        return cls(tuple(Hit(chunk, rank, score) for rank, (chunk, score) in enumerate(scored, start=1)))

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks in order."""
        return tuple(hit.chunk for hit in self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]


@dataclass(frozen=True)
class StageTrace:
    """What one stage did to one query."""

    stage: str
    """The stage's name: `retrieve`, `rerank`, …"""
    ranking: Ranking
    """The hits after the stage."""
    seconds: float
    """Time of the call; for a stage that takes all queries at once, its share of the batch."""


@dataclass(frozen=True)
class Trace:
    """What happened to one query: its ranking and seconds per stage, or its error."""

    query_id: str
    """The id of the query."""
    stages: tuple[StageTrace, ...] = ()
    """The stages that finished, in order."""
    error: str | None = None
    """Why the query failed, and in which stage; None when it did not."""


@dataclass(frozen=True)
class StageInfo:
    """A named step of a system, as it was run."""

    name: str
    """Unique within the system: `retrieve`, `rerank`, …"""
    system: str
    """What did the work: class, model, settings that matter."""
    depth_fixed: tuple[str, ...] = ()
    """The parts whose depth (k or top_n) could not be set; figures at a deeper k are marked."""
    batched: bool = False
    """Whether all queries went in at once, so that seconds are shares of a batch."""


@dataclass(frozen=True, repr=False)
class Inventory:
    """What is known of all chunks of an index: those that any label could match."""

    chunks: int
    """How many chunks there are."""
    touching: tuple[Chunk, ...] = ()
    """The chunks that share anything with a passage of a labelled query, or abut it."""
    touches: tuple[tuple[int, int, int, int], ...] = ()
    """Which of them touches which passage: the number of the query, of the fact among all facts of labelled queries,
    of the alternative in the fact, and of the chunk in `touching`."""
    minimum_length: int = 20
    """A chunk of fewer normalized characters was not looked for inside a longer passage."""
    unicode_folding: bool = False
    """Whether texts were folded before they were compared."""
    abutting: bool = False
    """Whether chunks that only abut a passage were looked for; they were not by 0.1.0."""

    def __repr__(self) -> str:
        return f"Inventory({self.chunks:,} chunks, {len(self.touching):,} of them touch a passage)"


@dataclass(frozen=True)
class Run:
    """The traces of one system over one dataset, with what was asked of it."""

    stages: tuple[StageInfo, ...]
    """The steps of the system, in order."""
    traces: tuple[Trace, ...]
    """One for each query of the dataset, in its order."""
    spec: Mapping[str, Any]
    """What was asked: candidates, models, settings, versions, dataset hash."""
    notes: tuple[str, ...] = ()
    """What the reader of the figures should know: failures, cut chunks, unverified offsets, …"""
    inventory: Inventory | None = None
    """What is known of the index's chunks; None for a system that does not tell them."""
    cost: Cost | None = None
    """What the answers cost in time and space; None when nothing is known."""
