"""Summary of a gate's result, as Markdown for a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.analysis.shared_queries import named
from raglift.analysis.upper_bound import rule_of
from raglift.base.display import counted, excerpt
from raglift.gating.text import (
    band_word,
    check_notes,
    checks_table,
    dropped_sentence,
    failed_sentence,
    hit_words,
    method_sentence,
    missing_sentence,
    regression_sentence,
    verdict_sentence,
)
from raglift.metrics.computing import mean_title, title
from raglift.rendering.document import Cell, Detail, Document, Section, Table, table_of
from raglift.report.format import decimals_of, difference_text, p_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.gating.records import GateResultRecord, RegressedQuery, Regression


_PASSED, _FAILED = Cell("✅ pass"), Cell("❌ FAIL", "worse")
_WORSE = 20
"""The most queries of a metric that are listed: GitHub takes 65,536 characters in all."""
_RANKINGS = 10
"""The most queries whose rankings are shown, of all metrics together."""
_HITS = 10
"""The most hits of a ranking."""
_QUESTION, _ERROR = 80, 200
"""The longest question and error in a table."""


def gate_summary(result: GateResultRecord) -> Document:
    """Return a gate's result in short."""
    return Document(
        title=f"{'✅' if result.passed else '❌'} {result.name}: {verdict_sentence(result)}",
        lead=" ".join(f"{sentence}." for sentence in (missing_sentence(result), failed_sentence(result)) if sentence),
        headline=checks_table(result, _PASSED, _FAILED),
        measured=tuple(_measured(result)),
        warnings=tuple(told for told in (dropped_sentence(result), *result.warnings) if told),
        notes=tuple(note for check in result.checks for note in check_notes(check)) + result.notes,
        sections=tuple(_sections(result)),
        labels=str(result.evaluation.label_sources),
    )


def _sections(result: GateResultRecord) -> Iterator[Section]:
    if result.regressions:
        said = tuple(f"{regression_sentence(one)}." for one in result.regressions)
        yield Section("Against the baseline", said, (_differences(result.regressions),))
    shown: dict[str, int] = {}
    for one in result.regressions:
        if one.regressed:
            yield _worse(one)
            yield from _rankings(one, shown)
    if result.failed:
        rows = [(each.query_id, excerpt(each.error, _ERROR)) for each in result.failed]
        heading = f"{counted(len(rows), 'query')} failed"
        yield Section(heading, tables=(table_of(("query", "error"), rows, left=(0, 1)),), detail=Detail.DETAILS)


def _differences(regressions: tuple[Regression, ...]) -> Table:
    rows: list[tuple[str | Cell, ...]] = []
    for one in regressions:
        decimals = decimals_of(one.metric)
        figures: tuple[str, ...] = ("–",) * 5
        if one.difference is not None:
            means = (f"{mean:.{decimals}f}" for mean in (one.before, one.after))
            figures = (*means, difference_text(one.difference, decimals), p_text(one.p_holm), f"{one.difference.n:,}")
        rows.append((_PASSED if one.passed else _FAILED, mean_title(one.metric), *figures, f"{one.margin:g}"))
    columns = ("", "metric", "baseline", "run", "difference", "p", "queries", "margin")
    return table_of(columns, rows, left=(0, 1))


def _worse(one: Regression) -> Section:
    """Return the queries that did worse, in a table; of many those that lost most."""
    rows = [
        (flip.query_id, excerpt(flip.text, _QUESTION), f"{flip.before:.3f}", f"{flip.after:.3f}")
        for flip in one.regressed[:_WORSE]
    ]
    table = table_of(("query", "question", "baseline", "run"), rows, left=(0, 1))
    heading = f"{counted(len(one.regressed), 'query')} did worse in {title(one.metric)} than with the baseline"
    most = f"; the {_WORSE} that lost most" if len(one.regressed) > _WORSE else ""
    return Section(heading + most, tables=(table,), detail=Detail.DETAILS)


def _rankings(one: Regression, shown: dict[str, int]) -> Iterator[Section]:
    """Yield both rankings of the queries that lost most, where that failed the gate; of each query once."""
    if one.passed:
        return
    for flip in one.regressed:
        depth = max(len(flip.hits_before), len(flip.hits_after))
        if len(shown) < _RANKINGS and shown.get(flip.query_id, -1) < depth:
            shown[flip.query_id] = depth
            yield Section(_heading(flip, one), (flip.text,), (_side_by_side(flip),), detail=Detail.DETAILS)


def _heading(flip: RegressedQuery, one: Regression) -> str:
    return f"{flip.query_id}: {title(one.metric)} {flip.before:.3f} → {flip.after:.3f}"


def _side_by_side(flip: RegressedQuery) -> Table:
    """Return both rankings, a row per rank."""
    rows = []
    for rank in range(1, min(_HITS, max(len(flip.hits_before), len(flip.hits_after))) + 1):
        cells = [f"{rank}"]
        for hits, matched in ((flip.hits_before, flip.matched_before), (flip.hits_after, flip.matched_after)):
            where = hit_words(hits[rank - 1]) if rank <= len(hits) else "–"
            cells += ["✓" if rank in matched else "", where]
        rows.append(cells)
    if not rows:
        rows = [["–", "", "no hits", "", excerpt(flip.error or "no hits", _ERROR)]]
    columns = ("rank", "", "baseline", "", "run" if flip.error is None else "run (failed)")
    return table_of(columns, rows, left=(1, 2, 3, 4))


def _measured(result: GateResultRecord) -> Iterator[tuple[str, str]]:
    dataset, run = result.evaluation.dataset, result.evaluation.run
    yield "Dataset", f"{dataset.name}: {counted(len(dataset), 'query')}"
    if result.expected is not None:
        yield "Queries that should be there", f"{result.expected:,}, of which {len(result.missing):,} are missing"
    for stage in run.stages:
        yield f"Stage {stage.name}", stage.system
    yield "Match rule", str(rule_of(result.evaluation))
    if result.evaluation.profile != "default":
        yield "Conventions", result.evaluation.profile
    if result.method is not None:
        yield "Method", method_sentence(result.method)
    if any(map(band_word, result.checks)):
        yield "Bands of NDCG", "above 0.9 elite, 0.7 to 0.9 solid, 0.5 to 0.7 fair, under 0.5 rework"
    for check in result.checks:
        if not check.passed and check.worst:
            yield f"Worst queries of {check.name}", named([query for query, _ in check.worst])
