"""Analyses for a terminal: failures, upper bounds, explanations, a metric over k, and cost against quality."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.analysis.explanation import has_curve, over_k
from raglift.base.display import excerpt, lines_text
from raglift.llm.providers import dollars_in_short
from raglift.metrics.computing import mean_title
from raglift.metrics.registry import MEASURES
from raglift.records.labels import LabelSources, passage_text
from raglift.records.metric import Metric
from raglift.rendering.document import table_of
from raglift.report.format import (
    bytes_text,
    earned_lines,
    labels_line,
    overlap_text,
    seconds_text,
    value_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.analysis.explanation import ExplainedHit, ExplanationRecord
    from raglift.analysis.records import EvaluationRecord
    from raglift.analysis.upper_bound import HeadroomRecord
    from raglift.records.rankings import Cost, IndexCost, ModelUse, Run, StageLatency
    from raglift.rendering.document import Part, Table


# Analyses as plain text: the failure analysis, the upper bound of reranking, the explanation of one query.


_EXCERPT = 60


def headroom_text(headroom: HeadroomRecord) -> str:
    """Return what a perfect reranker over the same candidates would score, and the label provenance."""
    return lines_text([headroom_line(headroom), *labels_line(headroom.label_sources)])


def headroom_line(headroom: HeadroomRecord) -> str:
    """Return what a perfect reranker over the same candidates would score, in one line."""
    most = "" if headroom.is_exact else "≤ "
    recall, ndcg = headroom.mean_recall, headroom.mean_ndcg
    figures = f"Recall@{headroom.k} {most}{recall:.3f}, NDCG@{headroom.k} {most}{ndcg:.3f}"
    figures = "no query is labelled" if math.isnan(recall) else figures
    return f"Best possible with these candidates (perfect reranker): {figures}"


def explanation_text(explanation: ExplanationRecord) -> str:
    """Return the query, its facts, and each hit that covers something, with what it earned."""
    query = explanation.query
    lines = [f"{query.id}: {query.text}", f"stage {explanation.stage}, match by {explanation.match}"]
    lines += labels_line(LabelSources.of([query]))
    if explanation.error is not None:
        lines.append(f"failed: {explanation.error}")
    if not query.is_labelled:
        lines.append("not answerable" if not query.answerable else "without labels: excluded from all averages")
    for number, fact in enumerate(query.facts, start=1):
        lines += [
            f"{f'fact {number}' if not place else '    or':>8}  {passage_text(passage)}"
            for place, passage in enumerate(fact.passages)
        ]
    for hit in explanation.hits:
        if hit.overlaps:
            lines += _hit_lines(hit, explanation)
    silent = sum(not hit.overlaps for hit in explanation.hits)
    lines.append(f"irrelevant hits: {silent} of {len(explanation.hits)}")
    lines += [f"  {line}" for line in value_lines(explanation)]
    return lines_text(lines)


def _hit_lines(each: ExplainedHit, explanation: ExplanationRecord) -> list[str]:
    chunk = each.hit.chunk
    place = "" if chunk.start is None else f" {chunk.start}–{chunk.end}"
    score = "" if each.hit.score is None else f", score {each.hit.score:.4f}"
    lines = [
        f"rank {each.hit.rank}: {chunk.doc_id or 'unknown document'}{place}{score}  “{excerpt(chunk.text, _EXCERPT)}”"
    ]
    lines += [f"    {overlap_text(overlap)}" for overlap in each.overlaps]
    first, *rest = earned_lines(each, explanation)
    lines += [f"    earned: {first}", *(f"{'':12}{line}" for line in rest)]
    return lines


# A metric over k as a sparkline of block characters.


_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_DEPTHS = 50
_FEWEST_DEPTHS = 3


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """Return a block a value, from ▁ at `low` to █ at `high`; NaN is a gap."""
    step = (high - low) / (len(_BLOCKS) - 1)
    return "".join(
        " " if math.isnan(value) else _BLOCKS[round((value - low) / step) if step > 0 else 0] for value in values
    )


def over_k_table(evaluation: EvaluationRecord) -> Table | None:
    """Return NDCG, or else the first measure, over k: a row per stage, on one scale; None if there is none.

    At most 50 depths are taken, evenly from 1 to the number of candidates. Next to the blocks are the values at the
    first depth and at the last one that the stage could return.
    """
    measure = _measure(evaluation)
    candidates = int(evaluation.run.spec["candidates"])
    if measure is None or candidates < _FEWEST_DEPTHS:
        return None
    curve = over_k(evaluation, measure, range(1, candidates + 1, math.ceil(candidates / _MOST_DEPTHS)))
    depths = curve["k"].tolist()
    means = {stage: curve[stage].tolist() for stage in evaluation.scores.stages}
    known = [value for values in means.values() for value in values if not math.isnan(value)]
    if not known:
        return None
    rows: list[tuple[str, ...]] = []
    for stage, values in means.items():
        until = max((place for place, value in enumerate(values) if not math.isnan(value)), default=None)
        if until is None:
            continue
        last = f"{values[until]:.3f}" + (f" at {depths[until]}" if until < len(values) - 1 else "")
        blocks = sparkline(values[: until + 1], min(known), max(known))
        rows.append((stage, f"{values[0]:.3f}", blocks, last))
    title = f"{mean_title(measure)} over k, 1 to {depths[-1]}"
    return table_of(("stage", "k = 1", "", f"k = {depths[-1]}"), rows, left=(0, 2), caption=title)


def _measure(evaluation: EvaluationRecord) -> Metric | None:
    """Return NDCG where it was scored at a number of hits, else the first measure that was; None if none was."""
    measures = [
        Metric(metric.name, None, metric.parameters)
        for metric in evaluation.scores.metrics
        if metric.k is not None and has_curve(metric) and not MEASURES[metric.name].is_neutral
    ]
    return min(measures, key=lambda measure: measure.name != "ndcg", default=None)


# Cost against quality: latency and throughput per stage as a table, index and provider costs as lines.


_FROM_CACHE = "from the cache"


def cost_parts(evaluation: EvaluationRecord) -> Iterator[Part]:
    """Yield what a run cost, as far as it is known: latency per stage, the index, and what a provider billed."""
    cost = evaluation.run.cost
    if cost is None:
        return
    if cost.latencies:
        yield _title(cost.latencies, evaluation.run.spec.get("environment", {}))
        yield _table(cost)
    lines = _lines(cost, evaluation.run)
    yield from lines
    if cost.latencies or lines:
        yield ""


def _title(latencies: tuple[StageLatency, ...], environment: dict[str, str]) -> str:
    processor = environment.get("processor")
    where = f", on {processor} ({environment.get('cores', '?')} cores)" if processor else ""
    queries = latencies[0].queries + latencies[0].failed
    counted = f"{queries:,} query" if queries == 1 else f"{queries:,} queries"
    return f"Latency of {counted}, one at a time, models warm, cache off{where}"


def _table(cost: Cost) -> Table:
    rows: list[tuple[str, ...]] = []
    for latency in cost.latencies:
        rate = cost.throughput.get(latency.stage, math.nan)
        rows.append((latency.stage, *_times(latency), _FROM_CACHE if rate is None else _rate(rate)))
    if cost.whole is not None and len(cost.latencies) > 1:
        rows.append(("together", *_times(cost.whole), ""))
    return replace(table_of(("stage", "p50", "p95", "queries/s in the run"), rows), rests_on_labels=False)


def _times(latency: StageLatency) -> tuple[str, str]:
    return seconds_text(latency.p50), seconds_text(latency.p95)


def _rate(rate: float) -> str:
    if math.isnan(rate):
        return "–"
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2f}"


def _lines(cost: Cost, run: Run) -> list[str]:
    failed = sum(trace.error is not None for trace in run.traces) if cost.latencies else 0
    lines = [f"Queries that failed in the run are not among these: {failed:,}"] if failed else []
    lines += [
        f"{latency.stage}: {latency.failed:,} of these queries failed and are left out"
        for latency in cost.latencies
        if latency.failed
    ]
    if cost.index is not None:
        lines.append(_index_text(cost.index))
    lines += [_use_text(use) for use in cost.models]
    if cost.tokens_billed is not None or cost.dollars is not None:
        tokens = [] if cost.tokens_billed is None else [f"{cost.tokens_billed:,} tokens"]
        lines.append("Billed: " + ", ".join(tokens + ([] if cost.dollars is None else [f"${cost.dollars:,.4f}"])))
    return lines


def _use_text(use: ModelUse) -> str:
    characters = f"{use.characters_sent:,} characters sent"
    if use.characters_answered:
        characters += f", {use.characters_answered:,} answered"
    tokens = ""
    if use.tokens_sent is not None and use.tokens_answered is not None:
        tokens = f"; {use.tokens_sent:,} tokens sent, {use.tokens_answered:,} answered"
    dollars = "" if use.dollars is None else f"; about US$ {dollars_in_short(use.dollars)}"
    return f"Calls of the {use.kind} {use.model}: {use.calls:,} ({characters}{tokens}{dollars})"


def _index_text(index: IndexCost) -> str:
    size = f"Index: {index.chunks:,} chunks, {bytes_text(index.bytes)}"
    if index.seconds is not None:
        return f"{size}, built in {seconds_text(index.seconds)}"
    cached = index.distinct_texts - index.embedded_now
    return f"{size} (build time unknown: {cached:,} of {index.distinct_texts:,} embeddings were cached)"
