"""What is shown of a gate's result: each bound, the differences to the baseline, and the queries that did worse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from raglift.analysis.shared_queries import named
from raglift.analysis.upper_bound import rule_of
from raglift.gating.text import (
    bound_text,
    check_notes,
    failed_sentence,
    found_text,
    hit_words,
    missing_sentence,
    ranks_text,
    regression_sentence,
    verdict_sentence,
    worst_text,
)
from raglift.metrics.computing import mean_title, title
from raglift.rendering.document import Cell, Column, Detail, Document, Entry, Section, Table, table_from
from raglift.report.cells import change_cell
from raglift.report.format import decimals_of, level, method_text, number_text, p_text, stage_title
from raglift.utilities.display import counted, excerpt

if TYPE_CHECKING:
    from raglift.gating.deciding import GateResult
    from raglift.gating.records import Check, FailedQuery, RegressedQuery, Regression
    from raglift.types.rankings import Hit


_WORSE = 20
"""The most queries of a metric that are listed: GitHub takes 65,536 characters in all."""
_RANKINGS, _OF_A_METRIC = 10, 5
"""The most queries whose rankings are shown, of all metrics together and of one."""
_HITS = 10
"""The most hits of a ranking."""
_QUESTION, _ERROR, _HIT = 80, 200, 74
"""The longest question, error and hit in a table."""
_PASSED, _FAILED = Cell("pass", "passed"), Cell("FAIL", "failed")


def gate_view(result: GateResult) -> Document:
    """Return what is shown of a gate's result; where something failed, `print` shows all of it."""
    dataset = result.evaluation.dataset
    whole = ", none missing" if result.expected is not None and not result.missing else ""
    return Document(
        title=f"{result.name}: {verdict_sentence(result)}",
        lead=" ".join(f"{said}." for said in (missing_sentence(result), failed_sentence(result)) if said),
        headline=table_from(_CHECKS, result.checks, "Each figure next to its bound"),
        measured=tuple(_measured(result)),
        warnings=result.warnings,
        notes=(*(note for check in result.checks for note in check_notes(check)), *result.notes),
        sections=tuple(_sections(result)),
        about=(f"{dataset.name}: {counted(len(dataset), 'question')}{whole}",),
        labels=str(result.evaluation.label_sources),
        printed=Detail.SUMMARY if result.passed and not result.failed else Detail.DETAILS,
        passed=result.passed,
    )


def _measured(result: GateResult) -> Iterator[tuple[str, str]]:
    dataset, run = result.evaluation.dataset, result.evaluation.run
    yield "Dataset", f"{dataset.name}: {counted(len(dataset), 'question')}"
    if result.expected is not None:
        yield "Questions that should be there", f"{result.expected:,}, of which {len(result.missing):,} are missing"
    for stage in run.stages:
        yield stage_title(stage.name), stage.system
    yield "Match rule", str(rule_of(result.evaluation))
    if result.evaluation.profile != "default":
        yield "Conventions", result.evaluation.profile


# The bounds.


_CHECKS: tuple[Column[Check], ...] = (
    Column("", lambda check: _PASSED if check.passed else _FAILED, words=True),
    Column("check", lambda check: check.name, words=True),
    Column("found", found_text),
    Column("bound", bound_text),
    Column("questions", lambda check: "" if check.n is None else f"{check.n:,}"),
)


def _sections(result: GateResult) -> Iterator[Section]:
    worst = [f"{check.name}: {queries}" for check in result.checks if (queries := worst_text(check))]
    if worst:
        yield Section("Worst questions", entries=tuple(map(Entry, worst)))
    if result.regressions:
        sentences = [sentence for one in result.regressions for sentence in _sentences(one)]
        caption, method = "Each metric in the baseline and in the run", result.method
        percent = "" if method is None else level(method)
        table = table_from(_REGRESSIONS, result.regressions, caption, confidence=percent)
        how = [] if method is None else [f"{method_text(method)}."]
        yield Section("Against the baseline", (*sentences, *how), (table,))
    shown: dict[str, int] = {}
    for one in result.regressions:
        yield from _regressed_sections(one, shown)
    if result.failed:
        heading = f"{counted(len(result.failed), 'question')} failed"
        table = table_from(_ERRORS, result.failed, "The error of each")
        yield Section(heading, tables=(table,), detail=Detail.DETAILS)


_ERRORS: tuple[Column[FailedQuery], ...] = (
    Column("question", lambda failed: failed.query_id, words=True),
    Column("error", lambda failed: excerpt(failed.error, _ERROR), words=True),
)


# Against the baseline.


def _sentences(one: Regression) -> Iterator[str]:
    """Yield the outcome of a metric; where it passed, also the queries that did worse, which only details show."""
    yield f"{regression_sentence(one)}."
    if one.passed and one.regressed:
        which = named([flip.query_id for flip in one.regressed])
        yield f"{counted(len(one.regressed), 'question')} did worse: {which}."


def _mean(one: Regression, mean: float) -> str:
    return "–" if one.difference is None else number_text(mean, decimals_of(one.metric))


_REGRESSIONS: tuple[Column[Regression], ...] = (
    Column("", lambda one: _PASSED if one.passed else _FAILED, words=True),
    Column("metric", lambda one: mean_title(one.metric), words=True),
    Column("baseline", lambda one: _mean(one, one.before)),
    Column("run", lambda one: _mean(one, one.after)),
    Column("difference", lambda one: change_cell(one.difference, decimals_of(one.metric))),
    Column("p", lambda one: p_text(None if one.difference is None else one.p_holm)),
    Column("questions", lambda one: "–" if one.difference is None else f"{one.difference.n:,}", optional=True),
    Column("margin", lambda one: f"{one.margin:g}", optional=True),
)


def _regressed_sections(one: Regression, shown: dict[str, int]) -> Iterator[Section]:
    """Yield the queries that did worse; with both rankings where that failed the gate."""
    if not one.regressed:
        return
    heading = f"{counted(len(one.regressed), 'question')} did worse in {title(one.metric)} than with the baseline"
    most = f"; the {_WORSE} that lost most" if len(one.regressed) > _WORSE else ""
    table = table_from(_REGRESSED, one.regressed[:_WORSE], "The largest drop first")
    yield Section(heading + most, tables=(table,), detail=Detail.DETAILS)
    for flip in () if one.passed else one.regressed[:_OF_A_METRIC]:
        depth = max(len(flip.hits_before), len(flip.hits_after))
        if len(shown) < _RANKINGS and shown.get(flip.query_id, -1) < depth:
            shown[flip.query_id] = depth
            yield _rankings(flip, one)


_REGRESSED: tuple[Column[RegressedQuery], ...] = (
    Column("id", lambda flip: flip.query_id, words=True),
    Column("question", lambda flip: excerpt(flip.text, _QUESTION), words=True),
    Column("baseline", lambda flip: number_text(flip.before)),
    Column("run", lambda flip: number_text(flip.after)),
)


def _rankings(flip: RegressedQuery, one: Regression) -> Section:
    """Return both rankings of a query, side by side."""
    deepest = max(len(flip.hits_before), len(flip.hits_after))
    below = [
        f"{whose}, and {len(hits) - _HITS:,} more{ranks_text(matched, _HITS)}"
        for whose, hits, matched in _sides(flip)
        if len(hits) > _HITS
    ]
    failed = [] if flip.error is None else [f"The run failed: {excerpt(flip.error, _ERROR)}"]
    return Section(
        f"{flip.query_id}: {title(one.metric)} {number_text(flip.before)} → {number_text(flip.after)}",
        (flip.text, *failed),
        (_side_by_side(flip, range(1, min(_HITS, deepest) + 1)),),
        entries=tuple(map(Entry, below)),
        detail=Detail.DETAILS,
    )


def _sides(flip: RegressedQuery) -> tuple[tuple[str, tuple[Hit, ...], tuple[int, ...]], ...]:
    return (
        ("baseline", flip.hits_before, flip.matched_before),
        ("run", flip.hits_after, flip.matched_after),
    )


def _side_by_side(flip: RegressedQuery, ranks: range) -> Table:
    """Return both rankings, a row per rank."""
    columns = [Column[int]("rank", str)]
    for whose, hits, matched in _sides(flip):
        columns += [
            Column("", partial(_mark, matched), words=True),
            Column(whose if hits else f"{whose} (no hits)", partial(_hit, hits), words=True),
        ]
    return table_from(columns, ranks, "Both rankings; ✓ matches a label")


def _mark(matched: tuple[int, ...], rank: int) -> str:
    return "✓" if rank in matched else ""


def _hit(hits: tuple[Hit, ...], rank: int) -> str:
    return hit_words(hits[rank - 1], _HIT) if rank <= len(hits) else "–"
