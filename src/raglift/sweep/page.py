"""The page of a sweep: its view, and the queries of selected cells."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from raglift.analysis.tradeoffs import has_costs
from raglift.analysis.upper_bound import match_tables_of
from raglift.errors import ConfigurationError
from raglift.rendering.document import Document
from raglift.report.page.gathering import drill_down
from raglift.report.page.rendering import Page
from raglift.report.page.results import evaluation_page
from raglift.report.sentences import best_of
from raglift.report.views.comparison import other_of
from raglift.sweep.view import compared_in_detail, failed_sections, shown_cells, sweep_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.results.comparison import Comparison
    from raglift.sweep.result import SweepResult


def sweep_document(result: SweepResult, *, baseline: str | None = None) -> Page:
    """Return the page of a sweep.

    Args:
        result: what a sweep found.
        baseline: the name or key of the cell that the others are compared with; by default as in `raglift.compare`.

    Raises:
        ConfigurationError: no cell is measured, or the baseline is none of those that are.
    """
    if not result.finished:
        reason = f"; the first failed: {result.failed[0].error}" if result.failed else ""
        raise ConfigurationError(f"report: found no measured cell in {result.folder}; expected at least one{reason}")
    if len(result.finished) == 1:
        return _one_cell(result)
    comparison = compared_in_detail(result, baseline)
    view = sweep_view(result, baseline=baseline)
    shown = shown_cells(comparison)
    systems = {
        name: replace(one, match_table=match_tables_of(one)) for name in shown if (one := comparison.evaluation(name))
    }
    right = best_of(comparison)
    right = other_of(comparison) if right == comparison.baseline else right
    queries = drill_down(
        systems,
        left=(comparison.baseline, systems[comparison.baseline].after),
        right=(right, systems[right].after),
        primary=comparison.primary,
    )
    queries = replace(queries, notes=(*_limited(comparison, shown), *queries.notes))
    return Page(**{field.name: getattr(view, field.name) for field in fields(Document)}, queries=queries)


def _one_cell(result: SweepResult) -> Page:
    """Return the page of the only cell that is measured, with the outcome of the others."""
    (entry,) = result.finished
    assert entry.evaluation is not None  # noqa: S101 — that is what finished means
    page = evaluation_page(entry.evaluation, primary=result.primary, seed=result.seed)
    view = sweep_view(result)
    return replace(
        page,
        title=view.title,
        measured=(("Cell", entry.cell.name), *page.measured),
        warnings=(*(one for one in view.warnings if one not in page.warnings), *page.warnings),
        sections=(*page.sections, *failed_sections(result)),
    )


def _limited(comparison: Comparison, shown: Sequence[str]) -> list[str]:
    """Say of which cells the queries are shown, where it is not all."""
    every, front = len(comparison.names), " and the Pareto-optimal ones" * has_costs(comparison)
    if len(shown) == every:
        return []
    chosen = f"the baseline, the best{front}, at most {len(shown)}"
    other = "A report of any other: raglift report on its folder under cells/."
    return [f"Queries are shown for {len(shown):,} of {every:,} cells: {chosen}. {other}"]
