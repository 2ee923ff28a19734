"""Queries whose metadata filter was not applied as it should be: too few hits, or hits that do not match it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.types.rankings import Ranking, Run, Trace
from raglift.utilities.display import counted, listed

if TYPE_CHECKING:
    from raglift.types.filters import Filter
    from raglift.types.labels import Query


_NAMED = 3


@dataclass(frozen=True)
class FilterFault:
    """What is wrong with the hits of one query that has a filter."""

    query_id: str
    """Of the query."""
    filter: Filter
    """Its filter."""
    returned: int
    """How many hits came."""
    expected: int | None
    """How many should have come: as many as were asked for, or as match if these are fewer; None if it is not known
    how many chunks match."""
    violating: int
    """How many of the hits do not match the filter."""

    @property
    def is_short(self) -> bool:
        """Whether fewer hits came than should have."""
        return self.expected is not None and self.returned < self.expected


def filter_faults(run: Run, queries: Sequence[Query]) -> dict[str, FilterFault]:
    """Return the queries whose filter was not applied as it should be, by id; those that failed are left out."""
    mark = run.spec["filtered"]
    rankings = {trace.query_id: _ranking(trace, mark["stage"]) for trace in run.traces if trace.error is None}
    keys = {key for ranking in rankings.values() for hit in ranking for key in hit.chunk.metadata}
    found = {}
    for query, trace in zip(queries, run.traces, strict=True):
        given = query.filter
        if given is None or query.id not in rankings:
            continue
        ranking = rankings[query.id]
        # A system whose hits never say the key tells nothing of it
        is_told = all(condition.key in keys for condition in given.conditions)
        violating = sum(not given.matches(hit.chunk.metadata) for hit in ranking) if is_told else 0
        expected = None if trace.matching is None else min(int(mark["k"]), trace.matching)
        fault = FilterFault(query.id, given, len(ranking), expected, violating)
        if fault.is_short or fault.violating:
            found[query.id] = fault
    return found


def _ranking(trace: Trace, stage: str) -> Ranking:
    return next((done.ranking for done in trace.stages if done.stage == stage), Ranking())


def filter_notes(run: Run, queries: Sequence[Query]) -> list[str]:
    """Return what a reader must know of filters: that they were not passed on, not applied, or left too few hits."""
    mark = run.spec.get("filtered")
    if not mark:
        return []
    filtered = sum(query.filter is not None for query in queries)
    have = "has" if filtered == 1 else "have"
    notes = []
    if not mark["taken"]:
        notes.append(
            f"{counted(filtered, 'question')} {have} a filter, and {mark['stage']} takes none: it was asked without; "
            "expected a vector store of LangChain or LlamaIndex, one of raglift's retrievers, a function with the "
            "parameter filter, or an HTTP service or MCP tool whose mapping sends {filter}"
        )
    faults = filter_faults(run, queries).values()
    short = [one for one in faults if one.is_short]
    if short:
        least = min(short, key=lambda one: one.returned / max(one.expected or 1, 1))
        notes.append(
            f"{mark['stage']} under-returns for {counted(len(short), 'question')} of {filtered:,} with a filter, "
            f"although enough chunks match: {least.query_id} ({least.filter}) got {least.returned:,} of "
            f"{counted(least.expected or 0, 'hit')}; the search probably takes the nearest chunks first and filters "
            f"them afterwards ({listed((one.query_id for one in short), _NAMED)})"
        )
    violating = [one for one in faults if one.violating]
    if violating:
        hits = sum(one.violating for one in violating)
        example = violating[0]
        named = listed((one.query_id for one in violating), _NAMED)
        notes.append(
            f"{mark['stage']} returned {counted(hits, 'hit')} that {'does' if hits == 1 else 'do'} not match the "
            f"filter, for {counted(len(violating), 'question')} of {filtered:,}, as {example.query_id} "
            f"({example.filter}): the filter is ignored, or another one is applied ({named})"
        )
    if any(
        query.filter is not None and trace.matching is None for query, trace in zip(queries, run.traces, strict=True)
    ):
        notes.append(
            "how many chunks match the filters is not known, so it cannot be told whether too few hits come back; "
            "expected all chunks with their metadata (chunks=)"
        )
    return notes
