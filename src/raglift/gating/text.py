"""A gate's result in words: its messages, and the text for a terminal or a log."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.analysis.shared_queries import named
from raglift.base.display import counted, excerpt
from raglift.gating.bounds import Band
from raglift.gating.records import ROUNDING, Outcome
from raglift.metrics.computing import mean_title, title
from raglift.rendering.document import Cell, table_of
from raglift.report.format import decimals_of, difference_text, labels_line, level, p_equation
from raglift.report.sentences import detectable_effect_text
from raglift.report.terminal.rendering import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.analysis.records import Method
    from raglift.gating.records import Check, GateResultRecord, RegressedQuery, Regression
    from raglift.records.rankings import Hit
    from raglift.rendering.document import Part, Table


# Messages of a gate's findings, shared by the terminal, Markdown, JUnit and annotations.


_MOST_DECIMALS = 12
_BEGINNING = 84
"""So many characters of a hit are shown: its location, and the beginning of its text."""


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
    """Return the figure, with as many digits as it takes to be on its side of the bound."""
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


BANDS = "NDCG in a word, by rule of thumb: elite above 0.9, solid from 0.7, fair from 0.5, rework below."
"""What the words beside an NDCG mean."""


def band_word(check: Check) -> str:
    """Return the word for an NDCG, empty for other figures and where it would contradict a check that passed."""
    return "" if check.band is None or (check.passed and check.band is Band.REWORK) else str(check.band)


def check_sentence(check: Check) -> str:
    """Return a check in one sentence: `ndcg@10 is 0.712 (solid) over 30 queries; expected ≥ 0.75`."""
    over = "" if check.n is None else f" {'over' if check.metric or check.unit else 'of'} {counted(check.n, 'query')}"
    band = f" ({word})" if (word := band_word(check)) else ""
    note = f" ({check.note})" if check.note else ""
    return f"{check.name} is {found_text(check)}{band}{over}; expected {bound_text(check)}{note}"


def regression_sentence(one: Regression) -> str:
    """Return the outcome of a metric against the baseline, in one or two sentences."""
    name = mean_title(one.metric)
    found = one.difference
    if found is None:
        return f"{name} cannot be compared with the baseline: {one.note}"
    decimals = decimals_of(one.metric)
    told = (
        f"{one.before:.{decimals}f} → {one.after:.{decimals}f} ({difference_text(found, decimals)}, "
        f"{p_equation(one.p_holm)}, n = {found.n:,})"
    )
    if not one.passed:
        beyond = f" and larger than the margin of {one.margin:g}" if one.margin else ""
        return f"{name} got worse: {told}: the drop is more than noise{beyond}"
    if not one.dropped:
        return f"{name} did not get worse: {told}"
    if -found.mean <= one.margin + ROUNDING:
        return f"{name} dropped within the margin of {one.margin:g}: {told}"
    if one.too_skewed:
        return f"{name} dropped, too skewed to decide: {told}"
    seen = (
        ""
        if one.minimum_detectable_effect is None
        else f"; {detectable_effect_text(f'{one.minimum_detectable_effect:.3f}')}"
    )
    return f"{name} dropped, but not significantly: {told}{seen}"


def method_sentence(method: Method) -> str:
    """Return how the differences were tested."""
    return f"{method.text}; seed {method.seed}; confidence {level(method)}"


def check_notes(check: Check) -> tuple[str, ...]:
    """Return the text of a check besides its figures: a warning, and the counted queries."""
    told = (check.note, named(check.queries) if check.queries else "")
    return tuple(f"{check.name}: {one}" for one in told if one)


def missing_sentence(result: GateResultRecord) -> str:
    """Name the queries that the run lacks; empty if it lacks none."""
    if not result.missing:
        return ""
    return f"{counted(len(result.missing), 'query')} missing in the run: {named(result.missing)}"


def dropped_sentence(result: GateResultRecord) -> str:
    """Name the queries of the baseline that are in the labelled set no more; empty if none is."""
    if not result.dropped:
        return ""
    are = "is" if len(result.dropped) == 1 else "are"
    return (
        f"{counted(len(result.dropped), 'query')} of the baseline {are} in the labelled set no more, so the gate does "
        f"not hold the run to {'it' if len(result.dropped) == 1 else 'them'}: {named(result.dropped)}"
    )


def failed_sentence(result: GateResultRecord) -> str:
    """Name the queries that failed; empty if none did."""
    if not result.failed:
        return ""
    one = len(result.failed) == 1
    ids = named([each.query_id for each in result.failed])
    return f"{counted(len(result.failed), 'query')} failed and {'counts' if one else 'count'} 0 in every mean: {ids}"


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


# A gate's result as plain text, for a terminal or a log.


_PASSED, _FAILED = Cell("pass", "better"), Cell("FAIL", "worse")
_FLIPPED = 5
"""The most queries whose rankings are shown."""
_HITS = 5
"""The most hits of a ranking."""
_WORST = 5
_QUESTION = 500
_ERROR = 300
"""The most characters of a question and of an error."""


def gate_text(result: GateResultRecord) -> str:
    """Return a gate's result as plain text."""
    return as_text(gate_parts(result))


def gate_parts(result: GateResultRecord) -> Iterator[Part]:
    """Yield the lines and tables of a gate's result; line ends in ids and texts begin none of their own."""
    return (" ".join(part.splitlines()) if isinstance(part, str) else part for part in _parts(result))


def _parts(result: GateResultRecord) -> Iterator[Part]:
    dataset = result.evaluation.dataset
    yield f"{result.name}: {verdict_sentence(result)}"
    whole = ", none missing" if result.expected is not None and not result.missing else ""
    yield f"{dataset.name}: {counted(len(dataset), 'query')}{whole}"
    yield from (f"! {told}" for told in (dropped_sentence(result),) if told)
    yield from labels_line(result.evaluation.label_sources)
    if result.checks:
        yield ""
        yield checks_table(result)
        yield from [BANDS] if any(map(band_word, result.checks)) else []
    for check in result.checks:
        yield from check_lines(check)
    shown: dict[str, int] = {}
    for one in result.regressions:
        yield ""
        yield f"{'pass' if one.passed else 'FAIL'}  {regression_sentence(one)}"
        yield from regression_lines(one, shown)
    yield from _foot(result)


def checks_table(result: GateResultRecord, passed: Cell = _PASSED, failed: Cell = _FAILED) -> Table:
    """Return each figure next to its bound, with a cell that says whether it meets it."""
    return table_of(
        ("", "check", "found", "", "bound", "queries"),
        [
            (
                passed if check.passed else failed,
                check.name,
                found_text(check),
                band_word(check),
                bound_text(check),
                "" if check.n is None else f"{check.n:,}",
            )
            for check in result.checks
        ],
        left=(0, 1, 3),
    )


def check_lines(check: Check) -> Iterator[str]:
    """Yield what is to be said of a check next to its figures, and of one that failed the worst queries."""
    yield from check_notes(check)
    if not check.passed and check.worst and check.metric is not None:
        decimals = decimals_of(check.metric)
        worst = ", ".join(f"{query} {value:.{decimals}f}" for query, value in check.worst[:_WORST])
        yield f"{check.name}: worst queries: {worst}"


def regression_lines(one: Regression, shown: dict[str, int] | None = None) -> Iterator[str]:
    """Yield the queries that did worse; with both rankings where that failed the gate.

    Args:
        one: a metric against the baseline.
        shown: for each query whose rankings were shown, their depth; more are added. None to show them all.
    """
    if not one.regressed:
        return
    shown = {} if shown is None else shown
    count = counted(len(one.regressed), "query")
    if one.passed:
        yield f"      {count} did worse: {named([flip.query_id for flip in one.regressed])}"
        return
    yield f"      {count} did worse, the largest drop first:"
    for flip in one.regressed[:_FLIPPED]:
        depth = max(len(flip.hits_before), len(flip.hits_after))
        above = shown.get(flip.query_id, -1) >= depth
        yield f"  {flip.query_id}: {title(one.metric)} {flip.before:.3f} → {flip.after:.3f}{' (see above)' * above}"
        if not above:
            shown[flip.query_id] = depth
            yield from _rankings(flip)
    if len(one.regressed) > _FLIPPED:
        yield f"      and {named([flip.query_id for flip in one.regressed[_FLIPPED:]])}"


def _rankings(flip: RegressedQuery) -> Iterator[str]:
    """Yield a question, and what the baseline and the run returned."""
    yield f"    {excerpt(flip.text, _QUESTION)}"
    for whose, hits, matched in (
        ("baseline", flip.hits_before, flip.matched_before),
        ("run", flip.hits_after, flip.matched_after),
    ):
        failed = f" failed: {excerpt(flip.error, _ERROR)}" if whose == "run" and flip.error is not None else ""
        yield f"    {whose}:{failed or ('' if hits else ' no hits')}"
        for hit in hits[:_HITS]:
            yield f"    {'✓' if hit.rank in matched else ' '} {hit.rank:>3}. {hit_words(hit)}"
        if len(hits) > _HITS:
            below = [rank for rank in matched if rank > _HITS]
            told = f"; a match at {named([str(rank) for rank in below])}" if below else ""
            yield f"           and {len(hits) - _HITS:,} more{told}"


def _foot(result: GateResultRecord) -> Iterator[str]:
    """Yield the queries that are missing or failed, and warnings."""
    said = [sentence for sentence in (missing_sentence(result), failed_sentence(result)) if sentence]
    if said:
        yield ""
        yield from said
        yield from (f"  {one.query_id}: {excerpt(one.error, _ERROR)}" for one in result.failed[:_WORST])
    if result.method is not None:
        yield ""
        yield method_sentence(result.method)
    if result.warnings or result.notes:
        yield ""
        yield from (f"! {warning}" for warning in result.warnings)
        yield from (f"note: {note}" for note in result.notes)
