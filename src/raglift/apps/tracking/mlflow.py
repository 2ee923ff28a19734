"""MLflow: a run with parameters, figures and files; cells as runs under it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from raglift.apps.tracking.records import TrackedRun, imported, place_of, quiet, reason_of
from raglift.errors import MissingDependency, TrackingFailed
from raglift.utilities.display import shorten
from raglift.utilities.limits import is_there
from raglift.utilities.replacing import unwritable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from raglift.apps.tracking.records import Record


Item = TypeVar("Item")

_PROJECT = "raglift"
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",  # MLflow would report its use to its makers
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # what is printed may be JSON for a program
    # MLflow's own would wait many minutes for a server that is not there
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "60",
}
"""What is set unless the user has set it."""
_LOGGERS = ("mlflow", "alembic")
"""What writes of MLflow itself and of its dependencies."""
_FILE = re.compile(r"sqlite(?:\+\w+)?:///(?!:memory:|file:)([^?]+)")
"""The address of a database that is a file."""
_MOST_METRICS, _MOST_OTHERS = 500, 100
"""In one request; MLflow takes 1,000 metrics, and 100 parameters or tags."""
_LONGEST_PARAMETER, _LONGEST_TAG, _LONGEST_KEY = 6000, 5000, 240


class MlflowTracker:
    """Keeps records in the store that MLflow's own settings name: `MLFLOW_TRACKING_URI`, else `sqlite:///mlflow.db`.

    Args:
        project: the experiment; None for that of `MLFLOW_EXPERIMENT_NAME` or `_ID`, else `raglift`.

    Raises:
        MissingDependency: MLflow is not installed.
        TrackingFailed: the store cannot be opened.
    """

    name = "mlflow"

    def __init__(self, project: str | None) -> None:
        self._project = project
        mlflow = imported("mlflow", _ENVIRONMENT)
        self._address = str(mlflow.get_tracking_uri())
        _check_file(self._address)
        with quiet(*_LOGGERS), self._naming_the_store():
            self._client: Any = mlflow.MlflowClient(tracking_uri=self._address)

    def keep(
        self, record: Record, files: Path | None, *, tags: Mapping[str, str], parent: TrackedRun | None
    ) -> TrackedRun:
        """Keep one record, without those under it.

        Args:
            record: what to tell.
            files: a folder of files to keep with it; None for none.
            tags: words of the user's to find it by.
            parent: the run that it is under.

        Raises:
            TrackingFailed: the store cannot be reached, or refused something; the partial run is marked as failed.
        """
        with quiet(*_LOGGERS), self._naming_the_store():
            experiment = self._experiment()
            marks = {"raglift.kind": record.kind, **tags}
            if parent is not None:
                marks["mlflow.parentRunId"] = parent.id
            run = self._client.create_run(experiment.experiment_id, run_name=record.name, tags=_texts(marks))
            run_id = str(run.info.run_id)
            try:
                self._fill(run_id, record, files)
            except BaseException:
                with suppress(Exception):  # what went wrong first is what is reported
                    self._client.set_terminated(run_id, "FAILED")
                raise
            self._client.set_terminated(run_id, "FINISHED" if record.error is None else "FAILED")
        place = place_of(self._address)
        page = f"{place.rstrip('/')}/#/experiments/{experiment.experiment_id}/runs/{run_id}"
        return TrackedRun(
            self.name, run_id, record.name, experiment.name, place, page if place.startswith("http") else None
        )

    def _experiment(self) -> Any:
        """Return the experiment that is asked for, or named by MLflow's settings; a new one is created."""
        known = os.environ.get("MLFLOW_EXPERIMENT_ID")
        if self._project is None and known:
            return self._client.get_experiment(known)
        name = self._project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or _PROJECT
        found = self._client.get_experiment_by_name(name)
        if found is None:
            try:
                self._client.create_experiment(name)
            except Exception:
                if self._client.get_experiment_by_name(name) is None:  # else another process was quicker
                    raise
            found = self._client.get_experiment_by_name(name)
        return found

    def _fill(self, run_id: str, record: Record, files: Path | None) -> None:
        from mlflow.entities import Metric, Param, RunTag

        now = int(time.time() * 1000)
        notes = {"mlflow.note.content": record.summary, "raglift.error": record.error or ""}
        tags = [RunTag(name, text) for name, text in _texts(notes).items() if text]
        for pairs in _in_parts(_flat(record.parameters).items(), _MOST_OTHERS):
            self._client.log_batch(run_id, params=[Param(*pair) for pair in pairs], synchronous=True)
        for part in _in_parts(record.figures.items(), _MOST_METRICS):
            metrics = [Metric(name, value, now, 0) for name, value in part]
            self._client.log_batch(run_id, metrics=metrics, synchronous=True)
        self._client.log_batch(run_id, tags=tags, synchronous=True)
        if files is not None:
            self._client.log_artifacts(run_id, str(files))

    @contextmanager
    def _naming_the_store(self) -> Iterator[None]:
        """Name the store in the error of a failure, and what to look at."""
        place = place_of(self._address)
        try:
            yield
        except ModuleNotFoundError as error:  # what the extra brings, or the driver of a database
            package = (error.name or "mlflow").partition(".")[0]
            extra = "track" if package in ("alembic", "mlflow", "sqlalchemy") else None
            raise MissingDependency(package, extra, f"MLflow's store {place}") from error
        except Exception as error:
            raise TrackingFailed(
                f"mlflow: {place}: {reason_of(error)}; expected a store that can be written, named by "
                "MLFLOW_TRACKING_URI (a server's http://…, or sqlite:///mlflow.db), and names of the experiment, the "
                "run and its tags that MLflow takes; nothing of what was measured is lost"
            ) from error


def _check_file(address: str) -> None:
    """Raise where a store is a file that cannot be written: MLflow would try again for minutes, without a word."""
    found = _FILE.match(address)
    if found is None:
        return
    file = Path(found[1])
    refusing = unwritable(file)
    if refusing is None and is_there(file) and not os.access(file, os.W_OK):
        refusing = file.absolute()
    if refusing is not None:
        raise TrackingFailed(
            f"mlflow: {place_of(address)}: cannot be written: found no right to write in {refusing}; expected a store "
            "that can be: name another by MLFLOW_TRACKING_URI (a server's http://…, or sqlite:////…/mlflow.db)"
        )


def _flat(parameters: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Return parameters under one name each, for example `dataset.hash`, as names and texts that MLflow takes."""
    found: dict[str, str] = {}
    for name, value in parameters.items():
        plain = "".join(letter if letter.isalnum() or letter in "_-. " else "_" for letter in str(name))
        key = f"{before}{plain}"[:_LONGEST_KEY]
        if isinstance(value, Mapping):
            inner = _flat(value, f"{key}.")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            inner = {key: shorten(text, _LONGEST_PARAMETER)}
        for one, text in inner.items():
            free, number = one, 2
            while free in found:
                free, number = f"{one}_{number}", number + 1
            found[free] = text
    return found


def _texts(tags: Mapping[str, str]) -> dict[str, str]:
    return {name: shorten(text, _LONGEST_TAG) for name, text in tags.items()}


def _in_parts(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while part := list(islice(rest, most)):
        yield part
