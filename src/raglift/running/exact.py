"""What exact search finds beside an index, and how many chunks match the filter of a query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from raglift.adapters.stages import RetrieveStage, asked_of
from raglift.adapters.store_search import store_search
from raglift.errors import ConfigurationError
from raglift.records.rankings import CANDIDATES, ExactHits
from raglift.running.execution import takes_filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.adapters.stages import Stage
    from raglift.matching.provenance import Provenance
    from raglift.records.documents import Chunk
    from raglift.records.filters import Filter
    from raglift.records.labels import Query
    from raglift.records.rankings import Ranking, Trace
    from raglift.running.settings import Settings


OWN, READ_OUT, EMBEDDED_AGAIN = SOURCES = ("own", "read out", "embedded again")
"""Where exact search has its vectors from: raglift's own index, read out of the user's store, or embedded again."""


class ExactSearch(Protocol):
    """Finds what a retriever would find if it looked at every chunk."""

    def exact_hits(
        self, queries: Sequence[str], k: int, filters: Sequence[Filter | None] | None = None
    ) -> list[ExactHits] | None:
        """Return what exact search finds for each query; None where the retriever searches exactly."""
        ...


@dataclass(frozen=True)
class Comparer:
    """Adds to the traces of a run what exact search finds, and how many chunks match each filter."""

    search: ExactSearch | None = None
    """None where nothing is compared."""
    source: str = OWN
    """One of `SOURCES`."""
    own_k: int | None = None
    """How many hits the system returns by its own settings; None where that is not known."""
    chunks: Sequence[Chunk] | None = None
    """All chunks of the index; None where they are not known."""

    def compared(
        self,
        stages: Sequence[Stage],
        queries: Sequence[Query],
        traces: Sequence[Trace],
        k: int,
        provenance: Provenance,
    ) -> tuple[tuple[Trace, ...], dict[str, Any]]:
        """Return the traces with what is known, and what the run's spec says of it.

        The stage that is compared is the one whose hits rerankers get: the last that retrieves.

        Args:
            stages: of the system.
            queries: what was asked.
            traces: what was answered.
            k: how many hits the system was asked for.
            provenance: checks what exact search returns, as it checks hits.
        """
        stage = _retrieving(stages)
        asked = self._depth(stage, traces, k)
        spec: dict[str, Any] = {}
        if any(query.filter is not None for query in queries):
            spec["filtered"] = {"stage": stage.name, "k": asked, "taken": takes_filters(stage)}
            traces = self._with_matching(queries, traces)
        found = None if self.search is None else _exact(self.search, queries, traces, asked)
        if found is None:
            return tuple(traces), spec
        spec["exact"] = {"stage": stage.name, "k": asked, "source": self.source}
        checked = {
            query_id: ExactHits(_checked(hits.full, provenance), _checked(hits.held, provenance))
            for query_id, hits in found.items()
        }
        return tuple(replace(trace, exact=checked.get(trace.query_id)) for trace in traces), spec

    def _depth(self, stage: RetrieveStage, traces: Sequence[Trace], k: int) -> int:
        if not stage.has_own_depth:
            return k
        returned = [len(done.ranking) for trace in traces for done in trace.stages if done.stage == stage.name]
        return max(self.own_k or 0, *returned, 1)

    def _with_matching(self, queries: Sequence[Query], traces: Sequence[Trace]) -> list[Trace]:
        """Return the traces with the number of chunks that match the filter of each query, where chunks are known."""
        if self.chunks is None:
            return list(traces)
        matching = {
            given: sum(given.matches(chunk.metadata) for chunk in self.chunks)
            for given in dict.fromkeys(query.filter for query in queries)
            if given is not None
        }
        return [
            trace if query.filter is None else replace(trace, matching=matching[query.filter])
            for query, trace in zip(queries, traces, strict=True)
        ]


def _retrieving(stages: Sequence[Stage]) -> RetrieveStage:
    """Return the stage that is compared: that of the candidates where they were retrieved apart, else the first."""
    found = [stage for stage in stages if isinstance(stage, RetrieveStage)]
    if not found:
        raise ConfigurationError("exact: found no stage that retrieves; expected one")
    return next((stage for stage in found if stage.name == CANDIDATES), found[0])


def _exact(
    search: ExactSearch, queries: Sequence[Query], traces: Sequence[Trace], k: int
) -> dict[str, ExactHits] | None:
    """Return what exact search finds for each query that did not fail, by its id; None where there is no other."""
    asked = [query for query, trace in zip(queries, traces, strict=True) if trace.error is None]
    filters = [query.filter for query in asked] if any(query.filter is not None for query in asked) else None
    found = search.exact_hits([query.text for query in asked], k, filters) if asked else None
    return None if found is None else {query.id: hits for query, hits in zip(asked, found, strict=True)}


def _checked(ranking: Ranking, provenance: Provenance) -> Ranking:
    return provenance.check(ranking)


def comparer_of(stages: Sequence[Stage], config: Settings, chunks: Sequence[Chunk] | None) -> Comparer:
    """Return what compares a system with exact search.

    Args:
        stages: of the system.
        config: says whether it is compared: `exact` None compares raglift's own approximate indexes alone.
        chunks: all chunks of the index; None where they are not known.

    Raises:
        ConfigurationError: `exact` is true, and neither vectors nor chunks and an embedding model can be had.
    """
    if config.exact is False:
        return Comparer(chunks=chunks)
    first = asked_of(stages[0])
    if callable(getattr(first, "exact_hits", None)):
        return Comparer(first, chunks=chunks)
    if not config.exact:
        return Comparer(chunks=chunks)
    search, store, is_read_out = store_search(first, chunks, config.doc_key)
    return Comparer(search, READ_OUT if is_read_out else EMBEDDED_AGAIN, store.own_k, chunks or search.chunks)
