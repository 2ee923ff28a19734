"""Diagnoses in short: what became of each fact, and why one query scored what it did."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.metrics import title
from raglift.printable import counted
from raglift.records import LabelSources
from raglift.records.labels import passage_text
from raglift.rendering.document import Document, Section, Table, row_of
from raglift.report.format import earned_text, figure_text, piece_text
from raglift.report.page.parts import loss_table
from raglift.report.words import loss_sentence

if TYPE_CHECKING:
    from raglift.diagnosis import ExplanationRecord, LossBreakdownRecord

__all__ = ["explanation_brief", "loss_brief"]


def loss_brief(losses: LossBreakdownRecord) -> Document:
    """Return what became of each fact."""
    notes = tuple(
        f"{counted(loss.facts, 'fact')} of these only since {loss.stage}: no candidate held them."
        for loss in losses.made_findable
    )
    table = loss_table({"": losses})
    return Document(
        f"Where recall was lost, at k = {losses.k}",
        loss_sentence(losses),
        table,
        (),
        notes=notes,
        labels=str(losses.label_sources),
    )


def explanation_brief(explanation: ExplanationRecord) -> Document:
    """Return which hits of a query cover what, and what they earned."""
    query = explanation.query
    rows = [
        row_of(
            (
                str(each.hit.rank),
                each.hit.chunk.doc_id or "unknown document",
                "; ".join(map(piece_text, each.pieces)),
                earned_text(each, explanation),
                each.hit.chunk.text,
            )
        )
        for each in explanation.hits
        if each.pieces
    ]
    silent = sum(not each.pieces for each in explanation.hits)
    warnings = [f"The query failed: {explanation.error}"] if explanation.error is not None else []
    warnings += [] if query.is_labelled else ["The query is left out of every mean: it has no labels that count."]
    return Document(
        title=f"{query.id}: {query.text}",
        lead=f"Stage {explanation.stage}, match by {explanation.match}.",
        headline=Table(
            "Hits that cover something that is wanted",
            ("rank", "document", "covers", "earned", "text"),
            tuple(rows),
            words=(1, 2, 3, 4),
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
    return Table("What the answer needs", ("fact", "passage"), tuple(rows), words=(0, 1))


def _values(explanation: ExplanationRecord) -> Table:
    rows = [
        row_of((title(metric), "left out" if math.isnan(value) else figure_text(metric, value)))
        for metric, value in zip(explanation.metrics, explanation.values, strict=True)
    ]
    return Table("The metrics of this query", ("metric", "value"), tuple(rows))
