"""Figures as cells of a page's tables: the text that a terminal shows, its meaning, and a small bar."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.metrics import MEASURES
from raglift.report.page.document import Cell
from raglift.report.terminal.figures import counts_text, decimals_of, difference_text, interval_text, p_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raglift.records import Metric
    from raglift.significance import Interval, PairedDifference

__all__ = ["TRUNCATED", "difference_cell", "mean_cell", "p_cell", "row_of", "test_cells", "verdict_cell"]

TRUNCATED = "†"
_TONES = {"better": "better", "worse": "worse", "not told apart": "muted", "baseline": "muted"}


def row_of(cells: Iterable[Cell | str]) -> tuple[Cell, ...]:
    """Return a row; texts stand for plain cells."""
    return tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells)


def mean_cell(metric: Metric, mean: float, interval: Interval | None, *, truncated: bool = False) -> Cell:
    """Return a mean with its interval, and a bar from its low to its high end."""
    text = interval_text(mean, interval, decimals_of(metric)) + TRUNCATED * truncated
    if interval is None or math.isnan(mean):
        return Cell(text)
    return Cell(text, low=interval.low, middle=mean, high=interval.high)


def difference_cell(metric: Metric, found: PairedDifference | None, *, tone: str = "") -> Cell:
    """Return a difference with its interval and bar; `–` where there is no fair pair."""
    if found is None or not found.n:
        return Cell("–", "muted")
    text = difference_text(found, decimals_of(metric))
    if math.isnan(found.low):
        return Cell(text, tone)
    return Cell(text, tone, low=found.low, middle=found.mean, high=found.high)


def p_cell(p: float | None) -> Cell:
    """Return a p-value."""
    return Cell(p_text(p))


def verdict_cell(verdict: str | None) -> Cell:
    """Return `better`, `worse`, `not told apart` or `baseline`."""
    return Cell(verdict or "", _TONES.get(verdict or "", ""))


def test_cells(metric: Metric, found: PairedDifference | None, *, alpha: float) -> tuple[Cell, Cell, Cell]:
    """Return a difference, its uncorrected p-value, and wins, ties and losses.

    The difference has a tone where p is at most alpha and more of the metric is better.
    """
    if found is None or not found.n:
        return Cell("–", "muted"), Cell("–", "muted"), Cell("–", "muted")
    tone = ""
    if not MEASURES[metric.name].is_cost:
        tone = "muted" if found.p > alpha or not found.mean else "better" if found.mean > 0 else "worse"
    return difference_cell(metric, found, tone=tone), p_cell(found.p), Cell(counts_text(metric, found))
