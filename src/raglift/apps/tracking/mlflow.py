"""MLflow: a run with parameters, figures, curves whose steps are depths, and files; cells as runs under it."""

from __future__ import annotations

import itertools
import logging
import os
import re
import time
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from raglift.apps.tracking.records import TrackedRun, place_of, reason_of
from raglift.base.display import shorten
from raglift.base.limits import is_there
from raglift.base.replacing import unwritable
from raglift.errors import MissingDependency, RagliftError, TrackingFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.apps.tracking.records import Record


Item = TypeVar("Item")

_PROJECT = "raglift"
_SETTINGS = {"MLFLOW_DISABLE_TELEMETRY": "true"}  # MLflow would report its use to its makers
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3", "MLFLOW_HTTP_REQUEST_TIMEOUT": "60"}
"""MLflow's own would wait many minutes for a server that is not there; what its user has set stays."""
_SILENCE = {"MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}  # what is printed may be JSON for a program
_MOST_METRICS, _MOST_OTHERS = 500, 100
"""In one request; MLflow takes 1,000 metrics, and 100 parameters or tags."""
_LONGEST_PARAMETER, _LONGEST_TAG = 6000, 5000
_LONGEST_KEY = 240
_BROUGHT = ("alembic", "mlflow", "sqlalchemy")
"""What the extra brings."""
_FILE = re.compile(r"sqlite(?:\+\w+)?:///(?!:memory:|file:)([^?]+)")
"""The address of a database that is a file."""


class MlflowTracker:
    """Keeps records in the store that MLflow's own settings name: `MLFLOW_TRACKING_URI`, else `sqlite:///mlflow.db`.

    Args:
        project: the experiment; None for that of `MLFLOW_EXPERIMENT_NAME` or `_ID`, else `raglift`.

    Raises:
        MissingDependency: MLflow is not installed.
        TrackingFailed: the store cannot be opened, or is a file that cannot be written.
    """

    def __init__(self, project: str | None) -> None:
        self._project = project
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        try:
            with _quiet():
                import mlflow
        except ImportError:
            raise MissingDependency("mlflow", "track", "tracking with mlflow") from None
        with _quiet():  # anew: the import sets up MLflow's own logging
            self._address = str(mlflow.get_tracking_uri())
            _check_file(self._address)
            with _told_of(self._address):
                self._client: Any = mlflow.MlflowClient(tracking_uri=self._address)

    def keep(
        self, record: Record, files: Path | None, *, tags: Mapping[str, str], parent: TrackedRun | None
    ) -> TrackedRun:
        """Keep one record, without those under it: see `Tracker.keep`.

        Raises:
            TrackingFailed: the store cannot be reached, or refused something; the partial run is marked as failed.
        """
        with _quiet(), _told_of(self._address), _refusals():
            experiment = self._experiment(self._project)
            marks = {"raglift.kind": record.kind, **tags}
            if parent is not None:
                marks["mlflow.parentRunId"] = parent.id
            run = self._client.create_run(experiment.experiment_id, run_name=record.name, tags=_texts(marks))
            run_id = str(run.info.run_id)
            try:
                self._fill(run_id, record, files)
            except BaseException:
                self._end_badly(run_id)
                raise
            self._client.set_terminated(run_id, "FINISHED" if record.error is None else "FAILED")
        where = place_of(self._address)
        page = f"{where.rstrip('/')}/#/experiments/{experiment.experiment_id}/runs/{run_id}"
        return TrackedRun(
            "mlflow", run_id, record.name, experiment.name, where, page if where.startswith("http") else None
        )

    def _experiment(self, project: str | None) -> Any:
        """Return the experiment that is asked for, or named by MLflow's settings; one that is not there is made."""
        known = os.environ.get("MLFLOW_EXPERIMENT_ID")
        if project is None and known:
            return self._client.get_experiment(known)
        name = project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or _PROJECT
        found = self._client.get_experiment_by_name(name)
        if found is None:
            from mlflow.exceptions import MlflowException

            try:
                self._client.create_experiment(name)
            except MlflowException:
                # Another process may have been quicker
                if self._client.get_experiment_by_name(name) is None:
                    raise
            found = self._client.get_experiment_by_name(name)
        return found

    def _fill(self, run_id: str, record: Record, files: Path | None) -> None:
        from mlflow.entities import Metric, Param, RunTag

        now = int(time.time() * 1000)
        points = [(name, value, 0) for name, value in record.figures.items()]
        points += [(curve.name, value, k) for curve in record.curves for k, value in curve.values]
        metrics = [Metric(name, value, now, step) for name, value, step in points]
        parameters = [Param(name, value) for name, value in _flat(record.parameters).items()]
        notes = {"mlflow.note.content": record.summary, "raglift.error": record.error or ""}
        for part in _in_parts(parameters, _MOST_OTHERS):
            self._client.log_batch(run_id, params=part, synchronous=True)
        for some in _in_parts(metrics, _MOST_METRICS):
            self._client.log_batch(run_id, metrics=some, synchronous=True)
        told = [RunTag(name, text) for name, text in _texts(notes).items() if text]
        self._client.log_batch(run_id, tags=told, synchronous=True)
        if files is not None:
            self._client.log_artifacts(run_id, str(files))

    def _end_badly(self, run_id: str) -> None:
        """Mark a run as failed, if the store can still be told."""
        try:
            self._client.set_terminated(run_id, "FAILED")
        except Exception:  # noqa: BLE001 — what went wrong first is what is told
            return


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


def _flat(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters under one name each, as `dataset.hash`, as texts that MLflow takes."""
    found: dict[str, str] = {}
    for name, value in _leaves(parameters, ""):
        key, number = name, 2
        while key in found:
            key, number = f"{name}_{number}", number + 1
        text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        found[key] = shorten(text, _LONGEST_PARAMETER)
    return found


def _leaves(parameters: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in parameters.items():
        key = f"{before}{_key(str(name))}"[:_LONGEST_KEY]
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def _key(name: str) -> str:
    """Return a name with `_` for what MLflow refuses in one."""
    return "".join(letter if letter.isalnum() or letter in "_-. " else "_" for letter in name)


def _texts(tags: Mapping[str, str]) -> dict[str, str]:
    return {name: shorten(text, _LONGEST_TAG) for name, text in tags.items()}


def _in_parts(items: Sequence[Item], most: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while part := list(itertools.islice(rest, most)):
        yield part


@contextmanager
def _told_of(address: str) -> Iterator[None]:
    """Say of a failure which store it was, and what to look at."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "mlflow").partition(".")[0]
        extra = "track" if package in _BROUGHT else None  # not a database's driver
        raise MissingDependency(package, extra, f"MLflow's store {place_of(address)}") from error
    except RagliftError:
        raise
    except Exception as error:
        reason = _without_answer(error) or reason_of(error)
        raise TrackingFailed(
            f"mlflow: {place_of(address)}: {reason}; expected a store that can be written, named by "
            "MLFLOW_TRACKING_URI (a server's http://…, or sqlite:///mlflow.db); nothing of what was measured is lost"
        ) from error


@contextmanager
def _refusals() -> Iterator[None]:
    """Say of a name or value that MLflow refuses that it is this: the store is there, and in order."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        if error.error_code != "INVALID_PARAMETER_VALUE":
            raise
        raise TrackingFailed(
            f"mlflow: {reason_of(error)}; expected names that MLflow takes, of the experiment (project=, "
            "--track-project), the run and its tags; nothing of what was measured is lost"
        ) from error


def _without_answer(error: BaseException) -> str | None:
    """Return why a server gave no answer, without the internals of the connections; None if it gave one."""
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import Timeout

    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None and before not in chain:
        chain.append(before)
    if not any(isinstance(each, (NoConnection, Timeout)) for each in chain):
        return None
    said = getattr(chain[-1], "strerror", None)
    return f"no answer ({said or reason_of(chain[-1])})"


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress MLflow's messages about itself and its dependencies, and retry some failures."""
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    levels = [logger.level for logger in loggers]
    lent = {name: value for name, value in (_PATIENCE | _SILENCE).items() if name not in os.environ}
    os.environ.update(lent)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for logger in loggers:
                logger.setLevel(logging.ERROR)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        for name in lent:
            os.environ.pop(name, None)
