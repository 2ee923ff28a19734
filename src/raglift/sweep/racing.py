"""A sweep with limited effort: its cells race, and each rung is a sweep of some cells over some queries.

The folder is that of a sweep. Besides, it has `race.json`, in which every decision is written before it is carried out,
and `rungs/N/`, the sweep of each rung; `cells/` has those that were left in the end, over all queries that they were
asked. A race that is killed goes on to the same result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raglift.analysis.paired_statistics import is_bounded, method_of
from raglift.analysis.recommendation import HeldOutCheck, held_out_check
from raglift.errors import ConfigurationError, RunError
from raglift.matching.match import inventory_of
from raglift.matching.rule import MatchRule
from raglift.metrics.parsing import parse
from raglift.running.scoring import evaluation_of
from raglift.running.spec import dataset_hashes
from raglift.stats.intervals import CONFIDENCE
from raglift.stats.racing import Race, stratified_batches
from raglift.sweep.folder import SweepFolder
from raglift.sweep.measuring import Parts
from raglift.sweep.race import ALPHA, BATCH, Course, Effort, first_batches, least_batches
from raglift.sweep.race_file import FILE, Elimination, RaceFile, RaceRecord
from raglift.text.tokens import TokenCounts
from raglift.types.dataset import Dataset
from raglift.utilities.display import counted
from raglift.utilities.limits import is_folder
from raglift.utilities.progress import notice

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.sweep.result import SweepResult
    from raglift.sweep.specification.cells import Cell
    from raglift.sweep.specification.record import Sweep
    from raglift.types.metric import Metric

_FEWEST = 20
"""Queries that a race has at least."""
_HELD_OUT = 0.2
"""The share of the queries that take no part, on which what is recommended is checked in the end."""


def run_race(
    sweep: Sweep,
    dataset: Dataset,
    folder: SweepFolder,
    run: Callable[..., SweepResult],
    load: Callable[[Path], SweepResult],
    progress: bool | None,
) -> None:
    """Race the cells of a sweep, and keep those that are left as its finished cells.

    All cells are asked the first queries. Then, rung by rung, the better ones are asked more: cells that are
    significantly worse are dropped, by a test that stays valid however often one looks (`raglift.stats.Race`), and as
    many others are set aside as it takes for the effort to last until the last cells were asked all queries.
    """
    _Racing(sweep, dataset, folder, run, load, RaceFile.read(folder.path), progress).race()


def held_out_check_of(result: SweepResult, load: Callable[[Path], SweepResult]) -> HeldOutCheck | None:
    """Return what queries that took no part in a race say of the cell that it recommends."""
    file = RaceFile.read(result.folder)
    if file.state.held_out is None:
        return None
    cells = load(file.rung(file.state.held_out)).results
    measured = [entry.evaluation for entry in cells if entry.evaluation is not None]
    if len(measured) < len(cells):
        return None
    values = np.stack([of.scores.of(of.after, result.primary) for of in measured], axis=1)
    raced = {name for entry in result.finished if entry.evaluation for name in entry.evaluation.scores.query_ids}
    name = result.recommend().choice if len(result.finished) > 1 else cells[0].cell.name
    return held_out_check(
        (cells[0].cell.name, cells[1].cell.name),
        values[~np.isnan(values).any(axis=1)],
        (sorted(raced), sorted(measured[0].scores.query_ids)),
        result.primary,
        method_of(result.seed, CONFIDENCE),
        margin=result.margin,
        recommended=str(name),
    )


@dataclass
class _Racing:
    """The race of one sweep."""

    sweep: Sweep
    dataset: Dataset
    folder: SweepFolder
    run: Callable[..., SweepResult]
    load: Callable[[Path], SweepResult]
    file: RaceFile
    progress: bool | None
    evaluations: dict[Cell, list[Evaluation]] = field(default_factory=dict)
    """Of each cell those of its rungs."""
    errors: dict[Cell, str] = field(default_factory=dict)

    def race(self) -> None:
        effort, cells = Effort.parse(self.sweep.effort), self.sweep.cells()
        primary = self.sweep.primary
        if primary is not None and not is_bounded(parse(primary)):
            raise ConfigurationError(f"primary: found {primary}; expected a metric that lies between 0 and 1")
        racing, held_out = self._split()
        strata = [_stratum(self.dataset, place) for place in racing]
        batches = stratified_batches(len(racing), BATCH, strata=strata, seed=self.sweep.seed)
        places = [[racing[place] for place in batch.tolist()] for batch in batches]

        def ask(number: int, some: Sequence[int], asked: range) -> NDArray[np.float64]:
            queries = [place for batch in asked for place in places[batch]]
            return self._values(str(number), [cells[each] for each in some], queries, course)

        course = Course(
            Race.of(len(cells), len(racing), alpha=ALPHA),
            batches,
            ask,
            lambda questions: self._questions_left(effort, len(racing), questions),
            is_estimate=effort.minutes is not None,
            decided=self.file.decided,
        )
        race = course.run(self._first(effort, len(cells), [len(batch) for batch in batches]))
        if not course.rungs:
            raise ConfigurationError(
                f"sweep: every configuration failed; the first: {next(iter(self.errors.values()))}"
            )
        running = set(race.running.tolist())
        self.folder.set_failures({cell.key: error for cell, error in self.errors.items()})
        last = [cell for number, cell in enumerate(cells) if number in running and cell not in self.errors]
        self._save(last)
        eliminated = {
            cell.key: Elimination(
                bool(race.dropped[number]), int(race.asked_of[number]), float(race.means[number]), float(race.p[number])
            )
            for number, cell in enumerate(cells)
            if number not in running and cell not in self.errors
        }
        full = len(cells) * len(racing)
        outcome = RaceRecord(str(effort), len(racing), course.questions, full, tuple(course.rungs))
        self.file.update(eliminated=eliminated, outcome=outcome, held_out=None)
        self._check_choice(last, held_out)

    def _split(self) -> tuple[list[int], list[int]]:
        """Return the places of the queries of the race, and of those held out, with each tag in its share."""
        labelled = [place for place, query in enumerate(self.dataset.queries) if query.is_labelled]
        least = math.ceil(_FEWEST / (1 - _HELD_OUT))
        if len(labelled) < least:
            raise ConfigurationError(
                f"effort: found {len(labelled):,} labelled questions; expected at least {least:,}, or no effort: a "
                "sweep without one asks every configuration all of fewer"
            )
        strata = [_stratum(self.dataset, place) for place in labelled]
        aside = round(len(labelled) * _HELD_OUT)
        batches = stratified_batches(len(labelled), aside, strata=strata, seed=self.sweep.seed)
        held = {labelled[place] for place in batches[-1].tolist()}
        return [place for place in labelled if place not in held], sorted(held)

    def _first(self, effort: Effort, cells: int, sizes: Sequence[int]) -> int:
        """Return how many batches all cells are asked."""
        queries = sum(sizes)
        work = effort.questions(cells, queries)
        first = first_batches(cells, sizes, work)
        if first is None:
            least = sum(sizes[: least_batches(sizes)])
            raise ConfigurationError(
                f"effort: found {effort}, which is {counted(int(work), 'question')}; expected at least "
                f"{cells * least:,}, {least} for each of {counted(cells, 'configuration')}: "
                f"{math.ceil(100 * least / queries)}%"
            )
        return first

    def _questions_left(self, effort: Effort, queries: int, questions: int) -> float:
        """Return how many questions may still be asked; of minutes, at the pace of the fastest rung so far."""
        if effort.minutes is None:
            return effort.questions(len(self.sweep.cells()), queries) - questions
        left = max(0.0, 60 * effort.minutes - sum(self.file.state.seconds.values()))
        pace = sum(self.file.state.seconds.values()) / questions
        return left / pace if pace else math.inf

    def _values(self, name: str, cells: Sequence[Cell], queries: Sequence[int], course: Course) -> NDArray[np.float64]:
        """Return the primary metric of some cells on some queries: queries × cells; NaN for a cell that failed."""
        result = self._rung(name, cells, sorted(queries))
        if self.file.state.primary is None:
            self.file.update(primary=str(result.primary))
        primary, ids = str(self.file.state.primary), [self.dataset.queries[place].id for place in queries]
        table = np.full((len(queries), len(cells)), np.nan)
        of_cell = {entry.cell: entry for entry in result.results}
        measured = [entry.evaluation.scores.query_ids for entry in result.results if entry.evaluation is not None]
        if set(cells) != set(of_cell) or any(set(one) != set(ids) for one in measured):
            raise RunError(
                f"{self.file.rung(name)}: damaged: found other configurations or questions than {FILE} says; sweep "
                "into another folder (--output)"
            )
        for column, cell in enumerate(cells):
            entry = of_cell[cell]
            if entry.evaluation is None:
                self.errors[cell] = entry.error or "not measured"
                continue
            table[:, column] = entry.evaluation.last_values(primary, ids)
            if np.isnan(table[:, column]).any():
                raise ConfigurationError(
                    f"primary: found {primary}, which leaves out labelled questions; expected one that has a value for "
                    "each, such as ndcg@10"
                )
            self.evaluations.setdefault(cell, []).append(entry.evaluation)
        running = counted(len(cells), "configuration")
        notice(f"race: {running}, {course.race.asked + len(queries):,} questions asked", show=self.progress)
        return table

    def _rung(self, name: str, cells: Sequence[Cell], queries: Sequence[int]) -> SweepResult:
        """Return some cells measured on some queries of the dataset; what is finished is read."""
        place, sweep, primary = self.file.rung(name), self.sweep, self.file.state.primary
        own = {cell.system: [each.reranker for each in cells if each.system == cell.system] for cell in cells}
        named = sweep.primary if sweep.names_primary else None
        asked = replace(
            sweep,
            effort=None,
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
            systems=[replace(each, rerankers=own[each.name]) for each in sweep.systems if each.name in own],
            metrics=tuple(dict.fromkeys([*sweep.metrics, *filter(None, [primary])])),
            primary=primary or named,
            name=f"{sweep.title}: rung {name}",
        )
        if name in self.file.state.finished:
            return self.load(place)
        began = time.monotonic()
        try:
            return self.run(asked, place, resume=is_folder(place))
        finally:
            seconds = self.file.state.seconds.get(name, 0.0) + time.monotonic() - began
            is_done = is_folder(place) and self._is_finished(place)
            finished = (*self.file.state.finished, *([name] if is_done else []))
            self.file.update(seconds={**self.file.state.seconds, name: seconds}, finished=finished)

    def _is_finished(self, place: Path) -> bool:
        """Whether every cell of a rung was measured, or failed."""
        found = SweepFolder(place)
        return len(found.finished()) + len(found.failures()) >= len(found.cells())

    def _save(self, last: Sequence[Cell]) -> None:
        """Write the cells that are left, over all queries that they were asked."""
        parts = Parts(self.sweep, self.dataset, progress=False)
        for cell in last:
            self.folder.save(cell.key, self._together(cell, parts), is_cell=True)

    def _together(self, cell: Cell, parts: Parts) -> Evaluation:
        """Return the evaluations of one cell on different queries as one, in the order of the dataset."""
        rungs = self.evaluations[cell]
        first, traces = rungs[0], {trace.query_id: trace for rung in rungs for trace in rung.run.traces}
        queries = tuple(query for query in self.dataset.queries if query.id in traces)
        data = Dataset(queries, self.dataset.documents, self.dataset.name)
        rule = MatchRule(**first.run.spec["match"])
        inventory = None  # of a system of the user's it is known of the queries of each rung alone
        if cell.chunker is not None:
            inventory = inventory_of(queries, parts.chunks(cell.chunker), data.documents, rule, progress=False)
        identity = {"name": data.name, "queries": len(queries), **dataset_hashes(self.dataset)}
        run = replace(
            first.run,
            traces=tuple(traces[query.id] for query in queries),
            spec={**first.run.spec, "dataset": identity},
            notes=tuple(dict.fromkeys(note for rung in rungs for note in rung.run.notes)),
            inventory=inventory,
            cost=None,
        )
        shared = [metric for metric in first.scores.metrics if all(metric in rung.scores.metrics for rung in rungs)]
        decides: list[Metric] = [] if self.file.state.primary is None else [parse(self.file.state.primary)]
        metrics = tuple(dict.fromkeys([*shared, *decides]))
        return evaluation_of(run, data, metrics, rule, first.profile, TokenCounts())

    def _check_choice(self, last: Sequence[Cell], held_out: Sequence[int]) -> None:
        """Measure what is recommended and the runner-up on the queries that took no part."""
        result = self.load(self.folder.path)
        if not last or not result.finished:
            return
        name = result.recommend().choice if len(result.finished) > 1 else last[0].name
        others = [entry.cell for entry in result.ranked if entry.cell.name != name]
        if not others:
            known = [(one, entry.cell) for entry in result.results if (one := entry.eliminated) is not None]
            others = [cell for _, cell in sorted(known, key=lambda each: (-each[0].asked, -each[0].mean))]
        winner = next((cell for cell in last if cell.name == name), None)
        if winner is None or not others:
            return
        rung = f"held-out-{winner.key}-{others[0].key}"
        self._rung(rung, [winner, others[0]], held_out)
        seconds = {name: value for name, value in self.file.state.seconds.items() if name != rung}
        self.file.update(held_out=rung, seconds=seconds)  # on top of the effort


def _stratum(dataset: Dataset, place: int) -> str:
    return "\n".join(sorted(dataset.queries[place].tags))
