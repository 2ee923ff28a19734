"""The page of one evaluation: the effect of the reranker, the failure analysis, and every query."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.analysis.explanation import has_curve
from raglift.analysis.lift import evaluation_by_tag, reranker_lift
from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.paired_statistics import interval_of, primary_of
from raglift.analysis.shared_queries import system_name
from raglift.analysis.upper_bound import headroom, match_tables_of
from raglift.analysis.warnings import few_queries, read_in_part
from raglift.base.display import BEYOND, TRUNCATED, counted
from raglift.metrics.computing import mean_title, title
from raglift.rendering.document import Cell, Section, Table, row_of
from raglift.report.format import decimals_of, interval_text, level, marks, table_metrics
from raglift.report.page import figures
from raglift.report.page.gathering import drill_down
from raglift.report.page.parts import (
    cost_section,
    decided_cell,
    difference_cell,
    failure_table,
    few_metrics,
    few_text,
    has_tags,
    mean_cell,
    measured,
    method_section,
    p_cell,
    slices_table,
    test_cells,
    truncation,
    verdict_cell,
)
from raglift.report.page.rendering import Page
from raglift.report.sentences import (
    BEYOND_CANDIDATES,
    EXPLORATORY,
    evaluation_sentence,
    failure_analysis_depth,
    failure_analysis_sentence,
    failure_sentence,
    failures_table,
)
from raglift.report.terminal.analysis import headroom_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.analysis.records import EvaluationRecord, LiftRecord, LiftRow, MovedQuery
    from raglift.records.metric import Metric


_QUERIES_NAMED = 20
_MOVED = 10
"""How many queries are named in each direction."""


def evaluation_document(
    evaluation: EvaluationRecord, *, primary: Metric | str | None = None, seed: int = 0, confidence: float = 0.95
) -> Page:
    """Return the page of one evaluation.

    Args:
        evaluation: the evaluation.
        primary: the metric that decides; by default as in `reranker_lift`.
        seed: of the permutation tests.
        confidence: how often intervals hold the true value.

    Raises:
        ConfigurationError: a metric that was not scored or is not a measure of quality, or an argument outside its
            range.
    """
    evaluation = replace(evaluation, match_table=match_tables_of(evaluation))  # matched once, for all that asks
    decides = primary_of(primary, evaluation.scores.metrics, evaluation.depth_limit)
    lift = None
    if len(evaluation.scores.stages) > 1:
        lift = reranker_lift(evaluation, primary=decides, seed=seed, confidence=confidence, moved=_MOVED)
    warnings = (*_failures(evaluation), *(_warnings(evaluation, decides) if lift is None else lift.warnings))
    lead = evaluation_sentence(evaluation, lift, decides, confidence)
    first = evaluation_headline(evaluation, lift, decides, confidence)
    if _all_failed(evaluation):  # its zeros would look as if something had been measured
        lead, first = failure_sentence(evaluation), replace(first, rows=())
    queries = drill_down({"": evaluation}, left=("", evaluation.before), right=("", evaluation.after), primary=decides)
    return Page(
        title=_title(evaluation),
        lead=lead,
        headline=first,
        measured=measured(evaluation, decides, match=queries.match),
        warnings=warnings,
        notes=tuple(note for note in evaluation.notes if note not in warnings),
        sections=tuple(_sections(evaluation, lift, decides, confidence, seed)),
        labels=str(evaluation.label_sources),
        queries=queries,
    )


def _sections(
    evaluation: EvaluationRecord, lift: LiftRecord | None, primary: Metric, confidence: float, seed: int
) -> Iterator[Section]:
    """Yield what follows the first screen; of a run that failed whole, no charts and tables full of zeros."""
    if not _all_failed(evaluation):
        sections = (
            Section("Over k", figures=(figures.over_k(evaluation, primary),)) if has_curve(primary) else None,
            None if lift is None else _lift_section(lift),
            None if lift is None else candidates_section(lift),
            _failure_section(evaluation, primary),
            _tags_section(evaluation, primary, seed, confidence),
            cost_section(evaluation),
            metrics_section(evaluation, lift, confidence),
        )
        yield from (section for section in sections if section is not None)
    failed = failures_table(evaluation, most=_QUERIES_NAMED)
    if failed is not None:
        yield Section(failed.caption, tables=(failed,))
    yield _method(evaluation, lift, primary)


def _all_failed(evaluation: EvaluationRecord) -> bool:
    return all(trace.error is not None for trace in evaluation.run.traces)


def _title(evaluation: EvaluationRecord) -> str:
    return f"{evaluation.dataset.name}: {system_name(evaluation)}"


def _warnings(evaluation: EvaluationRecord, metric: Metric) -> tuple[str, ...]:
    """Return what the reader of the figures of one stage should be warned of."""
    return (*few_queries(evaluation.scores.n(evaluation.after, metric)), *read_in_part(evaluation))


def _failures(evaluation: EvaluationRecord) -> list[str]:
    """Return how many queries failed, and why the first did: above everything else, since they count 0."""
    first = next((trace.error for trace in evaluation.run.traces if trace.error is not None), None)
    return [] if first is None else [f"{failure_sentence(evaluation)} The first: {first}"]


def evaluation_headline(
    evaluation: EvaluationRecord, lift: LiftRecord | None, primary: Metric, confidence: float
) -> Table:
    """Return the figures of the first screen: a handful of metrics before and after, with their intervals."""
    chosen = few_metrics(primary, evaluation.scores.metrics)
    percent = f"{confidence * 100:g} %"
    if lift is None:
        rows = tuple(_stage_row(evaluation, metric, confidence) for metric in chosen)
        return Table(f"{evaluation.before}, with intervals", ("metric", f"mean [{percent}]", "queries"), rows)
    columns = ("metric", f"before [{percent}]", f"after [{percent}]", f"lift [{percent}]", "p", "")
    rows = tuple(_headline_row(lift.row(metric), lift.method.alpha) for metric in chosen)
    return Table("Before and after reranking, with intervals", columns, rows, text_columns=(0, 5))


def _headline_row(row: LiftRow, alpha: float) -> tuple[Cell, ...]:
    decimals = decimals_of(row.metric)
    return row_of(
        (
            mean_title(row.metric),
            interval_text(row.before, row.before_interval, decimals),
            interval_text(row.after, row.after_interval, decimals)
            + TRUNCATED * row.truncated
            + BEYOND * bool(row.beyond_candidates),
            difference_cell(row.metric, row.difference, alpha=alpha) if row.exploratory else decided_cell(row),
            p_cell(None if row.difference is None or not row.difference.n else row.difference.p),
            Cell("exploratory", "muted") if row.exploratory else verdict_cell(row.verdict),
        )
    )


def _stage_row(evaluation: EvaluationRecord, metric: Metric, confidence: float) -> tuple[Cell, ...]:
    stage = evaluation.after
    interval = interval_of(metric, evaluation.scores.of(stage, metric), confidence)
    mean = evaluation.scores.mean(stage, metric)
    truncated = evaluation.is_truncated(stage, metric)
    cell = mean_cell(metric, mean, interval, truncated=truncated)
    return row_of((mean_title(metric), cell, f"{evaluation.scores.n(stage, metric):,}"))


def metrics_section(evaluation: EvaluationRecord, lift: LiftRecord | None, confidence: float) -> Section:
    """Return every metric at every depth."""
    metrics = table_metrics(evaluation.scores.metrics)
    sections = tuple(place for place in range(1, len(metrics)) if metrics[place].name != metrics[place - 1].name)
    marked = any(evaluation.is_truncated(stage, metric) for stage in evaluation.scores.stages for metric in metrics)
    percent = f"{confidence * 100:g} %"
    if lift is None:
        columns: tuple[str, ...] = ("metric", f"mean [{percent}]", "queries")
        rows = tuple(_stage_row(evaluation, metric, confidence) for metric in metrics)
        said: tuple[str, ...] = ()
    else:
        between = evaluation.scores.stages[1:-1]
        columns = ("metric", f"before ({evaluation.before})", *between, f"after ({evaluation.after})")
        columns += (f"lift [{percent}]", "p, uncorrected", "win/tie/loss")
        columns += ("queries",) if evaluation.candidates is None else (f"over candidates [{percent}]", "queries")
        rows = tuple(_metric_row(lift, lift.row(metric), between) for metric in metrics)
        said = (
            f"{mean_title(lift.primary)} decides; the other metrics are exploratory, and their p-values not corrected.",
        )
    table = Table("Every metric at every depth", columns, rows, sections=sections)
    beyond = (
        (f"{BEYOND} {BEYOND_CANDIDATES[0].upper()}{BEYOND_CANDIDATES[1:]}.",) if evaluation.beyond_candidates else ()
    )
    return Section("All metrics", (*said, *truncation(marked=marked), *beyond), (table,))


def _metric_row(lift: LiftRecord, row: LiftRow, between: Sequence[str]) -> tuple[Cell, ...]:
    decimals, evaluation = decimals_of(row.metric), lift.evaluation
    means = [interval_text(evaluation.scores.mean(stage, row.metric), None, decimals) for stage in between]
    before, after = (marks(evaluation, stage, row.metric) for stage in (evaluation.before, evaluation.after))
    over = [lift.row(row.metric, over=evaluation.candidates)] if evaluation.candidates is not None else []
    return row_of(
        (
            mean_title(row.metric),
            interval_text(row.before, None, decimals) + before,
            *means,
            interval_text(row.after, None, decimals) + after,
            *test_cells(row.metric, row.difference, alpha=lift.method.alpha),
            *(difference_cell(one.metric, one.difference, alpha=lift.method.alpha) for one in over),
            f"{row.n:,}",
        )
    )


def _lift_section(lift: LiftRecord) -> Section | None:
    """Return the lift of each query, and the queries that moved most; None if there is no fair pair."""
    found = lift.row().difference
    if found is None or not found.n:
        return None
    name = title(lift.primary)
    paragraph = f"In {name} {counted(found.wins, 'query')} won, {found.ties:,} tied and {found.losses:,} lost."
    tables = [moved_table(lift, where, rows) for where, rows in (("up", lift.up), ("down", lift.down)) if rows]
    return Section("Lift query by query", (paragraph,), tuple(tables), (figures.lift(lift),))


def candidates_section(lift: LiftRecord) -> Section | None:
    """Return the lift over the candidates, where they are a stage of their own; None otherwise."""
    chosen = few_metrics(lift.primary, [row.metric for row in lift.over_candidates])
    if not lift.over_candidates:
        return None
    evaluation, percent = lift.evaluation, level(lift.method)
    said = (
        f"Asked for more hits, the system ranks otherwise. Lifts elsewhere are over {evaluation.before}, the system as "
        "deployed. These are over the candidates that the reranker got: what it alone changed. They are exploratory, "
        "and no p-value is corrected."
    )
    columns = ("metric", f"candidates [{percent}]", f"after [{percent}]", f"lift [{percent}]", "p")
    rows = tuple(
        _headline_row(lift.row(metric, over=evaluation.candidates), lift.method.alpha)[:-1] for metric in chosen
    )
    return Section("Lift over the candidates", (said,), (Table("Candidates and after reranking", columns, rows),))


def moved_table(lift: LiftRecord, where: str, rows: Sequence[MovedQuery]) -> Table:
    """Return the queries that moved most in one direction, `up` or `down`."""
    name = title(lift.primary)
    cells = tuple(
        row_of(
            (
                one.query_id,
                one.text,
                f"{one.before:.3f} → {one.after:.3f}",
                f"{one.rank_before or 'none'} → {one.rank_after or 'none'}",
            )
        )
        for one in rows
    )
    return Table(
        f"The queries that moved {where} most",
        ("query", "question", name, "first fact at rank"),
        cells,
        text_columns=(0, 1),
    )


def _failure_section(evaluation: EvaluationRecord, primary: Metric) -> Section | None:
    """Return where recall was lost; None if no query is labelled."""
    k = failure_analysis_depth(evaluation, primary)
    losses = failure_analysis(evaluation, k)
    if not losses.facts:
        return None
    said = [failure_analysis_sentence(losses), f"{headroom_line(headroom(evaluation, k))}."]
    said += [
        f"{counted(loss.facts, 'fact')} of these only since {loss.stage}: no candidate held them."
        for loss in losses.made_findable
    ]
    return Section(
        "Where recall was lost",
        tuple(said),
        (failure_table({"": losses}),),
        (figures.failure_chart(evaluation, losses),),
    )


def _tags_section(evaluation: EvaluationRecord, primary: Metric, seed: int, confidence: float) -> Section | None:
    slices = evaluation_by_tag(evaluation, primary, seed=seed, confidence=confidence)
    if not has_tags(slices):
        return None
    said = [EXPLORATORY, few_text(slices)]
    return Section("By tag", tuple(filter(None, said)), (slices_table(slices),))


def _method(evaluation: EvaluationRecord, lift: LiftRecord | None, primary: Metric) -> Section:
    said = f"{mean_title(primary)} decides; every other metric is exploratory, and its p-value not corrected."
    return method_section(None if lift is None else lift.method, evaluation.scores.metrics, corrected=said)
