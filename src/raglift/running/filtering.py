"""What a run says of metadata filters: the stage that takes them, and how many chunks match each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.stages import RetrieveStage
from raglift.errors import ConfigurationError
from raglift.records.rankings import CANDIDATES
from raglift.running.execution import takes_filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.adapters.stages import Stage
    from raglift.records.documents import Chunk
    from raglift.records.labels import Query
    from raglift.records.rankings import Trace


def with_matching_chunks(
    stages: Sequence[Stage], queries: Sequence[Query], traces: tuple[Trace, ...], k: int, chunks: Sequence[Chunk] | None
) -> tuple[tuple[Trace, ...], dict[str, Any]]:
    """Return the traces with the number of chunks that match each query's filter, and what the spec says of filters.

    The stage that filters is the one whose hits rerankers get: the last that retrieves.

    Args:
        stages: of the system.
        queries: what was asked.
        traces: what was answered.
        k: how many hits the system was asked for.
        chunks: all chunks of the index; None if they are not known.
    """
    if not any(query.filter is not None for query in queries):
        return traces, {}
    retrieving = [stage for stage in stages if isinstance(stage, RetrieveStage)]
    if not retrieving:
        raise ConfigurationError("filter: found no stage that retrieves; expected one")
    stage = next((stage for stage in retrieving if stage.name == CANDIDATES), retrieving[0])
    if stage.has_own_depth:
        k = max((len(done.ranking) for trace in traces for done in trace.stages if done.stage == stage.name), default=1)
    spec = {"filtered": {"stage": stage.name, "k": max(k, 1), "taken": takes_filters(stage)}}
    if chunks is None:
        return traces, spec
    filters = {query.filter for query in queries if query.filter is not None}
    matching = {given: sum(given.matches(chunk.metadata) for chunk in chunks) for given in filters}
    return tuple(
        trace if query.filter is None else replace(trace, matching=matching[query.filter])
        for query, trace in zip(queries, traces, strict=True)
    ), spec
