"""Evaluations in folders: loading those that a command names, and saving one so that nothing measured is lost."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from raglift.cli.measuring import Evaluate
from raglift.errors import CacheError, ConfigurationError, RunError
from raglift.results.evaluation import Evaluation, load_evaluation
from raglift.results.sources import distinct_names
from raglift.running.answers import FILE
from raglift.running.systems import identity_of
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.folder import SweepFolder
from raglift.utilities.cache import Cache, content_key
from raglift.utilities.limits import user_path


def load_runs(folders: Sequence[Path]) -> dict[str, Evaluation]:
    """Return the evaluations by name: those of the folders, or the finished cells of a sweep."""
    sweeps = [folder for folder in folders if SweepFolder(user_path(folder)).exists()]
    if not sweeps:
        opened = [load_evaluation(folder) for folder in folders]
        return dict(zip(distinct_names(folders, opened), opened, strict=True))
    if len(folders) > 1:
        raise ConfigurationError(
            f"found the folder of a sweep, {sweeps[0]}, among {len(folders)} folders; expected it alone, or cells of "
            f"it, as {sweeps[0]}/cells/*"
        )
    finished = load_sweep_result(sweeps[0]).finished
    found = {each.cell.name: each.evaluation for each in finished if each.evaluation is not None}
    if not found:
        raise ConfigurationError(f"{sweeps[0]}: found a sweep of which no cell is finished; expected one at least")
    return found


def keep(
    evaluation: Evaluation, folder: Path | None, *, overwrite: bool, show: Callable[[], None] = lambda: None
) -> None:
    """Save an evaluation if a folder is named; what cannot be saved there is shown, and saved elsewhere."""
    if folder is None:
        return
    # Before anything is printed: whoever reads the table may stop reading, as `head` does
    try:
        evaluation.save(folder, overwrite=overwrite)
    except RunError as error:
        show()
        sys.stdout.flush()
        raise RunError(f"{error}; {_rescued(evaluation)}") from error
    sys.stderr.write(f"saved to {folder}\n")


def _rescued(evaluation: Evaluation) -> str:
    """Save an evaluation in a new temporary folder, and return in words where it is."""
    try:
        return f"what was measured is in {evaluation.save(Path(tempfile.mkdtemp(prefix='raglift-')) / 'run')}"
    except (OSError, RunError):
        return "what was measured is printed and nowhere else; what the models computed is in the cache"


@dataclass(frozen=True)
class Unfinished:
    """The answers of a user's system so far: in a folder beside that of the run, until the run is saved."""

    folder: Path
    answers: Path
    """Where the answers of this system are kept in it."""

    @classmethod
    def of(cls, request: Evaluate) -> Unfinished | None:
        """Return where the answers are kept; None if nothing is saved, or no system of the user's is asked."""
        if request.output is None or (request.system is None and request.mapping is None):
            return None
        output = user_path(request.output)
        folder = output.with_name(f"{output.name}.unfinished")
        return cls(folder, folder / content_key(identity_of(request.system, request.mapping)).hex()[:16])

    def begin(self, *, resume: bool, overwrite: bool) -> None:
        """Raise unless the folder is free, or what is in it may be used or removed."""
        if resume:
            return
        if self.holds_answers and not overwrite:
            raise RunError(
                f"{self.folder}: found answers of a run that was stopped; expected none: continue it (--resume), "
                "remove them (--overwrite), or choose another folder"
            )
        self.remove()

    @property
    def holds_answers(self) -> bool:
        """Whether there is anything to continue from."""
        return any(map(_holds_answers, self.folder.glob(f"*/{FILE}")))

    def remove(self) -> None:
        """Remove the answers: the run is saved, or there are none."""
        for file in self.folder.glob(f"*/{FILE}"):
            shutil.rmtree(file.parent, ignore_errors=True)
        with suppress(OSError):  # somebody else's files are there
            self.folder.rmdir()


def _holds_answers(file: Path) -> bool:
    with suppress(CacheError), closing(Cache(file)) as cache:
        return cache.count() > 0
    return True
