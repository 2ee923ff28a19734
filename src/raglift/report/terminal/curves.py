"""A metric over k in a line of blocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.metrics import MEASURES, Metric, mean_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.records import Evaluation

__all__ = ["over_k_lines", "sparkline"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_DEPTHS = 50
_FEWEST_DEPTHS = 3


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """Return a block a value, from ▁ at `low` to █ at `high`; NaN is a gap."""
    step = (high - low) / (len(_BLOCKS) - 1)
    return "".join(
        " " if math.isnan(value) else _BLOCKS[round((value - low) / step) if step > 0 else 0] for value in values
    )


def over_k_lines(evaluation: Evaluation) -> list[str]:
    """Return NDCG, or else the first measure, over k: a line a stage, on one scale; nothing where there is none.

    At most 50 depths are taken, evenly from 1 to the number of candidates. Beside the blocks stand the values at the
    first depth and at the last one that the stage could return.
    """
    measure = _measure(evaluation)
    candidates = int(evaluation.run.spec["candidates"])
    if measure is None or candidates < _FEWEST_DEPTHS:
        return []
    curve = evaluation.over_k(measure, range(1, candidates + 1, math.ceil(candidates / _MOST_DEPTHS)))
    depths = curve["k"].tolist()
    means = {stage: curve[stage].tolist() for stage in evaluation.scores.stages}
    known = [value for values in means.values() for value in values if not math.isnan(value)]
    if not known:
        return []
    width = max(map(len, means))
    lines = [f"{mean_title(measure)} over k, 1 to {depths[-1]}"]
    for stage, values in means.items():
        until = max((place for place, value in enumerate(values) if not math.isnan(value)), default=None)
        if until is None:
            continue
        last = f"{values[until]:.4f}" + (f" at {depths[until]}" if until < len(values) - 1 else "")
        blocks = sparkline(values[: until + 1], min(known), max(known))
        lines.append(f"  {stage:<{width}}  {values[0]:.4f} {blocks} {last}")
    return lines


def _measure(evaluation: Evaluation) -> Metric | None:
    """Return NDCG where it was scored at a number of hits, else the first measure that was; None where none was."""
    measures = [
        Metric(metric.name, None, metric.parameters)
        for metric in evaluation.scores.metrics
        if metric.k is not None and not MEASURES[metric.name].is_cost
    ]
    return min(measures, key=lambda measure: measure.name != "ndcg", default=None)
