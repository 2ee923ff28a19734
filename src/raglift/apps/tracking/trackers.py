"""The trackers: MLflow, where cells are runs under their sweep, and Weights & Biases, where they are a group."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from raglift.apps.tracking.records import Record, TrackedRun, place_of
from raglift.utilities.display import shorten

MLFLOW_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",  # MLflow would report its use to its makers
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # what is printed may be JSON for a program
    # MLflow's own would wait many minutes for a server that is not there
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "60",
}
"""What is set unless the user has set it."""
_MOST_AT_ONCE = 100
"""Parameters in one request."""
_LONGEST_PARAMETER, _LONGEST_TAG, _LONGEST_NAME = 6000, 5000, 240


class MlflowTracker:
    """Keeps records in the store that MLflow's own settings name: `MLFLOW_TRACKING_URI`, else `sqlite:///mlflow.db`.

    Args:
        package: MLflow.
        project: the experiment; None for that of `MLFLOW_EXPERIMENT_NAME`, else `raglift`.
    """

    def __init__(self, package: Any, project: str | None) -> None:
        self._project = project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "raglift"
        self._address = str(package.get_tracking_uri())
        self._client = package.MlflowClient(tracking_uri=self._address)

    def keep(
        self, record: Record, files: Path | None, tags: Mapping[str, str], parent: TrackedRun | None
    ) -> TrackedRun:
        """See `Tracker.keep`; the partial run of a failure is marked as failed."""
        experiment = self._client.get_experiment_by_name(self._project)
        experiment_id = (
            self._client.create_experiment(self._project) if experiment is None else experiment.experiment_id
        )
        marks = {"raglift.kind": record.kind, **tags, "mlflow.note.content": record.summary}
        marks["raglift.error"] = record.error or ""
        marks["mlflow.parentRunId"] = "" if parent is None else parent.id
        texts = {name: shorten(text, _LONGEST_TAG) for name, text in marks.items() if text}
        run_id = self._client.create_run(experiment_id, run_name=record.name, tags=texts).info.run_id
        status = "FAILED"
        try:
            self._fill(run_id, record, files)
            status = "FINISHED" if record.error is None else "FAILED"
        finally:
            self._client.set_terminated(run_id, status)
        where = place_of(self._address)
        if where.startswith("http"):
            where = f"{where.rstrip('/')}/#/experiments/{experiment_id}/runs/{run_id}"
        return TrackedRun("mlflow", run_id, record.name, self._project, where)

    def _fill(self, run_id: str, record: Record, files: Path | None) -> None:
        from mlflow.entities import Metric, Param

        parameters = [Param(name, text) for name, text in _flat(record.parameters)]
        for begin in range(0, len(parameters), _MOST_AT_ONCE):
            self._client.log_batch(run_id, params=parameters[begin : begin + _MOST_AT_ONCE])
        now = int(time.time() * 1000)
        metrics = [Metric(name, value, now, 0) for name, value in record.figures.items()]
        for begin in range(0, len(metrics), _MOST_AT_ONCE):
            self._client.log_batch(run_id, metrics=metrics[begin : begin + _MOST_AT_ONCE])
        if files is not None:
            self._client.log_artifacts(run_id, str(files))


def _flat(parameters: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield parameters under one name each, for example `dataset.hash`, as names and texts that MLflow takes."""
    for name, value in parameters.items():
        plain = "".join(letter if letter.isalnum() or letter in "_-. " else "_" for letter in str(name))
        key = f"{before}{plain}"[:_LONGEST_NAME]
        if isinstance(value, Mapping):
            yield from _flat(value, f"{key}.")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            yield key, shorten(text, _LONGEST_PARAMETER)


WANDB_ENVIRONMENT = {
    "WANDB_ERROR_REPORTING": "false",  # W&B would report its errors to its makers
    "WANDB_DISABLE_WEAVE": "true",  # else it traces the frameworks' calls where Weave is installed
    # Without them W&B would wait for a server that is gone without end
    "WANDB_INIT_TIMEOUT": "60",
    "WANDB_FINISH_TIMEOUT": "600",
    "WANDB_FINISH_TIMEOUT_RAISES": "true",
    "WANDB_HOST": "",  # the machine's name
}
"""What is set unless the user has set it."""
_SETTINGS: dict[str, Any] = {
    "silent": True,
    "console": "off",  # else the texts that are printed would be kept
    "disable_code": True,
    "disable_git": True,
    "disable_job_creation": True,
    "save_code": False,
    # Nor the command line, the machine's hardware, its installed packages and its load
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "x_disable_stats": True,
    "x_save_requirements": False,
}
_LONGEST_MARK, _LONGEST_GROUP = 64, 100


class WandbTracker:
    """Keeps records where W&B's own settings say: `WANDB_MODE`, `WANDB_BASE_URL`, `WANDB_ENTITY`, `WANDB_DIR`, ….

    Args:
        package: W&B.
        project: the project; None for that of `WANDB_PROJECT`, else `raglift`.
    """

    def __init__(self, package: Any, project: str | None) -> None:
        self._project = project or os.environ.get("WANDB_PROJECT") or "raglift"
        self._wandb = package
        known = package.Settings.model_fields
        self._settings = package.Settings(**{name: value for name, value in _SETTINGS.items() if name in known})

    def keep(
        self, record: Record, files: Path | None, tags: Mapping[str, str], parent: TrackedRun | None
    ) -> TrackedRun:
        """See `Tracker.keep`."""
        run_id = secrets.token_hex(4)
        # A sweep and its cells are a group: its name and id, so that two sweeps are two groups
        name, group_id = (record.name, run_id) if parent is None else (parent.name, parent.id)
        is_grouped = record.kind in ("sweep", "cell")
        run = self._wandb.init(
            project=self._project,
            name=record.name,
            notes=record.summary or None,
            config=dict(record.parameters),
            tags=[shorten(f"{name}={value}", _LONGEST_MARK) for name, value in tags.items()] or None,
            id=run_id,
            group=f"{shorten(name, _LONGEST_GROUP)} {group_id}" if is_grouped else None,
            job_type=record.kind,
            reinit="create_new",  # a run of the user's that is under way goes on
            settings=self._settings,
        )
        exit_code = 1
        try:
            self._fill(run, record, files)
            exit_code = 0 if record.error is None else 1
        finally:
            run.finish(exit_code=exit_code)
        folder = str(run.settings.sync_dir)
        where = folder if run.offline or not run.url else place_of(str(run.url))
        notes = (f"kept offline; upload it with: wandb sync {folder}",) if run.offline else ()
        return TrackedRun("wandb", run_id, record.name, self._project, where, notes)

    def _fill(self, run: Any, record: Record, files: Path | None) -> None:
        if record.figures:
            run.log(dict(record.figures))
        if record.error is not None:
            run.summary["error"] = record.error
        if files is not None:
            artifact = self._wandb.Artifact(f"raglift-{run.id}", type=record.kind)
            artifact.add_dir(str(files))
            run.log_artifact(artifact)
