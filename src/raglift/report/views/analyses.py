"""What is shown of analyses: slices by tag, quality against cost, failures, and the explanations of one query."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.base.display import counted
from raglift.metrics.computing import mean_title, title
from raglift.records.labels import LabelSources, passage_text
from raglift.rendering.document import Detail, Document, Section, Table, row_of
from raglift.report import conventions
from raglift.report.format import earned_text, figure_text, overlap_text
from raglift.report.sentences import EXPLORATORY, failure_analysis_sentence
from raglift.report.views.comparison import tradeoff_sentences, tradeoff_table
from raglift.report.views.parts import failure_table, few_text, slices_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.analysis.conventions.records import MetricsExplanationRecord
    from raglift.analysis.explanation import ExplanationRecord
    from raglift.analysis.outcomes import FailureAnalysisRecord, OutcomeFacts
    from raglift.analysis.records import TagSlicesRecord, TradeoffRecord


_QUERIES = 3
"""As many queries are named."""


# One metric by tag, and quality against cost.


def slices_view(slices: TagSlicesRecord) -> Document:
    """Return slices by tag."""
    name = mean_title(slices.metric)
    notes = tuple(filter(None, [few_text(slices)]))
    if not slices.slices:
        return Document(f"{name} by tag", "No labelled query has a tag.", slices_table(slices), ())
    beside = f", and the difference to {slices.baseline}" if slices.baseline is not None else ""
    return Document(
        f"{name} by tag{beside}",
        EXPLORATORY,
        slices_table(slices),
        (),
        notes=notes,
        labels=str(slices.label_sources),
    )


def tradeoff_view(tradeoff: TradeoffRecord) -> Document:
    """Return cost against quality."""
    return Document(
        "Quality vs. cost",
        " ".join(tradeoff_sentences(tradeoff)),
        tradeoff_table(tradeoff),
        (),
        labels=str(tradeoff.label_sources),
    )


# The failure analysis, and the explanation of one query's score.


def failure_analysis_view(losses: FailureAnalysisRecord) -> Document:
    """Return the outcome of each fact."""
    notes = tuple(
        f"{counted(loss.facts, 'fact')} of these only since {loss.stage}, no candidate held them: {_named(loss)}."
        for loss in losses.made_findable
    )
    table = failure_table({"": losses})
    return Document(
        f"Where recall was lost, at k = {losses.k}",
        failure_analysis_sentence(losses) or "No query has a fact.",
        table if losses.facts else replace(table, rows=()),
        (),
        notes=notes,
        labels=str(losses.label_sources),
    )


def _named(loss: OutcomeFacts) -> str:
    more = f" and {len(loss.query_ids) - _QUERIES:,} more" if len(loss.query_ids) > _QUERIES else ""
    return ", ".join(loss.query_ids[:_QUERIES]) + more


def explanation_view(explanation: ExplanationRecord) -> Document:
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
    warnings += [] if query.is_labelled else ["The query is excluded from all averages: it has no labels that count."]
    return Document(
        title=f"{query.id}: {query.text}",
        lead=f"Stage {explanation.stage}, match by {explanation.match}.",
        headline=Table(
            "Relevant hits",
            ("rank", "document", "covers", "earned", "text"),
            tuple(rows),
            text_columns=(1, 2, 3, 4),
        ),
        measured=(),
        warnings=tuple(warnings),
        notes=(f"Irrelevant hits: {silent} of {len(explanation.hits)}.",),
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


# One query's metrics under every profile.


def conventions_view(found: MetricsExplanationRecord) -> Document:
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
