"""Sweeps as users run them: planned, run, stopped, resumed and loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from raglift.datasets.loading import load_dataset
from raglift.errors import ConfigurationError, RunError
from raglift.metrics.computing import choose_metrics
from raglift.metrics.parsing import parse
from raglift.retrieval.batches import HERE, Workers
from raglift.retrieval.devices import require_device, resolve_device
from raglift.running.spec import dataset_hash
from raglift.stats.margins import checked_margin
from raglift.sweep.fairness import decided_fairly
from raglift.sweep.folder import SweepFolder, measure_again
from raglift.sweep.measuring import Parts
from raglift.sweep.phases import Phases, finished_cells
from raglift.sweep.planning import Plan, make_plan
from raglift.sweep.race_file import RaceFile
from raglift.sweep.racing import held_out_check_of, run_race
from raglift.sweep.ray import RayWorkers
from raglift.sweep.records import CellResult
from raglift.sweep.result import SweepResult
from raglift.types.dataset import Dataset
from raglift.types.metric import Metric, Tokens
from raglift.utilities.limits import user_path

if TYPE_CHECKING:
    from raglift.sweep.specification.cells import Cell
    from raglift.sweep.specification.record import Sweep


EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = ("local", "ray")
"""Where the models of a sweep compute."""


def plan_sweep(sweep: Sweep, folder: str | Path | None = None, *, progress: bool | None = None) -> Plan:
    """Count what a sweep would do, without running a model or paying for anything.

    Args:
        sweep: what is to be measured.
        folder: where it was begun, to count what is finished there.
        progress: whether to show progress; None decides by the terminal.

    Raises:
        ConfigurationError: the folder holds another sweep.
        DatasetError, CorpusError: the dataset cannot be loaded.
    """
    dataset = dataset_of(sweep)
    begun = None if folder is None else SweepFolder(user_path(folder))
    finished: set[str] = set()
    if begun is not None and begun.exists():
        begun.check(_head(sweep, dataset), resume=True)
        finished = finished_cells(begun, sweep.cells())
    return make_plan(Parts(sweep, dataset, progress), finished)


def run_sweep(
    sweep: Sweep,
    folder: str | Path,
    *,
    resume: bool = False,
    engine: EngineName = "local",
    address: str | None = None,
    progress: bool | None = None,
    announce: Callable[[Plan], None] = lambda _plan: None,
) -> SweepResult:
    """Measure every cell of a sweep, each distinct piece of work once.

    Finished cells are saved in the folder and finished batches are cached, so that a sweep stopped or killed resumes
    with `resume=True`, to the same rankings and scores.

    Args:
        sweep: what is to be measured.
        folder: where what is finished is kept; new, or that of the same sweep with `resume`.
        resume: resume a sweep that was stopped; cells that failed are tried again.
        engine: `local`, or `ray` to send models' batches to a Ray cluster.
        address: of the Ray cluster; by default the one that Ray finds, else one that is started here.
        progress: whether to show progress; None decides by the terminal.
        announce: called with the plan before any work is done.

    Raises:
        ConfigurationError: the folder holds another sweep, or one that is not to be gone on with; a metric cannot be
            computed from the labels; a device is not there.
        DatasetError, CorpusError: the dataset cannot be loaded.
        RunError: the folder cannot be written, something in it is damaged, or another process works on it.
        MissingDependency: Ray is not installed.
    """
    if engine not in ENGINES:
        raise ConfigurationError(f"engine: found {engine!r}; expected one of {', '.join(ENGINES)}")
    dataset = dataset_of(sweep)
    choose_metrics(sweep.metrics, sweep.ks, dataset)  # labels that a metric cannot use are told before any work
    begun = SweepFolder.begin(user_path(folder), _head(sweep, dataset), resume=resume)
    if sweep.effort is not None:
        run = partial(run_sweep, engine=engine, address=address, progress=progress)
        with begun as kept:
            announce(make_plan(Parts(sweep, dataset, progress), finished_cells(kept, sweep.cells())))
            run_race(sweep, dataset, kept, run, load_sweep_result, progress)
            return replace(read_result(kept, dataset), margin=sweep.margin)
    # Workers come first: a cluster that does not answer leaves no folder behind
    with _workers(engine, address, sweep) as (workers, placed), begun as kept:
        parts = Parts(sweep, dataset, progress, placed=placed)
        plan = make_plan(parts, finished_cells(kept, sweep.cells()))
        announce(plan)
        Phases(parts, kept, plan, workers, progress).run()
        return replace(read_result(kept, dataset), margin=sweep.margin)


@contextmanager
def _workers(engine: EngineName, address: str | None, sweep: Sweep) -> Iterator[tuple[Workers, tuple[str, str] | None]]:
    """Yield who computes, and in which number type and where, if that is elsewhere.

    Raises:
        ConfigurationError: an address for the engine `local`; no cluster answers; no such device.
        MissingDependency: Ray is not installed.
    """
    if engine == "local":
        if address is not None:
            raise ConfigurationError(f"address: found {address!r} with the engine 'local'; expected it with 'ray'")
        require_device(resolve_device(sweep.device))
        yield HERE, None
        return
    with RayWorkers(address) as workers:
        yield workers, workers.placed(sweep.dtype, sweep.device)


def dataset_of(sweep: Sweep) -> Dataset:
    """Return the sweep's dataset, loaded if it is given by name."""
    if isinstance(sweep.dataset, Dataset):
        return sweep.dataset
    documents = None if sweep.documents is None else Path(sweep.documents)
    return load_dataset(sweep.dataset, documents=documents, include=sweep.include_files, encoding=sweep.encoding)


def _head(sweep: Sweep, dataset: Dataset) -> dict[str, Any]:
    """Return what a sweep is over, for its folder."""
    return {
        "title": sweep.title,
        "primary": sweep.primary,
        "primary_named": sweep.names_primary,
        "seed": sweep.seed,
        "hash": f"{sweep.hash}-{dataset_hash(dataset)}",
        "sweep": sweep.to_dict(),
        "cells": [cell.to_dict() for cell in sweep.cells()],
    }


# Reading what is finished of a sweep.


def load_sweep_result(folder: str | Path) -> SweepResult:
    """Return what is finished of a sweep that was run, and what failed.

    Documents are not kept, so they are not in the evaluations' dataset.

    Raises:
        RunError: the folder is not that of a sweep, or is damaged.
    """
    return read_result(SweepFolder(user_path(folder)))


def read_result(folder: SweepFolder, dataset: Dataset | None = None) -> SweepResult:
    """Return what is finished of a sweep, and what failed.

    Args:
        folder: where it is kept.
        dataset: what it was measured on, with its documents; without it, evaluations have the queries alone.

    Raises:
        RunError: what is swept over cannot be read. A cell that cannot be read counts as failed.
    """
    head, failures, finished = folder.head(), folder.failures(), folder.finished()
    race = RaceFile.read(folder.path).state
    try:
        results = [
            _finished_cell(folder, cell, dataset, is_raced=race.outcome is not None)
            if cell.key in finished
            else CellResult(cell, error=failures.get(cell.key), eliminated=race.eliminated.get(cell.key))
            for cell in folder.cells()
        ]
        margin = checked_margin(head["sweep"]["margin"])
        tokens = head["sweep"]["budget"]
        budget = None if tokens is None else Tokens(tokens).most
        # By now, what stands for a metric that is not installed here is known
        primary = parse(race.primary or head["primary"])
    except KeyError as error:
        raise folder.damaged(f"sweep: found no {error.args[0]}") from None
    except ConfigurationError as error:
        raise folder.damaged(str(error)) from None
    results = [_with_primary(folder, result, primary) for result in results]
    is_named = race.primary is not None or head["primary_named"]
    results, decides, fairness = decided_fairly(results, primary, is_named=is_named, budget=budget, seed=head["seed"])
    found = SweepResult(
        head["title"],
        decides,
        head["seed"],
        tuple(results),
        folder.path,
        fairness=fairness,
        margin=margin,
        race=race.outcome,
    )
    return found if race.held_out is None else replace(found, check=held_out_check_of(found, load_sweep_result))


def _finished_cell(folder: SweepFolder, cell: Cell, dataset: Dataset | None, *, is_raced: bool) -> CellResult:
    try:
        evaluation = folder.load(cell.key, None if is_raced else dataset, is_cell=True)
        if is_raced and dataset is not None:
            asked = set(evaluation.scores.query_ids)
            queries = tuple(query for query in dataset.queries if query.id in asked)
            evaluation = replace(evaluation, dataset=replace(dataset, queries=queries))
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
