"""What was measured and how, and what it cost: settings, latency and throughput, the index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from raglift.metrics.computing import mean_title
from raglift.rendering.document import Section, Table, table_of
from raglift.report.format import bytes_text, number_text, seconds_text, stage_title
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.metric import Metric
    from raglift.types.rankings import Cost, Run, StageLatency


_AROUND = ("python", "machine", "system", "processor", "cores")
"""What an environment says besides the versions of packages."""


def measured(evaluation: Evaluation, primary: Metric, *, match: str) -> tuple[tuple[str, str], ...]:
    """Return what was measured of one system, as names and values."""
    stages = [(stage_title(stage.name), stage.system) for stage in evaluation.run.stages]
    if evaluation.run.has_sessions:
        stages[0] = ("Agent", stages[0][1])
    return (*stages, *_rows([evaluation], primary, match))


def measured_together(comparison: Comparison, *, match: str) -> tuple[tuple[str, str], ...]:
    """Return what was measured of several systems, as names and values."""
    every, shared = comparison.evaluations, len(comparison.query_ids)
    systems = f"{counted(len(every), 'system')}, each beside {comparison.baseline}"
    together = (
        [] if all(len(one.dataset) == shared for one in every) else [("Questions that all answered", f"{shared:,}")]
    )
    return (("Compared", systems), *together, *_rows(every, comparison.primary, match))


def _rows(evaluations: Sequence[Evaluation], primary: Metric, match: str) -> list[tuple[str, str]]:
    """Return what holds of all systems; where they differ, each value once."""
    specs = [one.run.spec for one in evaluations]
    profiles = _each(one.profile for one in evaluations)
    found = [
        ("Dataset", _each(_dataset(one) for one in evaluations)),
        ("Failed questions", _failed(evaluations)),
        ("Match rule", match),
        ("Primary metric", mean_title(primary)),
        ("Conventions", "" if profiles == "default" else profiles),
        ("Candidates", _each(f"{candidates_of(spec):,} per question" for spec in specs)),
        ("Chunks", _chunks(evaluations)),
        ("Index", _each(map(_index, evaluations)) if len(evaluations) == 1 else ""),
        ("Measured on", _days(specs)),
        ("Versions", _each(_versions(spec.get("environment", {})) for spec in specs)),
        ("Machine", _each(_machine(spec.get("environment", {})) for spec in specs)),
    ]
    return [(name, value) for name, value in found if value]


def candidates_of(spec: Mapping[str, Any]) -> int:
    """Return how many hits a system was asked for; of rankings in a file, how many the longest has."""
    return int(spec.get("returned", spec["candidates"]))


def _each(values: Iterable[str]) -> str:
    """Return different values once each, in order."""
    return "; ".join(dict.fromkeys(value for value in values if value))


def _dataset(evaluation: Evaluation) -> str:
    dataset = evaluation.dataset
    digest = evaluation.run.spec.get("dataset", {}).get("hash")
    return f"{dataset.name}: {queries_text(dataset)}" + (f" (hash {digest})" if digest else "")


def queries_text(dataset: Dataset) -> str:
    """Return how many queries there are, and how many of them count."""
    labelled = sum(query.is_labelled for query in dataset)
    unanswerable = sum(not query.answerable for query in dataset)
    facts = sum(len(query.facts) for query in dataset if query.is_labelled)
    parts = [] if labelled == len(dataset) else [f"{labelled:,} of them labelled"]
    parts += [f"{unanswerable:,} marked unanswerable"] if unanswerable else []
    return ", ".join([counted(len(dataset), "question"), *parts, counted(facts, "fact")])


def _failed(evaluations: Sequence[Evaluation]) -> str:
    failed = sum(trace.error is not None for one in evaluations for trace in one.run.traces)
    return f"{failed:,} (scored as 0)" if failed else "0"


def _chunks(evaluations: Sequence[Evaluation]) -> str:
    counts = sorted({one.run.inventory.chunks for one in evaluations if one.run.inventory is not None})
    if not counts:
        return ""
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def _days(specs: Iterable[Mapping[str, Any]]) -> str:
    """Return when runs began, from the first to the last."""
    moments = [datetime.fromisoformat(spec["started"]).astimezone(UTC) for spec in specs if spec.get("started")]
    days = dict.fromkeys(f"{moment:%Y-%m-%d %H:%M} UTC" for moment in sorted(moments))
    return " to ".join(list(days)[:: max(1, len(days) - 1)])


def _versions(environment: Mapping[str, str]) -> str:
    packages = [f"{name} {version}" for name, version in environment.items() if name not in _AROUND]
    python = environment.get("python")
    return ", ".join(packages[:1] + ([f"Python {python}"] if python else []) + packages[1:])


def _machine(environment: Mapping[str, str]) -> str:
    cores = environment.get("cores")
    parts = [environment.get("processor"), f"{cores} cores" if cores else None, environment.get("machine")]
    return ", ".join(part for part in (*parts, environment.get("system")) if part)


# What a run cost.


def cost_section(evaluation: Evaluation) -> Section | None:
    """Return what asking cost, as far as it is known: latency per stage; or None."""
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
    return f"Latency of {counted(queries, 'question')}, one at a time, models warm, cache off{where}"


def _table(cost: Cost, caption: str) -> Table:
    rows: list[tuple[str, ...]] = []
    for latency in cost.latencies:
        rate = cost.throughput.get(latency.stage, math.nan)
        per_second = "from the cache" if rate is None else number_text(rate, 0 if rate >= 10 else 2)
        rows.append((latency.stage, *_times(latency), per_second))
    if cost.whole is not None and len(cost.latencies) > 1:
        rows.append(("together", *_times(cost.whole), ""))
    columns = ("stage", "p50", "p95", "questions/s in the run")
    return replace(table_of(columns, rows, caption=caption), rests_on_labels=False)


def _times(latency: StageLatency) -> tuple[str, str]:
    return seconds_text(latency.p50), seconds_text(latency.p95)


def _lines(cost: Cost, run: Run) -> list[str]:
    failed = sum(trace.error is not None for trace in run.traces) if cost.latencies else 0
    lines = [f"Questions that failed in the run are not among these: {failed:,}"] if failed else []
    lines += [
        f"{latency.stage}: {latency.failed:,} of these questions failed and are left out"
        for latency in cost.latencies
        if latency.failed
    ]
    return lines


def _index(evaluation: Evaluation) -> str:
    """Return the size of the index, and how long it took to build, as far as that is known."""
    index = None if evaluation.run.cost is None else evaluation.run.cost.index
    if index is None:
        return ""
    size = f"{index.chunks:,} chunks, {bytes_text(index.bytes)}"
    if index.seconds is not None:
        return f"{size}, built in {seconds_text(index.seconds)}"
    cached = index.distinct_texts - index.embedded_now
    return f"{size} (build time unknown: {cached:,} of {index.distinct_texts:,} embeddings were cached)"
