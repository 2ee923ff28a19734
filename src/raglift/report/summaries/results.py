"""Summaries of evaluations, comparisons and analyses, from which Markdown and notebook HTML are made."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.lift import reranker_lift
from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.paired_statistics import method_of, primary_of
from raglift.analysis.tradeoffs import has_costs, tradeoff
from raglift.analysis.upper_bound import headroom, match_tables_of, rule_of
from raglift.analysis.warnings import few_queries, read_in_part
from raglift.base.display import counted
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title, title
from raglift.records.labels import LabelSources, passage_text
from raglift.rendering.document import Document, Section, Table, row_of
from raglift.report import conventions
from raglift.report.format import earned_text, figure_text, level, overlap_text
from raglift.report.page.comparison import by_mean, comparison_headline, lead, notes_of, tradeoff_table
from raglift.report.page.evaluation import candidates_section, evaluation_headline, metrics_section, moved_table
from raglift.report.page.parts import failure_table, few_text, measured, measured_together, slices_table
from raglift.report.sentences import (
    EXPLORATORY,
    ON_THE_FRONT,
    evaluation_sentence,
    failure_analysis_depth,
    failure_analysis_sentence,
)
from raglift.report.terminal.analysis import headroom_line, over_k_table
from raglift.report.terminal.comparison import exploratory_parts
from raglift.report.terminal.evaluation import evaluation_table
from raglift.stats.intervals import CONFIDENCE, TIED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.analysis.conventions.records import MetricsExplanationRecord
    from raglift.analysis.explanation import ExplanationRecord
    from raglift.analysis.outcomes import FailureAnalysisRecord
    from raglift.analysis.records import ComparisonRecord, EvaluationRecord, LiftRecord, TagSlicesRecord, TradeoffRecord
    from raglift.records.metric import Metric


# Summary of one system: the effect of the reranker, the failure analysis, and the queries that changed most.


def evaluation_summary(
    evaluation: EvaluationRecord,
    primary: Metric | str | None = None,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Document:
    """Return a summary of an evaluation.

    Args:
        evaluation: the evaluation.
        primary: the metric that decides; by default as for a page.
        seed: of the permutation tests.
        confidence: how often intervals hold the true value.

    Raises:
        ConfigurationError: the metric was not scored or is not a measure of quality, or an argument outside its range.
    """
    method_of(seed, confidence)  # raises for what is outside its range
    evaluation = replace(evaluation, match_table=match_tables_of(evaluation))  # matched once, for all that asks
    try:
        decides = primary_of(primary, evaluation.scores.metrics, evaluation.depth_limit)
    except ConfigurationError:
        if primary is not None:
            raise
        return _figures_alone(evaluation)
    if len(evaluation.scores.stages) > 1:
        return lift_summary(reranker_lift(evaluation, primary=decides, seed=seed, confidence=confidence))
    return Document(
        title=_title(evaluation),
        lead=evaluation_sentence(evaluation, None, decides, confidence),
        headline=evaluation_headline(evaluation, None, decides, confidence),
        measured=measured(evaluation, decides, match=str(rule_of(evaluation))),
        warnings=(
            *few_queries(evaluation.scores.n(evaluation.after, decides)),
            *read_in_part(evaluation),
        ),
        notes=evaluation.notes,
        labels=str(evaluation.label_sources),
        sections=(
            *_evaluation_sections(evaluation, decides),
            replace(metrics_section(evaluation, None, confidence), folded=True),
        ),
    )


def lift_summary(lift: LiftRecord) -> Document:
    """Return what reranking changed, in short."""
    evaluation, confidence = lift.evaluation, lift.method.confidence
    method = f"{lift.method.text}; seed {lift.method.seed}; confidence {level(lift.method)}"
    return Document(
        title=_title(evaluation),
        lead=evaluation_sentence(evaluation, lift, lift.primary, confidence),
        headline=evaluation_headline(evaluation, lift, lift.primary, confidence),
        measured=(*measured(evaluation, lift.primary, match=str(rule_of(evaluation))), ("Method", method)),
        warnings=lift.warnings,
        notes=tuple(note for note in evaluation.notes if note not in lift.warnings),
        labels=str(evaluation.label_sources),
        sections=(
            *_evaluation_sections(evaluation, lift.primary),
            *filter(None, [candidates_section(lift)]),
            *_moved(lift),
            replace(metrics_section(evaluation, lift, confidence), folded=True),
        ),
    )


def failure_section(evaluation: EvaluationRecord, primary: Metric) -> Section | None:
    """Return where recall was lost; None if no query is labelled."""
    k = failure_analysis_depth(evaluation, primary)
    losses = failure_analysis(evaluation, k)
    if not losses.facts:
        return None
    return Section(
        "Where recall was lost", (f"{headroom_line(headroom(evaluation, k))}.",), (failure_table({"": losses}),)
    )


def _title(evaluation: EvaluationRecord) -> str:
    return f"{evaluation.dataset.name}: {' → '.join(evaluation.scores.stages)}"


def _figures_alone(evaluation: EvaluationRecord) -> Document:
    """Return an evaluation of which no measure says how good it is."""
    stages = tuple((f"Stage {stage.name}", stage.system) for stage in evaluation.run.stages)
    labels = str(evaluation.label_sources)
    return Document(_title(evaluation), "", evaluation_table(evaluation), stages, notes=evaluation.notes, labels=labels)


def _evaluation_sections(evaluation: EvaluationRecord, primary: Metric) -> Iterator[Section]:
    curve = over_k_table(evaluation)
    if curve is not None:
        yield Section(curve.caption, tables=(curve,))
    lost = failure_section(evaluation, primary)
    if lost is not None:
        yield lost


def _moved(lift: LiftRecord) -> Iterator[Section]:
    """Yield the queries that moved most, folded: those that lost first."""
    name = mean_title(lift.primary)
    for where, rows, verb in (("down", lift.down, "lowered"), ("up", lift.up, "raised")):
        if rows:
            table = moved_table(lift, where, rows)
            yield Section(f"Queries of which reranking {verb} {name} most: {len(rows)}", tables=(table,), folded=True)


# Summary of several systems: which differ, at what cost, and the regressed queries.


_SHOWN = 3
"""At most this many systems other than the baseline have their losses shown."""
_REGRESSIONS = 5
_FEW = 6
"""As many rows of costs are shown unfolded."""


def comparison_summary(comparison: ComparisonRecord) -> Document:
    """Return a summary of a comparison."""
    evaluation = comparison.evaluation(comparison.baseline)
    method = f"{comparison.method.text}; seed {comparison.method.seed}; confidence {level(comparison.method)}"
    return Document(
        title=f"{evaluation.dataset.name}: {counted(len(comparison.names), 'system')} compared",
        lead=lead(comparison),
        headline=comparison_headline(comparison),
        measured=(*measured_together(comparison, match=str(rule_of(evaluation))), ("Method", method)),
        warnings=comparison.warnings,
        notes=(*comparison.notes, *notes_of(comparison)),
        sections=tuple(_comparison_sections(comparison)),
        labels=str(comparison.label_sources),
    )


def slices_summary(slices: TagSlicesRecord) -> Document:
    """Return slices by tag."""
    said = EXPLORATORY
    notes = tuple(filter(None, [few_text(slices)]))
    return Document(
        f"{mean_title(slices.metric)} by tag",
        said,
        slices_table(slices),
        (),
        notes=notes,
        labels=str(slices.label_sources),
    )


def tradeoff_summary(tradeoff: TradeoffRecord) -> Document:
    """Return cost against quality."""
    said = ON_THE_FRONT
    return Document(
        "Cost beside quality",
        said,
        tradeoff_table(tradeoff),
        (),
        notes=tradeoff.notes,
        labels=str(tradeoff.label_sources),
    )


def regressions_sections(comparison: ComparisonRecord) -> Iterator[Section]:
    """Yield, for the best systems other than the baseline, the queries that they answer worse than it, folded."""
    others = [row for row in by_mean(comparison) if row.system != comparison.baseline]
    for row in others[:_SHOWN]:
        table = _regressions(comparison, row.system) if row.difference is not None and row.difference.n else None
        if table is not None:
            heading = f"Queries that {row.system} answers worse than {comparison.baseline}: {len(table.rows)} most"
            yield Section(heading, tables=(table,), folded=True)


def _comparison_sections(comparison: ComparisonRecord) -> Iterator[Section]:
    yield _failure_section(comparison)
    if has_costs(comparison):
        found = tradeoff(comparison)
        table = tradeoff_table(found)
        yield Section("Cost beside quality", found.notes, (table,), folded=len(table.rows) > _FEW)
    yield from regressions_sections(comparison)
    if len(comparison.metrics) > 1:
        parts = list(exploratory_parts(comparison, {name: name for name in comparison.names}))
        said = tuple(part for part in parts if isinstance(part, str))
        tables = tuple(part for part in parts if isinstance(part, Table))
        yield Section("All metrics", said, tables, folded=True)


def _failure_section(comparison: ComparisonRecord) -> Section:
    """Return where the baseline and the best others lost recall."""
    losses = {}
    for row in by_mean(comparison)[: _SHOWN + 1]:
        evaluation = comparison.evaluation(row.system)
        losses[row.system] = failure_analysis(evaluation, failure_analysis_depth(evaluation, comparison.primary))
    return Section("Where recall was lost", tables=(failure_table(losses),))


def _regressions(comparison: ComparisonRecord, system: str) -> Table | None:
    """Return the queries that lost most of the primary metric against the baseline; None if none lost."""
    baseline, other = comparison.evaluation(comparison.baseline), comparison.evaluation(system)
    metric = comparison.primary
    before = dict(zip(baseline.scores.query_ids, baseline.scores.of(baseline.after, metric).tolist(), strict=True))
    after = dict(zip(other.scores.query_ids, other.scores.of(other.after, metric).tolist(), strict=True))
    change = np.nan_to_num([after[query] - before[query] for query in comparison.query_ids])
    worst = [place for place in np.argsort(change, kind="stable").tolist() if change[place] < -TIED][:_REGRESSIONS]
    if not worst:
        return None
    rows = []
    for place in worst:
        query = comparison.query_ids[place]
        told = f"{before[query]:.3f} → {after[query]:.3f}"
        rows.append(row_of((query, baseline.dataset.query(query).text, told)))
    columns = ("query", "question", title(metric))
    return Table(f"{comparison.baseline} → {system}", columns, tuple(rows), text_columns=(0, 1))


# Summaries of analyses: the failure analysis, and the explanation of one query's score.


def failure_analysis_summary(losses: FailureAnalysisRecord) -> Document:
    """Return the outcome of each fact."""
    notes = tuple(
        f"{counted(loss.facts, 'fact')} of these only since {loss.stage}: no candidate held them."
        for loss in losses.made_findable
    )
    table = failure_table({"": losses})
    return Document(
        f"Where recall was lost, at k = {losses.k}",
        failure_analysis_sentence(losses),
        table,
        (),
        notes=notes,
        labels=str(losses.label_sources),
    )


def explanation_summary(explanation: ExplanationRecord) -> Document:
    """Return which hits of a query cover what, and what they earned."""
    query = explanation.query
    rows = [
        row_of(
            (
                str(each.hit.rank),
                each.hit.chunk.doc_id or "unknown document",
                "; ".join(map(overlap_text, each.overlaps)),
                earned_text(each, explanation),
                each.hit.chunk.text,
            )
        )
        for each in explanation.hits
        if each.overlaps
    ]
    silent = sum(not each.overlaps for each in explanation.hits)
    warnings = [f"The query failed: {explanation.error}"] if explanation.error is not None else []
    warnings += [] if query.is_labelled else ["The query is left out of every mean: it has no labels that count."]
    return Document(
        title=f"{query.id}: {query.text}",
        lead=f"Stage {explanation.stage}, match by {explanation.match}.",
        headline=Table(
            "Hits that cover something that is wanted",
            ("rank", "document", "covers", "earned", "text"),
            tuple(rows),
            text_columns=(1, 2, 3, 4),
        ),
        measured=(),
        warnings=tuple(warnings),
        notes=(f"{silent} of {counted(len(explanation.hits), 'hit')} cover nothing that is wanted.",),
        labels=str(LabelSources.of([query])),
        sections=(
            Section("Facts", tables=(_facts(explanation),)),
            Section("Metrics", tables=(_values(explanation),), folded=True),
        ),
    )


def _facts(explanation: ExplanationRecord) -> Table:
    rows = [
        row_of((str(number) if not place else "or", passage_text(passage)))
        for number, fact in enumerate(explanation.query.facts, start=1)
        for place, passage in enumerate(fact.passages)
    ]
    return Table("What the answer needs", ("fact", "passage"), tuple(rows), text_columns=(0, 1))


def _values(explanation: ExplanationRecord) -> Table:
    rows = [
        row_of((title(metric), "left out" if math.isnan(value) else figure_text(metric, value)))
        for metric, value in zip(explanation.metrics, explanation.values, strict=True)
    ]
    return Table("The metrics of this query", ("metric", "value"), tuple(rows))


# Summary of one query's metrics under every profile.


def conventions_summary(found: MetricsExplanationRecord) -> Document:
    """Return the query's values under each profile, why they differ, its ranking, and the means of all queries."""
    lead = [f"Stage {found.stage}, match by {found.match}.", *_sentences(conventions.choice(found))]
    return Document(
        title=f"{found.query.id}: {found.query.text}",
        lead=" ".join(lead),
        headline=conventions.values(found),
        measured=(),
        warnings=tuple(_sentences(conventions.status(found))),
        notes=(*_sentences(conventions.agreeing(found)), *found.notes),
        sections=tuple(_conventions_sections(found)),
        labels=str(found.label_sources) if found.label_sources.by_model else "",
    )


def _conventions_sections(found: MetricsExplanationRecord) -> Iterator[Section]:
    reasons = [line for name, texts in conventions.differences(found) for line in (f"{name}.", *texts)]
    if reasons:  # as paragraphs: the cells of a table are cut
        yield Section("Why they differ", tuple(reasons))
    ranking = [f"{line}." for line in (*conventions.facts(found), *conventions.ranking(found))]
    if ranking:
        yield Section("The ranking", tuple(ranking), folded=True)
    means = conventions.means(found)
    if found.queries > 1:
        yield Section("All queries", tuple(_sentences(conventions.sizes(found))), (means,))


def _sentences(texts: list[str]) -> Iterator[str]:
    """Yield texts as sentences."""
    yield from (f"{text[0].upper()}{text[1:]}." for text in texts)
