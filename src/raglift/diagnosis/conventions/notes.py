"""What the reader of several profiles' values should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.metrics import MEASURES, mean_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.records import Metric, Query
    from raglift.result_records import EvaluationRecord

__all__ = ["notes_of"]


def notes_of(evaluation: EvaluationRecord, query: Query, stage: str, metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Return what bears on the values: the labels' kind, the run's own profile, what the stage cut off."""
    return tuple(_notes(evaluation, query, stage, metrics))


def _notes(evaluation: EvaluationRecord, query: Query, stage: str, metrics: Sequence[Metric]) -> Iterator[str]:
    passages = [passage for fact in query.facts for passage in fact.passages]
    if any(passage.chunk_id is None for passage in passages):
        yield (
            "Labels here are texts. The other tools know ids alone, so their profiles are by analogy: a passage stands "
            "for an id."
        )
    if any(len(fact.passages) > 1 for fact in query.facts):
        yield (
            "Some facts have alternatives. AutoRAG's groups are such facts; a tool that has none knows one flat list, "
            "and its profile counts each alternative as something to find."
        )
    if evaluation.profile != "default":
        yield f"The run was scored by the profile {evaluation.profile}; the differences here are from the default."
    absent = [metric for metric in evaluation.scores.metrics if not MEASURES[metric.name].is_installed]
    if absent:
        names = ", ".join(map(mean_title, absent))
        yield f"Not computed, since the functions of these metrics are not installed here: {names}."
    truncated = [mean_title(metric) for metric in metrics if evaluation.is_truncated(stage, metric)]
    if truncated:
        limit = evaluation.truncated[stage]
        yield (
            f"{stage} returned no more than {limit} hits, whatever was asked: what looks deeper knows only these "
            f"({', '.join(truncated)})."
        )
