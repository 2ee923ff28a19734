"""MLflow: a run with parameters, figures and files; cells as runs under it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from raglift.apps.tracking.records import TrackedRun, place_of
from raglift.utilities.display import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from raglift.apps.tracking.records import Record


ENVIRONMENT = {
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
