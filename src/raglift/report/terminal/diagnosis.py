"""Diagnoses as plain text: where recall was lost, what a perfect reranker could reach, why one query scored so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from raglift.metrics import MEASURES, title
from raglift.printable import excerpt, printable
from raglift.records import LabelSources
from raglift.records.labels import passage_text
from raglift.report.terminal.figures import counted, labels_line

if TYPE_CHECKING:
    from raglift.diagnosis import ExplanationRecord, HeadroomRecord, LossBreakdownRecord
    from raglift.diagnosis.explanation import ExplainedHit, Piece
    from raglift.diagnosis.loss import Loss
    from raglift.records import Metric

__all__ = [
    "earned_text",
    "explanation_text",
    "figure_text",
    "headroom_line",
    "headroom_text",
    "loss_lines",
    "loss_text",
    "outcome_text",
    "piece_text",
]

_EARNED = 1e-12


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
    lines = [f"rank {each.hit.rank}: {chunk.doc_id or 'unknown document'}{place}{score}  “{excerpt(chunk.text)}”"]
    lines += [f"    {piece_text(piece)}" for piece in each.pieces]
    lines.append(f"    earned: {earned_text(each, explanation)}")
    return lines


def earned_text(each: ExplainedHit, explanation: ExplanationRecord) -> str:
    """Return what a hit earned in each metric, and what it cost: `MRR@10 +0.5000; cost: ContextTokens@10 +210`."""
    changes = [pair for pair in zip(explanation.metrics, each.earned, strict=True) if abs(pair[1]) > _EARNED]
    earned = [f"{title(m)} {value:+.4f}" for m, value in changes if not MEASURES[m.name].is_cost]
    cost = [f"{title(m)} {value:+,.0f}" for m, value in changes if MEASURES[m.name].is_cost]
    return (", ".join(earned) or "nothing") + (f"; cost: {', '.join(cost)}" if cost else "")


def figure_text(metric: Metric, value: float) -> str:
    """Return the value of a metric of one query: 4 decimals, and none for a count of tokens."""
    return f"{value:,.0f}" if MEASURES[metric.name].is_cost else f"{value:.4f}"


def piece_text(piece: Piece) -> str:
    """Return which part of which passage a hit covers, and whether that counts."""
    which = f"fact {piece.fact}" + (f", alternative {piece.passage}" if piece.passage > 1 else "")
    if not piece.length:
        covered = piece.direction
    else:
        part = f"{(piece.end - piece.start) / piece.length:.0%}"
        covered = f"{piece.direction}, characters {piece.start}–{piece.end} of {piece.length} ({part})"
    if piece.satisfies:
        return f"{which}: {covered} → satisfied, grade {piece.grade}"
    return f"{which}: {covered}" + ("" if piece.counts else ", which is no match by itself")


def outcome_text(loss: Loss, k: int) -> str:
    """Return what became of facts, in words: `found by rank 10`."""
    words = {
        "failed": "query failed",
        "found": f"found by rank {k}",
        "below_k": f"in the last ranking, below rank {k}",
        "dropped": f"among the candidates, dropped by {loss.stage}",
        "not_retrieved": "in the chunks, not among the candidates",
        "not_attainable": "not attainable with these chunks",
        "missed": "not among the candidates (whether the chunks allow it is not known)",
    }
    return words[loss.outcome]


def _named(loss: Loss) -> str:
    shown = 3
    more = f" and {len(loss.query_ids) - shown} more" if len(loss.query_ids) > shown else ""
    return ", ".join(loss.query_ids[:shown]) + more
