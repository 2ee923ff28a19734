"""A metric over k in a line of blocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.diagnosis import has_curve, over_k
from raglift.metrics import MEASURES, Metric, mean_title
from raglift.rendering.document import table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.rendering.document import Table
    from raglift.result_records import EvaluationRecord

__all__ = ["over_k_lines", "over_k_table", "sparkline"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_DEPTHS = 50
_FEWEST_DEPTHS = 3


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """Return a block a value, from ▁ at `low` to █ at `high`; NaN is a gap."""
    step = (high - low) / (len(_BLOCKS) - 1)
    return "".join(
        " " if math.isnan(value) else _BLOCKS[round((value - low) / step) if step > 0 else 0] for value in values
    )


def over_k_lines(evaluation: EvaluationRecord) -> list[str]:
    """Return the curve over k as lines: a title, then a stage each; nothing where there is none."""
    table = over_k_table(evaluation)
    if table is None:
        return []
    rows = [[cell.text for cell in row] for row in table.rows]
    width = max(len(stage) for stage, *_ in rows)
    return [table.caption, *(f"  {stage:<{width}}  {first} {blocks} {last}" for stage, first, blocks, last in rows)]


def over_k_table(evaluation: EvaluationRecord) -> Table | None:
    """Return NDCG, or else the first measure, over k: a row a stage, on one scale; None where there is none.

    At most 50 depths are taken, evenly from 1 to the number of candidates. Beside the blocks stand the values at the
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
        last = f"{values[until]:.4f}" + (f" at {depths[until]}" if until < len(values) - 1 else "")
        blocks = sparkline(values[: until + 1], min(known), max(known))
        rows.append((stage, f"{values[0]:.4f}", blocks, last))
    title = f"{mean_title(measure)} over k, 1 to {depths[-1]}"
    return table_of(("stage", "k = 1", "", f"k = {depths[-1]}"), rows, left=(0, 2), caption=title)


def _measure(evaluation: EvaluationRecord) -> Metric | None:
    """Return NDCG where it was scored at a number of hits, else the first measure that was; None where none was."""
    measures = [
        Metric(metric.name, None, metric.parameters)
        for metric in evaluation.scores.metrics
        if metric.k is not None and has_curve(metric) and not MEASURES[metric.name].is_neutral
    ]
    return min(measures, key=lambda measure: measure.name != "ndcg", default=None)
