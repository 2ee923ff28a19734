"""Rankings as other tools take them: ids with scores, each id once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from raglift.run_files.exporting.descending import by_rank, descending

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.records import Run

__all__ = ["IdRankings", "ScoredIds"]


class ScoredIds(NamedTuple):
    """One query's ranking."""

    query_id: str
    ids: Sequence[str]
    """Best first, each once."""
    scores: Sequence[float]
    """Strictly descending in single precision."""


_Given = tuple[str, list[str], "list[float | None] | None"]
"""A query's id, the ids in order, and their scores; None for no scores at all. Where they come from is walked through
more than once, so that no other form of them is whole in memory."""


@dataclass(frozen=True, eq=False)
class _OfStage:
    run: Run
    stage: str

    def __iter__(self) -> Iterator[_Given]:
        for trace in self.run.traces:
            hits = next((done.ranking.hits for done in trace.stages if done.stage == self.stage), ())
            yield trace.query_id, [hit.chunk.id for hit in hits], [hit.score for hit in hits]


@dataclass(frozen=True, eq=False)
class _OfIds:
    rankings: Mapping[str, Iterable[str]]
    scores: Mapping[str, Iterable[float]] | None

    def __iter__(self) -> Iterator[_Given]:
        for query, ids in self.rankings.items():
            yield query, list(ids), None if self.scores is None else list(self.scores.get(query, ()))


@dataclass(frozen=True, eq=False)
class IdRankings:
    """What one stage returned, as ids with scores that descend strictly; iterated query by query.

    An id that a ranking holds more than once stands at its first place alone. The stage's own scores are taken where
    they tell the order of every ranking; else, for all of its rankings, scores that count down to 1.
    """

    name: str
    """The stage; the tag of a TREC run."""
    source: Iterable[_Given]
    own_scores: bool
    """Whether the scores are the stage's own."""
    lowered: int
    """How many of its own scores were lowered by the smallest step, because they equalled the one before."""
    queries: int
    hits: int
    """How many there are, without the repeated ones."""
    repeated: Mapping[str, int]
    """For each query whose ranking held an id more than once: how many hits are left out."""
    empty: tuple[str, ...]
    """The queries with no hits."""

    @classmethod
    def of_stage(cls, run: Run, stage: str) -> IdRankings:
        """Return what a stage of a run returned."""
        return cls._surveyed(stage, _OfStage(run, stage))

    @classmethod
    def of_ids(
        cls, rankings: Mapping[str, Iterable[str]], scores: Mapping[str, Iterable[float]] | None, name: str
    ) -> IdRankings:
        """Return rankings that are lists of ids, with their scores if there are any."""
        return cls._surveyed(name, _OfIds(rankings, scores))

    @classmethod
    def _surveyed(cls, name: str, source: Iterable[_Given]) -> IdRankings:
        queries = hits = lowered = 0
        own_scores = True
        repeated: dict[str, int] = {}
        empty = []
        for query, ids, scores in source:
            kept, kept_scores = _each_once(ids, scores)
            queries += 1
            hits += len(kept)
            if not kept:
                empty.append(query)
            if len(kept) < len(ids):
                repeated[query] = len(ids) - len(kept)
            found = descending(kept_scores) if own_scores and kept_scores is not None else None
            if found is not None:
                lowered += found.lowered
            elif kept:
                own_scores = False
        return cls(name, source, own_scores, lowered if own_scores else 0, queries, hits, repeated, tuple(empty))

    def __iter__(self) -> Iterator[ScoredIds]:
        for query, ids, scores in self.source:
            kept, kept_scores = _each_once(ids, scores)
            found = descending(kept_scores or ()) if self.own_scores else None
            yield ScoredIds(query, kept, by_rank(len(kept)) if found is None else found.scores)


def _each_once(ids: list[str], scores: list[float | None] | None) -> tuple[list[str], list[float | None] | None]:
    if len(set(ids)) == len(ids):
        return ids, scores
    first: dict[str, int] = {}
    for place, each in enumerate(ids):
        first.setdefault(each, place)
    return list(first), None if scores is None else [scores[place] for place in first.values()]
