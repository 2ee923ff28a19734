"""Searches as users run them: a race over rungs, each of which is a sweep over some cells and some queries."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.analysis.paired_statistics import is_bounded
from raglift.base.display import counted
from raglift.base.limits import is_folder, user_path
from raglift.base.progress import notice
from raglift.errors import ConfigurationError
from raglift.metrics.parsing import parse
from raglift.records.dataset import Dataset
from raglift.running.options import dataset_hash
from raglift.search.finishing import result_of
from raglift.search.folder import SearchFolder
from raglift.search.records import RungRecord
from raglift.search.sampling import sample
from raglift.search.schedule import Rung, next_rung
from raglift.stats.racing import Race, stratified_batches
from raglift.sweep.engine import dataset_of, run_sweep
from raglift.sweep.specification.cells import NO_RERANKER, Cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from raglift.records.metric import Metric
    from raglift.results.evaluation import Evaluation
    from raglift.running.model_calls import CallLimits
    from raglift.search.result import SearchResult
    from raglift.search.specification import Search
    from raglift.sweep.engine import EngineName
    from raglift.sweep.result import SweepResult

_BATCH = 6
"""Each batch has one query of so many windows; a rung is several batches."""
_FEWEST = 20
"""Queries that a race has at least."""
_JOINING = "joining"
"""In the name of a rung: cells that join are asked the queries so far."""


def run_search(
    search: Search,
    folder: str | Path,
    *,
    resume: bool = False,
    engine: EngineName = "local",
    address: str | None = None,
    progress: bool | None = None,
    limits: CallLimits | None = None,
) -> SearchResult:
    """Find the best cell of a space within a budget, by a race.

    All cells without a reranker (of a large space those that Optuna chooses) are asked the first queries. Then, rung by
    rung, the better ones are asked more: cells that are significantly worse are dropped, by a test that stays valid
    however often one looks (`raglift.stats.Race`), and so many others are set aside that the budget lasts until the
    last have been asked all queries (`raglift.search.schedule`). Cells with rerankers join after the first rung, for
    the cells that go on. Each rung is a sweep in a folder of its own, so nothing is computed twice, and a search that
    was stopped or killed goes on to the same result.

    Args:
        search: the space and the budget.
        folder: where what is measured is kept; new, or that of the same search with `resume`. The budget may be another
            then, and rungs that were decided stay.
        resume: go on with a search that was stopped.
        engine: `local`, or `ray`.
        address: of the Ray cluster.
        progress: whether to show progress.
        limits: of each rung's model calls and cost.

    Raises:
        ConfigurationError: the folder holds another search, or one that is not to be gone on with; too few queries; a
            primary metric that is not between 0 and 1; or every cell failed.
        DatasetError, CorpusError: the dataset cannot be loaded.
        RunError: the folder cannot be written, something in it is damaged, or another process works on it.
        MissingDependency: Optuna or Ray is needed and not installed.
        CostLimitReached: a limit kept some cells from being measured.
    """
    dataset = dataset_of(search.sweep)
    racing, held_out = _split(search, dataset)
    primary = search.sweep.primary
    if primary is not None and not is_bounded(parse(primary)):
        raise ConfigurationError(f"primary: found {primary}; expected a metric that lies between 0 and 1")
    head = SearchFolder(
        user_path(folder),
        search.sweep.title,
        f"{search.hash}-{dataset_hash(dataset)}",
        search.settings,
        search.sweep.to_dict(),
    )
    options = {"engine": engine, "address": address, "progress": progress, "limits": limits}
    with SearchFolder.begin(head, resume=resume) as kept:
        course = Course(search, dataset, racing, kept, options)
        race = course.run()
        return result_of(course, race, held_out)


def _split(search: Search, dataset: Dataset) -> tuple[list[int], list[int]]:
    """Return the places of the queries of the race, and of those that take no part, with each tag in its share."""
    labelled = [place for place, query in enumerate(dataset.queries) if query.is_labelled]
    least = math.ceil(_FEWEST / (1.0 - search.hold_out))
    if len(labelled) < least:
        raise ConfigurationError(
            f"search: found {len(labelled):,} labelled queries; expected at least {least:,}; a sweep asks every cell "
            "all of fewer"
        )
    aside = round(len(labelled) * search.hold_out)
    if not aside:
        return labelled, []
    strata = [_stratum(dataset, place) for place in labelled]
    batches = stratified_batches(len(labelled), aside, strata=strata, seed=search.sweep.seed)
    held = sorted(labelled[place] for place in batches[-1].tolist())
    return [place for place in labelled if place not in held], held


def _stratum(dataset: Dataset, place: int) -> str:
    return "\n".join(sorted(dataset.queries[place].tags))


@dataclass
class Course:
    """A search on its way."""

    search: Search
    dataset: Dataset
    racing: Sequence[int]
    """The places of the queries of the race in the dataset."""
    folder: SearchFolder
    options: Mapping[str, Any]
    cells: tuple[Cell, ...] = ()
    """The systems of the race, by their numbers."""
    primary: Metric | None = None
    """What decides; known after the first rung, since at an equal budget of tokens it depends on the chunks."""
    evaluations: dict[Cell, list[Evaluation]] = field(default_factory=dict)
    """Of each cell that was measured, those of its rungs."""
    errors: dict[Cell, str] = field(default_factory=dict)
    rungs: list[RungRecord] = field(default_factory=list)
    paths: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    """Of each cell by its name: after each rung how many queries it had been asked, and its mean."""
    questions: int = 0
    _batches: tuple[NDArray[np.intp], ...] = ()

    def run(self) -> Race:
        """Race until one system is left, the budget is spent or all queries are asked."""
        strata = [_stratum(self.dataset, place) for place in self.racing]
        self._batches = stratified_batches(len(self.racing), _BATCH, strata=strata, seed=self.search.sweep.seed)
        first = min(len(self._batches), max(1, round(self.search.first_queries / _BATCH)))
        every, plain = self.search.cells, [cell for cell in self.search.cells if cell.reranker == NO_RERANKER]
        is_sampled = len(plain) > self.search.configurations
        began = time.monotonic()
        if is_sampled:
            plain = self._sampled(first)
        # A system of the user's may have a reranker alone
        bases = {_base(cell) for cell in plain}
        plain += [cell for cell in every if cell.reranker != NO_RERANKER and cell.system and _base(cell) not in every]
        variants = [cell for cell in every if cell not in set(plain) and _base(cell) in bases]
        rest = [cell for cell in every if cell not in {*plain, *variants}]
        self.cells = (*plain, *variants, *rest)
        race = Race.of(len(self.cells), len(self.racing), alpha=self.search.alpha)
        begun = self._measured("0", plain, range(first)) if not is_sampled else plain
        begun = [cell for cell in begun if cell not in self.errors]
        if not begun:
            raise ConfigurationError(f"search: every cell failed; the first: {next(iter(self.errors.values()))}")
        race = self._bet(race, begun, range(first), explore=is_sampled)
        self._note(race, len(plain), 0, began)
        return self._go_on(race, first, self._joining(race, variants))

    def _go_on(self, race: Race, asked: int, joining: Mapping[Cell, Sequence[Cell]]) -> Race:
        """Race from the second rung on."""
        while True:
            running = race.running
            many = max(map(len, joining.values()), default=0)
            rung = self._decided(len(self.rungs) - 1, len(running), asked, many)
            if rung is None or (len(running) == 1 and not joining):
                return race
            began, name = time.monotonic(), str(len(self.rungs))
            kept = [
                self.cells[place] for place in running[np.argsort(-race.totals[running], kind="stable")][: rung.keep]
            ]
            entrants = [variant for cell in kept for variant in joining.get(cell, ())]
            if entrants:
                entrants = self._measured(f"{name}-{_JOINING}", entrants, range(asked))
                totals = self._values(entrants, range(asked)).sum(axis=0)
                race = race.joined(self._numbers(entrants), totals)
            systems = self._measured(name, [*kept, *entrants], range(asked, rung.queries))
            if not systems:
                return race
            race = self._bet(race, systems, range(asked, rung.queries), explore=False)
            self._note(race, len(kept) + len(entrants), len(entrants), began)
            asked, joining = rung.queries, {}

    def _decided(self, number: int, running: int, asked: int, joining: int) -> Rung | None:
        """Return what is done next: as it was decided before the search was stopped, or by the budget."""
        if number < len(self.folder.rungs):
            return self.folder.rungs[number]
        rung = next_rung(running, asked, len(self._batches), self._left() / _BATCH, joining=joining)
        if rung is not None:
            self.folder.rungs.append(rung)
            self.folder.write()
        return rung

    def _left(self) -> float:
        """Return how many questions may still be asked."""
        budget = self.search.budget
        if budget.minutes is None:
            return budget.questions(len(self.search.cells), len(self.racing)) - self.questions
        spent = sum(self.folder.seconds.values())
        return max(0.0, budget.minutes * 60.0 - spent) * self.questions / max(spent, 1e-9)

    def _joining(self, race: Race, variants: Sequence[Cell]) -> dict[Cell, list[Cell]]:
        """Return, for each running cell, its variants with rerankers."""
        found: dict[Cell, list[Cell]] = {}
        running = {self.cells[place] for place in race.running.tolist()}
        for cell in variants:
            if _base(cell) in running:
                found.setdefault(_base(cell), []).append(cell)
        return found

    def _sampled(self, first: int) -> list[Cell]:
        generation = 0

        def measure(cells: Sequence[Cell]) -> dict[Cell, float]:
            nonlocal generation
            measured = self._measured(f"0-{generation}", cells, range(first))
            generation += 1
            return dict(zip(measured, self._values(measured, range(first)).mean(axis=0).tolist(), strict=True))

        return sample(self.search, self.search.configurations, measure)

    def _measured(self, name: str, cells: Sequence[Cell], batches: range) -> list[Cell]:
        """Measure some cells on some batches; return those that did not fail."""
        queries = self._queries(batches)
        result = self.sweep(name, cells, queries)
        self.questions += len(cells) * len(queries)
        if self.primary is None:
            self.primary = result.primary
        for entry in result.results:
            if entry.evaluation is None:
                self.errors[entry.cell] = entry.error or "not measured"
            else:
                self.evaluations.setdefault(entry.cell, []).append(entry.evaluation)
        return [cell for cell in cells if cell not in self.errors]

    def sweep(self, name: str, cells: Sequence[Cell], queries: Sequence[int]) -> SweepResult:
        """Return some cells measured on some queries of the dataset; what is there already is read."""
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
        place, began = self.folder.rung(name), time.monotonic()
        result = run_sweep(asked, place, resume=is_folder(place), **self.options)
        # What is only read again took longer the first time
        self.folder.seconds[name] = max(self.folder.seconds.get(name, 0.0), time.monotonic() - began)
        self.folder.write()
        return result

    def _queries(self, batches: range) -> list[int]:
        """Return the places of the queries of some batches in the dataset, in its order."""
        return sorted(self.racing[place] for batch in batches for place in self._batches[batch].tolist())

    def _values(self, cells: Sequence[Cell], batches: range) -> NDArray[np.float64]:
        """Return the primary metric of some cells on some batches: queries × cells."""
        ids = [self.dataset.queries[place].id for place in self._queries(batches)]
        table = np.empty((len(ids), len(cells)))
        for column, cell in enumerate(cells):
            known: dict[str, float] = {}
            for evaluation in self.evaluations[cell]:
                scores = evaluation.scores
                known.update(
                    zip(scores.query_ids, scores.of(evaluation.after, str(self.primary)).tolist(), strict=True)
                )
            table[:, column] = [known[query] for query in ids]
        return table

    def _bet(self, race: Race, cells: Sequence[Cell], batches: range, *, explore: bool) -> Race:
        """Return the race after some batches, one after the other, of some cells."""
        left = self._numbers(cells)
        for batch in batches:
            left = left[np.isin(left, race.survivors)]
            values = self._values([self.cells[place] for place in left.tolist()], range(batch, batch + 1))
            race = race.after(values, systems=left, explore=explore)
        return race

    def _numbers(self, cells: Sequence[Cell]) -> NDArray[np.intp]:
        known = {cell: number for number, cell in enumerate(self.cells)}
        return np.array(sorted(known[cell] for cell in cells), dtype=np.intp)

    def _note(self, race: Race, systems: int, joined: int, began: float) -> None:
        dropped = int(race.dropped.sum()) - sum(rung.dropped for rung in self.rungs)
        before = 0 if not self.rungs else self.rungs[-1].left
        left = len(race.running)
        self.rungs.append(
            RungRecord(
                systems=systems,
                queries=race.asked,
                dropped=dropped,
                set_aside=max(0, before + joined - systems) if self.rungs else 0,
                joined=joined,
                left=left,
                seconds=time.monotonic() - began,
            )
        )
        for number in np.flatnonzero(race.asked_of == race.asked).tolist():
            path = self.paths.setdefault(self.cells[number].name, [])
            path.append((race.asked, float(race.means[number])))
        leader = self.cells[race.leader].name if left else "none"
        notice(
            f"search: {race.asked:,} of {len(self.racing):,} queries asked; {counted(left, 'cell')} running, "
            f"{int(race.dropped.sum()):,} dropped; best so far: {leader}"
        )


def _base(cell: Cell) -> Cell:
    """Return the cell without its reranker."""
    return replace(cell, reranker=NO_RERANKER)


def _text(metric: Metric | None) -> str | None:
    return None if metric is None else str(metric)
