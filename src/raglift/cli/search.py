"""`raglift search`."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

from raglift.base.validation import quoted
from raglift.cli.exits import Stopped
from raglift.cli.json_output import print_json, recommendation_json, records
from raglift.errors import ConfigurationError
from raglift.rendering.document import Detail
from raglift.rendering.terminal import print_document
from raglift.search.budget import Budget, budget_faults
from raglift.search.specification import load_search
from raglift.search.view import search_view
from raglift.stats.margins import checked_margin
from raglift.sweep.effects import effects_json

if TYPE_CHECKING:
    from raglift.cli.choosing import RunSearch
    from raglift.search.result import SearchResult
    from raglift.search.specification import Search
    from raglift.sweep.engine import EngineName


def run(request: RunSearch) -> None:
    """Check, race, print.

    Raises:
        ConfigurationError: options that do not go together, or out of range.
    """
    search = _budgeted(load_search(request.file), request)
    if request.margin is not None:
        named = search.sweep.primary if search.sweep.names_primary else None
        search = replace(search, sweep=replace(search.sweep, margin=checked_margin(request.margin), primary=named))
    try:
        result = search.run(
            request.folder,
            resume=request.resume,
            engine=cast("EngineName", request.engine),
            address=request.address,
            worker_cpus=request.worker_cpus,
            worker_gpus=request.worker_gpus,
        )
    except KeyboardInterrupt:
        raise Stopped(f"what is finished is kept in {request.folder}: continue with --resume") from None
    _print(result, request)
    sys.stderr.write(f"kept in {result.folder}\n")
    if request.report is not None:
        sys.stderr.write(f"written to {result.report(request.report)}\n")
    if request.export_best is not None:
        files = result.export_best(request.export_best, overwrite=request.overwrite)
        sys.stderr.write(f"written to {' and '.join(map(str, files))}\n")


def _budgeted(search: Search, request: RunSearch) -> Search:
    """Return a search with the budget of the command line, where it has one."""
    if request.budget is None:
        return search
    name, _, text = request.budget.partition("=")
    try:
        value: object = int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            value = text
    faults = budget_faults({name.strip(): value}, lambda _keys: "--budget")
    if faults:
        raise ConfigurationError(f"--budget: found {quoted(request.budget)}; expected {faults[0].expected}")
    return replace(search, budget=Budget(**{name.strip(): cast("Any", value)}))


def _print(result: SearchResult, request: RunSearch) -> None:
    from rich.console import Console

    if request.as_json:
        print_json(_as_json(result))
        return
    detail = Detail.DETAILS if request.details else Detail.SUMMARY
    print_document(search_view(result, detail=detail), Console(), detail)


def _as_json(result: SearchResult) -> dict[str, Any]:
    finalists = result.finalists
    advised = finalists.recommend() if len(finalists.finished) > 1 else None
    check = finalists.check if advised is None else advised.check
    return {
        "title": result.title,
        "primary": str(result.primary),
        "recommended": result.recommended,
        "recommendation": None if advised is None else recommendation_json(advised),
        "budget": str(result.budget),
        "alpha": result.alpha,
        "queries": result.queries,
        "questions": result.questions,
        "questions_of_a_full_sweep": result.full,
        "effects": None if result.began is None else effects_json(result.began),
        "held_out_check": None if check is None else asdict(check),
        "rungs": [asdict(rung) for rung in result.rungs],
        "cells": records(result.to_frame()),
    }
