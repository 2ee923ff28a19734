"""Evaluations in folders: loading those that a command names, and saving one even if its folder cannot be written."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError, RunError
from raglift.results.comparison import distinct_names
from raglift.results.evaluation import load_evaluation
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.folder import SweepFolder
from raglift.utilities.limits import user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raglift.results.evaluation import Evaluation


PRINTED_ONLY = "printed and nowhere else; what the models computed is in the cache"
"""What becomes of an evaluation that can be written nowhere."""
_NAME_LENGTH = 50
"""So much of a folder's name is in that of a temporary one: the whole may be as long as names can be."""


def load_runs(folders: Sequence[Path]) -> dict[str, Evaluation]:
    """Return the evaluations by name: those of the folders, or the finished cells of a sweep.

    Raises:
        ConfigurationError: the folder of a sweep among others, or a sweep of which no cell is finished.
        RunError: a folder that holds no evaluation and no sweep.
    """
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
    """Save an evaluation where that is asked for; what cannot be saved there is shown, and saved elsewhere.

    Args:
        evaluation: what was measured, which may have taken hours.
        folder: where to; None for nowhere.
        overwrite: replace an evaluation that is already there.
        show: prints it, where it would not be printed because of the error.

    Raises:
        RunError: it cannot be saved there; the message says where it is.
    """
    if folder is None:
        return
    # Before anything is printed: whoever reads the table may stop reading, as `head` does
    try:
        evaluation.save(folder, overwrite=overwrite)
    except RunError as error:
        show()
        sys.stdout.flush()
        raise RunError(f"{error}; {_rescued(evaluation, folder)}") from error
    sys.stderr.write(f"saved to {folder}\n")


def save_somewhere(evaluation: Evaluation, folder: Path) -> Path | None:
    """Save an evaluation in a folder that is free, numbered where `wanted` is taken, or in a new temporary one.

    Returns:
        where it is; None if nothing can be written.
    """
    for place in _places(folder):
        try:
            return evaluation.save(place)
        except RunError:
            with suppress(OSError):
                place.rmdir()
    return None


def _rescued(evaluation: Evaluation, folder: Path) -> str:
    """Save an evaluation where there is a place for it, and return in words the outcome of it."""
    place = save_somewhere(evaluation, folder.parent / f"{folder.name or 'evaluation'}.unsaved")
    return f"what was measured is {PRINTED_ONLY if place is None else f'in {place}'}"


def _places(folder: Path) -> Iterator[Path]:
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    yield next(place for place in itertools.chain([folder], numbered) if not os.path.lexists(place))
    with suppress(OSError, ValueError):
        yield Path(tempfile.mkdtemp(prefix=f"{folder.name[:_NAME_LENGTH]}-"))
