"""What is shown of analyses: slices by tag, quality against cost, failures, and the explanations of one query."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from raglift.base.display import counted, excerpt
from raglift.metrics.computing import mean_title, title
from raglift.records.labels import LabelSources, passage_text
from raglift.rendering.document import Document, Entry, Section, Table
from raglift.report.format import earned_lines, figure_text, overlap_text
from raglift.report.sentences import EXPLORATORY, failure_analysis_sentence
from raglift.report.views.comparison import tradeoff_sentences, tradeoff_table
from raglift.report.views.parts import by_depth, failure_table, few_text, slices_table

if TYPE_CHECKING:
    from raglift.analysis.explanation import ExplainedHit, Explanation
    from raglift.analysis.outcomes import FailureAnalysis, OutcomeFacts
    from raglift.analysis.records import TagSlices, Tradeoff
    from raglift.records.labels import Fact
    from raglift.records.metric import Metric


_QUERIES = 3
"""As many queries are named."""


# One metric by tag, and quality against cost.


def slices_view(slices: TagSlices) -> Document:
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


def tradeoff_view(tradeoff: Tradeoff) -> Document:
    """Return cost against quality."""
    return Document(
        "Quality vs. cost",
        " ".join(tradeoff_sentences(tradeoff)),
        tradeoff_table(tradeoff),
        (),
        labels=str(tradeoff.label_sources),
    )


# The failure analysis, and the explanation of one query's score.


def failure_analysis_view(losses: FailureAnalysis) -> Document:
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


def explanation_view(explanation: Explanation) -> Document:
    """Return the values of a query, its facts, and which hits cover what and earned what."""
    query = explanation.query
    matching = [each for each in explanation.hits if _is_match(each)]
    partial = [each for each in explanation.hits if each.overlaps and not _is_match(each)]
    warnings = [f"The query failed: {explanation.error}"] if explanation.error is not None else []
    if not query.is_labelled:
        why = "it has no labels that count" if query.answerable else "it is marked as not answerable"
        warnings.append(f"The query is excluded from all averages: {why}.")
    sections = [
        Section("What the answer needs", entries=tuple(map(_fact, count(1), query.facts))),
        Section("Hits that match a label", entries=tuple(_hit(each, explanation) for each in matching)),
        Section("Hits with a part of a label", entries=tuple(_hit(each, explanation) for each in partial)),
    ]
    match = "matches" if len(matching) == 1 else "match"
    lead = f"{len(matching)} of {counted(len(explanation.hits), 'hit')} {match} a label."
    if partial:
        others = "other has" if len(partial) == 1 else "others have"
        lead += f" {len(partial)} {others} a part of one, which is no match by itself."
    return Document(
        title=f"{query.id}: {query.text}",
        lead=lead,
        headline=_values(explanation),
        measured=(("Stage", explanation.stage), ("Match rule", explanation.match)),
        warnings=tuple(warnings),
        sections=tuple(section for section in sections if section.entries),
        about=(f"stage {explanation.stage}, match by {explanation.match}",),
        labels=str(LabelSources.of([query])),
    )


def _is_match(each: ExplainedHit) -> bool:
    """Whether a hit is relevant, or makes a fact whole that others have parts of."""
    return any(overlap.counts or overlap.satisfies for overlap in each.overlaps)


def _fact(number: int, fact: Fact) -> Entry:
    first, *others = map(passage_text, fact.passages)
    return Entry(f"fact {number}: {first}", tuple(Entry(f"or {other}") for other in others))


def _hit(each: ExplainedHit, explanation: Explanation) -> Entry:
    """Return a hit, what it covers and what it earned."""
    chunk = each.hit.chunk
    place = "" if chunk.start is None else f" {chunk.start}–{chunk.end}"
    score = "" if each.hit.score is None else f", score {each.hit.score:.4f}"
    where = f"rank {each.hit.rank}: {chunk.doc_id or 'unknown document'}{place}{score}"
    covered = [Entry(overlap_text(overlap)) for overlap in each.overlaps]
    earned = earned_lines(each, explanation)
    told = Entry(f"earned: {earned[0]}") if len(earned) == 1 else Entry("earned:", tuple(map(Entry, earned)))
    return Entry(f"{where} “{excerpt(chunk.text)}”", (*covered, told))


def _values(explanation: Explanation) -> Table:
    """Return the metrics of the query: a row for each measure, and a column for each depth."""
    values = dict(zip(explanation.metrics, explanation.values, strict=True))

    def shown(metric: Metric) -> str:
        return "left out" if math.isnan(values[metric]) else figure_text(metric, values[metric])

    return by_depth(explanation.metrics, shown, "The metrics of this query", name=title)
