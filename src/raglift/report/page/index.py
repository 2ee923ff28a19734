"""The index of a folder of runs: every run with its main figures, newest first, and how these went over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import cycle
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from raglift.analysis.costs import CONTEXT
from raglift.analysis.lift import reranker_lift
from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.paired_statistics import primary_of
from raglift.errors import ConfigurationError
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Detail, Figure, Section, table_from
from raglift.report.cells import decided_cell, stage_mean_cell
from raglift.report.format import confidence_text
from raglift.report.page.rendering import Page
from raglift.report.sentences import failure_analysis_depth
from raglift.report.views.parts import cost_columns, definition_of, mean_after, named_columns
from raglift.stats.intervals import CONFIDENCE
from raglift.types.metric import Metric
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

    from raglift.analysis.records import EvaluationRecord


_POINTS = 3
"""Of fewer runs of one dataset no course over time is drawn."""


@dataclass(frozen=True)
class IndexedRun:
    """A run in a folder of runs."""

    name: str
    """The name of its folder."""
    evaluation: EvaluationRecord
    link: str
    """The address of its own page, relative to the index."""

    @property
    def started(self) -> str:
        """When it began, as it is written; empty if that is not known."""
        return str(self.evaluation.run.spec.get("started") or "")

    @property
    def moment(self) -> float | None:
        """When it began, in seconds; None if that is not known."""
        try:
            return datetime.fromisoformat(self.started).timestamp()
        except ValueError:
            return None


@dataclass(frozen=True)
class IndexedSweep:
    """A sweep in a folder of runs; what its cells came to is on its own page."""

    name: str
    """The name of its folder."""
    title: str
    """What it is called, and what it is over."""
    cells: int
    measured: int
    """How many of the cells are measured."""
    link: str = ""
    """The address of its page, relative to the index; empty where it has none yet."""


def index_page(
    folder: str,
    runs: Sequence[IndexedRun],
    sweeps: Sequence[IndexedSweep] = (),
    *,
    primary: Metric | str | None = None,
    warnings: Sequence[str] = (),
) -> Page:
    """Return the index page of a folder of runs.

    Args:
        folder: where they are, as it is written in commands.
        runs: the runs in it, at least one.
        sweeps: the sweeps in it.
        primary: the metric that is shown of all; by default one that all of them scored, as in `reranker_lift`.
        warnings: what could not be shown.

    Raises:
        ConfigurationError: no run scored the metric, or it is not a measure of quality.
    """
    decides = _shared_primary(runs, primary)
    newest = sorted(runs, key=lambda run: (run.moment is None, -(run.moment or 0.0), run.name))
    datasets = dict.fromkeys(run.evaluation.dataset.name for run in newest)
    on = counted(len(datasets), "dataset") if len(datasets) > 1 else next(iter(datasets))
    return Page(
        title=f"Folder {folder}",
        lead=f"{counted(len(runs), 'run')} on {on}",
        headline=table_from(
            _columns(newest, decides),
            newest,
            f"{mean_title(decides)} of each run, newest first",
            sortable=True,
            confidence=confidence_text(CONFIDENCE),
        ),
        measured=(),
        warnings=tuple(warnings),
        notes=("Only runs on the same dataset can be compared.",) if len(datasets) > 1 else (),
        sections=(*_over_time(newest, decides), *sweeps_section(folder, sweeps)),
        is_index=True,
        folder=folder,
    )


def sweeps_page(folder: str, sweeps: Sequence[IndexedSweep], *, warnings: Sequence[str] = ()) -> Page:
    """Return the index page of a folder that has sweeps and no other run."""
    (section,) = sweeps_section(folder, sweeps)
    lead = " ".join(section.paragraphs)
    return Page(f"Sweeps in {folder}", lead, section.tables[0], (), warnings=tuple(warnings))


def sweeps_section(folder: str, sweeps: Sequence[IndexedSweep]) -> tuple[Section, ...]:
    """Return the sweeps with how many of their cells are measured, and how to get the page of one; nothing if none."""
    if not sweeps:
        return ()
    how = []
    missing = next((sweep.name for sweep in sweeps if not sweep.link), None)
    if missing is not None:
        source, page = (Path(folder, *parts).as_posix() for parts in ((missing,), ("reports", f"{missing}.html")))
        how = [f"The page of a sweep is written by: raglift report {quote(source)} -o {quote(page)}"]
    said = (f"{counted(len(sweeps), 'sweep')}; the cells of each are compared on its own page.", *how)
    return (Section("Sweeps", said, (table_from(_SWEEPS, sweeps, "The sweeps in this folder", sortable=True),)),)


_SWEEPS: tuple[Column[IndexedSweep], ...] = (
    Column("folder", lambda sweep: Cell(sweep.name, link=sweep.link), words=True),
    Column("sweep", lambda sweep: sweep.title, words=True),
    Column("cells", lambda sweep: Cell(f"{sweep.cells:,}", value=float(sweep.cells))),
    Column("measured", lambda sweep: Cell(f"{sweep.measured:,}", value=float(sweep.measured))),
)


def _shared_primary(runs: Sequence[IndexedRun], primary: Metric | str | None) -> Metric:
    """Return the metric that is shown; where no metric was scored in all runs, that of the first run."""
    scores = [run.evaluation.scores.metrics for run in runs]
    if primary is not None:
        known = list(dict.fromkeys(metric for metrics in scores for metric in metrics))
        return primary_of(primary, known)
    shared = [metric for metric in scores[0] if all(metric in metrics for metrics in scores)]
    try:
        return primary_of(None, shared)
    except ConfigurationError:
        return primary_of(None, scores[0])


def _columns(runs: Sequence[IndexedRun], primary: Metric) -> list[Column[IndexedRun]]:
    columns = [
        Column[IndexedRun]("run", lambda run: Cell(run.name, link=run.link), words=True),
        Column[IndexedRun]("date", lambda run: Cell(_date(run), value=run.moment)),
        Column[IndexedRun](
            mean_title(primary),
            lambda run: stage_mean_cell(run.evaluation, primary, CONFIDENCE),
            definition=definition_of(primary),
        ),
    ]
    if len({run.evaluation.dataset.name for run in runs}) > 1:
        columns.insert(1, Column("dataset", lambda run: run.evaluation.dataset.name, words=True))
    if any(len(run.evaluation.scores.stages) > 1 for run in runs):
        columns.append(
            Column(
                "change by reranker",
                lambda run: _lift(run.evaluation, primary),
                definition=f"{mean_title(primary)} after reranking minus before, with its interval",
            )
        )
    shown = {primary, Metric(CONTEXT, primary.depth)}  # the latter has a column among the costs
    named = dict.fromkeys(metric for run in runs for metric in run.evaluation.named_metrics(primary))
    columns += named_columns(
        (metric for metric in named if metric not in shown),
        lambda run, metric: stage_mean_cell(run.evaluation, metric, CONFIDENCE),
    )
    columns.append(
        Column("facts found", lambda run: _facts(run.evaluation, primary), definition="By the depth of the metric")
    )
    columns.append(Column("failed", lambda run: _failed(run.evaluation), definition="Queries that failed"))
    return columns + cost_columns(
        runs, primary, lambda run, metric: mean_after(run.evaluation, metric), lambda run: run.evaluation
    )


def _date(run: IndexedRun) -> str:
    return "–" if run.moment is None else f"{datetime.fromisoformat(run.started):%Y-%m-%d %H:%M}"


def _lift(evaluation: EvaluationRecord, metric: Metric) -> Cell:
    if len(evaluation.scores.stages) == 1 or metric not in evaluation.scores.metrics:
        return Cell("–", "muted")
    return decided_cell(reranker_lift(evaluation, primary=metric, moved=0).row())


def _facts(evaluation: EvaluationRecord, metric: Metric) -> Cell:
    losses = failure_analysis(evaluation, failure_analysis_depth(evaluation, metric))
    if not losses.facts:
        return Cell("–", "muted")
    found = losses.of("found").facts
    return Cell(f"{found:,} of {losses.facts:,}", value=found / losses.facts)


def _failed(evaluation: EvaluationRecord) -> Cell:
    failed = sum(trace.error is not None for trace in evaluation.run.traces)
    return Cell(f"{failed:,}", "worse" if failed else "", value=float(failed))


def _over_time(runs: Sequence[IndexedRun], primary: Metric) -> tuple[Section, ...]:
    """Return the course of the metric over time, a line for each dataset; nothing where no dataset has enough runs."""
    points = [
        (run, run.evaluation.scores.mean(run.evaluation.after, primary))
        for run in runs
        if run.moment is not None and primary in run.evaluation.scores.metrics
    ]
    known = [(run, mean) for run, mean in points if not math.isnan(mean)]
    counts: dict[str, int] = {}
    for run, _ in known:
        counts[run.evaluation.dataset.name] = counts.get(run.evaluation.dataset.name, 0) + 1
    if max(counts.values(), default=0) < _POINTS:
        return ()
    figure = Figure(f"{mean_title(primary)} over time", partial(_chart, known, primary), "Each point is a run.")
    return (Section("Over time", figures=(figure,), detail=Detail.SUMMARY),)


def _chart(points: Sequence[tuple[IndexedRun, float]], primary: Metric) -> alt.LayerChart:
    from raglift.report.charts.builders import Axis, Line, lines_chart
    from raglift.report.charts.parts import PALETTE, quantity

    by_dataset: dict[str, list[tuple[IndexedRun, float]]] = {}
    for run, mean in sorted(points, key=lambda point: point[0].moment or 0.0):
        by_dataset.setdefault(run.evaluation.dataset.name, []).append((run, mean))
    lines = [
        Line(
            dataset,
            [(run.started, mean) for run, mean in measured],
            colour,
            point_names=[run.name for run, _ in measured],
        )
        for (dataset, measured), colour in zip(by_dataset.items(), cycle(PALETTE), strict=False)
    ]
    name, said = mean_title(primary), "; ".join(f"{run.name} {mean:.3f}" for run, mean in reversed(points))
    return lines_chart(
        lines,
        Axis("", "", is_date=True),
        Axis(name, quantity(primary)),
        title=f"{name} over time",
        description=f"{name} of each run over time: {said}.",
    )
