"""Figures as cells of tables: a text, its interval, what it means, and a small bar."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.analysis.paired_statistics import interval_of
from raglift.metrics.registry import MEASURES
from raglift.rendering.document import Cell
from raglift.report.format import (
    brackets,
    bytes_text,
    counts_text,
    decimals_of,
    number_text,
    p_text,
    percent_text,
    seconds_text,
    signed,
    verdict_emphasis,
)
from raglift.utilities.display import TRUNCATED

if TYPE_CHECKING:
    from raglift.analysis.records import ComparisonRow, LiftRow
    from raglift.report.format import Bounds, Change
    from raglift.results.evaluation import Evaluation
    from raglift.stats.intervals import Interval
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.metric import Metric


_NONE = "–"
"""Stands for a figure that is not known."""


def figure_cell(
    value: float, interval: Bounds | None = None, decimals: int = 3, marks: str = "", *, signs: bool = False
) -> Cell:
    """Return a figure with its interval, without a bar; `–` for NaN."""
    if math.isnan(value):
        return Cell(f"{_NONE}{marks}", "muted")
    text = (signed if signs else number_text)(value, decimals)
    return Cell(text + marks, value=value, interval=brackets(interval, decimals, signs=signs))


def mean_cell(
    metric: Metric, mean: float, interval: Interval | None = None, marks: str = "", *, drawn: bool = True
) -> Cell:
    """Return a mean with its interval, and a bar from its low to its high end.

    Args:
        metric: of which it is the mean; one that may exceed 1, as a count, has no bar: it is on no scale with the rest.
        mean: the mean; NaN for none.
        interval: of the mean, where it is shown.
        marks: what follows the figure, as † where it is too deep for the stage.
        drawn: whether it has a bar.
    """
    cell = figure_cell(mean, interval, decimals_of(metric), marks)
    if not cell.interval or interval is None or not drawn or not MEASURES[metric.name].is_bounded:
        return cell
    return replace(cell, low=interval.low, middle=mean, high=interval.high)


def stage_mean_cell(evaluation: Evaluation, metric: Metric, confidence: float) -> Cell:
    """Return the mean of a metric after the last stage, with its interval; `–` if it was not scored."""
    scores, stage = evaluation.scores, evaluation.after
    if metric not in scores.metrics:
        return Cell(_NONE, "muted")
    interval = interval_of(metric, scores.of(stage, metric), confidence)
    return mean_cell(metric, scores.mean(stage, metric), interval, TRUNCATED * evaluation.is_truncated(stage, metric))


def without_bar(cell: Cell) -> Cell:
    """Return a cell without its bar, for tables of many columns."""
    return replace(cell, low=None, middle=None, high=None)


def change_cell(found: Change | None, decimals: int = 3, emphasis: str = "", *, drawn: bool = True) -> Cell:
    """Return a difference with its interval, and a bar over that; `–` where there is none."""
    if found is None or math.isnan(found.mean):
        return Cell(_NONE, "muted")
    cell = replace(figure_cell(found.mean, found, decimals, signs=True), emphasis=emphasis)
    return replace(cell, low=found.low, middle=found.mean, high=found.high) if drawn and cell.interval else cell


def difference_cell(metric: Metric, found: PairedDifference | None, *, alpha: float) -> Cell:
    """Return a difference with its interval and bar, toned where its p-value is at most alpha; `–` for no fair pair."""
    measure, emphasis = MEASURES[metric.name], ""
    if found is not None and found.p <= alpha and not measure.is_neutral:
        emphasis = "better" if found.mean > 0 else "worse" if found.mean < 0 else "muted"
    return replace(change_cell(found, decimals_of(metric), emphasis, drawn=measure.is_bounded), is_exploratory=True)


def decided_cell(row: LiftRow | ComparisonRow) -> Cell:
    """Return the difference of the metric that decides, toned by what was decided."""
    cell = difference_cell(row.metric, row.difference, alpha=0.0)
    return replace(cell, emphasis=verdict_emphasis(row.verdict), is_exploratory=row.exploratory)


def p_cell(p: float | None) -> Cell:
    """Return a p-value."""
    return Cell(p_text(p), value=None if p is None or math.isnan(p) else p)


def verdict_cell(verdict: str | None) -> Cell:
    """Return `better`, `worse`, `not significant`, `too skewed to decide` or `baseline`."""
    return Cell(verdict or "", verdict_emphasis(verdict))


def test_cells(metric: Metric, found: PairedDifference | None, *, alpha: float) -> tuple[Cell, Cell, Cell]:
    """Return a difference, its uncorrected p-value, and wins, ties and losses."""
    if found is None or not found.n:
        return (Cell(_NONE, "muted"),) * 3
    return difference_cell(metric, found, alpha=alpha), p_cell(found.p), Cell(counts_text(metric, found))


def share_cell(share: float) -> Cell:
    """Return a share as percent, and a bar as long."""
    return Cell(percent_text(share), low=0.0, middle=share, high=share, is_share=True)


def tokens_cell(mean: float) -> Cell:
    """Return a mean number of tokens, without decimals."""
    return Cell(_NONE, "muted") if math.isnan(mean) else Cell(number_text(mean, 0), value=mean)


def seconds_cell(seconds: float | None) -> Cell:
    """Return a time with its unit; `–` where it was not measured."""
    return Cell(_NONE, "muted") if seconds is None else Cell(seconds_text(seconds), value=seconds)


def bytes_cell(size: float | None) -> Cell:
    """Return a size with its unit; `–` where it is not known."""
    return Cell(_NONE, "muted") if size is None else Cell(bytes_text(round(size)), value=size)
