"""A gate's result as plain text, for a terminal or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.comparison.same_queries import named
from raglift.gating.words import (
    bound_text,
    check_notes,
    dropped_sentence,
    failed_sentence,
    found_text,
    hit_words,
    method_sentence,
    missing_sentence,
    regression_sentence,
    verdict_sentence,
)
from raglift.metrics import title
from raglift.printable import counted, excerpt
from raglift.rendering.document import Cell, table_of
from raglift.report.format import decimals_of, labels_line
from raglift.report.terminal.rendering import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.gating.records import Check, FlippedQuery, GateResultRecord, Regression
    from raglift.rendering.document import Part, Table

__all__ = ["check_lines", "checks_table", "gate_parts", "gate_text", "regression_lines"]

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
    for check in result.checks:
        yield from check_lines(check)
    shown: dict[str, int] = {}
    for one in result.regressions:
        yield ""
        yield f"{'pass' if one.passed else 'FAIL'}  {regression_sentence(one)}"
        yield from regression_lines(one, shown)
    yield from _foot(result)


def checks_table(result: GateResultRecord, passed: Cell = _PASSED, failed: Cell = _FAILED) -> Table:
    """Return each figure beside its bound, with a cell that says whether it keeps it."""
    return table_of(
        ("", "check", "found", "", "bound", "queries"),
        [
            (
                passed if check.passed else failed,
                check.name,
                found_text(check),
                str(check.band or ""),
                bound_text(check),
                "" if check.n is None else f"{check.n:,}",
            )
            for check in result.checks
        ],
        left=(0, 1, 3),
    )


def check_lines(check: Check) -> Iterator[str]:
    """Yield what is to be said of a check beside its figures, and of one that failed the worst queries."""
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
    if not one.flipped:
        return
    shown = {} if shown is None else shown
    count = counted(len(one.flipped), "query")
    if one.passed:
        yield f"      {count} did worse: {named([flip.query_id for flip in one.flipped])}"
        return
    yield f"      {count} did worse, the largest drop first:"
    for flip in one.flipped[:_FLIPPED]:
        depth = max(len(flip.hits_before), len(flip.hits_after))
        above = shown.get(flip.query_id, -1) >= depth
        yield f"  {flip.query_id}: {title(one.metric)} {flip.before:.3f} → {flip.after:.3f}{' (see above)' * above}"
        if not above:
            shown[flip.query_id] = depth
            yield from _rankings(flip)
    if len(one.flipped) > _FLIPPED:
        yield f"      and {named([flip.query_id for flip in one.flipped[_FLIPPED:]])}"


def _rankings(flip: FlippedQuery) -> Iterator[str]:
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
    """Yield the queries that are missing or failed, and what to beware of."""
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
