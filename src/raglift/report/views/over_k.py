"""A metric over k as a table, with sparklines of block characters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.analysis.explanation import has_curve, over_k
from raglift.metrics.computing import mean_title
from raglift.metrics.registry import MEASURES
from raglift.records.metric import Metric
from raglift.rendering.document import table_of
from raglift.report.format import number_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.analysis.records import EvaluationRecord
    from raglift.rendering.document import Table


_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_DEPTHS = 50
_FEWEST_DEPTHS = 3


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """Return a block a value, from ▁ at `low` to █ at `high`; NaN is a gap."""
    step = (high - low) / (len(_BLOCKS) - 1)
    return "".join(
        " " if math.isnan(value) else _BLOCKS[round((value - low) / step) if step > 0 else 0] for value in values
    )


def over_k_table(evaluation: EvaluationRecord) -> Table | None:
    """Return NDCG, or else the first measure, over k: a row per stage, on one scale; None if there is none.

    At most 50 depths are taken, evenly from 1 to the number of candidates. Next to the blocks are the values at the
    first depth and at the last one that the stage could return.
    """
    measure = _measure(evaluation)
    candidates = int(evaluation.run.spec["candidates"])
    if measure is None or candidates < _FEWEST_DEPTHS:
        return None
    curve = over_k(evaluation, measure, range(1, candidates + 1, math.ceil(candidates / _MOST_DEPTHS)))
    depths = curve["k"].tolist()
    means = {stage: curve[stage].tolist() for stage in evaluation.scores.stages}
    known = [value for values in means.values() for value in values if not math.isnan(value)]
    if not known:
        return None
    rows: list[tuple[str, ...]] = []
    for stage, values in means.items():
        until = max((place for place, value in enumerate(values) if not math.isnan(value)), default=None)
        if until is None:
            continue
        last = number_text(values[until]) + (f" at {depths[until]}" if until < len(values) - 1 else "")
        blocks = sparkline(values[: until + 1], min(known), max(known))
        rows.append((stage, number_text(values[0]), blocks, last))
    title = f"{mean_title(measure)} over k, 1 to {depths[-1]}"
    return table_of(("stage", "k = 1", "", f"k = {depths[-1]}"), rows, left=(0, 2), caption=title)


def _measure(evaluation: EvaluationRecord) -> Metric | None:
    """Return NDCG where it was scored at a number of hits, else the first measure that was; None if none was."""
    measures = [
        Metric(metric.name, None, metric.parameters)
        for metric in evaluation.scores.metrics
        if metric.k is not None and has_curve(metric) and not MEASURES[metric.name].is_neutral
    ]
    return min(measures, key=lambda measure: measure.name != "ndcg", default=None)
