"""Formatting of single values for all outputs: means, differences, costs, passages, and names of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from raglift.metrics.computing import title
from raglift.metrics.registry import MEASURES
from raglift.utilities.display import BEYOND, TRUNCATED

if TYPE_CHECKING:
    from raglift.analysis.explanation import ExplainedHit, Explanation, Overlap
    from raglift.analysis.outcomes import OutcomeFacts
    from raglift.analysis.paired_statistics import Method
    from raglift.analysis.records import SystemCost
    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
    from raglift.stats.paired_tests import PairedDifference
    from raglift.types.metric import Metric


_SMALLEST_P = 0.001
MINUS = "−"
"""The true minus sign, as wide as a plus."""
_EARNED = 1e-12
_DIGITS_OF_SHARES = 12
"""A sum of shares that are all there is may miss 1 by its last bits: it is 100% and not 99%."""
_MOST_ON_A_LINE = 4
"""With more metrics than these, those of one measure share a line."""
_COST_TITLES = {
    "latency_p50": "latency p50 (s)",
    "latency_p95": "latency p95 (s)",
    "index_seconds": "index (s)",
    "index_bytes": "index (MB)",
    "search_seconds": "search (s)",
    "context_tokens": "context tokens",
    "dollars": "US dollars",
}
_MEGABYTE = 1e6


def marks(evaluation: Evaluation, stage: str, metric: Metric) -> str:
    """Return the marks of a stage's mean: † if it is too deep for the stage, § if hits raise it that were added."""
    return TRUNCATED * evaluation.is_truncated(stage, metric) + BEYOND * evaluation.is_beyond_candidates(stage, metric)


def decimals_of(metric: Metric) -> int:
    """Return how many decimals a metric is shown with: 3, and 1 for a count of tokens."""
    return 1 if MEASURES[metric.name].is_cost else 3


class Bounds(Protocol):
    """The bounds of an interval; NaN where they are not known."""

    @property
    def low(self) -> float:
        """The lower bound."""

    @property
    def high(self) -> float:
        """The upper bound."""


class Change(Bounds, Protocol):
    """A mean difference with its interval."""

    @property
    def mean(self) -> float:
        """The difference; NaN for none."""


def interval_text(mean: float, interval: Bounds | None, decimals: int = 3, *, signs: bool = False) -> str:
    """Return a mean with its interval: `0.682 [0.641, 0.721]`, with signs `+0.192 [+0.147, +0.234]`."""
    within = "" if math.isnan(mean) else brackets(interval, decimals, signs=signs)
    return f"{(signed if signs else number_text)(mean, decimals)} {within}".rstrip()


def brackets(found: Bounds | None, decimals: int = 3, *, signs: bool = False) -> str:
    """Return an interval: `[0.641, 0.721]`, with signs `[+0.147, +0.234]`; empty where it is not known."""
    return f"[{', '.join(ends)}]" if (ends := _ends(found, decimals, signs=signs)) else ""


def interval_in_words(found: Bounds | None, percent: str, decimals: int = 3, *, signs: bool = False) -> str:
    """Return an interval for a sentence: `95% interval 0.641 to 0.721`; empty where it is not known."""
    return f"{percent} interval {' to '.join(ends)}" if (ends := _ends(found, decimals, signs=signs)) else ""


def _ends(found: Bounds | None, decimals: int, *, signs: bool) -> list[str]:
    if found is None or math.isnan(found.low):
        return []
    return [(signed if signs else number_text)(end, decimals) for end in (found.low, found.high)]


def number_text(value: float, decimals: int = 3) -> str:
    """Return a number with a fixed count of decimals, and a true minus: `0.682`, `−0.031`, `1,204.5`; `–` for NaN."""
    return "–" if math.isnan(value) else f"{value:,.{decimals}f}".replace("-", MINUS)


def percent_text(share: float, decimals: int = 1) -> str:
    """Return a share as percent: `83.5%`; all and nothing without decimals: `100%`, `0%`."""
    share = round(share, _DIGITS_OF_SHARES)
    if share in (0.0, 1.0):
        decimals = 0
    if not decimals and 0.0 < share < 1.0:
        return f"{whole_percent(share)}%"
    return f"{number_text(100 * share, decimals)}%"


def whole_percent(share: float) -> int:
    """Return a share in whole percent, halves rounded up; 0 and 100 only where it is none and all."""
    share = round(share, _DIGITS_OF_SHARES)
    percent = math.floor(100 * share + 0.5)
    return percent if share in (0.0, 1.0) else min(max(percent, 1), 99)


def difference_text(difference: Change | None, decimals: int = 3) -> str:
    """Return a difference with its interval: `+0.192 [+0.147, +0.234]`."""
    return "–" if difference is None else interval_text(difference.mean, difference, decimals, signs=True)


def signed(value: float, decimals: int = 3) -> str:
    """Return a difference with its sign; what rounds to 0 has none: `+0.192`, `−0.031`, `0.000`; `–` for NaN."""
    if math.isnan(value):
        return "–"
    text = f"{value:+,.{decimals}f}"
    return text.replace("-", MINUS) if text.strip("+-0.,") else text[1:]


def p_text(p: float | None) -> str:
    """Return a p-value for a table: `0.021`, `<0.001`."""
    if p is None or math.isnan(p):
        return "–"
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P else f"{p:.3f}"


def p_equation(p: float | None) -> str:
    """Return a p-value for a sentence: `p = 0.021`, `p < 0.001`."""
    return f"p < {_SMALLEST_P}" if p is not None and p < _SMALLEST_P else f"p = {p_text(p)}"


def counts_text(metric: Metric, difference: PairedDifference) -> str:
    """Return wins, ties and losses: `129/136/47`; `–` where more is not a win, as of tokens."""
    if MEASURES[metric.name].is_neutral:
        return "–"
    return f"{difference.wins:,}/{difference.ties:,}/{difference.losses:,}"


def level(method: Method) -> str:
    """Return the confidence of the intervals: `95%`."""
    return confidence_text(method.confidence)


def method_text(method: Method) -> str:
    """Return how figures were computed: `p by paired … test; seed 0; confidence 95%`."""
    return f"{method.text}; seed {method.seed}; confidence {level(method)}"


def confidence_text(confidence: float) -> str:
    """Return how often intervals hold the true value: `95%`, `99.9%`."""
    return f"{confidence * 100:g}%"


def verdict_emphasis(verdict: str | None) -> str:
    """Return the emphasis of a verdict: `better`, `worse`, `muted` for any other, empty without a verdict."""
    return verdict if verdict in ("better", "worse") else "muted" if verdict else ""


def seconds_text(seconds: float) -> str:
    """Return a time to three digits or so: `0.42 ms`, `21.3 ms`, `210 ms`, `1.24 s`; `–` for NaN."""
    if math.isnan(seconds):
        return "–"
    value, unit = (seconds, "s") if seconds >= 0.9995 else (seconds * 1000, "ms")
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{digits}f} {unit}"


def bytes_text(count: int) -> str:
    """Return a size in decimal units: `96 bytes`, `412.0 kB`, `1.8 MB`."""
    if count < 1000:
        return f"{count} bytes"
    value = float(count)
    for unit in ("kB", "MB"):
        value /= 1000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:,.1f} GB"


def cost_title(cost: str) -> str:
    """Return what a cost is called, with its unit: `latency p50 (s)`."""
    return _COST_TITLES.get(cost, cost)


def in_unit_of_title(cost: str, value: float) -> float:
    """Return a cost in the unit of `cost_title`."""
    return value / _MEGABYTE if cost == "index_bytes" else value


def cost_text(one: SystemCost, cost: str) -> str:
    """Return one cost of a system, in the unit of `cost_title`; `–` if it is not known."""
    if cost not in one.costs:
        return "–"
    value = in_unit_of_title(cost, one.costs[cost])
    return f"{value:,.0f}" if value >= 100 or cost == "chunks" else f"{value:.3g}"


def place_text(one: SystemCost) -> str:
    """Return whether a system is Pareto-optimal, and what beats it otherwise."""
    if one.left_out is not None:
        return "left out"
    if one.on_front:
        return "Pareto-optimal"
    more = f" and {len(one.beaten_by) - 1} more" if len(one.beaten_by) > 1 else ""
    return f"beaten by {one.beaten_by[0]}{more}"


def figure_text(metric: Metric, value: float) -> str:
    """Return the value of a metric of one query: 3 decimals, and none for a count of tokens."""
    return number_text(value, 0 if MEASURES[metric.name].is_cost else 3)


def earned_lines(each: ExplainedHit, explanation: Explanation) -> list[str]:
    """Return what a hit earned and cost: `MRR@10 +0.500; cost: ContextTokens@10 +210`.

    Where many depths were taken, it is a line for each measure.
    """
    earned, cost = _changes(each, explanation)
    measures = {metric.name for metric in explanation.metrics}
    if len(explanation.metrics) > max(_MOST_ON_A_LINE, len(measures)):
        return [*(_by_measure(earned) or ["nothing"]), *(f"cost: {line}" for line in _by_measure(cost))]
    gains, costs = (", ".join(f"{title(m)} {change}" for m, change in changes) for changes in (earned, cost))
    return [(gains or "nothing") + (f"; cost: {costs}" if costs else "")]


def _by_measure(figures: Sequence[tuple[Metric, str]]) -> list[str]:
    """Return a line for each measure, with its figures at all depths: `Recall@1 0.500, @3 1.000`."""
    lines: dict[str, list[str]] = {}
    for metric, figure in figures:
        of_measure = lines.setdefault(title(replace(metric, depth=None)), [])
        depth = "" if metric.depth is None else f"@{metric.depth}"
        of_measure.append(f"{depth if of_measure else title(metric)} {figure}")
    return [", ".join(line) for line in lines.values()]


def _changes(each: ExplainedHit, explanation: Explanation) -> tuple[list[tuple[Metric, str]], list[tuple[Metric, str]]]:
    """Return by how much a hit changed measures of quality, and of cost."""
    changed = [pair for pair in zip(explanation.metrics, each.earned, strict=True) if abs(pair[1]) > _EARNED]
    earned = [(m, signed(value)) for m, value in changed if not MEASURES[m.name].is_cost]
    return earned, [(m, signed(value, 0)) for m, value in changed if MEASURES[m.name].is_cost]


def overlap_text(overlap: Overlap) -> str:
    """Return which part of which passage a hit covers, and whether that counts."""
    which = f"fact {overlap.fact}" + (f", alternative {overlap.passage}" if overlap.passage > 1 else "")
    if not overlap.length:
        covered = overlap.direction
    else:
        part = f"characters {overlap.start}–{overlap.end} of {overlap.length} ({overlap.share:.0%})"
        covered = f"{overlap.direction}, {part}"
    if overlap.satisfies:
        return f"{which}: {covered} → satisfied, grade {overlap.grade}"
    return f"{which}: {covered}" + ("" if overlap.counts else ", which is no match by itself")


def stage_title(name: str) -> str:
    """Return what a stage is called beside what it ran: a name that raglift gave says its part, another is kept."""
    part, _, number = name.partition("-")
    known = {"retrieve": "Retriever", "rerank": "Reranker"}.get(part)
    if known is None or (number and not number.isdecimal()):
        return f"Stage {name}"
    return f"{known} {number}".rstrip()


def shown_stage(evaluation: Evaluation, name: str) -> str:
    """Return what to call a stage beside others: the searches of an agent are no retriever's."""
    return "searches" if evaluation.run.has_sessions and name == "retrieve" else name


def outcome_text(loss: OutcomeFacts, k: int) -> str:
    """Return the outcome of facts, in words: `found by rank 10`."""
    words = {
        "failed": "of questions that failed",
        "found": f"found by rank {k}",
        "below_k": f"ranked too low (below {k})",
        "dropped": f"dropped by {loss.stage}",
        "not_retrieved": "not retrieved",
        "not_attainable": "lost in chunking",
        "missed": "not retrieved, or lost in chunking (not known which)",
    }
    return words[loss.outcome]


_RULES = {
    "containment": "containment: one hit that contains a passage, or lies inside it, proves the fact",
    "coverage": "coverage: the hits so far must together cover {share:.0%} of a passage's characters",
    "fuzzy": "fuzzy: one hit that nearly contains a passage, or nearly lies inside it, proves the fact; "
    "the texts must be {share:.0%} alike",
}


def rule_in_words(rule: MatchRule) -> str:
    """Return what a match rule counts as a match, in a sentence."""
    return _RULES[rule.mode].format(share=rule.threshold)
