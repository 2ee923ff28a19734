"""`track()`: publish a result to a tracker completely, or raise an error that says what was published."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.apps.tracking.describing import comparison_record, evaluation_record, sweep_record
from raglift.apps.tracking.mlflow import MlflowTracker
from raglift.apps.tracking.records import reason_of, run_name
from raglift.apps.tracking.wandb import WandbTracker
from raglift.errors import ConfigurationError, RagliftError, TrackingFailed
from raglift.llm.dot_env import load_dot_env
from raglift.results.comparison import Comparison
from raglift.results.evaluation import Evaluation
from raglift.sweep.result import SweepResult

if TYPE_CHECKING:
    from raglift.apps.tracking.records import Record, TrackedRun


TRACKERS: Mapping[str, type[MlflowTracker | WandbTracker]] = {"mlflow": MlflowTracker, "wandb": WandbTracker}
"""The trackers by name."""


def open_tracker(name: str, project: str | None = None) -> MlflowTracker | WandbTracker:
    """Return a tracker, ready: nothing is sent yet, but what is sure to fail fails here, before hours of work.

    Args:
        name: one of `TRACKERS`.
        project: where it is to keep records; None for what the tracker's own settings say, else `raglift`.

    Raises:
        ConfigurationError: no tracker has that name, the project has an empty one, or its settings cannot be used.
        MissingDependency: its package is not installed.
        MissingKey: it wants an API key, and has none.
    """
    if name not in TRACKERS:
        raise ConfigurationError(f"tracker: found {name!r}; expected one of {', '.join(TRACKERS)}")
    if project is not None and not project.strip():
        raise ConfigurationError(f"project: found {project!r}; expected a name, or none for the tracker's own settings")
    load_dot_env()
    return TRACKERS[name](project)


def track(
    result: Evaluation | Comparison | SweepResult,
    tracker: str,
    *,
    project: str | None = None,
    name: str | None = None,
    tags: Mapping[str, str | float] | None = None,
    files: bool = True,
) -> TrackedRun:
    """Keep a result in an experiment tracker: parameters, figures for each stage and k, the report and the run.

    Args:
        result: an evaluation, a comparison, or what a sweep found, of which each cell is a run of its own under it.
        tracker: `mlflow` or `wandb`; each is set up as ever, by its own environment variables.
        project: MLflow's experiment, or the project at Weights & Biases; by default what the tracker's environment
            variable says, else `raglift`.
        name: what to call the run; by default the dataset and what the stages do.
        tags: words to find it by, for example `{"team": "search"}`; numbers and bools are converted to text.
        files: whether to keep the report, the saved run and a summary with it. They hold the texts of queries and
            chunks: leave them out where these must not leave the machine.

    Returns:
        Where it is kept.

    Raises:
        ConfigurationError: no tracker has that name, its settings cannot be used, or a tag is no text, number or
            bool; no tracker was asked then.
        MissingDependency: its package is not installed.
        MissingKey: it wants an API key, and has none.
        TrackingFailed: it cannot be reached, or refused the request; the result itself is unchanged.
    """
    words = _checked_tags(tags or {})
    opened = open_tracker(tracker, project)
    record = _record_of(result)
    if name is not None:
        record = replace(record, name=run_name(name))
    return publish(opened, record, tags=words, files=files)


def publish(
    tracker: MlflowTracker | WandbTracker,
    record: Record,
    *,
    tags: Mapping[str, str],
    files: bool = True,
    parent: TrackedRun | None = None,
) -> TrackedRun:
    """Keep a record, then those under it.

    Args:
        tracker: from `open_tracker`.
        record: the description of a result.
        tags: words to find it by.
        files: whether to keep its files and summary.
        parent: the run that it is under.

    Raises:
        TrackingFailed: the tracker cannot be reached, or refused something.
    """
    notes: tuple[str, ...] = ()
    try:
        with tempfile.TemporaryDirectory(prefix="raglift-track-") as temporary:
            folder = Path(temporary) if files and record.write_files is not None else None
            if folder is not None and record.write_files is not None:
                notes = record.write_files(folder)
            sent = record if files else replace(record, summary="")  # which may name queries by their texts
            run = tracker.keep(sent, folder, tags=tags, parent=parent)
    except RagliftError:
        raise
    except Exception as error:
        raise TrackingFailed(f"{tracker.name}: {reason_of(error)}; nothing of what was measured is lost") from error
    children: list[TrackedRun] = []
    for child in record.children:
        try:
            children.append(publish(tracker, child, tags=tags, files=files, parent=run))
        except RagliftError as error:
            raise TrackingFailed(
                f"{error}; {len(children):,} of the {len(record.children):,} runs under {run.name} ({run.id}) were "
                "kept before that: delete it there before it is tracked again, or it is there twice"
            ) from error
    return replace(run, notes=(*notes, *run.notes), children=tuple(children))


def _checked_tags(tags: object) -> dict[str, str]:
    """Return tags as texts."""
    if not isinstance(tags, Mapping):
        raise ConfigurationError(f'tags: found {tags!r}; expected a mapping, such as {{"team": "search"}}')
    for name, value in tags.items():
        if not isinstance(name, str) or not isinstance(value, (str, bool, Real)):
            raise ConfigurationError(
                f"tags: {name!r}: found {value!r}; expected a name, and a text, a number or a bool"
            )
    return {name: str(value) for name, value in tags.items()}


def _record_of(result: object) -> Record:
    if isinstance(result, Evaluation):
        return evaluation_record(result)
    if isinstance(result, Comparison):
        return comparison_record(result)
    if isinstance(result, SweepResult):
        return sweep_record(result)
    raise ConfigurationError(
        f"track: found a {type(result).__name__}; expected an evaluation, a comparison or what a sweep found"
    )
