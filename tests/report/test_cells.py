"""Cells of tables: figures with their intervals, and the bars next to them."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

from raglift.metrics.parsing import parse
from raglift.rendering.document import Cell
from raglift.report.cells import change_cell, mean_cell, share_cell, stage_mean_cell
from raglift.results.evaluation import Evaluation
from raglift.stats.intervals import Interval


def bar(cell: Cell) -> tuple[float | None, float | None, float | None]:
    return cell.low, cell.middle, cell.high


def test_what_may_exceed_1_has_no_bar_beside_metrics_from_0_to_1() -> None:
    quality = mean_cell(parse("recall@3"), 0.5, Interval(0.25, 0.75))
    assert bar(quality) == (0.25, 0.5, 0.75)
    tokens = mean_cell(parse("context_tokens@3"), 500.0, Interval(400.0, 600.0))
    assert (tokens.text, tokens.interval, bar(tokens)) == ("500.0", "[400.0, 600.0]", (None, None, None))


def test_a_metric_that_was_not_scored_is_a_dash(ranked: Callable[..., Evaluation]) -> None:
    evaluation = ranked([1, 2])
    assert stage_mean_cell(evaluation, parse("ndcg@3"), 0.95) == Cell("–", "muted")
    assert stage_mean_cell(evaluation, parse("rr@3"), 0.95).text == "0.750"


def test_a_mark_stands_at_the_figure_whether_or_not_the_interval_is_shown() -> None:
    cell = mean_cell(parse("recall@3"), 0.5, Interval(0.25, 0.75), "†")
    assert (cell.text, cell.full_text) == ("0.500†", "0.500† [0.250, 0.750]")
    assert mean_cell(parse("recall@3"), math.nan, Interval(0.1, 0.2)) == Cell("–", "muted")


def test_a_difference_has_signs_in_its_interval_too() -> None:
    cell = change_cell(SimpleNamespace(mean=0.1, low=-0.02, high=0.22), emphasis="better")
    assert (cell.text, cell.interval, cell.emphasis) == ("+0.100", "[−0.020, +0.220]", "better")
    assert bar(cell) == (-0.02, 0.1, 0.22)


def test_a_difference_that_is_the_same_for_all_queries_has_no_interval() -> None:
    cell = change_cell(SimpleNamespace(mean=0.1, low=math.nan, high=math.nan))
    assert (cell.full_text, bar(cell)) == ("+0.100", (None, None, None))


def test_the_bar_of_a_share_is_as_long_as_the_share() -> None:
    cell = share_cell(0.25)
    assert (cell.text, bar(cell), cell.is_share) == ("25.0%", (0.0, 0.25, 0.25), True)
