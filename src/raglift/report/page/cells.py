"""Figures as cells of a page's tables: the text that a terminal shows, its meaning, and a small bar."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.metrics import MEASURES
from raglift.printable import TRUNCATED
from raglift.rendering.document import Cell
from raglift.report.format import counts_text, decimals_of, differing, interval_text, p_text, verdict_tone

if TYPE_CHECKING:
    from raglift.records import Metric
    from raglift.result_records import Compared, Lifted
    from raglift.significance import Interval, PairedDifference

__all__ = [
    "decided_cell",
    "difference_cell",
    "mean_cell",
    "p_cell",
    "test_cells",
    "verdict_cell",
]


def mean_cell(metric: Metric, mean: float, interval: Interval | None, *, truncated: bool = False) -> Cell:
    """Return a mean with its interval, and a bar from its low to its high end."""
    text = interval_text(mean, interval, decimals_of(metric)) + TRUNCATED * truncated
    if interval is None or math.isnan(mean) or MEASURES[metric.name].is_cost:  # tokens are on no scale with the rest
        return Cell(text)
    return Cell(text, low=interval.low, middle=mean, high=interval.high)


def difference_cell(metric: Metric, found: PairedDifference | None, *, alpha: float) -> Cell:
    """Return a difference with its interval and bar, toned where its p-value is at most alpha; `–` for no fair pair."""
    cell = differing(found, metric, alpha)
    if found is None or math.isnan(found.low) or MEASURES[metric.name].is_cost:
        return cell
    return replace(cell, low=found.low, middle=found.mean, high=found.high)


def decided_cell(row: Lifted | Compared) -> Cell:
    """Return the difference of the metric that decides, toned by what was decided."""
    return replace(difference_cell(row.metric, row.difference, alpha=0.0), tone=verdict_tone(row.verdict))


def p_cell(p: float | None) -> Cell:
    """Return a p-value."""
    return Cell(p_text(p))


def verdict_cell(verdict: str | None) -> Cell:
    """Return `better`, `worse`, `not told apart` or `baseline`."""
    return Cell(verdict or "", verdict_tone(verdict))


def test_cells(metric: Metric, found: PairedDifference | None, *, alpha: float) -> tuple[Cell, Cell, Cell]:
    """Return a difference, its uncorrected p-value, and wins, ties and losses."""
    if found is None or not found.n:
        return Cell("–", "muted"), Cell("–", "muted"), Cell("–", "muted")
    return difference_cell(metric, found, alpha=alpha), p_cell(found.p), Cell(counts_text(metric, found))
