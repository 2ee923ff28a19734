"""The index of a folder of runs: every run with its main figures, by dataset and system, and the sweeps beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePath
from shlex import quote
from typing import TYPE_CHECKING

from raglift.analysis.lift import reranker_lift
from raglift.analysis.outcomes import failure_analysis
from raglift.analysis.paired_statistics import is_quality, primary_of
from raglift.analysis.scoring import with_metrics
from raglift.analysis.shared_queries import system_name
from raglift.metrics.computing import mean_title
from raglift.rendering.document import Cell, Column, Section, table_from
from raglift.report.cells import decided_cell, figure_cell, mean_cell, stage_mean_cell, without_bar
from raglift.report.format import confidence_text, decimals_of, percent_text
from raglift.report.page.rendering import Page
from raglift.report.sentences import failure_analysis_depth
from raglift.report.views.parts import cost_columns, definition_of, mean_after, named_columns
from raglift.stats.intervals import CONFIDENCE
from raglift.types.metric import Metric
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.rendering.document import Table
    from raglift.results.evaluation import Evaluation


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

    @property
    def system(self) -> str:
        """What the system is called."""
        return system_name(self.evaluation)

    @property
    def parts(self) -> dict[str, str]:
        """The settings that the run recorded, as texts: its chunker, embedding model, retriever, reranker."""
        recorded = self.evaluation.run.spec.get("parts")
        return {
            str(name): str(value).removesuffix(":characters")
            for name, value in (recorded if isinstance(recorded, Mapping) else {}).items()
        }

    @property
    def chunks(self) -> str:
        """The chunker, else the number of chunks; empty where neither is known."""
        known = self.evaluation.run.inventory
        return self.parts.get("chunker", "" if known is None else counted(known.chunks, "chunk"))

    @property
    def series(self) -> tuple[object, ...]:
        """What runs have in common that differ in time alone."""
        return self.system, self.parts, self.chunks, self.evaluation.run.spec.get("dataset")


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
    """Return the index of a folder of runs."""
    if primary is not None:
        primary = primary_of(primary, list(dict.fromkeys(one for run in runs for one in run.evaluation.scores.metrics)))
    newest = sorted(runs, key=lambda run: (-run.timestamp, run.name))
    by_dataset: dict[str, list[IndexedRun]] = {}
    for run in newest:
        by_dataset.setdefault(run.evaluation.dataset.name, []).append(run)
    first, *others = (_table(name, of_dataset, primary) for name, of_dataset in by_dataset.items())
    systems = counted(len({run.system for run in runs}), "system")
    on = next(iter(by_dataset)) if not others else counted(len(by_dataset), "dataset")
    return Page(
        title=f"Folder {folder}",
        lead=f"{counted(len(runs), 'run')} of {systems} on {on}; the newest, {newest[0].name}, {_achieved(newest[0])}.",
        headline=first,
        measured=(),
        warnings=tuple(warnings),
        notes=(
            *dict.fromkeys(_shown_metric(of_dataset, primary)[1] for of_dataset in by_dataset.values()),
            *(note for name, of_dataset in by_dataset.items() for note in _apart(folder, name, of_dataset)),
        ),
        sections=(
            *(Section(name, tables=(table,)) for name, table in zip(list(by_dataset)[1:], others, strict=True)),
            *([Section("Sweeps", tables=(_sweep_table(sweeps),))] if sweeps else []),
        ),
    )


def _table(dataset: str, newest: Sequence[IndexedRun], primary: Metric | None) -> Table:
    """Return the runs on one dataset by system: those with the newest run first."""
    decides, _ = _shown_metric(newest, primary)
    systems = list(dict.fromkeys(run.system for run in newest))
    shown = sorted(newest, key=lambda run: systems.index(run.system))
    caption = f"{dataset}: {mean_title(decides)} of each run, by system, newest first; dates in UTC"
    return table_from(_columns(shown, decides), shown, caption, sortable=True, confidence=confidence_text(CONFIDENCE))


def _shown_metric(runs: Sequence[IndexedRun], primary: Metric | None) -> tuple[Metric, str]:
    """Return the metric that is shown of the runs on one dataset, and why it is this one."""
    if primary is not None:
        return primary, f"{mean_title(primary)} is shown because --primary names it."
    scored = Counter(metric for run in runs for metric in run.evaluation.scores.metrics if is_quality(metric))
    most = max(scored.values(), default=0)
    decides = primary_of(None, [metric for metric, count in scored.items() if count == most])
    known = f"{'all' if most == len(runs) else 'most'} runs on {runs[0].evaluation.dataset.name}"
    return decides, f"{mean_title(decides)} is shown because {known} have it; --primary chooses another metric."


def _achieved(run: IndexedRun) -> str:
    """Return how good a run is, as what a sentence says of it."""
    first, known = Metric("hit_rate", 1), run.evaluation.scores.metrics
    if first in known and run.evaluation.scores.n(run.evaluation.after, first):
        return f"puts the right passage first for {percent_text(mean_after(run.evaluation, first), 0)} of questions"
    if not any(map(is_quality, known)):
        return "has no measure of quality"
    decides = primary_of(None, known)
    return f"has {mean_title(decides)} {mean_cell(decides, mean_after(run.evaluation, decides)).text}"


def _apart(folder: str, dataset: str, runs: Sequence[IndexedRun]) -> Iterator[str]:
    """Yield how to compare the runs on a dataset, if they have different chunks."""
    newest = {run.chunks: run for run in reversed(runs) if run.chunks}
    if len(newest) > 1:
        command = " ".join(quote(str(PurePath(folder) / run.name)) for run in newest.values())
        yield (
            f"Runs on {dataset} have different chunks ({', '.join(newest)}), so equal numbers of hits make prompts of "
            f"different sizes. A comparison page compares them at one prompt size: raglift report {command}"
        )


def _columns(runs: Sequence[IndexedRun], primary: Metric) -> list[Column[IndexedRun]]:
    columns = [
        Column[IndexedRun]("run", lambda run: Cell(run.name, link=run.link), words=True),
        Column[IndexedRun]("system", lambda run: run.system, words=True),
        Column[IndexedRun](
            mean_title(primary),
            lambda run: stage_mean_cell(run.evaluation, primary, CONFIDENCE),
            definition=definition_of(primary),
        ),
        Column[IndexedRun](
            "change",
            lambda run: _change_cell(run, runs, primary),
            definition=f"{mean_title(primary)} minus the one before, by the same system, settings and questions; "
            "raglift compare tests whether it is significant",
        ),
        Column[IndexedRun]("date", _date_cell),
        *map(_setting_column, _differing(runs)),
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
        lambda run, metric: without_bar(stage_mean_cell(run.evaluation, metric, CONFIDENCE)),
    )
    columns += [
        Column(
            "facts found", lambda run: _facts_cell(run.evaluation, primary), definition="Up to the depth of the metric"
        ),
        Column("failed", lambda run: _failed_cell(run.evaluation), definition="Questions that failed"),
    ]
    columns += cost_columns(runs, primary, _cost, lambda run: run.evaluation)
    empty = {"change": "–", "failed": "0"}
    return [one for one in columns if {one.cell_of(run).text for run in runs} != {empty.get(one.title)}]


def _differing(runs: Sequence[IndexedRun]) -> list[str]:
    """Return the recorded settings that differ, without those that the names of systems tell."""
    found = set()
    for name in dict.fromkeys(name for run in runs for name in run.parts):
        by_system = {run.system: run.parts.get(name) for run in runs} if name in ("retriever", "reranker") else {}
        if any(run.parts.get(name) != by_system.get(run.system, runs[0].parts.get(name)) for run in runs):
            found.add(name)
    return sorted(found)


def _setting_column(name: str) -> Column[IndexedRun]:
    return Column(name, lambda run: Cell(run.parts[name]) if name in run.parts else Cell("–", "muted"), words=True)


def _change_cell(run: IndexedRun, runs: Sequence[IndexedRun], metric: Metric) -> Cell:
    """Return the change to the run before of the same system, settings and questions; `–` without one."""
    earlier = [one for one in runs if one.series == run.series and one.timestamp < run.timestamp]
    if not earlier:
        return Cell("–", "muted")
    before = max(earlier, key=lambda one: one.timestamp)
    change = mean_after(run.evaluation, metric) - mean_after(before.evaluation, metric)
    return figure_cell(change, None, decimals_of(metric), signs=True)


def _cost(run: IndexedRun, metric: Metric) -> float:
    """Return the mean of a cost, computed where it was not scored; of an agent, over all hits of a question."""
    asked = replace(metric, depth=None) if run.evaluation.run.has_sessions else metric
    return run.evaluation.once(("cost", asked), lambda: mean_after(with_metrics(run.evaluation, [asked]), asked))


def _date_cell(run: IndexedRun) -> Cell:
    moment = None if run.started is None else run.started.astimezone(UTC)
    return Cell("–") if moment is None else Cell(f"{moment:%Y-%m-%d %H:%M}", value=run.timestamp)


def _lift_cell(evaluation: Evaluation, metric: Metric) -> Cell:
    if len(evaluation.scores.stages) == 1 or metric not in evaluation.scores.metrics:
        return Cell("–", "muted")
    return without_bar(decided_cell(reranker_lift(evaluation, primary=metric, moved=0).row()))


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
        Column("configurations", lambda sweep: Cell(f"{sweep.cells:,}", value=float(sweep.cells))),
        Column("measured", lambda sweep: Cell(f"{sweep.measured:,}", value=float(sweep.measured))),
        Column("its page is written by", lambda sweep: sweep.command, words=True),
    ]
    return table_from(columns, sweeps, "The sweeps in this folder", sortable=True)
