"""The systems of a search are measured: each rung is a sweep over some cells and some queries."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.base.limits import is_folder
from raglift.errors import ConfigurationError, RunError
from raglift.records.dataset import Dataset
from raglift.search.budget import Work
from raglift.search.folder import HEAD
from raglift.sweep.engine import load_sweep_result, run_sweep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raglift.records.metric import Metric
    from raglift.results.evaluation import Evaluation
    from raglift.search.folder import SearchFolder
    from raglift.search.specification import Search
    from raglift.sweep.result import SweepResult
    from raglift.sweep.specification.cells import Cell


@dataclass
class Measuring:
    """Measures cells on queries, and keeps what they scored."""

    search: Search
    dataset: Dataset
    folder: SearchFolder
    options: Mapping[str, Any]
    """Of `run_sweep`."""
    primary: Metric | None = None
    """What decides; known after the first rung, since it depends on whether chunks differ."""
    evaluations: dict[Cell, list[Evaluation]] = field(default_factory=dict)
    """Of each cell that was measured, those of its rungs."""
    errors: dict[Cell, str] = field(default_factory=dict)
    """Of each cell that failed, why."""

    def values(self, name: str, cells: Sequence[Cell], queries: Sequence[int]) -> NDArray[np.float64]:
        """Return the primary metric of some cells on some queries: queries × cells; NaN for a cell that failed.

        Args:
            name: of the rung.
            cells: which.
            queries: places in the dataset, in any order.
        """
        result = self.sweep(name, cells, sorted(queries))
        if self.primary is None:
            self.primary = result.primary
        for entry in result.results:
            if entry.evaluation is None:
                self.errors[entry.cell] = entry.error or "not measured"
            else:
                self.evaluations.setdefault(entry.cell, []).append(entry.evaluation)
        return self.known(cells, queries)

    def known(self, cells: Sequence[Cell], queries: Sequence[int]) -> NDArray[np.float64]:
        """Return the primary metric of some cells on queries that they were asked; NaN for a cell that failed."""
        ids = [self.dataset.queries[place].id for place in queries]
        table = np.full((len(ids), len(cells)), np.nan)
        for column, cell in enumerate(cells):
            if cell in self.errors:
                continue
            scored: dict[str, float] = {}
            for evaluation in self.evaluations[cell]:
                scores = evaluation.scores
                found = scores.of(evaluation.after, str(self.primary)).tolist()
                scored.update(zip(scores.query_ids, found, strict=True))
            table[:, column] = [scored[query] for query in ids]
            if np.isnan(table[:, column]).any():
                raise ConfigurationError(
                    f"primary: found {self.primary}, which leaves out labelled queries; expected one that has a value "
                    "for each, as ndcg@10"
                )
        return table

    def sweep(self, name: str, cells: Sequence[Cell], queries: Sequence[int]) -> SweepResult:
        """Return some cells measured on some queries of the dataset; what is there already is read."""
        place = self.folder.rung(name)
        if name in self.folder.finished and is_folder(place):  # a cell that failed has failed
            return self._read(name, cells, queries)
        sweep = self.search.sweep
        own = {cell.system: [each.reranker for each in cells if each.system == cell.system] for cell in cells}
        primary = sweep.primary if sweep.names_primary and self.primary is None else _text(self.primary)
        taken = [*sweep.metrics, *([] if self.primary is None else [str(self.primary)])]
        asked = replace(
            sweep,
            dataset=Dataset(tuple(self.dataset.queries[place] for place in queries), self.dataset.documents),
            documents=None,
            include_files=(),
            encoding=None,
            chunkers=None,
            embeddings=None,
            retrievers=None,
            rerankers=None,
            exclude=(),
            include=[cell.to_dict() for cell in cells if cell.system is None],
            systems=[replace(system, rerankers=own[system.name]) for system in sweep.systems if system.name in own],
            metrics=tuple(dict.fromkeys(taken)),
            primary=primary,
            name=f"{sweep.title}: {name}",
        )
        began, questions = time.monotonic(), 0
        try:
            result = run_sweep(asked, place, resume=is_folder(place), **self.options)
            questions = len(cells) * len(queries)
        finally:
            work = Work(time.monotonic() - began, questions)
            self.folder.took(name, work, is_finished=questions > 0)
        return result

    def _read(self, name: str, cells: Sequence[Cell], queries: Sequence[int]) -> SweepResult:
        """Return a rung that is done.

        Raises:
            RunError: it is damaged, or holds other cells or other queries than these.
        """
        place = self.folder.rung(name)
        found = load_sweep_result(place)
        asked = {self.dataset.queries[number].id for number in queries}
        answered = [entry.evaluation for entry in found.results if entry.evaluation is not None]
        others = any({trace.query_id for trace in each.run.traces} != asked for each in answered)
        if others or {entry.cell for entry in found.results} != set(cells):
            raise RunError(
                f"{place}: damaged: found other cells or queries than {HEAD} says; search into another folder "
                "(--output)"
            )
        return found


def _text(metric: Metric | None) -> str | None:
    return None if metric is None else str(metric)
