"""A gate's findings in words, made once for the terminal, Markdown, JUnit and annotations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.comparison.same_queries import named
from raglift.gating.records import ROUNDING, Outcome
from raglift.metrics import mean_title
from raglift.report.terminal.figures import counted, decimals_of, difference_text, p_text

if TYPE_CHECKING:
    from raglift.gating.records import Check, GateResult, Regression
    from raglift.records import Hit

__all__ = [
    "bound_text",
    "check_sentence",
    "failed_sentence",
    "figures",
    "found_text",
    "hit_words",
    "missing_sentence",
    "regression_sentence",
    "verdict_sentence",
]

_MOST_DECIMALS = 12
_BEGINNING = 60
"""So many characters of a hit's text are shown."""


def verdict_sentence(result: GateResult) -> str:
    """Return how the gate ended, in one sentence."""
    asked = len(result.checks) + len(result.regressions)
    broken = sum(not one.passed for one in result.checks) + sum(not one.passed for one in result.regressions)
    checks = counted(asked, "check")
    if result.outcome is Outcome.INCOMPLETE:
        told = f"{broken:,} of {checks} failed besides" if broken else f"{checks} would pass"
        return f"INCOMPLETE: {counted(len(result.missing), 'query')} missing, so the run cannot pass ({told})"
    if result.outcome is Outcome.FAILED:
        return f"FAILED: {broken:,} of {checks}"
    return f"PASSED: {checks}"


def figures(check: Check) -> tuple[str, str]:
    """Return the figure and its bound as texts that differ where a bound is broken by little."""
    return found_text(check), bound_text(check)


def found_text(check: Check) -> str:
    """Return the figure, with as many digits as it takes to tell it from the bound that it breaks."""
    if math.isnan(check.found):
        return "–"
    unit = f" {check.unit}" if check.unit else ""
    if check.metric is None and not check.unit:
        return f"{check.found:,.0f}"
    decimals = decimals_of(check.metric) if check.metric is not None else 3
    while (
        not check.passed
        and decimals < _MOST_DECIMALS
        and math.isclose(round(check.found, decimals), check.bound, rel_tol=ROUNDING, abs_tol=ROUNDING)
    ):
        decimals += 1
    return f"{check.found:,.{decimals}f}{unit}"


def bound_text(check: Check) -> str:
    """Return the bound: `≥ 0.75`, `≤ 0.5 s`."""
    unit = f" {check.unit}" if check.unit else ""
    return f"{'≥' if check.is_minimum else '≤'} {check.bound:.10g}{unit}"


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
    seen = (
        ""
        if one.detectable is None
        else f"; so many queries show a true difference of {one.detectable:.3f} four times in five"
    )
    return f"{name} dropped, but is not told apart from no change: {told}{seen}"


def _p(p: float) -> str:
    text = p_text(p)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def missing_sentence(result: GateResult) -> str:
    """Name the queries that the run lacks; empty where it lacks none."""
    if not result.missing:
        return ""
    return f"{counted(len(result.missing), 'query')} missing in the run: {named(result.missing)}"


def failed_sentence(result: GateResult) -> str:
    """Name the queries that failed; empty where none did."""
    if not result.failed:
        return ""
    one = len(result.failed) == 1
    ids = named([each.query_id for each in result.failed])
    return f"{counted(len(result.failed), 'query')} failed and {'counts' if one else 'count'} 0 in every mean: {ids}"


def hit_words(hit: Hit) -> tuple[str, str]:
    """Return where a hit stands, and the beginning of its text on one line."""
    chunk = hit.chunk
    where = chunk.doc_id or "document not known"
    if chunk.start is not None and chunk.end is not None:
        where += f" {chunk.start:,}–{chunk.end:,}"
    text = " ".join(chunk.text.split())
    return where, text if len(text) <= _BEGINNING else text[: _BEGINNING - 1] + "…"
