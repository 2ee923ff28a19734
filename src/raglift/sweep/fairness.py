"""Cells of different chunks compared fairly: by which metric they are ranked, and the figures beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.fairness import Fairness, made_fair, with_leads
from raglift.analysis.paired_statistics import method_of
from raglift.analysis.shared_queries import SharedQueries, named
from raglift.analysis.upper_bound import rule_of
from raglift.report.fairness import index_sentences, matching_sentence, reading_sentence, size_sentences

if TYPE_CHECKING:
    from raglift.sweep.records import CellResult
    from raglift.sweep.result import SweepResult
    from raglift.types.metric import Metric


def decided_fairly(
    results: Sequence[CellResult], primary: Metric, *, is_named: bool, budget: int | None = None, seed: int = 0
) -> tuple[list[CellResult], Metric, Fairness | None]:
    """Return the cells with the metric by which they are ranked, that metric, and what was done for fairness.

    Cells stay matched as the sweep says.
    """
    measured = {one.cell.name: one.evaluation for one in results if one.evaluation is not None}
    if not measured:
        return list(results), primary, None
    first = next(iter(measured.values()))
    queries = first.dataset.queries
    shared = SharedQueries(queries, dict.fromkeys(measured, np.arange(len(queries))), ())
    systems, fairness = made_fair(
        measured,
        shared,
        primary,
        is_named=is_named,
        first=next(iter(measured)),
        match=rule_of(first),
        budget=budget,
    )
    area = None if fairness is None else fairness.area
    if fairness is None or area is None:
        return list(results), primary, fairness
    fairness = with_leads(fairness, systems, shared, method_of(seed, 0.95))
    found = [one if one.evaluation is None else replace(one, evaluation=systems[one.cell.name]) for one in results]
    return found, area if fairness.decides else primary, fairness


def sweep_sentences(result: SweepResult) -> list[str]:
    """Return what decides between cells of different chunks and why, and where k hits are much of an index."""
    found = result.fairness
    sentences = (
        []
        if found is None
        else [reading_sentence(found), *_unfilled(result, found), *size_sentences(found), matching_sentence(found)]
    )
    k = result.primary.k if found is None or found.in_hits is None else found.in_hits.k
    of_chunkers = {one.cell.chunker or one.cell.name: one.evaluation for one in result.finished if one.evaluation}
    return [*filter(None, sentences), *index_sentences(of_chunkers, k)]


def _unfilled(result: SweepResult, found: Fairness) -> list[str]:
    """Return which cells end before the budget for some queries, so that they may be better than their figures."""
    if not found.decides or found.unfilled is None:
        return []
    short = {one.cell.name: count for one in result.finished if (count := (found.unfilled or {}).get(one.cell.name, 0))}
    if not short:
        return []
    of_cells = named([f"{count:,} questions of {name}" for name, count in short.items()])
    ends = f"Prompts that end before {found.budget.most:,} tokens though more could come"
    return [f"{ends}, so that the figures may be too low: {of_cells}."]
