"""Plan, run, stop and go on with sweeps."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from raglift.errors import ConfigurationError
from raglift.evaluation import dataset_hash
from raglift.loading import load_dataset
from raglift.metrics.choosing import choose_metrics
from raglift.paths import user_path
from raglift.records import Dataset
from raglift.sweep.engine import Engine
from raglift.sweep.folder import SweepFolder
from raglift.sweep.parts import Parts
from raglift.sweep.plan import Plan, make_plan
from raglift.sweep.reading import read_result
from raglift.work import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raglift.sweep.result import SweepResult
    from raglift.sweep.specification.record import Sweep
    from raglift.work import Workers

__all__ = ["ENGINES", "load_sweep_result", "plan_sweep", "run_sweep"]

EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = ("local", "ray")
"""Where the work of a sweep is done."""


def plan_sweep(sweep: Sweep, folder: str | Path | None = None, *, progress: bool | None = None) -> Plan:
    """Count what a sweep would do, without running a model or paying for anything.

    Args:
        sweep: what is to be measured.
        folder: where it was begun, to count what is finished there.
        progress: whether to show progress; None decides by the terminal.

    Raises:
        DatasetError, CorpusError: the dataset cannot be loaded.
    """
    dataset = dataset_of(sweep)
    kept = None if folder is None else SweepFolder(user_path(folder))
    if kept is not None and kept.exists():
        kept.check(_head(sweep, dataset), resume=True)
    finished = kept.finished() if kept is not None else set()
    return make_plan(Parts(sweep, dataset, progress), finished, exact=True)


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

    Finished cells are kept in the folder and finished batches in the cache, so that a sweep stopped or killed
    goes on from there with `resume=True`, to the same rankings and scores.

    Args:
        sweep: what is to be measured.
        folder: where what is finished is kept; new, or that of the same sweep with `resume`.
        resume: go on with a sweep that was stopped; cells that failed are tried again.
        engine: `local`, or `ray` to send models' batches and cells to a Ray cluster.
        address: of the Ray cluster; by default the one that Ray finds, else one that is started here.
        progress: whether to show progress; None decides by the terminal.
        announce: called with the plan before any work is done.

    Raises:
        ConfigurationError: the folder holds another sweep, or one that is not to be gone on with; a metric cannot be
            computed from the labels.
        DatasetError, CorpusError: the dataset cannot be loaded.
        RunError: the folder cannot be written, something in it is damaged, or another process works on it.
        MissingDependency: Ray is not installed.
    """
    if engine not in ENGINES:
        raise ConfigurationError(f"engine: found {engine!r}; expected one of {', '.join(ENGINES)}")
    dataset = dataset_of(sweep)
    choose_metrics(sweep.metrics, sweep.ks, dataset)  # labels that a metric cannot use are told before any work
    # Workers come first: a cluster that does not answer leaves no folder behind
    begun = SweepFolder.begin(user_path(folder), _head(sweep, dataset), resume=resume)
    with _workers(engine, address) as workers, begun as kept:
        parts = Parts(sweep, dataset, progress)
        plan = make_plan(parts, kept.finished())
        announce(plan)
        return Engine(parts, kept, plan, workers, progress).run()


@contextmanager
def _workers(engine: EngineName, address: str | None) -> Iterator[Workers]:
    """Yield who computes.

    Raises:
        ConfigurationError: an address for an engine that has none; or no cluster answers.
        MissingDependency: Ray is not installed.
    """
    if engine == "local":
        if address is not None:
            raise ConfigurationError(f"address: found {address!r} with the engine 'local'; expected it with 'ray'")
        yield HERE
        return
    from raglift.integrations.ray import RayWorkers

    with RayWorkers(address) as workers:
        yield workers


def load_sweep_result(folder: str | Path) -> SweepResult:
    """Return what is finished of a sweep that was run, and what failed.

    Documents are not kept, so they are not in the evaluations' dataset.

    Raises:
        RunError: the folder is not that of a sweep, or is damaged.
    """
    return read_result(SweepFolder(user_path(folder)))


def dataset_of(sweep: Sweep) -> Dataset:
    """Return the sweep's dataset, loaded where it is given by name."""
    if isinstance(sweep.dataset, Dataset):
        return sweep.dataset
    documents = None if sweep.documents is None else Path(sweep.documents)
    return load_dataset(sweep.dataset, documents=documents)


def _head(sweep: Sweep, dataset: Dataset) -> dict[str, object]:
    """Return what a sweep is over, for its folder."""
    return {
        "title": sweep.title,
        "primary": sweep.primary,
        "seed": sweep.seed,
        "hash": f"{sweep.hash}-{dataset_hash(dataset)}",
        "sweep": sweep.to_dict(),
        "cells": [cell.to_dict() for cell in sweep.cells()],
    }
