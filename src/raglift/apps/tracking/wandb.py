"""Weights & Biases: a run with its config, figures and files as an artifact; cells as a group."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from raglift.apps.tracking.records import TrackedRun, imported, place_of, quiet, reason_of
from raglift.errors import MissingKey, TrackingFailed
from raglift.utilities.display import shorten
from raglift.utilities.limits import is_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from raglift.apps.tracking.records import Record


_PROJECT = "raglift"
_ENVIRONMENT = {
    "WANDB_ERROR_REPORTING": "false",  # W&B would report its errors to its makers
    "WANDB_DISABLE_WEAVE": "true",  # else it traces the frameworks' calls where Weave is installed
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
_DEFAULTS: dict[str, Any] = {
    # Without them W&B would wait for a server that is gone without end
    "init_timeout": 60.0,
    "finish_timeout": 600.0,
    "finish_timeout_raises": True,
    "host": "",  # the machine's name
}
"""What is set unless the user has set it."""
_LONGEST_TAG = 64
_LONGEST_GROUP = 100
_NO_ARTIFACT_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


class WandbTracker:
    """Keeps records where W&B's own settings say: `WANDB_MODE`, `WANDB_BASE_URL`, `WANDB_ENTITY`, `WANDB_DIR`, ….

    Args:
        project: the project; None for that of `WANDB_PROJECT`, else `raglift`.

    Raises:
        MissingDependency: W&B is not installed.
        MissingKey: runs are to be sent, and there is no key to send them with.
        TrackingFailed: W&B's settings cannot be read, or it takes no project of that name.
    """

    name = "wandb"

    def __init__(self, project: str | None) -> None:
        self._project = project or os.environ.get("WANDB_PROJECT") or _PROJECT
        self._wandb = wandb = imported("wandb", _ENVIRONMENT)
        with quiet(), _naming_the_settings():
            wandb.Settings(project=self._project)  # raises where W&B takes no project of that name
            settings = wandb.setup().settings
            self._server = str(settings.base_url)
            if (os.environ.get("WANDB_MODE") or settings.mode) == "online" and not _has_key(settings, self._server):
                raise MissingKey(
                    "WANDB_API_KEY",
                    "Weights & Biases (WANDB_MODE=offline keeps runs in a folder and needs none)",
                    any_will_do=False,
                )

    def keep(
        self, record: Record, files: Path | None, *, tags: Mapping[str, str], parent: TrackedRun | None
    ) -> TrackedRun:
        """Keep one record, without those under it: see `MlflowTracker.keep`.

        Raises:
            TrackingFailed: W&B cannot be reached, or refused something.
        """
        with quiet(), _naming_the_settings():
            run = self._begin(record, tags, parent)
            try:
                self._fill(run, record, files)
            except BaseException:
                run.finish(exit_code=1)
                raise
            run.finish(exit_code=0 if record.error is None else 1)
            return self._tracked_run(run, record)

    def _begin(self, record: Record, tags: Mapping[str, str], parent: TrackedRun | None) -> Any:
        known = self._wandb.Settings.model_fields
        unset = {name: value for name, value in _DEFAULTS.items() if f"WANDB_{name.upper()}" not in os.environ}
        wanted = {name: value for name, value in (_SETTINGS | unset).items() if name in known}
        run_id = secrets.token_hex(4)
        group = None
        if parent is not None:
            group = _group(parent.name, parent.id)
        elif record.children:
            group = _group(record.name, run_id)
        return self._wandb.init(
            project=self._project,
            name=record.name,
            notes=record.summary or None,
            config=dict(record.parameters),
            tags=[shorten(f"{name}={value}", _LONGEST_TAG) for name, value in tags.items()] or None,
            id=run_id,
            group=group,
            job_type=record.kind,
            reinit="create_new",  # a run of the user's that is under way goes on
            settings=self._wandb.Settings(**wanted),
        )

    def _fill(self, run: Any, record: Record, files: Path | None) -> None:
        if record.figures:
            run.log(dict(record.figures))
        if record.error is not None:
            run.summary["error"] = record.error
        if files is not None:
            artifact = self._wandb.Artifact(_NO_ARTIFACT_NAME.sub("-", f"raglift-{run.id}"), type=record.kind)
            for path in sorted(path for path in files.rglob("*") if is_file(path)):
                artifact.add_file(str(path), name=path.relative_to(files).as_posix())
            run.log_artifact(artifact)

    def _tracked_run(self, run: Any, record: Record) -> TrackedRun:
        offline = bool(run.offline)
        if bool(run.disabled):
            notes: tuple[str, ...] = ("WANDB_MODE=disabled: nothing was kept",)
            return TrackedRun("wandb", str(run.id), record.name, str(run.project or ""), "nowhere", notes=notes)
        folder = str(run.settings.sync_dir)
        return TrackedRun(
            "wandb",
            str(run.id),
            record.name,
            str(run.project),
            folder if offline else place_of(self._server),
            None if offline or not run.url else str(run.url),
            notes=(f"kept offline; upload it with: wandb sync {folder}",) if offline else (),
        )


def _has_key(settings: Any, server: str) -> bool:
    """Whether W&B would find a key without asking its user for one."""
    from requests.utils import get_netrc_auth

    named = [os.environ.get(name) for name in ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE")]
    return any(named) or bool(settings.api_key) or get_netrc_auth(server) is not None


def _group(name: str, run_id: str) -> str:
    """Return what a sweep and its cells have in common: its name and id, so that two sweeps are two groups."""
    return f"{shorten(name, _LONGEST_GROUP)} {run_id}"


@contextmanager
def _naming_the_settings() -> Iterator[None]:
    """Give in the error of a failure what W&B said, and what to look at."""
    try:
        yield
    except MissingKey:
        raise
    except Exception as error:
        looked_at = (
            "settings that W&B takes: its variables, for example WANDB_MODE, in the environment or in .env, its file "
            "of settings, and the project's name (project=, --track-project, WANDB_PROJECT)"
            if isinstance(error, ValidationError) or type(error).__name__ == "UsageError"
            else "a server that answers and a key that it knows (WANDB_BASE_URL, WANDB_API_KEY), or WANDB_MODE=offline"
        )
        raise TrackingFailed(
            f"wandb: {reason_of(error)}; expected {looked_at}; nothing of what was measured is lost"
        ) from error
