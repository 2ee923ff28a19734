"""What the models of a run did not read: what they truncate, and words that they do not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.adapters.stages import RetrieveStage, asked_of
from raglift.analysis.warnings import vocabulary_warnings
from raglift.retrieval.vocabulary import vocabularies
from raglift.running.execution import is_batched
from raglift.types.rankings import ReadInPart, StageInfo
from raglift.utilities.display import describe_error
from raglift.utilities.progress import notice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.adapters.stages import Stage
    from raglift.types.dataset import Dataset
    from raglift.types.labels import Query
    from raglift.types.rankings import Trace


def stage_infos(
    stages: Sequence[Stage], queries: Sequence[Query], traces: Sequence[Trace]
) -> tuple[tuple[StageInfo, ...], list[str]]:
    """Return how each stage was run, and notes of what is not known of it.

    Args:
        stages: the last stages of the traces, as they were run.
        queries: what was asked.
        traces: one per query, in the order of the queries.
    """
    infos, notes = [], []
    texts = [query.text for query in queries]
    for stage in stages:
        found: ReadInPart | None = None
        try:
            found = _read_in_part(stage, queries, traces)
        except Exception as error:  # noqa: BLE001 — rankings that are there are not lost because of a count
            message = describe_error(error, secrets=stage.clearing.secrets)
            notes.append(f"{stage.name}: whether it read its candidates whole is not known: {message}")
        has_own_depth = isinstance(stage, RetrieveStage) and stage.has_own_depth and not stage.depth_fixed
        infos.append(
            StageInfo(
                stage.name,
                stage.clearing.message(stage.system),
                tuple(map(stage.clearing.message, stage.depth_fixed)),
                is_batched(stage),
                read_in_part=found,
                has_own_depth=has_own_depth,
                vocabularies=tuple(vocabularies(asked_of(stage), [*texts, *_hit_texts(traces)])),
                chunks_read_in_part=tuple(_truncating_indexes(getattr(stage, "retriever", None))),
            )
        )
    return tuple(infos), notes


def say_what_models_do_not_know(stages: Sequence[Stage], dataset: Dataset, *, progress: bool | None) -> None:
    """Say before anything is asked which models cannot read the texts, as far as documents and queries tell."""
    for stage in stages:
        if ":bfloat16" in stage.system:
            notice(f"{stage.system.partition(' ')[0]}: computed in bfloat16 (dtype float32 is exact)", show=progress)
    texts = [*(query.text for query in dataset.queries), *(document.text for document in dataset.documents)]
    found = [known for stage in stages for known in vocabularies(asked_of(stage), texts)]
    for warning in vocabulary_warnings(found):
        notice(f"! {warning}", show=progress)


def _hit_texts(traces: Sequence[Trace]) -> list[str]:
    """Return what came back first and last to each query, as far as anything did."""
    rankings = [stage.ranking for trace in traces for stage in trace.stages[:1] if stage.ranking.hits]
    return [hit.chunk.text for ranking in rankings for hit in (ranking.hits[0], ranking.hits[-1])]


def _read_in_part(stage: Stage, queries: Sequence[Query], traces: Sequence[Trace]) -> ReadInPart | None:
    """Ask a reranker how much of its candidates it read in part, over the queries that came through it."""
    count = getattr(getattr(stage, "reranker", None), "read_in_part", None)
    if not callable(count):
        return None
    given = [
        (query.text, before.ranking)
        for query, trace in zip(queries, traces, strict=True)
        for before, after in zip(trace.stages, trace.stages[1:], strict=False)
        if after.stage == stage.name
    ]
    found = count([text for text, _ in given], [ranking for _, ranking in given])
    return found if isinstance(found, ReadInPart) else None


def _truncating_indexes(retriever: Any) -> Iterator[tuple[int, int]]:
    """Yield, for each index that a retriever searches, how many chunks its model truncated, if any, of how many."""
    index = getattr(retriever, "index", None)
    count, distinct = getattr(index, "read_in_part", None), getattr(index, "distinct", None)
    if isinstance(count, int) and isinstance(distinct, int) and count > 0:
        yield count, distinct
    parts = getattr(retriever, "retrievers", ())
    for part in parts if isinstance(parts, tuple) else ():
        yield from _truncating_indexes(part)
