"""What every evaluation ends with: scores, what is known of the index, and at least one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.errors import MetricFailed
from raglift.matching.match import inventory_of
from raglift.matching.provenance import Provenance
from raglift.running.execution import every_query_failed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.adapters.clearing import Clearing
    from raglift.matching.rule import MatchRule
    from raglift.records.dataset import Dataset
    from raglift.records.documents import Chunk
    from raglift.records.metric import Metric
    from raglift.records.rankings import Inventory
    from raglift.results.evaluation import Evaluation
    from raglift.running.settings import Settings


def scored_by(metrics: tuple[Metric, ...], score: Callable[[tuple[Metric, ...]], Evaluation]) -> Evaluation:
    """Score a run; where a metric of the user's fails, its error brings what was retrieved, scored by the others."""
    try:
        return score(metrics)
    except MetricFailed as error:
        others = tuple(metric for metric in metrics if metric.name != error.metric.name)
        try:
            error.evaluation = scored_by(others, score)
        except MetricFailed as another:
            error.evaluation = another.evaluation
        raise


def require_answers(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation in which at least one query was answered; a table of zeros says nothing of a system."""
    if failure := every_query_failed(evaluation.run.traces):
        failure.evaluation = evaluation
        raise failure
    return evaluation


def inventory_of_chunks(
    chunks: Sequence[Chunk] | None, clearing: Clearing, dataset: Dataset, config: Settings, rule: MatchRule
) -> Inventory | None:
    """Return what is known of all chunks of an index; None when they are not known."""
    if chunks is None:
        return None
    provenance = Provenance(dataset, config.doc_key)
    checked = tuple(provenance.check_all(map(clearing.chunk, chunks)))
    return inventory_of(dataset.queries, checked, dataset.documents, rule, progress=config.progress)
