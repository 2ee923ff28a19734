"""What is judged: the first hits of several systems, together (pooling, as TREC does)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.records import Chunk, Evaluation, Query

__all__ = ["Pool", "PooledChunk", "PooledQuery", "pool"]


@dataclass(frozen=True)
class PooledChunk:
    """A chunk that some system returned among its first hits."""

    chunk: Chunk
    ranks: Mapping[str, int]
    """Its best rank in each system that returned it, by the names of `Pool.systems`."""


@dataclass(frozen=True)
class PooledQuery:
    """A query, and what the systems returned for it."""

    query: Query
    """With the labels that it has so far."""
    chunks: tuple[PooledChunk, ...]
    """Each distinct one once, by document and place: an order that tells nothing of ranks."""


@dataclass(frozen=True)
class Pool:
    """The pairs of query and chunk that are to be judged."""

    queries: tuple[PooledQuery, ...]
    systems: tuple[str, ...]
    """One a run and stage, as `a/retrieve`; the name of the stage alone where there is one run."""
    depth: int
    """How many hits of each ranking are in it."""
    name: str
    """The dataset's."""

    def __len__(self) -> int:
        return sum(len(each.chunks) for each in self.queries)


def pool(
    evaluations: Evaluation | Sequence[Evaluation] | Mapping[str, Evaluation],
    *,
    depth: int = 10,
) -> Pool:
    """Pool the first hits of every stage of every evaluation.

    Two hits are one chunk where they are the same span of a document, or where one's place is not known and the texts
    are equal after normalization.

    Args:
        evaluations: of the same queries, from `evaluate` or `load_evaluation`; labelled or not.
        depth: how many hits of each ranking.

    Raises:
        ConfigurationError: the queries differ, there is no hit, or the depth is none.
    """
    raise NotImplementedError
