"""What is finished of a sweep, read from its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.errors import ConfigurationError, RunError
from raglift.metrics import parse
from raglift.sweep.folder import measure_again
from raglift.sweep.result import CellResult, SweepResult
from raglift.sweep.specification.cells import Cell

if TYPE_CHECKING:
    from raglift.records import Dataset, Metric
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
    try:
        cells = [Cell.of(parts) for parts in head["cells"]]
        if len(set(cells)) < len(cells):
            raise folder.damaged("cells: found one twice; expected each once")
        results = [
            _measured(folder, cell, dataset) if cell.key in finished else CellResult(cell, error=failures.get(cell.key))
            for cell in cells
        ]
        primary = parse(head["primary"])  # by now, what stands for a metric that is not installed here is known
    except ConfigurationError as error:
        raise folder.damaged(str(error)) from None
    results = [_with_primary(folder, result, primary) for result in results]
    return SweepResult(head["title"], primary, head["seed"], tuple(results), folder.path, folder.billed())


def _measured(folder: SweepFolder, cell: Cell, dataset: Dataset | None) -> CellResult:
    try:
        evaluation = folder.load(cell.key, dataset, is_cell=True)
    except RunError as error:
        return CellResult(cell, error=str(error))
    mark = evaluation.run.spec.get("sweep", {})
    return CellResult(cell, evaluation, read_in_part=mark.get("read_in_part", 0), models=dict(mark.get("models", {})))


def _with_primary(folder: SweepFolder, result: CellResult, primary: Metric) -> CellResult:
    """Return a result that can be ranked: one without the primary metric counts as failed."""
    if result.evaluation is None or primary in result.evaluation.scores.metrics:
        return result
    place = folder.place(result.cell.key, is_cell=True)
    return CellResult(result.cell, error=f"{place}: found no {primary}; expected it scored; {measure_again(place)}")
