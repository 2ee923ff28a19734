"""A gate's findings in words, made once for the terminal, Markdown, JUnit and annotations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.comparison.same_queries import named
from raglift.gating.records import ROUNDING, Outcome
from raglift.metrics import mean_title
from raglift.printable import counted, excerpt
from raglift.report.format import decimals_of, difference_text, level, p_text
from raglift.report.words import detectable_words

if TYPE_CHECKING:
    from raglift.gating.records import Check, GateResultRecord, Regression
    from raglift.records import Hit
    from raglift.result_records import Method

__all__ = [
    "bound_text",
    "check_notes",
    "check_sentence",
    "dropped_sentence",
    "failed_sentence",
    "found_text",
    "hit_words",
    "method_sentence",
    "missing_sentence",
    "regression_sentence",
    "verdict_sentence",
]

_MOST_DECIMALS = 12
_BEGINNING = 84
"""So many characters of a hit are shown: its place, and the beginning of its text."""


def verdict_sentence(result: GateResultRecord) -> str:
    """Return how the gate ended, in one sentence."""
    asked = len(result.checks) + len(result.regressions)
    broken = sum(not one.passed for one in result.checks) + sum(not one.passed for one in result.regressions)
    checks = counted(asked, "check")
    if result.outcome is Outcome.INCOMPLETE:
        told = f"{broken:,} of {checks} failed besides" if broken else f"{checks} would pass"
        return f"INCOMPLETE: {counted(len(result.missing), 'query')} missing, so the run cannot pass ({told})"
    if result.outcome is Outcome.FAILED:
        return f"FAILED ({broken:,} of {checks})"
    return f"PASSED ({checks})"


def found_text(check: Check) -> str:
    """Return the figure, with as many digits as it takes to stand on its side of the bound."""
    if math.isnan(check.found):
        return "–"
    if check.metric is None and not check.unit:
        return f"{check.found:,.0f}"
    factor, unit = _scale(check, check.found)
    value = check.found * factor
    decimals = decimals_of(check.metric) if check.metric is not None else 3 - len(f"{min(value, 999.0):.0f}")
    while decimals < _MOST_DECIMALS and check.allows(round(value, decimals) / factor) != check.passed:
        decimals += 1
    return f"{value:,.{decimals}f}{unit}"


def bound_text(check: Check) -> str:
    """Return the bound: `≥ 0.75`, `≤ 500 ms`."""
    factor, unit = _scale(check, check.bound)
    return f"{'≥' if check.is_minimum else '≤'} {check.bound * factor:.10g}{unit}"


def _scale(check: Check, value: float) -> tuple[float, str]:
    """Return by what to multiply a figure or a bound to show it, and its unit."""
    if not check.unit:
        return 1.0, ""
    return (1000.0, " ms") if value < 1.0 else (1.0, " s")


def check_sentence(check: Check) -> str:
    """Return a check in one sentence: `ndcg@10 is 0.712 (solid) over 30 queries; expected ≥ 0.75`."""
    over = "" if check.n is None else f" {'over' if check.metric or check.unit else 'of'} {counted(check.n, 'query')}"
    band = f" ({check.band})" if check.band else ""
    note = f" ({check.note})" if check.note else ""
    return f"{check.name} is {found_text(check)}{band}{over}; expected {bound_text(check)}{note}"


def regression_sentence(one: Regression) -> str:
    """Return what became of a metric against the baseline, in one or two sentences."""
    name = mean_title(one.metric)
    found = one.difference
    if found is None:
        return f"{name} cannot be compared with the baseline: {one.note}"
    decimals = decimals_of(one.metric)
    told = (
        f"{one.before:.{decimals}f} → {one.after:.{decimals}f} ({difference_text(found, decimals)}, "
        f"p {_p(one.p_holm)}, n = {found.n:,})"
    )
    if not one.passed:
        beyond = f" and larger than the margin of {one.margin:g}" if one.margin else ""
        return f"{name} got worse: {told}: the drop is more than noise{beyond}"
    if not one.dropped:
        return f"{name} did not get worse: {told}"
    if -found.mean <= one.margin + ROUNDING:
        return f"{name} dropped within the margin of {one.margin:g}: {told}"
    seen = "" if one.detectable is None else f"; {detectable_words(f'{one.detectable:.3f}')}"
    return f"{name} dropped, but is not told apart from no change: {told}{seen}"


def _p(p: float) -> str:
    text = p_text(p)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def method_sentence(method: Method) -> str:
    """Return how the differences were tested."""
    return f"{method.text}; seed {method.seed}; confidence {level(method)}"


def check_notes(check: Check) -> tuple[str, ...]:
    """Return what is to be said of a check beside its figures: a caution, and the queries that a count counts."""
    told = (check.note, named(check.queries) if check.queries else "")
    return tuple(f"{check.name}: {one}" for one in told if one)


def missing_sentence(result: GateResultRecord) -> str:
    """Name the queries that the run lacks; empty where it lacks none."""
    if not result.missing:
        return ""
    return f"{counted(len(result.missing), 'query')} missing in the run: {named(result.missing)}"


def dropped_sentence(result: GateResultRecord) -> str:
    """Name the queries of the baseline that are in the labelled set no more; empty where none is."""
    if not result.dropped:
        return ""
    are = "is" if len(result.dropped) == 1 else "are"
    return (
        f"{counted(len(result.dropped), 'query')} of the baseline {are} in the labelled set no more, so the gate does "
        f"not hold the run to {'it' if len(result.dropped) == 1 else 'them'}: {named(result.dropped)}"
    )


def failed_sentence(result: GateResultRecord) -> str:
    """Name the queries that failed; empty where none did."""
    if not result.failed:
        return ""
    one = len(result.failed) == 1
    ids = named([each.query_id for each in result.failed])
    return f"{counted(len(result.failed), 'query')} failed and {'counts' if one else 'count'} 0 in every mean: {ids}"


def hit_words(hit: Hit, most: int = _BEGINNING) -> str:
    """Return where a hit stands, and the beginning of its text on one line.

    Where its document is not known, its own id stands for it; without either there is the text alone.

    Args:
        hit: what came back.
        most: how many characters there may be; of the text, at least 20 are shown.
    """
    chunk = hit.chunk
    where = chunk.doc_id or (chunk.id if chunk.has_own_id else "")
    if where and chunk.start is not None and chunk.end is not None:
        where += f" {chunk.start:,}–{chunk.end:,}"
    text = excerpt(chunk.text, max(20, most - len(where)))
    return f"{where}: {text}" if where else text
