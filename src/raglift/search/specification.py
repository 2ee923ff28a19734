"""What is searched: the space, the budget, and how it is spent; read from a YAML file or given in Python."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.base.limits import resolved, user_path
from raglift.base.strict_files import NotYaml, YamlFields
from raglift.base.validation import Keys, described, path_text
from raglift.errors import Fault, SweepError
from raglift.search.budget import Budget, budget_faults
from raglift.search.space import AXES, Faults, Item, expand
from raglift.sweep.specification.record import DEFAULTS, Sweep
from raglift.sweep.specification.validation import checked

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from raglift.search.result import SearchResult
    from raglift.sweep.engine import EngineName
    from raglift.sweep.specification.cells import Cell

_DEFAULTS: dict[str, Any] = {
    "budget": {"share": 0.25},
    "configurations": 200,
    "first_queries": 12,
    "alpha": 0.05,
    "hold_out": 0.2,
}
_HASH_LENGTH = 16
_MOST_CONFIGURATIONS = 10_000


@dataclass(frozen=True, eq=False)
class Search:
    """A space of systems, and how much may be spent on finding the best of them.

    `Search.of(...)` and `load_search(path)` make one.
    """

    sweep: Sweep
    """All cells of the space, and how they are measured."""
    axes: Mapping[str, tuple[Item, ...]]
    """The values of each axis of the grid, in the order of the sweep's; empty where there is no grid."""
    budget: Budget = field(default_factory=Budget)
    """How much may be spent."""
    configurations: int = 200
    """How many cells take part, at most; of a larger space Optuna chooses them."""
    first_queries: int = 12
    """How many queries every cell is asked."""
    alpha: float = 0.05
    """How often any of the best may be dropped, at most."""
    hold_out: float = 0.2
    """The share of the queries that take no part, on which the winner is measured in the end; 0 for none."""

    @classmethod
    def of(cls, **fields: Any) -> Search:
        """Return a search from the fields of its file: those of `Sweep`, with ranges, and those of this class.

        Raises:
            SweepError: something that raglift cannot use; every fault is listed.
        """
        return _search(fields, None, None, "Search")

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells of the space."""
        return self.sweep.cells()

    @property
    def settings(self) -> dict[str, Any]:
        """The fields of this class alone, as JSON has them."""
        own = {name: getattr(self, name) for name in _DEFAULTS if name != "budget"}
        return {"budget": self.budget.to_dict(), **own}

    @property
    def hash(self) -> str:
        """What tells whether two searches are the same, but for their budgets; in hexadecimal."""
        own = {name: value for name, value in self.settings.items() if name != "budget"}
        text = json.dumps([self.sweep.hash, own], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]

    def run(
        self,
        folder: str | Path,
        *,
        resume: bool = False,
        engine: EngineName = "local",
        address: str | None = None,
        worker_cpus: float | None = None,
        worker_gpus: float | None = None,
        progress: bool | None = None,
    ) -> SearchResult:
        """Find the best cell within the budget: see `raglift.search.run_search`.

        Args:
            folder: where what is measured is kept; new, or that of the same search with `resume`.
            resume: go on with a search that was stopped, or killed.
            engine: `local`, or `ray`.
            address: as in `Sweep.run`.
            worker_cpus: likewise.
            worker_gpus: likewise.
            progress: whether to show progress.

        Raises:
            RagliftError: as `run_search` says.
        """
        from raglift.search.engine import run_search
        from raglift.sweep.ray import Cluster

        return run_search(
            self,
            folder,
            resume=resume,
            engine=engine,
            cluster=Cluster(address, worker_cpus, worker_gpus),
            progress=progress,
        )


def load_search(path: str | os.PathLike[str]) -> Search:
    """Read a search from a YAML file; docs/how-to/search.md describes it.

    Args:
        path: the file.

    Raises:
        SweepError: the file is not there, is not YAML, or does not describe a search; every fault is listed.
    """
    file = user_path(path)
    reading = YamlFields(file.name, "the fields of a search, as dataset: lighthouse")
    try:
        given = reading.read(file)
    except NotYaml as error:
        raise SweepError(file.name, [error.fault]) from None
    try:
        found = _search(given, reading, resolved(file).parent, str(path))
    except SweepError as error:
        reading.faults += [(reading.lines_said.get(fault.where, 0), fault) for fault in error.faults]
        found = None
    if reading.faults or found is None:
        raise SweepError(str(path), [fault for _, fault in sorted(reading.faults, key=lambda each: each[0])])
    return found


def _search(given: Mapping[str, Any], reading: YamlFields | None, folder: Path | None, source: str) -> Search:
    def locate(keys: Keys) -> str:
        return path_text(keys) if reading is None else reading.locate(keys)

    own = {name: given.get(name, default) for name, default in _DEFAULTS.items()}
    ranges, faults = Faults(), _own_faults(own, locate)
    axes = {axis: expand(axis, given[axis], ranges) for axis in AXES if given.get(axis) is not None}
    faults += ranges.at(locate)
    if ranges.found:
        raise SweepError(source, faults)
    of_sweep = {name: value for name, value in given.items() if name not in _DEFAULTS}
    of_sweep |= {axis: [item.value for item in items] for axis, items in axes.items()}

    def locate_written(keys: Keys) -> str:
        """Say where what a value was made of stands."""
        if len(keys) > 1 and keys[0] in axes and isinstance(keys[1], int):
            at = (axes[str(keys[0])][keys[1]].origin,) if isinstance(given[keys[0]], list) else ()
            return locate((keys[0], *at, *keys[2:]))
        return locate(keys)

    try:
        values = checked(of_sweep, DEFAULTS, locate_written, source=source, folder=folder)
    except SweepError as error:
        raise SweepError(source, list(dict.fromkeys([*error.faults, *faults]))) from None
    if faults:
        raise SweepError(source, faults)
    named = given.get("primary") is not None
    sweep = Sweep(**values if named else {**values, "primary": None})
    # What the file does not name has one value: the sweep's own
    every = {axis: axes.get(axis) or tuple(Item(each, 0) for each in getattr(sweep, axis) or ()) for axis in AXES}
    budget = own.pop("budget")
    return Search(sweep, every, Budget(**budget), **own)


def _own_faults(own: Mapping[str, Any], locate: Any) -> list[Fault]:
    faults = []

    def check(name: str, sound: bool, expected: str) -> None:
        if not sound:
            faults.append(Fault(locate((name,)), described(own[name]), expected))

    def number(name: str) -> float:
        value = own[name]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number else math.nan

    def whole(name: str, least: int, most: int) -> bool:
        value = own[name]
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    check("configurations", whole("configurations", 2, _MOST_CONFIGURATIONS), f"from 2 to {_MOST_CONFIGURATIONS:,}")
    check("first_queries", whole("first_queries", 2, 100_000), "an integer of 2 or more")
    check("alpha", 0.0 < number("alpha") < 1.0, "a number between 0 and 1, as 0.05")
    check("hold_out", 0.0 <= number("hold_out") < 1.0, "a number from 0, and less than 1, as 0.2")
    return faults + budget_faults(own["budget"], locate)
