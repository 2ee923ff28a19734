"""`--track` and `raglift track`: results to experiment trackers, after they are saved and printed."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.apps.tracking.records import TrackedRun
from raglift.apps.tracking.tracking import open_tracker, track
from raglift.cli.json_output import print_json
from raglift.cli.saving import PRINTED_ONLY, save_somewhere
from raglift.errors import ConfigurationError, RagliftError, TrackingFailed
from raglift.utilities.limits import resolved, user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raglift.cli.choosing import Compare, RunSweep
    from raglift.cli.measuring import Evaluate
    from raglift.cli.pipeline import Track
    from raglift.cli.reading import Rescore
    from raglift.results.comparison import Comparison
    from raglift.results.evaluation import Evaluation
    from raglift.sweep.result import SweepResult


_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Tracking:
    """Where a command is to track its result."""

    trackers: tuple[str, ...] = ()
    """By name, each once."""
    project: str | None = None
    """MLflow's experiment, or the project at W&B."""
    files: bool = True
    """Whether the report and the saved run go with the figures."""
    name: str | None = None
    """What to call the run."""

    @classmethod
    def of(cls, request: Evaluate | Compare | RunSweep | Rescore) -> Tracking:
        """Return what the options of a command say.

        Raises:
            ConfigurationError: a project, or no files, and no tracker.
        """
        trackers = tuple(dict.fromkeys(request.track))
        if not trackers and (request.track_project is not None or not request.track_files):
            option = "--track-project" if request.track_project is not None else "--no-track-files"
            raise ConfigurationError(f"{option}: found it without --track; expected both, as --track mlflow {option} …")
        return cls(trackers, request.track_project, request.track_files)

    def named(self, folder: Path | None) -> Tracking:
        """Return the same with runs called as the folder that they are saved in, unless they have a name."""
        if self.name is not None or folder is None:
            return self
        return replace(self, name=resolved(user_path(folder)).name)

    def check(self) -> None:
        """Raise now what would fail after hours of work: a package that is not there, a key that is not set.

        Raises:
            RagliftError: as `open_tracker` does.
        """
        for tracker in self.trackers:
            open_tracker(tracker, self.project)

    def tell(
        self, result: Evaluation | Comparison | SweepResult, later: Callable[[Sequence[str]], str]
    ) -> list[TrackedRun]:
        """Track a result that is saved or printed; each tracker is told, whether or not another fails.

        Args:
            result: what to track.
            later: returns how to track it later, by the trackers that failed; it may save the result for that.

        Returns:
            What each tracker keeps.

        Raises:
            TrackingFailed: a tracker failed; with how to track the result later.
        """
        failures: dict[str, RagliftError] = {}
        runs = []
        for tracker in self.trackers:
            try:
                runs.append(track(result, tracker, project=self.project, name=self.name, files=self.files))
                _say(runs[-1])
            except RagliftError as error:
                failures[tracker] = error
        if failures:
            messages = "\n".join(map(str, failures.values()))
            failed = TrackingFailed(f"{messages}\n{later(tuple(failures))}")
            raise failed from next(iter(failures.values()))
        return runs

    def command(self, folders: Sequence[Path], trackers: Sequence[str]) -> str:
        """Return the command that tracks saved runs."""
        words = ["raglift", "track", *map(str, folders), *(word for name in trackers for word in ("--to", name))]
        words += ["--project", self.project] if self.project is not None else []
        words += ["--name", self.name] if self.name is not None else []
        words += [] if self.files else ["--no-files"]
        return f"track it later with: {shlex.join(words)}"


def saved_first(evaluation: Evaluation, folder: Path | None, tracking: Tracking) -> Callable[[Sequence[str]], str]:
    """Return how an evaluation is tracked later: one that was not saved is, so that it is not lost."""

    def later(trackers: Sequence[str]) -> str:
        if folder is not None:
            return tracking.command([folder], trackers)
        folder_saved = save_somewhere(evaluation, Path("runs") / _name_of(evaluation))
        if folder_saved is None:
            return f"the evaluation is {PRINTED_ONLY}"
        return f"the evaluation is saved in {folder_saved}; {tracking.command([folder_saved], trackers)}"

    return later


def _name_of(evaluation: Evaluation) -> str:
    """Return what a folder can be called that an evaluation is saved in: its data, and when it was measured."""
    started = str(evaluation.run.spec.get("started", "")).partition("+")[0]
    return _UNSAFE.sub("-", f"{evaluation.dataset.name[:100]}-{started}").strip("-.") or "evaluation"


def _say(run: TrackedRun) -> None:
    lines = [f"tracked by {run}", *run.notes]
    sys.stderr.write("".join(f"{line}\n" for line in lines))


def run(request: Track) -> None:
    """Track saved evaluations, and sweeps, each as it is; every one, whether or not another fails.

    Raises:
        ConfigurationError: no tracker.
        RunError: a folder that holds no evaluation and no sweep; nothing was tracked.
        TrackingFailed: a tracker failed.
    """
    from raglift.results.evaluation import load_evaluation
    from raglift.sweep.engine import load_sweep_result
    from raglift.sweep.folder import SweepFolder

    tracking = Tracking(tuple(dict.fromkeys(request.to)), request.project, request.files, request.name)
    if not tracking.trackers:
        raise ConfigurationError("--to: found none; expected at least one, as --to mlflow")
    opened = [
        load_sweep_result(folder) if SweepFolder(user_path(folder)).exists() else load_evaluation(folder)
        for folder in request.runs
    ]
    tracking.check()  # after that: to look at it, MLflow makes its store
    runs: list[TrackedRun] = []
    failures: list[TrackingFailed] = []
    for folder, result in zip(request.runs, opened, strict=True):
        try:
            runs += tracking.named(folder).tell(result, partial(tracking.command, [folder]))
        except TrackingFailed as error:
            failures.append(error)
    if request.as_json:
        print_json([asdict(each) for each in runs])
    if failures:
        raise TrackingFailed("\n".join(map(str, failures))) from failures[0]
