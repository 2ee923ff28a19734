"""The index of a folder of runs: every run with its main figures, newest first, and the sweeps beside them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from raglift.analysis.lift import reranker_lift
from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.paired_statistics import primary_of
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Section, table_from
from raglift.report.cells import decided_cell, stage_mean_cell
from raglift.report.format import confidence_text
from raglift.report.page.rendering import Page
from raglift.report.sentences import failure_analysis_depth
from raglift.report.views.parts import cost_columns, definition_of, mean_after, named_columns
from raglift.stats.intervals import CONFIDENCE
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.rendering.document import Table
    from raglift.results.evaluation import Evaluation
    from raglift.types.metric import Metric


@dataclass(frozen=True)
class IndexedRun:
    """A run in a folder of runs."""

    name: str
    """The name of its folder."""
    evaluation: Evaluation
    link: str
    """The address of its own page, relative to the index."""

    @property
    def started(self) -> datetime | None:
        """When it began; None if that is not known."""
        try:
            return datetime.fromisoformat(str(self.evaluation.run.spec.get("started") or ""))
        except ValueError:
            return None

    @property
    def timestamp(self) -> float:
        """When it began, in seconds; 0 if that is not known."""
        return 0.0 if self.started is None else self.started.timestamp()


@dataclass(frozen=True)
class IndexedSweep:
    """A sweep in a folder of runs; its cells are compared on its own page."""

    name: str
    """The name of its folder."""
    title: str
    """What it is called, and what it is over."""
    cells: int
    measured: int
    """How many of the cells are measured."""
    command: str
    """Writes its page."""


def index_page(
    folder: str,
    runs: Sequence[IndexedRun],
    sweeps: Sequence[IndexedSweep] = (),
    *,
    primary: Metric | str | None = None,
    warnings: Sequence[str] = (),
) -> Page:
    """Return the index of a folder of runs.

    Raises:
        ConfigurationError: no run scored the metric, or it is not a measure of quality.
    """
    decides = _shown_metric(runs, primary)
    newest = sorted(runs, key=lambda run: (-run.timestamp, run.name))
    datasets = dict.fromkeys(run.evaluation.dataset.name for run in newest)
    return Page(
        title=f"Folder {folder}",
        lead=f"{counted(len(runs), 'run')} on {', '.join(datasets)}",
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
        sections=(Section("Sweeps", tables=(_sweep_table(sweeps),)),) if sweeps else (),
    )


def _shown_metric(runs: Sequence[IndexedRun], primary: Metric | str | None) -> Metric:
    scored = [run.evaluation.scores.metrics for run in runs]
    if primary is not None:
        return primary_of(primary, list(dict.fromkeys(metric for metrics in scored for metric in metrics)))
    shared = [metric for metric in scored[0] if all(metric in metrics for metrics in scored)]
    return primary_of(None, shared or scored[0])


def _columns(runs: Sequence[IndexedRun], primary: Metric) -> list[Column[IndexedRun]]:
    columns = [
        Column[IndexedRun]("run", lambda run: Cell(run.name, link=run.link), words=True),
        Column[IndexedRun]("dataset", lambda run: run.evaluation.dataset.name, words=True),
        Column[IndexedRun]("date", _date_cell),
        Column[IndexedRun](
            mean_title(primary),
            lambda run: stage_mean_cell(run.evaluation, primary, CONFIDENCE),
            definition=definition_of(primary),
        ),
    ]
    if any(len(run.evaluation.scores.stages) > 1 for run in runs):
        columns.append(
            Column(
                "change by reranker",
                lambda run: _lift_cell(run.evaluation, primary),
                definition=f"{mean_title(primary)} after reranking minus before, with its interval",
            )
        )
    named = dict.fromkeys(metric for run in runs for metric in run.evaluation.named_metrics(primary))
    columns += named_columns(
        (metric for metric in named if metric != primary),
        lambda run, metric: stage_mean_cell(run.evaluation, metric, CONFIDENCE),
    )
    columns += [
        Column("facts found", lambda run: _facts_cell(run.evaluation, primary), definition="Up to the metric's depth"),
        Column("failed", lambda run: _failed_cell(run.evaluation), definition="Queries that failed"),
    ]
    return columns + cost_columns(
        runs, primary, lambda run, metric: mean_after(run.evaluation, metric), lambda run: run.evaluation
    )


def _date_cell(run: IndexedRun) -> Cell:
    return Cell("–") if run.started is None else Cell(f"{run.started:%Y-%m-%d %H:%M}", value=run.timestamp)


def _lift_cell(evaluation: Evaluation, metric: Metric) -> Cell:
    if len(evaluation.scores.stages) == 1 or metric not in evaluation.scores.metrics:
        return Cell("–", "muted")
    return decided_cell(reranker_lift(evaluation, primary=metric, moved=0).row())


def _facts_cell(evaluation: Evaluation, metric: Metric) -> Cell:
    losses = failure_analysis(evaluation, failure_analysis_depth(evaluation, metric))
    if not losses.facts:
        return Cell("–", "muted")
    found = losses.of("found").facts
    return Cell(f"{found:,} of {losses.facts:,}", value=found / losses.facts)


def _failed_cell(evaluation: Evaluation) -> Cell:
    failed = sum(trace.error is not None for trace in evaluation.run.traces)
    return Cell(f"{failed:,}", "worse" if failed else "", value=float(failed))


def _sweep_table(sweeps: Sequence[IndexedSweep]) -> Table:
    columns: list[Column[IndexedSweep]] = [
        Column("folder", lambda sweep: sweep.name, words=True),
        Column("sweep", lambda sweep: sweep.title, words=True),
        Column("cells", lambda sweep: Cell(f"{sweep.cells:,}", value=float(sweep.cells))),
        Column("measured", lambda sweep: Cell(f"{sweep.measured:,}", value=float(sweep.measured))),
        Column("its page is written by", lambda sweep: sweep.command, words=True),
    ]
    return table_from(columns, sweeps, "The sweeps in this folder", sortable=True)
