"""What trackers are told of a sweep: the sweep, and under it each cell, measured or failed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raglift.integrations.tracking.describing import evaluation_record, page_or_why_not
from raglift.integrations.tracking.names import distinct, metric_name, run_name
from raglift.integrations.tracking.records import Record

if TYPE_CHECKING:
    from pathlib import Path

    from raglift.sweep.result import CellResult, SweepResult

__all__ = ["sweep_record"]


def sweep_record(result: SweepResult) -> Record:
    """Return what trackers are told of a sweep.

    Cells are runs under it; a cell that was not come to is none. The report, which shows the cells, stands with the
    sweep; with each cell stands its saved run.
    """
    best = result.best()
    figures = {
        "cells/all": float(len(result.results)),
        "cells/measured": float(len(result.finished)),
        "cells/failed": float(len(result.failed)),
    }
    if best is not None:
        figures[f"best/{metric_name(result.primary)}"] = best.value(result.primary)
    measured = [cell.evaluation for cell in result.finished if cell.evaluation is not None]
    models = distinct(result.billed)
    figures |= {f"billed_tokens/{models[model]}": float(count) for model, count in result.billed.items()}
    return Record(
        kind="sweep",
        name=run_name(f"{result.title}: {len(result.results):,} cells"),
        parameters={
            "kind": "sweep",
            "title": result.title,
            "primary": str(result.primary),
            "seed": result.seed,
            "best": "" if best is None else best.cell.name,
            "dataset": next((found.run.spec.get("dataset", {}) for found in measured), {}),
        },
        figures=figures,
        summary=result.to_markdown(),
        write_files=lambda folder: _files(result, folder),
        children=tuple(record for cell in result.results if (record := _cell_record(cell)) is not None),
    )


def _cell_record(result: CellResult) -> Record | None:
    parts = {"cell": result.cell.to_dict() | {"key": result.cell.key}}
    if result.evaluation is None:
        if result.error is None:
            return None
        return Record(
            kind="cell", name=run_name(result.cell.name), parameters={"kind": "cell", **parts}, error=result.error
        )
    record = evaluation_record(result.evaluation, kind="cell", name=result.cell.name, page=False)
    figures = {**record.figures, "index/chunks_read_in_part": float(result.read_in_part)}
    parameters = {
        name: value for name, value in record.parameters.items() if name != "sweep"
    }  # which has the parts too
    return replace(record, parameters={**parameters, **parts}, figures=figures)


def _files(result: SweepResult, folder: Path) -> tuple[str, ...]:
    result.to_frame().to_csv(folder / "figures.csv", index=False)
    (folder / "summary.md").write_text(result.to_markdown(), encoding="utf-8", newline="\n")
    if not result.finished:
        return ()
    return page_or_why_not(lambda: result.report(folder / "report.html"))
