"""Cells of different chunks compared fairly: by which metric they are ranked, and the figures beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.fairness import made_fair
from raglift.analysis.shared_queries import SharedQueries
from raglift.analysis.upper_bound import rule_of
from raglift.metrics.computing import mean_title
from raglift.report.fairness import budget_sentence, index_sentences, matching_sentence
from raglift.results.evaluation import Evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.analysis.fairness import Fairness
    from raglift.records.metric import Metric
    from raglift.sweep.records import CellResult, SweepResultRecord


def decided_fairly(
    results: Sequence[CellResult], primary: Metric, *, is_named: bool
) -> tuple[list[CellResult], Metric, Fairness | None]:
    """Return the cells with the metric by which they are ranked, that metric, and what was done for fairness.

    Cells stay matched as the sweep says. The budget is that of all measured cells.

    Args:
        results: the cells.
        primary: the metric of the sweep.
        is_named: whether the user named it; then it ranks the cells in any case.
    """
    measured = {one.cell.name: one.evaluation for one in results if one.evaluation is not None}
    if not measured:
        return list(results), primary, None
    first = next(iter(measured.values()))
    queries = first.dataset.queries
    shared = SharedQueries(queries, dict.fromkeys(measured, np.arange(len(queries))), ())
    systems, fairness = made_fair(measured, shared, primary, is_named=is_named, match=rule_of(first))
    if fairness is None or fairness.budgeted is None:
        return list(results), primary, fairness
    found = [
        one if one.evaluation is None else replace(one, evaluation=Evaluation.from_record(systems[one.cell.name]))
        for one in results
    ]
    return found, fairness.budgeted if fairness.decides else primary, fairness


def sweep_sentences(result: SweepResultRecord) -> list[str]:
    """Return what decides between cells of different chunks and why, and where k hits are much of an index."""
    found = result.fairness
    told = [] if found is None else [budget_sentence(found), matching_sentence(found)]
    k = result.primary.k if found is None or found.unbudgeted is None else found.unbudgeted.k
    of_chunkers = {one.cell.chunker or one.cell.name: one.evaluation for one in result.finished if one.evaluation}
    return [*filter(None, told), *index_sentences(of_chunkers, k)]


def means_beside(result: SweepResultRecord) -> dict[str, tuple[Metric, Mapping[str, float]]]:
    """Return the means beside the metric that ranks cells of different chunks, by title: which, and by cell's name."""
    found = result.fairness
    if found is None:
        return {}
    other = found.unbudgeted if found.decides else found.budgeted
    columns: dict[str, tuple[Metric, Mapping[str, float]]] = {}
    if other is not None:
        columns[mean_title(other)] = (
            other,
            {
                one.cell.name: one.value(other)
                for one in result.finished
                if one.evaluation is not None and other in one.evaluation.scores.metrics
            },
        )
    if found.containment is not None and found.unbudgeted is not None:
        columns["by containment"] = found.unbudgeted, found.containment
    return columns
