"""`raglift sweep`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console

from raglift.cli.arguments import checked_budget
from raglift.cli.exits import Stopped, stdout_for_results
from raglift.cli.json_output import attributes, labels_json, print_json, recommendation_json, records
from raglift.cli.project import find_project
from raglift.errors import ConfigurationError, QueryFailed
from raglift.rendering.document import Detail
from raglift.rendering.terminal import print_document
from raglift.retrieval.devices import checked_device
from raglift.stats.margins import checked_margin
from raglift.sweep.engine import EngineName, load_sweep_result, plan_sweep, run_sweep
from raglift.sweep.planning import Plan, print_plan
from raglift.sweep.result import FIGURES, SweepResult
from raglift.sweep.specification.record import Sweep, load_sweep
from raglift.sweep.view import sweep_view
from raglift.sweep.view_sections import effects_json
from raglift.utilities.display import printable
from raglift.utilities.limits import is_folder

if TYPE_CHECKING:
    import pandas as pd

    from raglift.cli.comparing import RunSweep
    from raglift.sweep.records import CellResult


_FIELDS = {"dataset": "dataset", "k": "ks", "match": "match", "budget": "budget"}
"""What a project says where the sweep's file does not: the keys of `[tool.raglift]`, and the fields of a sweep."""
_SOME_FAILED = 1


def run(request: RunSweep) -> None:
    """Check, plan, run, print; of a sweep's folder, print what is there."""
    if request.margin is not None:
        checked_margin(request.margin)
    if is_folder(request.file):
        show(request)
        return
    console = Console(stderr=True)
    budget = checked_budget(request.budget)
    project = find_project()
    defaults: dict[str, Any] = {}
    if project is not None:
        defaults = {field: project.options[key] for key, field in _FIELDS.items() if key in project.options}
        sys.stderr.write(project.taken(_FIELDS, f", where {request.file} says nothing else"))
    sweep = load_sweep(request.file, defaults=defaults)
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
    if not result.finished:
        raise QueryFailed(f"every configuration failed; the first: {result.failed[0].error}")
    if result.failed:
        sys.exit(_SOME_FAILED)


@stdout_for_results()
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


def show(request: RunSweep) -> None:
    """Print what is finished of a sweep."""
    if request.plan or request.resume or request.output is not None:
        option = "--plan" if request.plan else "--resume" if request.resume else "--output"
        raise ConfigurationError(
            f"{request.file}: found a folder with {option}; expected the sweep's YAML file, "
            "and the folder with --output"
        )
    result = _with_margin(load_sweep_result(request.file), request)
    _print(result, request)


def _with_margin(result: SweepResult, request: RunSweep) -> SweepResult:
    return result if request.margin is None else replace(result, margin=request.margin)


def _print(result: SweepResult, request: RunSweep) -> None:
    if request.as_json:
        print_json(_as_json(result))
        return
    detail = Detail.DETAILS if request.details else Detail.SUMMARY
    print_document(sweep_view(result, detail=detail), detail)
    if len(result.finished) > 1:
        sys.stdout.write(f"\n{printable(_next_line(result))}\n")


def _next_line(result: SweepResult) -> str:
    """Return what to type next."""
    folder = shlex.quote(str(result.folder))
    return f"Next: raglift report {folder} shows every question; raglift sweep {folder} --all prints every metric"


def _as_json(result: SweepResult) -> dict[str, Any]:
    best, whole = result.best(), result.best(without_truncation=True)
    frame = result.to_frame()
    return {
        **attributes(result, "title", "primary"),
        **({} if result.race is None else {"race": result.race}),
        "recommendation": None if result.compared is None else recommendation_json(result.recommend()),
        **labels_json(result.label_sources),
        "best": None if best is None else best.cell.name,
        "effects": effects_json(result),
        "best_without_truncation": None if whole is None else whole.cell.name,
        "cells": [_cell_as_json(cell, frame, is_race=result.race is not None) for cell in result.results],
    }


def _cell_as_json(found: CellResult, frame: pd.DataFrame, *, is_race: bool) -> dict[str, Any]:
    rows = [] if found.evaluation is None else records(frame.loc[frame["cell"] == found.cell.name, FIGURES])
    return {
        "cell": found.cell.name,
        "key": found.cell.key,
        **found.cell.to_dict(),
        **attributes(found, "read_in_part", "candidates_read_in_part"),
        "truncated_share": found.truncation.share if found.is_truncated else 0.0,
        **attributes(found, "not_candidates", "error"),
        **({"eliminated": found.eliminated} if is_race else {}),
        "metrics": rows,
    }


def _plan_as_json(plan: Plan) -> dict[str, Any]:
    return {
        "title": plan.title,
        "cells": [cell.name for cell in plan.cells],
        **attributes(plan, "excluded", "finished"),
        "rankings": len(plan.sources),
        **attributes(plan, "chunkings", "embeddings", "rerankings"),
        **({"effort": plan.effort} if plan.effort else {}),
    }
