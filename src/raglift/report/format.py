"""How single values are written: means, intervals, differences, p-values, and the names of systems in a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.metrics import MEASURES
from raglift.report.document import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raglift.records import LabelSources, Method, Metric
    from raglift.significance import Interval, PairedDifference

__all__ = [
    "counts_text",
    "decimals_of",
    "difference_text",
    "differing",
    "effect_text",
    "interval_text",
    "labels_line",
    "labels_of",
    "legend",
    "level",
    "lifted",
    "p_text",
    "signed",
    "verdict_tone",
]

_LONGEST_LABEL = 24
"""The longest name of a system that has room in a table beside its values."""
_SMALLEST_P = 0.0001


def labels_line(sources: LabelSources) -> list[str]:
    """Return whose labels figures rest on, as a line beside them; none where people gave all of them."""
    return [str(sources)] if sources.by_model else []


def decimals_of(metric: Metric) -> int:
    """Return how many decimals a metric is shown with: 3, and 1 for a count of tokens."""
    return 1 if MEASURES[metric.name].is_cost else 3


def interval_text(mean: float, interval: Interval | None, decimals: int = 3) -> str:
    """Return a mean with its interval: `0.682 [0.641, 0.721]`."""
    if math.isnan(mean):
        return "–"
    text = f"{mean:,.{decimals}f}"
    return text if interval is None else f"{text} [{interval.low:,.{decimals}f}, {interval.high:,.{decimals}f}]"


def difference_text(difference: PairedDifference | None, decimals: int = 3) -> str:
    """Return a difference with its interval: `+0.192 [+0.147, +0.234]`."""
    if difference is None or math.isnan(difference.mean):
        return "–"
    mean, low, high = (signed(value, decimals) for value in (difference.mean, difference.low, difference.high))
    return mean if math.isnan(difference.low) else f"{mean} [{low}, {high}]"


def signed(value: float, decimals: int = 3) -> str:
    """Return a difference with its sign; what rounds to 0 has none: `+0.192`, `0.000`."""
    text = f"{value:+,.{decimals}f}"
    return text if text.strip("+-0.,") else text[1:]


def p_text(p: float | None) -> str:
    """Return a p-value: `0.0213`."""
    if p is None or math.isnan(p):
        return "–"
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P / 2 else f"{p:.4f}"


def effect_text(effect_size: float) -> str:
    """Return an effect size: `+0.49`."""
    return "–" if math.isnan(effect_size) else f"{effect_size:+.2f}"


def counts_text(metric: Metric, difference: PairedDifference) -> str:
    """Return wins, ties and losses: `129/136/47`; `–` where more is no win, as of tokens."""
    if MEASURES[metric.name].is_neutral:
        return "–"
    return f"{difference.wins:,}/{difference.ties:,}/{difference.losses:,}"


def level(method: Method) -> str:
    """Return the confidence of the intervals: `95 %`."""
    return f"{method.confidence * 100:g} %"


def labels_of(names: Sequence[str], most: int = _LONGEST_LABEL) -> dict[str, str]:
    """Return what to call systems in a table: their names, or numbers where a name is too long for one."""
    if max(map(len, names), default=0) <= most:
        return {name: name for name in names}
    return {name: f"[{number}]" for number, name in enumerate(names, start=1)}


def legend(labels: Mapping[str, str]) -> list[str]:
    """Return a line for each name that has a number, and an empty one after them."""
    lines = [f"{label:>5} {name}" for name, label in labels.items() if label != name]
    return [*lines, ""] if lines else []


def verdict_tone(verdict: str | None) -> str:
    """Return the tone of a verdict: `better`, `worse`, `muted` for any other, nothing where there is none."""
    return verdict if verdict in ("better", "worse") else "muted" if verdict else ""


def lifted(text: str, value: float, *, counts: bool = True) -> Cell:
    """Return a signed difference as a cell: toned where it counts, and quiet where it is 0."""
    if not counts or math.isnan(value):
        return Cell(text)
    return Cell(text, "better" if value > 0 else "worse" if value < 0 else "muted")


def differing(difference: PairedDifference | None, metric: Metric, alpha: float) -> Cell:
    """Return a difference with its interval as a cell: toned where its own p-value is at most alpha."""
    text = difference_text(difference, decimals_of(metric))
    if difference is None or not difference.n:
        return Cell(text)
    return lifted(text, difference.mean, counts=difference.p <= alpha and not MEASURES[metric.name].is_neutral)
