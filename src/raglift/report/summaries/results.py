"""Summaries of evaluations, comparisons and analyses, from which Markdown and notebook HTML are made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.tradeoffs import has_costs, tradeoff
from raglift.analysis.upper_bound import rule_of
from raglift.base.display import counted
from raglift.metrics.computing import mean_title, title
from raglift.records.labels import LabelSources, passage_text
from raglift.rendering.document import Detail, Document, Section, Table, row_of
from raglift.report import conventions
from raglift.report.format import earned_text, figure_text, level, overlap_text
from raglift.report.page.comparison import by_mean, comparison_headline, lead, notes_of, tradeoff_table
from raglift.report.sentences import (
    EXPLORATORY,
    ON_THE_FRONT,
    failure_analysis_depth,
    failure_analysis_sentence,
)
from raglift.report.terminal.comparison import exploratory_parts
from raglift.report.views.parts import failure_table, few_text, measured_together, slices_table
from raglift.stats.intervals import TIED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.analysis.conventions.records import MetricsExplanationRecord
    from raglift.analysis.explanation import ExplanationRecord
    from raglift.analysis.outcomes import FailureAnalysisRecord
    from raglift.analysis.records import ComparisonRecord, TagSlicesRecord, TradeoffRecord


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
            yield Section(heading, tables=(table,), detail=Detail.DETAILS)


def _comparison_sections(comparison: ComparisonRecord) -> Iterator[Section]:
    yield _failure_section(comparison)
    if has_costs(comparison):
        found = tradeoff(comparison)
        table = tradeoff_table(found)
        yield Section(
            "Cost beside quality",
            found.notes,
            (table,),
            detail=Detail.DETAILS if len(table.rows) > _FEW else Detail.SUMMARY,
        )
    yield from regressions_sections(comparison)
    if len(comparison.metrics) > 1:
        parts = list(exploratory_parts(comparison, {name: name for name in comparison.names}))
        said = tuple(part for part in parts if isinstance(part, str))
        tables = tuple(part for part in parts if isinstance(part, Table))
        yield Section("All metrics", said, tables, detail=Detail.DETAILS)


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
            Section("Metrics", tables=(_values(explanation),), detail=Detail.DETAILS),
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
        yield Section("The ranking", tuple(ranking), detail=Detail.DETAILS)
    means = conventions.means(found)
    if found.queries > 1:
        yield Section("All queries", tuple(_sentences(conventions.sizes(found))), (means,))


def _sentences(texts: list[str]) -> Iterator[str]:
    """Yield texts as sentences."""
    yield from (f"{text[0].upper()}{text[1:]}." for text in texts)
