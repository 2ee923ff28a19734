"""The page of a comparison: which systems differ, by how much, at what cost, and every query."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.analysis.explanation import has_curve
from raglift.analysis.lift import comparison_by_tag, reranker_lift
from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.tradeoffs import has_costs, tradeoff
from raglift.analysis.truncation import marked
from raglift.analysis.upper_bound import match_tables_of
from raglift.base.display import TRUNCATED, counted
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Section, Table, row_of
from raglift.report.fairness import columns_beside, fairness_sentences
from raglift.report.format import cost_text, cost_title, decimals_of, effect_text, interval_text, level, place_text
from raglift.report.page.gathering import drill_down
from raglift.report.page.rendering import Page
from raglift.report.sentences import (
    EXPLORATORY,
    ON_THE_FRONT,
    baseline_sentence,
    best_lines,
    best_of,
    comparison_sentence,
    failure_analysis_depth,
    failure_analysis_sentence,
    failure_sentence,
    held_out_sentence,
)
from raglift.report.views import figures
from raglift.report.views.parts import (
    decided_cell,
    failure_table,
    few_text,
    has_tags,
    mean_cell,
    measured_together,
    method_section,
    metrics_section,
    p_cell,
    slices_table,
    test_cells,
    verdict_cell,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.analysis.records import ComparisonRecord, ComparisonRow, TradeoffRecord


_BY_TAG = 3
"""As many systems are shown by tag: the baseline and the best."""
_NAMED = 3
"""As many systems are named one by one where a note is theirs."""


def comparison_document(comparison: ComparisonRecord) -> Page:
    """Return the page of a comparison."""
    matched = [
        replace(one, match_table=match_tables_of(one)) for one in comparison.evaluations
    ]  # once, for all that asks
    comparison = replace(comparison, evaluations=tuple(matched))
    systems = dict(zip(comparison.names, comparison.evaluations, strict=True))
    other = other_of(comparison)
    queries = drill_down(
        systems,
        left=(comparison.baseline, comparison.evaluation(comparison.baseline).after),
        right=(other, comparison.evaluation(other).after),
        primary=comparison.primary,
    )
    return Page(
        title=f"{comparison.evaluation(comparison.baseline).dataset.name}: {counted(len(systems), 'system')} compared",
        lead=lead(comparison),
        headline=comparison_headline(comparison),
        measured=measured_together(comparison, match=queries.match),
        warnings=comparison.warnings,
        notes=(*comparison.notes, *notes_of(comparison)),
        sections=tuple(comparison_sections(comparison, comparison.names)),
        labels=str(comparison.label_sources),
        queries=queries,
    )


def lead(comparison: ComparisonRecord) -> str:
    """Return what was found: which systems differ, and where the best one loses recall."""
    best = best_of(comparison)
    evaluation = comparison.evaluation(best)
    losses = failure_analysis(evaluation, failure_analysis_depth(evaluation, comparison.primary))
    failures = [
        f"{name}: {words}"
        for name, one in zip(comparison.names, comparison.evaluations, strict=True)
        if (words := failure_sentence(one))
    ]
    told = [comparison_sentence(comparison), *fairness_sentences(comparison), held_out_sentence(comparison)]
    told.append(failure_analysis_sentence(losses, best))
    more = len(failures) - _NAMED
    told += [*failures[:_NAMED], f"Queries failed in {more:,} more." if more > 0 else ""]
    return " ".join(filter(None, told))


def other_of(comparison: ComparisonRecord) -> str:
    """Return the system that is shown with the baseline at first: the best of the others."""
    rows = [row for row in comparison.of(comparison.primary) if row.system != comparison.baseline]
    return max(rows, key=lambda row: (not row.truncated and bool(row.n), row.mean if row.n else -1.0)).system


def by_mean(comparison: ComparisonRecord) -> list[ComparisonRow]:
    """Return the primary metric's rows: the baseline, then the best first."""
    return sorted(
        comparison.of(comparison.primary),
        key=lambda row: (row.system != comparison.baseline, -row.mean if row.n else 1.0),
    )


def comparison_headline(comparison: ComparisonRecord) -> Table:
    """Return the primary metric of each system, compared with the baseline."""
    metric, percent = comparison.primary, level(comparison.method)
    p = "p (Holm)" if len(comparison.others) > 1 else "p"
    beside = columns_beside(comparison)
    columns = ("system", f"{mean_title(metric)} [{percent}]", f"difference [{percent}]", p, "", *beside)
    rows = []
    for row in by_mean(comparison):
        is_baseline = row.system == comparison.baseline
        rows.append(
            row_of(
                (
                    marked(row.system, comparison.evaluation(row.system)),
                    mean_cell(metric, row.mean, row.interval, truncated=row.truncated),
                    Cell("") if is_baseline else decided_cell(row),
                    Cell("") if is_baseline else p_cell(row.p_holm),
                    verdict_cell("baseline" if is_baseline else row.verdict),
                    *(Cell(means.get(row.system, "–"), "muted") for means in beside.values()),
                )
            )
        )
    return Table(f"{mean_title(metric)} of each system, with intervals", columns, tuple(rows), text_columns=(0, 4))


def comparison_sections(comparison: ComparisonRecord, shown: Sequence[str]) -> list[Section]:
    """Return the sections that compare.

    Args:
        comparison: the systems.
        shown: those with their own lines and rows, if not all fit; the baseline is among them.
    """
    few = only(comparison, shown)
    name = mean_title(comparison.primary)
    said = f"{name} decides; every other metric is exploratory, and its p-values not corrected."
    return [
        _pairs_section(comparison),
        *_cost_sections(comparison),
        *_reranked_sections(comparison),
        *_curve_sections(few),
        _failure_section(few),
        *_tags_sections(comparison),
        metrics_section(comparison, [row.system for row in by_mean(comparison)][1:]),
        method_section(comparison.method, comparison.metrics, corrected=said),
    ]


def _curve_sections(comparison: ComparisonRecord) -> list[Section]:
    """Return the primary metric over k; nothing if it is the same at every k."""
    if not has_curve(comparison.primary):
        return []
    return [Section("Over k", figures=(figures.over_k_together(comparison),))]


def notes_of(comparison: ComparisonRecord) -> list[str]:
    """Return what the evaluations say of themselves; what several say, once."""
    by_note: dict[str, list[str]] = {}
    for name, evaluation in zip(comparison.names, comparison.evaluations, strict=True):
        for note in evaluation.notes:
            by_note.setdefault(note, []).append(name)
    told = " ".join(comparison.warnings)
    return [f"{_whose(names, len(comparison.names))}: {note}" for note, names in by_note.items() if note not in told]


def _whose(names: Sequence[str], of: int) -> str:
    if len(names) == of:
        return "every system"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _pairs_section(comparison: ComparisonRecord) -> Section:
    """Return the differences query by query, on the metric that decides."""
    rows = []
    for row in by_mean(comparison):
        found = row.difference
        if found is not None and found.n:
            counts = (f"{found.wins:,}", f"{found.ties:,}", f"{found.losses:,}")
            shows = "–" if row.minimum_detectable_effect is None else f"{row.minimum_detectable_effect:.3f}"
            rows.append(row_of((row.system, *counts, effect_text(found.effect_size), p_cell(found.p), shows)))
    columns = ("system", "wins", "ties", "losses", "effect size", "p, uncorrected", "minimum detectable effect")
    said = (
        f"Each system beside {comparison.baseline}, query by query. Minimum detectable effect: the smallest true "
        "difference that so many queries show with a power of 80 %; a smaller one often goes unseen."
    )
    pictures = [figures.intervals(comparison), *([figures.differences(comparison)] if rows else [])]
    other = other_of(comparison)
    found = comparison.row(other).difference
    if found is not None and found.n:
        pictures.append(figures.pair_lift(comparison, other))
    table = Table(f"Wins and losses against {comparison.baseline}", columns, tuple(rows))
    best = tuple(f"{line[0].upper()}{line[1:]}." for line in best_lines(comparison))
    told = (baseline_sentence(comparison), *best, *([said] if rows else []))
    return Section("Differences", told, (table,) if rows else (), tuple(pictures))


def _reranked_sections(comparison: ComparisonRecord) -> list[Section]:
    """Return what reranking changed within each system, where one has a reranker."""
    rows = []
    for name, evaluation in zip(comparison.names, comparison.evaluations, strict=True):
        if len(evaluation.scores.stages) == 1:
            continue
        method = comparison.method
        found = reranker_lift(
            evaluation, primary=comparison.primary, seed=method.seed, confidence=method.confidence, moved=0
        ).row()
        decimals = decimals_of(found.metric)
        before = interval_text(found.before, found.before_interval, decimals)
        after = interval_text(found.after, found.after_interval, decimals) + TRUNCATED * found.truncated
        cells = test_cells(found.metric, found.difference, alpha=method.alpha)
        rows.append(row_of((name, before, after, *cells, f"{found.n:,}")))
    if not rows:
        return []
    percent = level(comparison.method)
    columns = ("system", f"before [{percent}]", f"after [{percent}]", f"lift [{percent}]", "p, uncorrected")
    table = Table("Each system before and after reranking", (*columns, "win/tie/loss", "queries"), tuple(rows))
    said = f"{mean_title(comparison.primary)} within each system that has a reranker, on all of its own queries."
    return [Section("Before and after reranking", (said,), (table,))]


def _failure_section(comparison: ComparisonRecord) -> Section:
    """Return where each system lost recall."""
    losses = {}
    for name, evaluation in zip(comparison.names, comparison.evaluations, strict=True):
        losses[name] = failure_analysis(evaluation, failure_analysis_depth(evaluation, comparison.primary))
    ends = dict.fromkeys((comparison.baseline, best_of(comparison)))
    said = tuple(filter(None, (failure_analysis_sentence(losses[name], name) for name in ends)))
    return Section("Where recall was lost", said, (failure_table(losses),))


def _cost_sections(comparison: ComparisonRecord) -> list[Section]:
    """Return cost against quality, where any is known."""
    if not has_costs(comparison):
        return []
    found = tradeoff(comparison)
    known = [cost for cost in found.costs if sum(cost in one.costs for one in found.systems) > 1]
    pictures = tuple(figures.tradeoff(comparison, cost) for cost in known)
    said = (ON_THE_FRONT, *found.notes)
    return [Section("Cost beside quality", said, (tradeoff_table(found),), pictures)]


def tradeoff_table(found: TradeoffRecord) -> Table:
    """Return quality and costs of each system, the best quality first."""
    labels = {one.system: one.system for one in found.systems}
    rows = [
        row_of(
            (
                one.system,
                interval_text(one.quality, None),
                *(cost_text(one, cost) for cost in found.costs),
                Cell(place_text(one, labels), "" if one.on_front else "muted"),
            )
        )
        for one in sorted(found.systems, key=lambda one: (one.left_out is not None, -one.quality))
    ]
    columns = ("system", mean_title(found.quality), *map(cost_title, found.costs), "")
    return Table("Quality and cost of each system", columns, tuple(rows), text_columns=(0, len(columns) - 1))


def _tags_sections(comparison: ComparisonRecord) -> list[Section]:
    """Return the baseline and the best systems on the queries of each tag, where there are tags."""
    few = only(comparison, [row.system for row in by_mean(comparison)][:_BY_TAG])
    slices = comparison_by_tag(few)
    if not has_tags(slices):
        return []
    said = [EXPLORATORY, few_text(slices)]
    said += [f"The baseline and the {_BY_TAG - 1} best."] if len(few.names) < len(comparison.names) else []
    return [Section("By tag", tuple(filter(None, said)), (slices_table(slices),))]


def only(comparison: ComparisonRecord, names: Sequence[str]) -> ComparisonRecord:
    """Return a comparison of which only some systems show, the baseline among them; no figure of theirs changes."""
    return replace(
        comparison,
        names=tuple(names),
        evaluations=tuple(map(comparison.evaluation, names)),
        rows=tuple(comparison.row(name, metric) for metric in comparison.metrics for name in names),
    )
