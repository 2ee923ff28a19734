"""A sweep in short: the best cells, whether their lead is real, and what to beware of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError
from raglift.rendering.document import Document, Section
from raglift.report.brief.comparison import regressions_sections
from raglift.report.brief.evaluation import loss_section
from raglift.report.words import comparison_sentence, held_out_sentence
from raglift.sweep.page import failed_sections
from raglift.sweep.terminal import result_foot, result_head, result_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.rendering.document import Table
    from raglift.results import Comparison
    from raglift.sweep.records import SweepResultRecord

__all__ = ["sweep_brief"]

_SHOWN = 10
"""As many cells are shown before the others are folded."""
_FEW_CELLS = 2
_WARNING = "! "


def _untoned(table: Table) -> Table:
    """Return a table in which nothing stands out: the lifts of a sweep's cells are not tested."""
    return replace(table, rows=tuple(tuple(replace(cell, tone="") for cell in row) for row in table.rows))


def sweep_brief(result: SweepResultRecord, *, include_cut: bool = False) -> Document:
    """Return what a sweep found, in short.

    Where there are more than two cells, the best is chosen on one half of the queries and measured on the other.

    Args:
        result: what a sweep found.
        include_cut: also compare cells whose embedding model reads some chunks only in part.
    """
    comparison = _compared(result, include_cut=include_cut)
    table = _untoned(result_table(result))
    first = replace(table, rows=table.rows[:_SHOWN])
    # The comparison has its own warning of a best of many
    foot = list(result_foot(result, include_cut=include_cut, held_out=comparison is not None))
    warnings = dict.fromkeys(line.removeprefix(_WARNING) for line in foot if line.startswith(_WARNING))
    warnings |= dict.fromkeys(comparison.warnings if comparison is not None else ())
    said = [] if comparison is None else [comparison_sentence(comparison), held_out_sentence(comparison)]
    return Document(
        title=result_head(result),
        lead=" ".join(filter(None, said)),
        headline=first,
        measured=(),
        warnings=tuple(warnings),
        labels=str(result.label_sources),
        notes=tuple(line for line in foot if not line.startswith((_WARNING, " "))),
        sections=(
            *([Section(f"All cells: {len(table.rows)}", tables=(table,), folded=True)] if table != first else []),
            *_best_section(result, include_cut=include_cut),
            *(regressions_sections(comparison) if comparison is not None else []),
            *failed_sections(result),
        ),
    )


def _compared(result: SweepResultRecord, *, include_cut: bool) -> Comparison | None:
    """Return the comparison of the cells; None where too few can be compared."""
    for hold_out in (True, False) if len(result.finished) > _FEW_CELLS else (False,):
        try:
            return result.compare(hold_out=hold_out, include_cut=include_cut)
        except ConfigurationError:  # fewer than two cells, or too few queries for two halves
            continue
    return None


def _best_section(result: SweepResultRecord, *, include_cut: bool) -> Iterator[Section]:
    """Yield where the best cell lost recall."""
    best = result.best(include_cut=include_cut)
    if best is not None and best.evaluation is not None:
        lost = loss_section(best.evaluation, result.primary)
        if lost is not None:
            yield replace(lost, heading=f"Where the best, {best.cell.name}, lost recall")
