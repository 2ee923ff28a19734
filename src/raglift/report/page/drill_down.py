"""The queries one by one: what each needs, what each stage returned, and what matched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from raglift.records import Passage

__all__ = ["DrillDown", "QueryDetail", "ShownChunk", "ShownHit", "ShownMatch", "View", "ViewDetail"]


@dataclass(frozen=True)
class View:
    """A ranking that every query has: one stage of one system."""

    system: str
    """The system's name; empty where there is only one."""
    stage: str
    """The stage's name."""
    title: str
    """What to call it: `before (retrieve)`, or the system's name."""


class ShownMatch(NamedTuple):
    """How a hit bears on a passage of a fact."""

    fact: int
    """Which fact of the query, from 0."""
    passage: int
    """Which alternative of the fact, from 0."""
    direction: int
    """One of the values of `raglift.matching.Direction`."""
    counts: bool
    """Whether the match rule calls it a match; else it only covers a part."""
    satisfies: bool
    """Whether with this hit the fact is satisfied for the first time, or with a better grade."""
    covered: float | None
    """The share of the passage's characters that the hit covers; None for a chunk-id label."""
    start: int
    """The first matched character of the chunk's shown text; …"""
    end: int
    """… one past the last; both 0 where none is shown."""


class ShownHit(NamedTuple):
    """A hit of a view: its rank, its chunk by number, its score and its matches."""

    rank: int
    chunk: int
    score: float | None
    matches: tuple[ShownMatch, ...]


class ShownChunk(NamedTuple):
    """A distinct chunk, told once."""

    document: str
    """The id of its document; empty when not known."""
    start: int | None
    end: int | None
    text: str
    """Its text, or as much of it as there is room for."""
    left_out: int
    """How many characters at the end are not shown."""
    skipped: int = 0
    """How many at the beginning are not shown; `ShownMatch` counts from the first that is."""


@dataclass(frozen=True)
class ViewDetail:
    """What one view has of one query."""

    hits: tuple[ShownHit, ...]
    """Those that are shown, by rank: the first ones, all that match anything, and all of the chunks that are shown in
    another view of the query. So a chunk that is shown there and not here was not returned here."""
    returned: int
    """How many hits there were."""
    values: tuple[float, ...]
    """For each metric; NaN where the query is left out of the mean."""
    facts: tuple[int | None, ...]
    """For each fact, the rank at which it is satisfied; None for never."""
    error: str | None = None
    """Why the query failed, if it did."""


@dataclass(frozen=True)
class QueryDetail:
    """One query."""

    id: str
    text: str
    tags: tuple[str, ...]
    answerable: bool
    facts: tuple[tuple[Passage, ...], ...]
    """For each fact, its alternatives."""
    views: tuple[ViewDetail, ...]
    """In the order of the drill-down's views."""
    fates: tuple[tuple[str, ...], ...]
    """For each system, what became of each fact: an outcome of `LossBreakdown`, as `found` or `not_retrieved`."""


@dataclass(frozen=True)
class DrillDown:
    """All queries, with everything that the page shows of them."""

    views: tuple[View, ...]
    systems: tuple[str, ...]
    """The systems' names, in the order of `QueryDetail.fates`."""
    left: int
    """The view that is shown at first as `before`."""
    right: int
    """The view that is shown at first as `after`; the same as `left` where there is only one."""
    metrics: tuple[str, ...]
    """The metrics as they are written: `NDCG@10`."""
    primary: int
    """Which of them decides."""
    k: int
    """The depth at which a fact counts as found."""
    match: str
    """The match rule, in words."""
    chunks: tuple[ShownChunk, ...]
    queries: tuple[QueryDetail, ...]
    notes: tuple[str, ...] = ()
    """What was left out to keep the page small."""
