"""Saved evaluations as several commands take them: folders of single ones, or the folder of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.base.limits import user_path
from raglift.errors import ConfigurationError
from raglift.results.comparison import distinct_names
from raglift.results.evaluation import load_evaluation
from raglift.sweep.engine import load_sweep_result
from raglift.sweep.folder import SweepFolder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from raglift.results.evaluation import Evaluation


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
