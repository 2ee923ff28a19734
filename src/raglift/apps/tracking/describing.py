"""Descriptions of evaluations, comparisons and sweeps for trackers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from raglift.analysis.paired_statistics import interval_of, primary_of
from raglift.analysis.shared_queries import system_name
from raglift.apps.tracking.records import Record, distinct, metric_name, run_name
from raglift.errors import ConfigurationError, MissingDependency
from raglift.stats.intervals import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.sweep.records import CellResult
    from raglift.sweep.result import SweepResult
    from raglift.types.metric import Metric
    from raglift.types.rankings import Cost


# Descriptions of evaluations and comparisons for trackers.


_GROUPS = ("lift", "primary", "queries", "facts", "latency", "throughput", "index", "cost")
"""The figures that belong to no stage."""


def evaluation_record(evaluation: Evaluation, *, kind: str = "evaluation", name: str = "") -> Record:
    """Return the description for trackers of one evaluation.

    Args:
        evaluation: the evaluation.
        kind: `evaluation`, or `cell` of a sweep.
        name: what to call it; by default the dataset and what its stages do.
    """
    stages = distinct(evaluation.scores.stages, _GROUPS)
    figures = dict(_finite([*_scores(evaluation, stages), *_primary(evaluation), *_counts(evaluation)]))
    if evaluation.run.cost is not None:
        figures |= dict(_finite(_costs(evaluation.run.cost, stages)))
    return Record(
        kind=kind,
        name=run_name(name or f"{evaluation.dataset.name}: {system_name(evaluation)}"),
        parameters={"kind": kind, **_parameters(evaluation)},
        figures=figures,
        summary=evaluation.to_markdown(),
        write_files=lambda folder: _evaluation_files(evaluation, folder, is_cell=kind == "cell"),
    )


def comparison_record(comparison: Comparison) -> Record:
    """Return the description for trackers of a comparison: each system compared with the baseline."""
    names = distinct(comparison.names, _GROUPS)
    systems = [
        {"name": name, "stages": _stages(evaluation), "hash": evaluation.run.spec.get("dataset", {}).get("hash")}
        for name, evaluation in zip(comparison.names, comparison.evaluations, strict=True)
    ]
    dataset = comparison.evaluation(comparison.baseline).dataset
    return Record(
        kind="comparison",
        name=run_name(f"{dataset.name}: {' against '.join([*comparison.others, comparison.baseline])}"),
        parameters={
            "kind": "comparison",
            "dataset": {"name": dataset.name, "queries": len(comparison.query_ids)},
            "baseline": comparison.baseline,
            "primary": str(comparison.primary),
            "seed": comparison.method.seed,
            "confidence": comparison.method.confidence,
            "method": comparison.method.text,
            "systems": {names[str(system["name"])]: system for system in systems},
        },
        figures=dict(_finite(_compared(comparison, names))),
        summary=comparison.to_markdown(),
        write_files=lambda folder: _comparison_files(comparison, names, folder),
    )


def _parameters(evaluation: Evaluation) -> dict[str, Any]:
    """Return the spec as it is saved, in the order in which people look for it, with the stages and what was found."""
    spec = evaluation.run.spec
    found: dict[str, Any] = {
        "dataset": spec.get("dataset", {"name": evaluation.dataset.name}),
        "stages": _stages(evaluation),
        "metrics": ", ".join(map(str, evaluation.scores.metrics)),
        "primary": str(primary) if (primary := _deciding(evaluation)) is not None else "",
        "profile": evaluation.profile,
    }
    if evaluation.truncated:
        found["truncated"] = dict(evaluation.truncated)
    if evaluation.label_sources.by_model:
        found["labels"] = evaluation.label_sources.to_dict()
    return found | {name: value for name, value in spec.items() if name not in found}


def _stages(evaluation: Evaluation) -> dict[str, str]:
    return {stage.name: stage.system for stage in evaluation.run.stages}


def _scores(evaluation: Evaluation, stages: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield each metric's mean at each stage, and its lift where there is a fair pair."""
    names = distinct(map(str, evaluation.scores.metrics))  # a metric of the user's own may be called recall_at_5
    for metric in evaluation.scores.metrics:
        name = names[str(metric)]
        for stage, group in stages.items():
            yield f"{group}/{name}", evaluation.scores.mean(stage, metric)
        lift = evaluation.mean_lift(metric)
        if lift is not None:
            yield f"lift/{name}", lift


def _deciding(evaluation: Evaluation) -> Metric | None:
    """Return the primary metric; None if only costs or unjudged shares were scored."""
    try:
        return primary_of(None, evaluation.scores.metrics, evaluation.depth_limit)
    except ConfigurationError:
        return None


def _primary(evaluation: Evaluation) -> Iterator[tuple[str, float]]:
    """Yield the metric that decides, with its interval, under names that are the same for every system."""
    primary = _deciding(evaluation)
    if primary is None:
        return
    stage = evaluation.after
    interval = interval_of(primary, evaluation.scores.of(stage, primary), CONFIDENCE)
    yield "primary/value", evaluation.scores.mean(stage, primary)
    yield "primary/queries", evaluation.scores.n(stage, primary)
    if interval is not None:
        yield from (("primary/low", interval.low), ("primary/high", interval.high))
    if len(evaluation.scores.stages) == 1:
        return
    difference = evaluation.reranker_lift(primary, confidence=CONFIDENCE).row().difference
    if difference is not None:
        yield from (("primary/lift", difference.mean), ("primary/lift_p", difference.p))
        yield from (("primary/lift_low", difference.low), ("primary/lift_high", difference.high))


def _counts(evaluation: Evaluation) -> Iterator[tuple[str, float]]:
    traces = evaluation.run.traces
    yield "queries/asked", len(traces)
    yield "queries/failed", sum(trace.error is not None for trace in traces)
    yield "queries/unlabelled", sum(not query.facts for query in evaluation.dataset.queries)
    losses = evaluation.failure_analysis()
    yield "facts/all", losses.facts
    for outcome in dict.fromkeys(loss.outcome for loss in losses.losses):
        yield f"facts/{outcome}", sum(loss.facts for loss in losses.losses if loss.outcome == outcome)


def _costs(cost: Cost, stages: Mapping[str, str]) -> Iterator[tuple[str, float | None]]:
    """Yield seconds, bytes and tokens; None if something is not known."""
    for latency in cost.latencies:
        group = stages.get(latency.stage, "stage")
        yield from ((f"latency/{group}_p50_seconds", latency.p50), (f"latency/{group}_p95_seconds", latency.p95))
    if cost.whole is not None:
        yield from (("latency/p50_seconds", cost.whole.p50), ("latency/p95_seconds", cost.whole.p95))
    for stage, rate in cost.throughput.items():
        yield f"throughput/{stages.get(stage, 'stage')}_queries_per_second", rate
    if cost.index is not None:
        yield from (("index/chunks", cost.index.chunks), ("index/bytes", cost.index.bytes))
        yield "index/seconds", cost.index.seconds
    yield "cost/tokens_billed", cost.tokens_billed


def _compared(comparison: Comparison, names: Mapping[str, str]) -> Iterator[tuple[str, float | None]]:
    """Yield each system's means and, on the primary metric, what it differs from the baseline by."""
    yield "queries/shared", len(comparison.query_ids)
    metrics = distinct(str(row.metric) for row in comparison.rows)
    for row in comparison.rows:
        group = names[row.system]
        yield f"{group}/{metrics[str(row.metric)]}", row.mean
        if row.difference is None or row.exploratory:
            continue
        yield f"{group}/primary_difference", row.difference.mean
        yield from ((f"{group}/primary_low", row.difference.low), (f"{group}/primary_high", row.difference.high))
        yield from ((f"{group}/primary_p", row.difference.p), (f"{group}/primary_p_holm", row.p_holm))


def _finite(pairs: Iterable[tuple[str, float | None]]) -> Iterator[tuple[str, float]]:
    """Yield what is a number: trackers draw a NaN as if it were one."""
    for name, value in pairs:
        if value is not None and math.isfinite(value):
            yield name, float(value)


# Descriptions of sweeps for trackers: the sweep and, below it, each cell, measured or failed.


def sweep_record(result: SweepResult) -> Record:
    """Return the description for trackers of a sweep.

    Cells are runs under it; cells that were not measured have no run. The report, which shows the cells, belongs to the
    sweep's run; each cell's run has its saved evaluation.
    """
    best = result.best()
    figures = {
        "cells/all": float(len(result.results)),
        "cells/measured": float(len(result.finished)),
        "cells/failed": float(len(result.failed)),
    }
    if best is not None:
        figures[f"best/{metric_name(result.primary)}"] = best.value(result.primary)
    measured = [cell.evaluation for cell in result.finished if cell.evaluation is not None]
    models = distinct(result.billed)
    figures |= {f"billed_tokens/{models[model]}": float(count) for model, count in result.billed.items()}
    return Record(
        kind="sweep",
        name=run_name(f"{result.title}: {len(result.results):,} cells"),
        parameters={
            "kind": "sweep",
            "title": result.title,
            "primary": str(result.primary),
            "seed": result.seed,
            "best": "" if best is None else best.cell.name,
            "dataset": next((found.run.spec.get("dataset", {}) for found in measured), {}),
        },
        figures=figures,
        summary=result.to_markdown(),
        write_files=lambda folder: _shared_files(result, folder, has_page=bool(result.finished)),
        children=tuple(record for cell in result.results if (record := _cell_record(cell)) is not None),
    )


def _cell_record(result: CellResult) -> Record | None:
    parts = {"cell": result.cell.to_dict() | {"key": result.cell.key}}
    if result.evaluation is None:
        if result.error is None:
            return None
        return Record(
            kind="cell", name=run_name(result.cell.name), parameters={"kind": "cell", **parts}, error=result.error
        )
    record = evaluation_record(result.evaluation, kind="cell", name=result.cell.name)
    figures = {
        **record.figures,
        "index/chunks_read_in_part": float(result.read_in_part),
        "rerank/candidates_read_in_part": float(result.candidates_read_in_part),
    }
    parameters = {
        name: value for name, value in record.parameters.items() if name != "sweep"
    }  # which has the parts too
    return replace(record, parameters={**parameters, **parts}, figures=figures)


# Files that go with a record.


def _evaluation_files(evaluation: Evaluation, folder: Path, *, is_cell: bool) -> tuple[str, ...]:
    evaluation.save(folder / "run")
    if is_cell:
        evaluation.to_frame().to_csv(folder / "figures.csv", index=False)
        return ()
    return _shared_files(evaluation, folder, has_page=_deciding(evaluation) is not None)


def _comparison_files(comparison: Comparison, names: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    for name, evaluation in zip(comparison.names, comparison.evaluations, strict=True):
        evaluation.save(folder / "runs" / names[name])
    return _shared_files(comparison, folder)


def _shared_files(
    result: Evaluation | Comparison | SweepResult, folder: Path, *, has_page: bool = True
) -> tuple[str, ...]:
    """Write figures, summary and page, and return why the page was left out: what it is made with may be missing."""
    result.to_frame().to_csv(folder / "figures.csv", index=False)
    (folder / "summary.md").write_text(result.to_markdown(), encoding="utf-8", newline="\n")
    try:
        if has_page:
            result.report(folder / "report.html")
    except MissingDependency as error:
        return (f"report.html was left out: {error}",)
    return ()
