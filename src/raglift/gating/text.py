"""A gate's findings in words: the sentences that the terminal, Markdown, JUnit XML, annotations and pytest share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.analysis.shared_queries import named
from raglift.gating.records import ROUNDING, Check, Outcome, Regression
from raglift.metrics.computing import mean_title
from raglift.report.format import decimals_of, difference_text, number_text, p_equation
from raglift.report.sentences import detectable_effect_text
from raglift.utilities.display import counted, excerpt

if TYPE_CHECKING:
    from raglift.gating.deciding import GateResult
    from raglift.types.rankings import Hit


_MOST_DECIMALS = 12
_WORST = 5
"""As many queries are named."""
_BEGINNING = 84
"""So many characters of a hit are shown: its location, and the beginning of its text."""


def verdict_sentence(result: GateResult) -> str:
    """Return how the gate ended, in one sentence."""
    asked = [*(one.passed for one in result.checks), *(one.passed for one in result.regressions)]
    broken, checks = asked.count(False), counted(len(asked), "check")
    if result.outcome is Outcome.INCOMPLETE:
        others = f"{broken:,} of {checks} failed besides" if broken else f"{checks} would pass"
        return f"INCOMPLETE: {counted(len(result.missing), 'question')} missing, so the run cannot pass ({others})"
    if result.outcome is Outcome.FAILED:
        return f"FAILED ({broken:,} of {checks})"
    return f"PASSED ({checks})"


def found_text(check: Check) -> str:
    """Return the figure, with as many digits as it takes to be on its side of the bound."""
    if math.isnan(check.found):
        return "–"
    if check.is_count:
        return f"{check.found:,.0f}"
    factor, unit = _scale(check, check.found)
    value = check.found * factor
    decimals = 3 - len(f"{min(value, 999.0):.0f}")
    if check.metric is not None:
        decimals = decimals_of(check.metric)
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
    """Return a check in one sentence: `ndcg@10 is 0.712 over 30 queries; expected ≥ 0.75`."""
    over = "" if check.n is None else f" {'of' if check.is_count else 'over'} {counted(check.n, 'question')}"
    note = f" ({check.note})" if check.note else ""
    return f"{check.name} is {found_text(check)}{over}; expected {bound_text(check)}{note}"


def regression_sentence(one: Regression) -> str:
    """Return the outcome of a metric against the baseline, in one or two sentences."""
    name = mean_title(one.metric)
    found = one.difference
    if found is None:
        return f"{name} cannot be compared with the baseline: {one.note}"
    decimals = decimals_of(one.metric)
    before, after = number_text(one.before, decimals), number_text(one.after, decimals)
    figures = f"{before} → {after} ({difference_text(found, decimals)}, {p_equation(one.p_holm)}, n = {found.n:,})"
    if not one.passed:
        beyond = f" and larger than the margin of {one.margin:g}" if one.margin else ""
        return f"{name} got worse: {figures}: the drop is significant{beyond}"
    if not one.dropped:
        return f"{name} did not get worse: {figures}"
    if -found.mean <= one.margin + ROUNDING:
        return f"{name} dropped within the margin of {one.margin:g}: {figures}"
    if one.too_skewed:
        return f"{name} dropped, too skewed to decide: {figures}"
    seen = (
        ""
        if one.minimum_detectable_effect is None
        else f"; {detectable_effect_text(f'{one.minimum_detectable_effect:.3f}')}"
    )
    return f"{name} dropped, but not significantly: {figures}{seen}"


def check_notes(check: Check) -> tuple[str, ...]:
    """Return the text of a check besides its figures: a warning, and the counted queries."""
    notes = (check.note, named(check.queries) if check.queries else "")
    return tuple(f"{check.name}: {one}" for one in notes if one)


def worst_text(check: Check) -> str:
    """Name the queries furthest from the bound of a metric that failed; empty for any other check."""
    if check.passed or not check.worst or check.metric is None:
        return ""
    decimals = decimals_of(check.metric)
    return ", ".join(f"{query} {number_text(value, decimals)}" for query, value in check.worst[:_WORST])


@dataclass(frozen=True)
class Finding:
    """What one check of a gate found, in words: JUnit XML, GitHub's commands and failed tests are made of it."""

    name: str
    """What was checked: `ndcg@10 ≥ 0.75`."""
    subject: str
    """What it is about: `ndcg@10`."""
    passed: bool
    sentence: str
    """What was found, and what was expected."""
    lines: tuple[str, ...] = ()
    """Notes, and the queries that are behind it, one a line."""


def findings_of(result: GateResult) -> Iterator[Finding]:
    """Yield what was found: of the queries that should be there, of each bound, and of each metric compared."""
    if result.expected is not None:
        yield Finding(
            "no question missing", "missing questions", not result.missing, missing_sentence(result), result.missing
        )
    for check in result.checks:
        worst = worst_text(check)
        lines = (*check_notes(check), *([f"{check.name}: worst questions: {worst}"] if worst else []))
        yield Finding(f"{check.name} {bound_text(check)}", check.name, check.passed, check_sentence(check), lines)
    for one in result.regressions:
        name = mean_title(one.metric)
        changes = (
            f"{query.query_id}: {number_text(query.before)} → {number_text(query.after)}" for query in one.regressed
        )
        yield Finding(f"no regression in {name}", name, one.passed, regression_sentence(one), tuple(changes))


def missing_sentence(result: GateResult) -> str:
    """Name the queries that the run lacks; empty if it lacks none."""
    if not result.missing:
        return ""
    return f"{counted(len(result.missing), 'question')} missing in the run: {named(result.missing)}"


def failed_sentence(result: GateResult) -> str:
    """Name the queries that failed; empty if none did."""
    if not result.failed:
        return ""
    one = len(result.failed) == 1
    ids = named([each.query_id for each in result.failed])
    return f"{counted(len(result.failed), 'question')} failed and {'counts' if one else 'count'} 0 in every mean: {ids}"


def hit_words(hit: Hit, most: int = _BEGINNING) -> str:
    """Return the location of a hit, and the start of its text on one line.

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


def ranks_text(matched: tuple[int, ...], most: int) -> str:
    """Return at which ranks there are matches below those that are shown; empty if there are none."""
    below = [str(rank) for rank in matched if rank > most]
    return f"; a match at {named(below)}" if below else ""
