"""A gate's result as plain text, for a terminal or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.comparison.same_queries import named
from raglift.gating.words import (
    bound_text,
    failed_sentence,
    found_text,
    hit_words,
    missing_sentence,
    regression_sentence,
    verdict_sentence,
)
from raglift.metrics import title
from raglift.report.tables import Cell
from raglift.report.terminal.figures import as_text, counted, decimals_of, labels_line, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.gating.records import Check, FlippedQuery, GateResult, Regression
    from raglift.report.tables import Table
    from raglift.report.terminal.figures import Part

__all__ = ["gate_parts", "gate_text"]

_FLIPPED = 5
"""The most queries whose rankings are shown."""
_HITS = 5
"""The most hits of a ranking."""
_WORST = 5


def gate_text(result: GateResult) -> str:
    """Return a gate's result as plain text."""
    return as_text(gate_parts(result))


def gate_parts(result: GateResult) -> Iterator[Part]:
    """Yield the lines and tables of a gate's result."""
    dataset = result.evaluation.dataset
    yield f"{result.name}: {verdict_sentence(result)}"
    yield f"{dataset.name}: {counted(len(dataset), 'query')}"
    yield from labels_line(result.evaluation.label_sources)
    if result.checks:
        yield ""
        yield checks_table(result)
    for check in result.checks:
        yield from _told(check)
    for one in result.regressions:
        yield ""
        yield f"{'pass' if one.passed else 'FAIL'}  {regression_sentence(one)}"
        yield from _flipped(one)
    yield from _foot(result)


def checks_table(result: GateResult) -> Table:
    """Return each figure beside its bound."""
    return table_of(
        ("", "check", "found", "", "bound", "queries"),
        [
            (
                Cell("pass", "better") if check.passed else Cell("FAIL", "worse"),
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


def _told(check: Check) -> Iterator[str]:
    """Yield what is to be said of a check beside its figures."""
    if check.note:
        yield f"{check.name}: {check.note}"
    if check.queries:
        yield f"{check.name}: {named(check.queries)}"
    if not check.passed and check.worst and check.metric is not None:
        decimals = decimals_of(check.metric)
        worst = ", ".join(f"{query} {value:.{decimals}f}" for query, value in check.worst[:_WORST])
        yield f"{check.name}: worst queries: {worst}"


def _flipped(one: Regression) -> Iterator[str]:
    """Yield the queries that did worse; with both rankings where that failed the gate."""
    if not one.flipped:
        return
    count = counted(len(one.flipped), "query")
    if one.passed:
        yield f"      {count} did worse: {named([flip.query_id for flip in one.flipped])}"
        return
    yield f"      {count} did worse, the largest drop first:"
    for flip in one.flipped[:_FLIPPED]:
        yield from flip_lines(flip, one)
    if len(one.flipped) > _FLIPPED:
        yield f"      and {named([flip.query_id for flip in one.flipped[_FLIPPED:]])}"


def flip_lines(flip: FlippedQuery, one: Regression) -> Iterator[str]:
    """Yield a query that did worse, with both rankings."""
    yield f"  {flip.query_id}: {' '.join(flip.text.split())}"
    yield f"    {title(one.metric)} {flip.before:.3f} → {flip.after:.3f}"
    for whose, hits, matched in (
        ("baseline", flip.hits_before, flip.matched_before),
        ("run", flip.hits_after, flip.matched_after),
    ):
        failed = f": failed: {flip.error}" if whose == "run" and flip.error is not None else ""
        yield f"    {whose}{failed or (':' if hits else ': no hits')}"
        for hit in hits[:_HITS]:
            where, text = hit_words(hit)
            yield f"    {'✓' if hit.rank in matched else ' '} {hit.rank:>3}. {where}: {text}"
        if len(hits) > _HITS:
            below = [rank for rank in matched if rank > _HITS]
            told = f"; matching: {', '.join(map(str, below))}" if below else ""
            yield f"           and {len(hits) - _HITS:,} more{told}"


def _foot(result: GateResult) -> Iterator[str]:
    """Yield the queries that are missing or failed, and what to beware of."""
    said = [sentence for sentence in (missing_sentence(result), failed_sentence(result)) if sentence]
    if said:
        yield ""
        yield from said
    errors = [f"  {one.query_id}: {' '.join(one.error.split())}" for one in result.failed[:_WORST]]
    yield from errors
    if result.method is not None:
        yield ""
        yield f"{result.method.text}; seed {result.method.seed}; confidence {result.method.confidence * 100:g} %"
    if result.warnings or result.notes:
        yield ""
        yield from (f"! {warning}" for warning in result.warnings)
        yield from (f"note: {note}" for note in result.notes)
