"""What a run cost: latency and throughput of each stage, the index, and what a provider billed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.base.display import counted
from raglift.rendering.document import Section, table_of
from raglift.report.format import bytes_text, seconds_text

if TYPE_CHECKING:
    from raglift.analysis.records import EvaluationRecord
    from raglift.records.rankings import Cost, IndexCost, Run, StageLatency
    from raglift.rendering.document import Table


_FROM_CACHE = "from the cache"


def cost_section(evaluation: EvaluationRecord) -> Section | None:
    """Return what a run cost, as far as it is known: latency per stage, the index, what a provider billed; or None."""
    cost = evaluation.run.cost
    if cost is None:
        return None
    lines, tables = _lines(cost, evaluation.run), []
    if cost.latencies:
        tables.append(_table(cost, _title(cost.latencies, evaluation.run.spec.get("environment", {}))))
    return Section("Cost", tuple(lines), tuple(tables)) if lines or tables else None


def _title(latencies: tuple[StageLatency, ...], environment: dict[str, str]) -> str:
    processor = environment.get("processor")
    where = f", on {processor} ({environment.get('cores', '?')} cores)" if processor else ""
    queries = latencies[0].queries + latencies[0].failed
    return f"Latency of {counted(queries, 'query')}, one at a time, models warm, cache off{where}"


def _table(cost: Cost, caption: str) -> Table:
    rows: list[tuple[str, ...]] = []
    for latency in cost.latencies:
        rate = cost.throughput.get(latency.stage, math.nan)
        rows.append((latency.stage, *_times(latency), _FROM_CACHE if rate is None else _rate(rate)))
    if cost.whole is not None and len(cost.latencies) > 1:
        rows.append(("together", *_times(cost.whole), ""))
    columns = ("stage", "p50", "p95", "queries/s in the run")
    return replace(table_of(columns, rows, caption=caption), rests_on_labels=False)


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
        lines.append(f"Index: {index_text(cost.index)}")
    if cost.tokens_billed is not None:
        lines.append(f"Billed: {cost.tokens_billed:,} tokens")
    return lines


def index_text(index: IndexCost) -> str:
    """Return the size of an index, and how long it took to build, as far as that is known."""
    size = f"{index.chunks:,} chunks, {bytes_text(index.bytes)}"
    if index.seconds is not None:
        return f"{size}, built in {seconds_text(index.seconds)}"
    cached = index.distinct_texts - index.embedded_now
    return f"{size} (build time unknown: {cached:,} of {index.distinct_texts:,} embeddings were cached)"
