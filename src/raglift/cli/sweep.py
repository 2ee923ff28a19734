"""`raglift sweep`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

from raglift.base.display import printable
from raglift.base.limits import is_folder
from raglift.cli.exits import Stopped
from raglift.cli.json_output import labels_json, print_json, recommendation_json
from raglift.cli.project import project_budget
from raglift.cli.tracking import Tracking
from raglift.components.devices import checked_device
from raglift.errors import ConfigurationError, QueryFailed
from raglift.rendering.document import Detail
from raglift.rendering.terminal import print_document
from raglift.stats.margins import checked_margin
from raglift.sweep.effects import effects_json
from raglift.sweep.engine import load_sweep_result, plan_sweep, run_sweep
from raglift.sweep.loading import load_sweep
from raglift.sweep.terminal import print_plan
from raglift.sweep.view import sweep_view

if TYPE_CHECKING:
    from rich.console import Console

    from raglift.cli.choosing import RunSweep
    from raglift.sweep.engine import EngineName
    from raglift.sweep.planning import Plan
    from raglift.sweep.result import SweepResult
    from raglift.sweep.specification.record import Sweep


_FIGURES = ("metric", "k", "tokens", "before", "after", "lift", "n", "beyond_candidates")
_SOME_FAILED = 1


def run(request: RunSweep) -> None:
    """Check, plan, run, print; of a sweep's folder, print what is there.

    Raises:
        ConfigurationError: a sweep that is only planned is to be tracked.
    """
    from rich.console import Console

    tracking = Tracking.of(request)
    _check(request)
    tracking.check()
    if is_folder(request.file):
        show(request, tracking)
        return
    console = Console(stderr=True)
    budget = project_budget(request.budget)
    sweep = load_sweep(request.file, budget=budget)
    changed: dict[str, Any] = {} if request.device is None else {"device": checked_device(request.device)}
    changed |= {} if request.budget is None else {"budget": budget}
    changed |= {} if request.effort is None else {"effort": request.effort}
    if changed:
        sweep = replace(sweep, primary=sweep.primary if sweep.names_primary else None, **changed)
    if request.plan:
        plan = plan_sweep(sweep, request.folder)
        if request.as_json:
            print_json(_plan_as_json(plan))
        else:
            print_plan(plan, Console())
        return
    result = _measured(sweep, request, console)
    result = _with_margin(result, request)
    _print(result, request)
    sys.stderr.write(f"kept in {result.folder}\n")
    _export(result, request)
    _track(result, tracking)
    if not result.finished:
        raise QueryFailed(f"every cell failed; the first: {result.failed[0].error}")
    if result.failed:
        sys.exit(_SOME_FAILED)


def _check(request: RunSweep) -> None:
    """Raise where options do not go together, or are out of range."""
    if request.margin is not None:
        checked_margin(request.margin)
    if request.plan and request.track:
        raise ConfigurationError("--track: found it with --plan, which measures nothing; leave one out")
    if request.export_best is None and (request.export_cell is not None or request.overwrite):
        option = "--overwrite" if request.export_cell is None else "--export-cell"
        raise ConfigurationError(f"{option}: found it without --export-best; expected the folder for the scripts")
    if request.plan and request.export_best is not None:
        raise ConfigurationError("--export-best: found it with --plan, which measures nothing; leave one out")


def _measured(sweep: Sweep, request: RunSweep, console: Console) -> SweepResult:
    try:
        return run_sweep(
            sweep,
            request.folder,
            resume=request.resume,
            engine=cast("EngineName", request.engine),
            address=request.address,
            announce=lambda plan: print_plan(plan, console),
        )
    except KeyboardInterrupt:
        raise Stopped(f"what is finished is kept in {request.folder}: continue with --resume") from None


def show(request: RunSweep, tracking: Tracking) -> None:
    """Print what is finished of a sweep.

    Raises:
        ConfigurationError: it is to be planned or run, which needs its file.
        RunError: the folder is not that of a sweep, or is damaged.
    """
    if request.plan or request.resume or request.output is not None:
        option = "--plan" if request.plan else "--resume" if request.resume else "--output"
        raise ConfigurationError(
            f"{request.file}: found a folder with {option}; expected the sweep's YAML file, "
            "and the folder with --output"
        )
    result = _with_margin(load_sweep_result(request.file), request)
    _print(result, request)
    _export(result, request)
    _track(result, tracking)


def _with_margin(result: SweepResult, request: RunSweep) -> SweepResult:
    return result if request.margin is None else replace(result, margin=request.margin)


def _export(result: SweepResult, request: RunSweep) -> None:
    if request.export_best is not None:
        files = result.export_best(request.export_best, cell=request.export_cell, overwrite=request.overwrite)
        sys.stderr.write(f"written to {' and '.join(map(str, files))}\n")


def _track(result: SweepResult, tracking: Tracking) -> None:
    tracking.tell(result, lambda trackers: tracking.command([result.folder], trackers))


def _print(result: SweepResult, request: RunSweep) -> None:
    from rich.console import Console

    if request.as_json:
        print_json(_as_json(result))
        return
    detail = Detail.DETAILS if request.details else Detail.SUMMARY
    print_document(sweep_view(result, detail=detail), Console(), detail)
    if len(result.finished) > 1:
        sys.stdout.write(f"\n{printable(_next_line(result))}\n")


def _next_line(result: SweepResult) -> str:
    """Return what to type next."""
    folder = shlex.quote(str(result.folder))
    return (
        f"Next: raglift report {folder} shows every query; raglift sweep {folder} --all prints every metric, "
        f"--export-best FOLDER the recommended pipeline"
    )


def _as_json(result: SweepResult) -> dict[str, Any]:
    best, whole = result.best(), result.best(without_truncation=True)
    rows = result.to_frame().to_dict(orient="records")
    return {
        "title": result.title,
        "primary": str(result.primary),
        **({} if result.race is None else {"race": asdict(result.race)}),
        "recommendation": None if result.compared is None else recommendation_json(result.recommend()),
        **labels_json(result.label_sources),
        "billed": dict(result.billed),
        "best": None if best is None else best.cell.name,
        "effects": effects_json(result),
        "best_without_truncation": None if whole is None else whole.cell.name,
        "cells": [
            {
                "cell": entry.cell.name,
                "key": entry.cell.key,
                **entry.cell.to_dict(),
                "read_in_part": entry.read_in_part,
                "candidates_read_in_part": entry.candidates_read_in_part,
                "truncated_share": entry.truncation.share if entry.is_truncated else 0.0,
                "not_candidates": entry.not_candidates,
                "error": entry.error,
                **({} if result.race is None else {"eliminated": entry.eliminated and asdict(entry.eliminated)}),
                "metrics": [
                    {name: _plain(name, row[name]) for name in _FIGURES}
                    for row in rows
                    if row["cell"] == entry.cell.name and entry.evaluation is not None
                ],
            }
            for entry in result.results
        ],
    }


def _plan_as_json(plan: Plan) -> dict[str, Any]:
    return {
        "title": plan.title,
        "cells": [cell.name for cell in plan.cells],
        "excluded": plan.excluded,
        "finished": plan.finished,
        "rankings": len(plan.sources),
        "chunkings": [asdict(entry) for entry in plan.chunkings],
        "embeddings": [asdict(entry) for entry in plan.embeddings],
        "rerankings": [asdict(entry) for entry in plan.rerankings],
        "occupied": plan.occupied,
        **({"effort": plan.effort} if plan.effort else {}),
    }


def _plain(name: str, value: Any) -> Any:
    """Return a value of a column as JSON has it: depths without a point."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and name == "k" and value.is_integer():  # a column with gaps has no integers
        return int(value)
    return value
