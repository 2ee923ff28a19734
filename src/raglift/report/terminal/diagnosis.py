"""Diagnoses as plain text: where recall was lost, what a perfect reranker could reach, why one query scored so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.metrics import title
from raglift.printable import counted, excerpt, printable
from raglift.records import LabelSources
from raglift.records.labels import passage_text
from raglift.report.format import earned_text, figure_text, labels_line, outcome_text, piece_text

if TYPE_CHECKING:
    from raglift.diagnosis import ExplanationRecord, HeadroomRecord, LossBreakdownRecord
    from raglift.diagnosis.explanation import ExplainedHit
    from raglift.diagnosis.loss import Loss

__all__ = [
    "explanation_text",
    "headroom_line",
    "headroom_text",
    "loss_lines",
    "loss_text",
]

_EXCERPT = 60


def loss_text(losses: LossBreakdownRecord) -> str:
    """Return where each fact got to, and whose labels say so."""
    return printable("\n".join([*loss_lines(losses), *labels_line(losses.label_sources)]))


def loss_lines(losses: LossBreakdownRecord) -> list[str]:
    """Return where each fact got to, one line an outcome that some fact came to."""
    share = 100 / max(losses.facts, 1)
    lines = [f"Where recall was lost, at k = {losses.k}: {counted(losses.facts, 'fact')}"]
    shown = [loss for loss in losses.losses if loss.facts or loss.outcome == "found"]
    words = [outcome_text(loss, losses.k) for loss in shown]
    width = max(map(len, words), default=0)
    for loss, word in zip(shown, words, strict=True):
        queries = f"  {_named(loss)}" if loss.outcome != "found" and loss.facts else ""
        lines.append(f"  {word:<{width}}  {loss.facts:>6,}  {loss.facts * share:5.1f} %{queries}")
    lines += [
        f"  {counted(loss.facts, 'fact')} of these only since {loss.stage} (no candidate held them): {_named(loss)}"
        for loss in losses.made_findable
    ]
    return lines


def headroom_text(headroom: HeadroomRecord) -> str:
    """Return what a perfect reranker over the same candidates would score, and whose labels say so."""
    return printable("\n".join([headroom_line(headroom), *labels_line(headroom.label_sources)]))


def headroom_line(headroom: HeadroomRecord) -> str:
    """Return what a perfect reranker over the same candidates would score, in one line."""
    most = "" if headroom.is_exact else "≤ "
    recall, ndcg = headroom.mean_recall, headroom.mean_ndcg
    figures = f"Recall@{headroom.k} {most}{recall:.4f}, NDCG@{headroom.k} {most}{ndcg:.4f}"
    return f"A perfect reranker over the same candidates: {'no query is labelled' if math.isnan(recall) else figures}"


def explanation_text(explanation: ExplanationRecord) -> str:
    """Return the query, its facts, and each hit that covers something, with what it earned."""
    query = explanation.query
    lines = [f"{query.id}: {query.text}", f"stage {explanation.stage}, match by {explanation.match}"]
    lines += labels_line(LabelSources.of([query]))
    if explanation.error is not None:
        lines.append(f"failed: {explanation.error}")
    if not query.is_labelled:
        lines.append("not answerable" if not query.answerable else "without labels: left out of every mean")
    for number, fact in enumerate(query.facts, start=1):
        lines += [
            f"{f'fact {number}' if not place else '    or':>8}  {passage_text(passage)}"
            for place, passage in enumerate(fact.passages)
        ]
    for hit in explanation.hits:
        if hit.pieces:
            lines += _hit_lines(hit, explanation)
    silent = sum(not hit.pieces for hit in explanation.hits)
    lines.append(f"hits that cover nothing that is wanted: {silent} of {len(explanation.hits)}")
    lines += [
        f"  {title(metric)} = {figure_text(metric, value)}" if not math.isnan(value) else f"  {title(metric)}: left out"
        for metric, value in zip(explanation.metrics, explanation.values, strict=True)
    ]
    return printable("\n".join(lines))


def _hit_lines(each: ExplainedHit, explanation: ExplanationRecord) -> list[str]:
    chunk = each.hit.chunk
    place = "" if chunk.start is None else f" {chunk.start}–{chunk.end}"
    score = "" if each.hit.score is None else f", score {each.hit.score:.4f}"
    lines = [
        f"rank {each.hit.rank}: {chunk.doc_id or 'unknown document'}{place}{score}  “{excerpt(chunk.text, _EXCERPT)}”"
    ]
    lines += [f"    {piece_text(piece)}" for piece in each.pieces]
    lines.append(f"    earned: {earned_text(each, explanation)}")
    return lines


def _named(loss: Loss) -> str:
    shown = 3
    more = f" and {len(loss.query_ids) - shown} more" if len(loss.query_ids) > shown else ""
    return ", ".join(loss.query_ids[:shown]) + more
