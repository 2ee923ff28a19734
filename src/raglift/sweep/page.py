"""A sweep as a page and as a summary."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from raglift.analysis.paired_statistics import interval_of
from raglift.analysis.tradeoffs import has_costs, tradeoff
from raglift.analysis.truncation import CUT
from raglift.analysis.upper_bound import match_tables_of
from raglift.base.display import BEYOND, counted
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Detail, Document, Figure, Section, Table, row_of
from raglift.report.format import interval_text, level, marks
from raglift.report.page.comparison import comparison_headline, comparison_sections, notes_of, other_of
from raglift.report.page.evaluation import evaluation_page
from raglift.report.page.gathering import drill_down
from raglift.report.page.rendering import Page
from raglift.report.recommendation import recommendation_section, recommendation_sentence
from raglift.report.sentences import (
    BEYOND_CANDIDATES,
    baseline_sentence,
    best_of,
    comparison_sentence,
    held_out_sentence,
)
from raglift.report.summaries.results import regressions_sections
from raglift.report.views.evaluation import failure_section
from raglift.report.views.parts import decided_cell, measured_together, p_cell, verdict_cell
from raglift.sweep.charts import SweepPlots, short_names
from raglift.sweep.effects import effects_sections
from raglift.sweep.fairness import sweep_sentences
from raglift.sweep.records import compare_cells
from raglift.sweep.terminal import (
    alike_text,
    best_lines_of,
    changed_models,
    failed_by_reason,
    result_foot,
    result_head,
    result_table,
    varying_parts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.results.comparison import Comparison
    from raglift.sweep.records import CellResult, SweepResultRecord


# The page of a sweep: every cell, best first, its costs, and the queries of selected cells.


_MOST_SHOWN = 6
"""As many cells have their queries on the page."""
_HEADLINE = 6
"""As many cells are on the first screen."""
_FEW = 2
"""The better of two is what a comparison says; the best of more is partly the luckiest."""
_NAMED = 5


def sweep_document(result: SweepResultRecord, *, baseline: str | None = None) -> Page:
    """Return the page of a sweep.

    Where there are more than two cells, the best is chosen on one half of the queries and measured on the other.

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
    comparison = compared(result, baseline)
    advised = result.recommend()
    shown = _shown(comparison)
    matched = {
        name: replace(one, match_table=match_tables_of(one)) for name in shown if (one := comparison.evaluation(name))
    }
    comparison = replace(
        comparison, evaluations=tuple(matched.get(name, comparison.evaluation(name)) for name in comparison.names)
    )
    right = best_of(comparison)
    right = other_of(comparison) if right == comparison.baseline else right
    queries = drill_down(
        matched,
        left=(comparison.baseline, matched[comparison.baseline].after),
        right=(right, matched[right].after),
        primary=comparison.primary,
    )
    return Page(
        title=f"{result.title}: {len(result.finished):,} of {counted(len(result.results), 'cell')} measured",
        lead=" ".join([recommendation_sentence(advised), *_best_sentences(result)]),
        headline=_headline(comparison),
        measured=(("Swept over", _swept(result)), *measured_together(comparison, match=queries.match)),
        warnings=(*_unmeasured(result), *comparison.warnings),
        notes=(*comparison.notes, *notes_of(comparison)),
        sections=(
            recommendation_section(advised),
            *effects_sections(result),
            _cells_section(result, comparison),
            *_map_sections(result),
            *comparison_sections(comparison, shown),
            *failed_sections(result),
        ),
        labels=str(result.label_sources),
        queries=replace(queries, notes=(*_limited(comparison, shown), *queries.notes)),
    )


def _one_cell(result: SweepResultRecord) -> Page:
    """Return the page of the only cell that is measured, with the outcome of the others."""
    (entry,) = result.finished
    assert entry.evaluation is not None  # noqa: S101 — that is what finished means
    page = evaluation_page(entry.evaluation, primary=result.primary, seed=result.seed)
    return replace(
        page,
        title=f"{result.title}: {len(result.finished):,} of {counted(len(result.results), 'cell')} measured",
        measured=(("Cell", entry.cell.name), *page.measured),
        warnings=(*_unmeasured(result), *page.warnings),
        sections=(*page.sections, *failed_sections(result)),
    )


def compared(result: SweepResultRecord, baseline: str | None) -> Comparison:
    """Return the comparison of the cells by short names, with held-out queries for the best where that can be done."""
    called = short_names(result)
    if len(result.finished) > _FEW:
        try:
            return compare_cells(result, called, baseline=baseline, hold_out=True)
        except ConfigurationError:  # too few queries for two halves, or what the next line says again
            pass
    return compare_cells(result, called, baseline=baseline, hold_out=False)


def _best_sentences(result: SweepResultRecord) -> list[str]:
    return [f"{line[0].upper()}{line[1:]}." for line in best_lines_of(result)]


def _shown(comparison: Comparison) -> list[str]:
    """Return the cells whose queries are shown: the baseline, the best, and the front, best first."""
    chosen = [comparison.baseline, best_of(comparison), other_of(comparison)]
    if has_costs(comparison):
        front = [one for one in tradeoff(comparison).systems if one.on_front]
        chosen += [one.system for one in sorted(front, key=lambda one: -one.quality)]
    return list(dict.fromkeys(chosen))[:_MOST_SHOWN]


def _limited(comparison: Comparison, shown: Sequence[str]) -> list[str]:
    """Say of which cells the queries are shown, where it is not all."""
    every, front = len(comparison.names), " and those on the front of quality and cost" * has_costs(comparison)
    if len(shown) == every:
        return []
    chosen = f"the baseline, the best{front}, at most {_MOST_SHOWN}"
    other = "A report of any other: raglift report on its folder under cells/."
    return [f"Queries are shown for {len(shown):,} of {every:,} cells: {chosen}. {other}"]


def _headline(comparison: Comparison) -> Table:
    """Return the baseline and the best cells; the table of all follows."""
    whole = comparison_headline(comparison)
    if len(whole.rows) <= _HEADLINE:
        return whole
    caption = f"{whole.caption}: the baseline and the {_HEADLINE - 1} best"
    return replace(whole, caption=caption, rows=whole.rows[:_HEADLINE])


def _swept(result: SweepResultRecord) -> str:
    """Return the parts in which cells differ, with their values, and what they have in common."""
    told = [entry.cell.to_dict() for entry in result.results]
    parts = []
    for part in varying_parts(result):
        values = list(dict.fromkeys(cell[part] for cell in told if part in cell))
        more = f" and {len(values) - _NAMED:,} more" if len(values) > _NAMED else ""
        parts.append(f"{part}: {', '.join(values[:_NAMED])}{more}")
    return "; ".join(filter(None, [*parts, alike_text(result)]))


def _unmeasured(result: SweepResultRecord) -> list[str]:
    waiting = sum(entry.evaluation is None and entry.error is None for entry in result.results)
    failed = changed_models(result)
    failed += [f"{counted(len(result.failed), 'cell')} failed"] if result.failed else []
    return failed + ([f"{counted(waiting, 'cell')} not measured yet"] if waiting else [])


def _cells_section(result: SweepResultRecord, comparison: Comparison) -> Section:
    """Return every measured cell, best first."""
    percent, called = level(comparison.method), short_names(result)
    columns = ("cell", f"{mean_title(result.primary)} [{percent}]", f"difference [{percent}]", "p (Holm)", "")
    rows = tuple(row_of(_cell_row(entry, called[entry.cell.name], comparison)) for entry in result.ranked)
    table = Table("Every measured cell, best first", columns, rows, text_columns=(0, 4))
    why = "The embedding model or the reranker reads some chunks only in part"
    cut = any(entry.is_truncated for entry in result.finished)
    told = [f"{CUT} {why}, so these cells measure the cut as well."] if cut else []
    measured = [entry.evaluation for entry in result.finished if entry.evaluation is not None]
    if any(one.is_beyond_candidates(one.after, result.primary) for one in measured):
        told.append(f"{BEYOND} {BEYOND_CANDIDATES[0].upper()}{BEYOND_CANDIDATES[1:]}.")
    said = filter(None, [comparison_sentence(comparison), held_out_sentence(comparison)])
    return Section("Every cell", (*said, baseline_sentence(comparison), *told), (table,))


def _cell_row(entry: CellResult, name: str, comparison: Comparison) -> list[Cell | str]:
    evaluation, metric = entry.evaluation, comparison.primary
    assert evaluation is not None  # noqa: S101 — a measured cell
    cells: list[Cell | str] = [" ".join(filter(None, [name, entry.truncation.mark]))]
    values = evaluation.scores.of(evaluation.after, metric)
    interval = interval_of(metric, values, comparison.method.confidence)
    mark = marks(evaluation, evaluation.after, metric)
    cells.append(interval_text(evaluation.scores.mean(evaluation.after, metric), interval) + mark)
    if name == comparison.baseline:
        cells += ["", "", verdict_cell("baseline")]
    else:
        row = comparison.row(name)
        cells += [decided_cell(row), p_cell(row.p_holm), verdict_cell(row.verdict)]
    return cells


def _map_sections(result: SweepResultRecord) -> list[Section]:
    """Return the heat map over the chunkers and models, else the first two parts in which cells differ, if two do."""
    told = [entry.cell.to_dict() for entry in result.finished]
    varying = [part for part in varying_parts(result) if len({cell.get(part) for cell in told}) > 1]
    if len(varying) < _FEW:
        return []
    x, y = ("chunker", "embedding") if {"chunker", "embedding"} <= set(varying) else varying[:2]
    name, called = mean_title(result.primary), short_names(result)
    said = "; ".join(f"{called[entry.cell.name]}: {entry.value(result.primary):.3f}" for entry in result.ranked)
    cut = "one whose embedding model or reranker reads some chunks only in part"
    best, whole = result.best(), result.best(without_truncation=True)
    second = ", ☆ the best without truncation" if whole is not None and whole is not best else ""
    caption = f"★ the best cell{second}, {CUT} {cut}, – one that failed."
    chart = partial(SweepPlots(result).heatmap, result.primary, x=x, y=y)
    figure = Figure(f"{name} by {x} and {y}", f"{said}.", chart, caption)
    return [Section("Heat map", figures=(figure,))]


def failed_sections(result: SweepResultRecord) -> list[Section]:
    """Return the cells that failed, by reason; nothing if none did."""
    rows = []
    for reason, names in failed_by_reason(result).items():
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        rows.append(row_of((reason, f"{len(names):,}", "; ".join(names[:_NAMED]) + more)))
    if not rows:
        return []
    table = Table(
        "Cells that failed, by reason",
        ("reason", "cells", "which"),
        tuple(rows),
        text_columns=(0, 2),
        rests_on_labels=False,
    )
    return [Section("What failed", (), (table,))]


# Summary of a sweep: the best cells, whether their difference is significant, and warnings.


_SHOWN = 10
"""As many cells are shown before the others are folded."""
_WARNING = "! "


def _without_emphasis(table: Table) -> Table:
    """Return a table in which nothing stands out: the lifts of a sweep's cells are not tested."""
    return replace(table, rows=tuple(tuple(replace(cell, emphasis="") for cell in row) for row in table.rows))


def sweep_summary(result: SweepResultRecord) -> Document:
    """Return what a sweep found, in short.

    Where there are more than two cells, the best is chosen on one half of the queries and measured on the other.

    Args:
        result: what a sweep found.
    """
    comparison = result.compared
    advised = None if comparison is None else result.recommend()
    table = _without_emphasis(result_table(result))
    first = replace(table, rows=table.rows[:_SHOWN])
    # The comparison has its own warning of a best of many
    foot = list(result_foot(result, held_out=comparison is not None))
    warnings = dict.fromkeys(line.removeprefix(_WARNING) for line in foot if line.startswith(_WARNING))
    warnings |= dict.fromkeys(comparison.warnings if comparison is not None else ())
    said = [] if advised is None else [recommendation_sentence(advised)]
    said += [] if comparison is None else sweep_sentences(result)
    compared_cells = () if comparison is None else (comparison_sentence(comparison), held_out_sentence(comparison))
    return Document(
        title=result_head(result),
        lead=" ".join(filter(None, said)),
        headline=first,
        measured=(),
        warnings=tuple(warnings),
        labels=str(result.label_sources),
        notes=(
            *(line for line in foot if not line.startswith((_WARNING, " "))),
            *filter(None, compared_cells),
        ),
        sections=(
            *([recommendation_section(advised)] if advised is not None else []),
            *effects_sections(result),
            *(
                [Section(f"All cells: {len(table.rows)}", tables=(table,), detail=Detail.DETAILS)]
                if table != first
                else []
            ),
            *_best_section(result),
            *(regressions_sections(comparison) if comparison is not None else []),
            *failed_sections(result),
        ),
    )


def _best_section(result: SweepResultRecord) -> Iterator[Section]:
    """Yield where the best cell lost recall."""
    best = result.best()
    if best is not None and best.evaluation is not None:
        lost = failure_section(best.evaluation, result.primary)
        if lost is not None:
            yield replace(lost, heading=f"Where the best, {best.cell.name}, lost recall")
