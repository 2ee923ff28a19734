"""`track()`: publish a result to a tracker, with its figures, its parameters and its files."""

from __future__ import annotations

import logging
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.analysis.paired_statistics import interval_of, primary_of
from raglift.analysis.shared_queries import system_name
from raglift.apps.tracking.records import Record, TrackedRun, Tracker, reason_of, tracker_name
from raglift.apps.tracking.trackers import MLFLOW_ENVIRONMENT, WANDB_ENVIRONMENT, MlflowTracker, WandbTracker
from raglift.errors import ConfigurationError, MissingDependency, RagliftError, TrackingFailed
from raglift.llm.dot_env import load_dot_env
from raglift.results.evaluation import Evaluation
from raglift.stats.intervals import CONFIDENCE
from raglift.sweep.result import SweepResult
from raglift.utilities.display import excerpt, printable

if TYPE_CHECKING:
    from raglift.sweep.records import CellResult
    from raglift.types.metric import Metric
    from raglift.types.rankings import Cost


TRACKERS: Mapping[str, Callable[[Any, str | None], Tracker]] = {
    "mlflow": MlflowTracker,
    "wandb": WandbTracker,
}
"""The trackers by name."""
_ENVIRONMENT = MLFLOW_ENVIRONMENT | WANDB_ENVIRONMENT
_LONGEST_NAME = 120
_LOOK_AT = {
    "mlflow": "a store that can be written, named by MLFLOW_TRACKING_URI (a server's http://…, or sqlite:///mlflow.db)",
    "wandb": "a server that answers and a key that it knows (WANDB_BASE_URL, WANDB_API_KEY), or WANDB_MODE=offline",
}


def track(
    result: Evaluation | SweepResult,
    tracker: str,
    *,
    project: str | None = None,
    name: str | None = None,
    tags: Mapping[str, str | float] | None = None,
    files: bool = True,
) -> TrackedRun:
    """Keep a result in an experiment tracker: parameters, figures for each stage and k, the report and the run.

    Args:
        result: an evaluation, or what a sweep found, of which each cell is a run of its own under it.
        tracker: `mlflow` or `wandb`; each is set up as ever, by its own environment variables.
        project: MLflow's experiment, or the project at Weights & Biases; by default what the tracker's environment
            variable says, else `raglift`.
        name: what to call the run; by default the dataset and what the stages do.
        tags: words to find it by, for example `{"team": "search"}`.
        files: whether to keep the report, the saved run and a summary with it. They hold the texts of queries and
            chunks: leave them out where these must not leave the machine.

    Returns:
        Where it is kept.

    Raises:
        ConfigurationError: no tracker has that name, or the result is of another kind.
        MissingDependency: its package is not installed.
        TrackingFailed: it cannot be reached, or refused the request; the result itself is unchanged.
    """
    if tracker not in TRACKERS:
        raise ConfigurationError(f"tracker: found {tracker!r}; expected one of {', '.join(TRACKERS)}")
    if not isinstance(result, (Evaluation, SweepResult)):
        raise ConfigurationError(
            f"track: found a {type(result).__name__}; expected an evaluation or what a sweep found"
        )
    words = {name: str(value) for name, value in (tags or {}).items()}
    record = sweep_record(result) if isinstance(result, SweepResult) else evaluation_record(result)
    if name is not None:
        record = replace(record, name=_run_name(name))
    load_dot_env()
    with _naming(tracker):
        opened = TRACKERS[tracker](_imported(tracker), project)
        run = _keep(opened, result, record, words, files=files)
        cells = result.results if isinstance(result, SweepResult) else ()
        children = tuple(
            _keep(opened, cell.evaluation, _cell_record(cell), words, files=files, parent=run)
            for cell in cells
            if cell.evaluation is not None or cell.error is not None
        )
    return replace(run, children=children)


def _keep(
    tracker: Tracker,
    result: Evaluation | SweepResult | None,
    record: Record,
    tags: Mapping[str, str],
    *,
    files: bool,
    parent: TrackedRun | None = None,
) -> TrackedRun:
    with tempfile.TemporaryDirectory(prefix="raglift-track-") as temporary:
        if not files or result is None:
            return tracker.keep(replace(record, summary=""), None, tags, parent)  # it may name queries by their texts
        notes = _write_files(result, Path(temporary), is_cell=parent is not None)
        run = tracker.keep(record, Path(temporary), tags, parent)
    return replace(run, notes=(*notes, *run.notes))


def _write_files(result: Evaluation | SweepResult, folder: Path, *, is_cell: bool) -> tuple[str, ...]:
    """Write the saved run, figures, summary and page; return why the page was left out."""
    if isinstance(result, Evaluation):
        result.save(folder / "run")
    result.to_frame().to_csv(folder / "figures.csv", index=False)
    (folder / "summary.md").write_text(result.to_markdown(), encoding="utf-8", newline="\n")
    has_page = _primary(result) is not None if isinstance(result, Evaluation) else bool(result.finished)
    try:
        if has_page and not is_cell:  # the page of the sweep shows its cells
            result.report(folder / "report.html")
    except MissingDependency as error:
        return (f"report.html was left out: {error}",)
    return ()


@contextmanager
def _naming(tracker: str) -> Iterator[None]:
    """Turn what a tracker raises into an error that names it and what to look at; hide what it logs and warns."""
    logger = logging.getLogger(tracker)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except RagliftError:
        raise
    except Exception as error:
        raise TrackingFailed(
            f"{tracker}: {reason_of(error)}; expected {_LOOK_AT[tracker]}; nothing of what was measured is lost"
        ) from error
    finally:
        logger.setLevel(level)


def _imported(tracker: str) -> Any:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        return import_module(tracker)
    except ImportError:
        raise MissingDependency(tracker, "track", f"tracking with {tracker}") from None


# Results as records.


def evaluation_record(evaluation: Evaluation, *, kind: str = "evaluation", name: str = "") -> Record:
    """Return the description for trackers of one evaluation.

    Args:
        evaluation: the evaluation.
        kind: `evaluation`, or `cell` of a sweep.
        name: what to call it; by default the dataset and what its stages do.
    """
    figures = [*_scores(evaluation), *_deciding(evaluation), *_counts(evaluation)]
    if evaluation.run.cost is not None:
        figures += _costs(evaluation.run.cost)
    return Record(
        kind=kind,
        name=_run_name(name or f"{evaluation.dataset.name}: {system_name(evaluation)}"),
        parameters={"kind": kind, **_parameters(evaluation)},
        # Trackers draw a NaN as if it were a number
        figures={name: float(value) for name, value in figures if value is not None and math.isfinite(value)},
        summary=evaluation.to_markdown(),
    )


def sweep_record(result: SweepResult) -> Record:
    """Return the description for trackers of a sweep, without its cells."""
    best = result.best()
    figures = {
        "cells/all": float(len(result.results)),
        "cells/measured": float(len(result.finished)),
        "cells/failed": float(len(result.failed)),
    }
    if best is not None:
        figures[f"best/{tracker_name(str(result.primary))}"] = best.value(result.primary)
    return Record(
        kind="sweep",
        name=_run_name(f"{result.title}: {len(result.results):,} cells"),
        parameters={
            "kind": "sweep",
            "title": result.title,
            "primary": str(result.primary),
            "seed": result.seed,
            "best": "" if best is None else best.cell.name,
        },
        figures=figures,
        summary=result.to_markdown(),
    )


def _cell_record(result: CellResult) -> Record:
    parts = {"cell": result.cell.to_dict() | {"key": result.cell.key}}
    if result.evaluation is None:
        return Record("cell", _run_name(result.cell.name), {"kind": "cell", **parts}, error=result.error)
    record = evaluation_record(result.evaluation, kind="cell", name=result.cell.name)
    parameters = {name: value for name, value in record.parameters.items() if name != "sweep"}  # it has the parts too
    return replace(record, parameters={**parameters, **parts})


def _run_name(text: str) -> str:
    return excerpt(printable(text), _LONGEST_NAME) or "raglift"


def _parameters(evaluation: Evaluation) -> dict[str, Any]:
    """Return the spec as it is saved, with the stages, the metrics and what was found of the labels."""
    found: dict[str, Any] = {
        "stages": {stage.name: stage.system for stage in evaluation.run.stages},
        "metrics": ", ".join(map(str, evaluation.scores.metrics)),
        "primary": str(_primary(evaluation) or ""),
        "profile": evaluation.profile,
    }
    if evaluation.truncated:
        found["truncated"] = dict(evaluation.truncated)
    if evaluation.label_sources.by_model:
        found["labels"] = evaluation.label_sources.to_dict()
    return {**evaluation.run.spec, **found}


def _primary(evaluation: Evaluation) -> Metric | None:
    """Return the primary metric; None if only costs or unjudged shares were scored."""
    try:
        return primary_of(None, evaluation.scores.metrics, evaluation.depth_limit)
    except ConfigurationError:
        return None


def _scores(evaluation: Evaluation) -> Iterator[tuple[str, float | None]]:
    """Yield each metric's mean at each stage, and its lift where there is a fair pair."""
    for metric in evaluation.scores.metrics:
        name = tracker_name(str(metric))
        for stage in evaluation.scores.stages:
            yield f"{tracker_name(stage)}/{name}", evaluation.scores.mean(stage, metric)
        yield f"lift/{name}", evaluation.mean_lift(metric)


def _deciding(evaluation: Evaluation) -> Iterator[tuple[str, float | None]]:
    """Yield the metric that decides, with its interval, under names that are the same for every system."""
    primary = _primary(evaluation)
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


def _costs(cost: Cost) -> Iterator[tuple[str, float | None]]:
    """Yield seconds and bytes; None if something is not known."""
    for latency in cost.latencies:
        stage = tracker_name(latency.stage)
        yield from ((f"latency/{stage}_p50_seconds", latency.p50), (f"latency/{stage}_p95_seconds", latency.p95))
    if cost.whole is not None:
        yield from (("latency/p50_seconds", cost.whole.p50), ("latency/p95_seconds", cost.whole.p95))
    for stage, rate in cost.throughput.items():
        yield f"throughput/{tracker_name(stage)}_queries_per_second", rate
    if cost.index is not None:
        yield from (("index/chunks", cost.index.chunks), ("index/bytes", cost.index.bytes))
        yield "index/seconds", cost.index.seconds
