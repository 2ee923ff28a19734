"""The differences of systems in every metric, beside the one that decides."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from raglift.metrics import mean_title
from raglift.printable import TRUNCATED
from raglift.rendering.document import Cell, Section, Table, row_of
from raglift.report.format import decimals_of, interval_text
from raglift.report.page.cells import test_cells
from raglift.report.page.parts import truncation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Metric
    from raglift.result_records import ComparisonRecord

__all__ = ["metrics_section"]

_ROOM = 80
"""As many characters the titles of columns have in the table of all metrics."""


def metrics_section(comparison: ComparisonRecord, others: Sequence[str]) -> Section:
    """Return the differences in every metric.

    Args:
        comparison: the systems.
        others: those that are compared with the baseline, the best first; as many are shown as there is room for.
    """
    shown = _fitting(others, len(comparison.baseline))
    metrics = comparison.metrics
    alpha = f"{comparison.method.alpha:g}"
    said = (
        f"Differences to {comparison.baseline}. {mean_title(comparison.primary)} decides; in the other metrics, * is p "
        f"≤ {alpha}, uncorrected: one such mark in {1 / comparison.method.alpha:.0f} comes by chance where nothing "
        "differs."
    )
    best = "The best" if len(shown) == 1 else f"The {len(shown)} best"
    fewer = [f"{best} of {len(others)} systems."] if len(shown) < len(others) else []
    rows = tuple(row_of(_metric_cells(comparison, metric, shown)) for metric in metrics)
    marked = any(row.truncated for row in comparison.rows)
    sections = tuple(place for place in range(1, len(metrics)) if metrics[place].name != metrics[place - 1].name)
    table = Table("Every metric at every depth", ("metric", comparison.baseline, *shown), rows, sections=sections)
    return Section("All metrics", (said, *fewer, *truncation(marked=marked)), (table,))


def _fitting(names: Sequence[str], taken: int) -> Sequence[str]:
    """Return the first names, as many as have room beside each other: one in any case."""
    widths = accumulate((max(len(name), 8) for name in names), initial=taken)
    return names[: max(sum(width <= _ROOM for width in widths) - 1, 1)]


def _metric_cells(comparison: ComparisonRecord, metric: Metric, shown: Sequence[str]) -> list[Cell | str]:
    baseline = comparison.row(comparison.baseline, metric)
    mark = TRUNCATED * baseline.truncated
    cells: list[Cell | str] = [mean_title(metric), interval_text(baseline.mean, None, decimals_of(metric)) + mark]
    for name in shown:
        row = comparison.row(name, metric)
        found = row.difference
        if found is None or not found.n:
            cells.append(Cell(TRUNCATED if row.truncated else "–", "muted"))
            continue
        cell, _, _ = test_cells(metric, found, alpha=comparison.method.alpha)
        star = "*" if found.p <= comparison.method.alpha else ""
        cells.append(Cell(cell.text.partition(" ")[0] + star, cell.tone))
    return cells
