"""What is finished of a sweep, read from its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.errors import RunError
from raglift.metrics import parse
from raglift.sweep.result import CellResult, SweepResult
from raglift.sweep.specification.cells import Cell

if TYPE_CHECKING:
    from raglift.records import Dataset
    from raglift.sweep.folder import SweepFolder

__all__ = ["read_result"]


def read_result(folder: SweepFolder, dataset: Dataset | None = None) -> SweepResult:
    """Return what is finished of a sweep, and what failed.

    Args:
        folder: where it is kept.
        dataset: what it was measured on, with its documents; without it, evaluations have the queries alone.

    Raises:
        RunError: what is swept over cannot be read. A cell that cannot be read counts as failed.
    """
    head, failures, finished = folder.head(), folder.failures(), folder.finished()
    results = []
    for cell in map(Cell.of, head["cells"]):
        if cell.key not in finished:
            results.append(CellResult(cell, error=failures.get(cell.key)))
            continue
        try:
            evaluation = folder.load(cell.key, dataset, is_cell=True)
        except RunError as error:
            results.append(CellResult(cell, error=str(error)))
            continue
        mark = evaluation.run.spec.get("sweep", {})
        read_in_part, models = int(mark.get("read_in_part", 0)), dict(mark.get("models", {}))
        results.append(CellResult(cell, evaluation, read_in_part=read_in_part, models=models))
    return SweepResult(
        head["title"], parse(head["primary"]), int(head["seed"]), tuple(results), folder.path, folder.billed()
    )
