"""Searches as users run them: a race over rungs, each of which is a sweep over some cells and some queries."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raglift.analysis.paired_statistics import is_bounded
from raglift.base.display import counted
from raglift.base.limits import user_path
from raglift.base.progress import notice
from raglift.errors import ConfigurationError
from raglift.metrics.parsing import parse
from raglift.report.format import percent_text, seconds_text
from raglift.running.spec import dataset_hash
from raglift.search.budget import Work
from raglift.search.course import BATCH, FIRST, Course
from raglift.search.entering import entries
from raglift.search.finishing import result_of
from raglift.search.folder import SearchFolder
from raglift.search.measuring import Measuring
from raglift.search.sampling import sample
from raglift.search.schedule import first_rung, least_batches
from raglift.stats.racing import Race, stratified_batches
from raglift.sweep.engine import dataset_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from raglift.records.dataset import Dataset
    from raglift.search.result import SearchResult
    from raglift.search.specification import Search
    from raglift.sweep.engine import EngineName
    from raglift.sweep.ray import Cluster
    from raglift.sweep.specification.cells import Cell

_FEWEST = 20
"""Queries that a race has at least."""


def run_search(
    search: Search,
    folder: str | Path,
    *,
    resume: bool = False,
    engine: EngineName = "local",
    cluster: Cluster | None = None,
    progress: bool | None = None,
) -> SearchResult:
    """Find the best cell of a space within a budget, by a race.

    All cells without a reranker (of a large space those that Optuna chooses) are asked the first queries. Then, rung by
    rung, the better ones are asked more: cells that are significantly worse are dropped, by a test that stays valid
    however often one looks (`raglift.stats.Race`), and so many others are set aside that the budget lasts until the
    last have been asked all queries (`raglift.search.schedule`). Cells with rerankers join after the first rung, for
    the cells without that go on. Each rung is a sweep in a folder of its own, so nothing is computed twice, and a
    search that was stopped or killed goes on to the same result.

    Args:
        search: the space and the budget.
        folder: where what is measured is kept; new, or that of the same search with `resume`. The budget may be another
            then, and rungs that were decided stay.
        resume: go on with a search that was stopped.
        engine: `local`, or `ray`.
        cluster: which Ray cluster, and what its tasks take.
        progress: whether to show progress.

    Raises:
        ConfigurationError: the folder holds another search, or one that is not to be gone on with; too few queries or
            too small a budget; a primary metric that is not between 0 and 1; or every cell failed.
        DatasetError, CorpusError: the dataset cannot be loaded.
        RunError: the folder cannot be written, something in it is damaged, or another process works on it.
        MissingDependency: Optuna or Ray is needed and not installed.
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
    running = _Running(search, dataset, racing)
    options = {"engine": engine, "cluster": cluster, "progress": progress}
    with SearchFolder.begin(head, resume=resume) as kept:
        measuring = Measuring(search, dataset, kept, options)
        cells, course = running.course(measuring, progress)
        course.finish()
        return result_of(measuring, course, cells, held_out)


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


class _Running:
    """What is known of a search before anything is measured."""

    def __init__(self, search: Search, dataset: Dataset, racing: Sequence[int]) -> None:
        self.search, self.racing = search, racing
        strata = [_stratum(dataset, place) for place in racing]
        self.batches = stratified_batches(len(racing), BATCH, strata=strata, seed=search.sweep.seed)
        self.entries = entries(search)
        self.first = self._first(min(len(self.entries.first), search.configurations))

    def _first(self, systems: int) -> int:
        """Return how many batches the first systems are asked.

        Raises:
            ConfigurationError: the budget does not last for one.
        """
        budget, cells, queries = self.search.budget, len(self.search.cells), len(self.racing)
        work, sizes = budget.questions(cells, queries), [len(batch) for batch in self.batches]
        first = first_rung(systems, self.search.first_queries, sizes, work)
        if first is None:
            least = systems * sum(sizes[: least_batches(sizes)])
            share = percent_text(math.ceil(100 * least / (cells * queries)) / 100, 0)
            raise ConfigurationError(
                f"budget: found {budget}, which is {counted(int(work), 'question')}; expected at least "
                f"{least:,}, {least // systems} for each of the {counted(systems, 'cell')} that begin: a share of "
                f"{share}, or fewer `configurations`"
            )
        return first

    def course(self, measuring: Measuring, progress: bool | None) -> tuple[tuple[Cell, ...], Course]:
        """Return the cells that take part, and their race after the first rung."""
        search, folder, asked = self.search, measuring.folder, range(self.first)
        plain = list(self.entries.first)
        is_sampled = len(plain) > search.configurations
        if is_sampled:
            plain = sample(search, self.entries, lambda name, some: measuring.values(name, some, self.places(asked)))
            values = measuring.known(plain, self.places(asked))
        else:
            values = measuring.values(FIRST, plain, self.places(asked))
        if np.isnan(values).any(axis=0).all():
            reason = next(iter(measuring.errors.values()))
            raise ConfigurationError(f"search: every cell failed; the first: {reason}")
        variants = [variant for cell in plain for variant in self.entries.later.get(cell, ())]
        cells = (*plain, *variants)
        numbers = {cell: number for number, cell in enumerate(cells)}
        course = Course(
            Race.of(len(cells), len(self.racing), alpha=search.alpha),
            self.batches,
            lambda name, some, batches: self._values(measuring, name, [cells[each] for each in some], batches),
            lambda questions: self._left(folder, questions),
            joining={
                numbers[cell]: [numbers[variant] for variant in later]
                for cell, later in self.entries.later.items()
                if cell in numbers
            },
            decided=folder.decided,
            price=partial(self._price, folder) if search.budget.is_measured else None,
            affordable=partial(self._affordable, folder) if search.budget.is_measured else None,
            seconds=folder.seconds_of,
            told=lambda course: self._tell(course, cells, folder, progress),
        )
        course.begin(range(len(plain)), values, self.first, explore=is_sampled)
        return cells, course

    def places(self, batches: range) -> list[int]:
        """Return the places of the queries of some batches in the dataset, batch by batch."""
        return [self.racing[place] for batch in batches for place in self.batches[batch].tolist()]

    def _values(self, measuring: Measuring, name: str, cells: Sequence[Cell], batches: range) -> NDArray[np.float64]:
        """Return what cells score on some batches."""
        return measuring.values(name, cells, self.places(batches))

    def _affordable(self, folder: SearchFolder, name: str, systems: int, queries: int) -> int:
        """Return for how many further systems that join a budget of time lasts, by what a group took."""
        last = folder.work.get(name, Work())
        return folder.joins(
            name, lambda: min(systems, int(self.search.budget.questions_left(folder.spent, last) // max(queries, 1)))
        )

    def _price(self, folder: SearchFolder, joined: bool) -> float:
        """Return what a question cost of cells that began, or of those that joined."""
        return self.search.budget.price(work for name, work in folder.work.items() if folder.is_of(name, joined))

    def _left(self, folder: SearchFolder, questions: int) -> float:
        """Return how many questions may still be asked; of a budget of time, how many seconds are left of it."""
        budget = self.search.budget
        if budget.is_measured:
            return budget.left(folder.spent)
        return budget.questions(len(self.search.cells), len(self.racing)) - questions

    def _tell(self, course: Course, cells: Sequence[Cell], folder: SearchFolder, progress: bool | None) -> None:
        """Say how the race stands."""
        race, budget = course.race, self.search.budget
        if not budget.is_measured:
            left = counted(int(self._left(folder, course.questions)), "question")
        else:
            left = seconds_text(budget.left(folder.spent))
        notice(
            f"search: {race.asked:,} of {len(self.racing):,} queries asked; {counted(len(race.running), 'cell')} "
            f"running, {int(race.dropped.sum()):,} dropped; {left} left of the budget; best so far: "
            f"{cells[race.leader].name}",
            show=progress,
        )
