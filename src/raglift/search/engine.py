"""Searches as users run them: a race over rungs, each of which is a sweep over some cells and some queries."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.base.limits import is_file, is_folder, is_there, user_path
from raglift.base.locks import hold
from raglift.base.progress import notice
from raglift.base.tokens import TokenCounts
from raglift.errors import ConfigurationError, RunError
from raglift.records.dataset import Dataset
from raglift.running.options import dataset_hash
from raglift.running.scoring import evaluation_of
from raglift.search.records import (
    DROPPED,
    FAILED,
    FINALIST,
    NOT_TRIED,
    SET_ASIDE,
    Entrant,
    HeldOutWinner,
    RungRecord,
)
from raglift.search.result import SearchResult
from raglift.search.sampling import sample
from raglift.search.schedule import next_rung
from raglift.stats.paired_tests import paired_difference
from raglift.stats.racing import Race, stratified_batches
from raglift.storage.layout import read_json, write_json
from raglift.sweep.engine import dataset_of, run_sweep
from raglift.sweep.records import CellResult
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.cells import NO_RERANKER, Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.records.metric import Metric
    from raglift.results.evaluation import Evaluation
    from raglift.running.model_calls import CallLimits
    from raglift.search.specification import Search
    from raglift.sweep.engine import EngineName


FORMAT = 1
_HEAD, _LOCK = "search.json", "search.lock"
_RUNGS, _CHECK = "rungs", "held-out"
_BATCH = 6
"""Queries are drawn in strata of so many windows; a rung is several such batches."""


@dataclass
class _Asking:
    """How rungs are measured: as sweeps in folders of their own."""

    search: Search
    folder: Path
    dataset: Dataset
    options: Mapping[str, Any]
    seconds: dict[str, float]
    """How long each took when it was measured."""
    keep: Callable[[], None] = lambda: None
    """Writes down how long they took."""

    def sweep(self, name: str, cells: Sequence[Cell], queries: Sequence[int], primary: Metric | None) -> SweepResult:
        """Return some cells measured on some queries; what is there already is read."""
        chosen = Dataset(tuple(self.dataset.queries[place] for place in sorted(queries)), self.dataset.documents,
                         self.dataset.name)
        sweep = self.search.sweep
        own = [cell for cell in cells if cell.system is not None]
        systems = [
            replace(system, rerankers=[cell.reranker for cell in own if cell.system == system.name])
            for system in sweep.systems
            if any(cell.system == system.name for cell in own)
        ]
        decided: dict[str, Any] = {}
        if primary is not None:
            taken = tuple(dict.fromkeys([*map(str, sweep.metrics), str(primary)]))
            decided = {"primary": str(primary), "metrics": taken}
        asked = replace(
            sweep,
            dataset=chosen,
            documents=None,
            include_files=(),
            encoding=None,
            chunkers=None,
            embeddings=None,
            retrievers=None,
            rerankers=None,
            exclude=(),
            include=[cell.to_dict() for cell in cells if cell.system is None],
            systems=systems,
            primary=None if primary is None else str(primary),
            **{key: value for key, value in decided.items() if key != "primary"},
        )
        place = self.folder / _RUNGS / name
        began = time.monotonic()
        result = run_sweep(asked, place, resume=is_folder(place), **self.options)
        self.seconds.setdefault(name, 0.0)
        self.seconds[name] = max(self.seconds[name], time.monotonic() - began)
        self.keep()
        return result


@dataclass
class _Course:
    """A search on its way."""

    search: Search
    asking: _Asking
    dataset: Dataset
    racing: Sequence[int]
    """The places of the queries of the race in the dataset."""
    batches: Sequence[NDArray[np.intp]]
    """Places in `racing`."""
    cells: tuple[Cell, ...]
    primary: Metric | None = None
    parts: dict[Cell, list[Evaluation]] = field(default_factory=dict)
    errors: dict[Cell, str] = field(default_factory=dict)
    tried: set[Cell] = field(default_factory=set)
    rungs: list[RungRecord] = field(default_factory=list)
    questions: int = 0

    def run(self) -> tuple[Race, list[Cell]]:
        """Race; return how it ended, and the cells in the order of the race's systems."""
        budget, total = self.search.budget, len(self.racing)
        first = self._first_batches()
        cheap, sampled = self._cheap(first)
        order = [*cheap, *(cell for cell in self.cells if cell not in set(cheap))]
        race = Race.of(len(order), total, alpha=self.search.alpha)
        number = {cell: place for place, cell in enumerate(order)}
        allowed = budget.questions(len(self.cells), total)
        began = np.array([number[cell] for cell in cheap if cell not in self.errors], dtype=np.intp)
        race = self._bet(race, order, began, range(first), explore=sampled)
        asked, waiting = first, True
        self._note(len(cheap), race, before=len(cheap), joined=0, name="0")
        while True:
            running = race.running
            joining = self._joining(order, running) if waiting else {}
            variants = max(map(len, joining.values()), default=0)
            left = self._left(allowed)
            rung = next_rung(len(running), asked, len(self.batches), left / _BATCH, joining=variants)
            if rung is None or (len(running) == 1 and not joining):
                break
            kept = running[np.argsort(-race.totals[running], kind="stable")[: rung.keep]]
            kept = np.sort(kept)
            name = str(len(self.rungs))
            before, joined = len(running), 0
            if waiting:
                entrants = [cell for place in kept.tolist() for cell in joining.get(order[place], ())]
                joined, waiting = len(entrants), False
                if entrants:
                    totals = self._measure(f"{name}-joined", entrants, range(asked))
                    entrants = [cell for cell in entrants if cell not in self.errors]
                    places = np.array([number[cell] for cell in entrants], dtype=np.intp)
                    race = race.joined(places, totals[:, [True] * len(entrants)].sum(axis=0) if entrants else [])
                    kept = np.sort(np.concatenate([kept, places]))
            systems = [order[place] for place in kept.tolist()]
            self._measure(name, systems, range(asked, rung.queries))
            kept = np.array([place for place in kept.tolist() if order[place] not in self.errors], dtype=np.intp)
            if not len(kept):
                break
            race = self._bet(race, order, kept, range(asked, rung.queries), explore=False)
            asked = rung.queries
            self._note(len(systems), race, before=before + joined, joined=joined, name=name)
        return race, order
