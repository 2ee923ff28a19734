"""Cells of a page's tables: figures, and the bars next to them."""

from __future__ import annotations

from raglift.metrics.parsing import parse
from raglift.report.views.parts import mean_cell
from raglift.stats.intervals import Interval


def test_a_count_of_tokens_has_no_bar_beside_metrics_from_0_to_1() -> None:
    quality = mean_cell(parse("recall@3"), 0.5, Interval(0.25, 0.75))
    assert (quality.low, quality.middle, quality.high) == (0.25, 0.5, 0.75)
    tokens = mean_cell(parse("context_tokens@3"), 500.0, Interval(400.0, 600.0))
    assert (tokens.low, tokens.middle, tokens.high) == (None, None, None)
    assert tokens.text == "500.0 [400.0, 600.0]"
