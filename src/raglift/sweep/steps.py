"""The steps of a sweep, as its progress counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.sweep.course import Step
from raglift.sweep.specification.cells import NO_RERANKER, Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.sweep.plan import Plan

__all__ = [
    "ASKING_LABEL",
    "TIMING_LABEL",
    "embedding_label",
    "measuring_label",
    "query_label",
    "retrieval_label",
    "scoring_label",
    "steps_of",
]

ASKING_LABEL = "ask systems on the cluster"
TIMING_LABEL = "time the cells"


def steps_of(plan: Plan, todo: Sequence[Cell], missing: Sequence[Cell], *, latency: int) -> list[Step]:
    """Return what is to be done, in the order in which it is."""
    steps = []
    for entry in plan.embeddings:
        steps.append(Step(embedding_label(entry.model), "chunks", _known(entry.missing, entry.texts)))
        steps.append(Step(query_label(entry.model), "queries", _known(entry.missing_queries, entry.queries)))
    for source in missing:  # a system of the user's may be slow, so its queries are counted
        unit, total = ("rankings", 1) if source.system is None else ("queries", plan.queries)
        steps.append(Step(retrieval_label(source), unit, total))
    for planned in plan.rerankings:
        cells = sum(cell.reranker == planned.reranker for cell in todo)
        steps.append(Step(scoring_label(planned.reranker), "pairs", _known(planned.missing, planned.pairs)))
        steps.append(Step(measuring_label(planned.reranker), "cells", cells))
    if latency:
        steps.append(Step(TIMING_LABEL, "cells", len(plan.cells)))
    return steps


def _known(exact: int | None, most: int) -> int:
    return most if exact is None else exact


def embedding_label(model: str) -> str:
    """Return the label of the step for the texts of chunks."""
    return f"embed with {model}"


def query_label(model: str) -> str:
    """Return the label of the step for the queries."""
    return f"embed queries with {model}"


def retrieval_label(source: Cell) -> str:
    """Return the label of the step for one index or system."""
    return f"retrieve {source.name.removesuffix(f' · {NO_RERANKER}')}"


def scoring_label(reranker: str) -> str:
    """Return the label of the step for pairs."""
    return f"score with {reranker}"


def measuring_label(reranker: str) -> str:
    """Return the label of the step for cells."""
    return f"measure with {reranker}"
