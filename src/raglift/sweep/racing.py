"""A sweep with limited effort: its cells race, and each rung is a sweep of some cells over some queries.

The folder is that of a sweep. Besides, it has `race.json`, in which every decision is written before it is carried out,
and `rungs/N/`, the sweep of each rung; `cells/` has those that were left in the end, over all queries that they were
asked. A race that is killed goes on to the same result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import TypeAdapter

from raglift.analysis.held_out_check import held_out_check
from raglift.analysis.paired_statistics import is_bounded, method_of
from raglift.base.display import counted
from raglift.base.limits import is_file, is_folder
from raglift.base.progress import notice
from raglift.base.tokens import TokenCounts
from raglift.base.validation import WrongKind, read_as
from raglift.errors import ConfigurationError, RunError
from raglift.matching.match import inventory_of
from raglift.matching.rule import MatchRule
from raglift.metrics.parsing import parse
from raglift.records.dataset import Dataset
from raglift.running.scoring import evaluation_of
from raglift.running.spec import dataset_hash
from raglift.stats.intervals import CONFIDENCE
from raglift.stats.racing import Race, stratified_batches
from raglift.storage.forms import AtLeastOne, Count, Number, SavedModel, Several, Text
from raglift.storage.layout import read_json
from raglift.sweep.folder import SweepFolder, write_whole
from raglift.sweep.measuring import Parts
from raglift.sweep.race import ALPHA, BATCH, Course, Effort, Rung, RungRecord, first_batches, least_batches
from raglift.sweep.records import Elimination, RaceRecord

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from raglift.analysis.held_out_check import HeldOutCheck
    from raglift.records.metric import Metric
    from raglift.results.evaluation import Evaluation
    from raglift.sweep.records import SweepResultRecord
    from raglift.sweep.result import SweepResult
    from raglift.sweep.specification.cells import Cell
    from raglift.sweep.specification.record import Sweep

_FILE, _RUNGS = "race.json", "rungs"
_FEWEST = 20
"""Queries that a race has at least."""
_HELD_OUT = 0.2
"""The share of the queries that take no part, on which what is recommended is checked in the end."""

RunSweep = Callable[..., "SweepResult"]
"""Runs a sweep in a folder: `run_sweep` with what it was called with."""


class _Rung(SavedModel):
    keep: AtLeastOne
    batches: AtLeastOne


class _RungRecord(SavedModel):
    cells: Count
    queries: Count
    dropped: Count
    set_aside: Count
    left: Count


class _Elimination(SavedModel):
    is_dropped: bool
    asked: Count
    mean: Number
    p: Number


class _Saved(SavedModel):
    decisions: Several[_Rung]
    seconds: dict[Text, Number]
    finished: Several[Text]
    primary: Text | None
    effort: Text
    queries: Count
    questions: Count
    full: Count
    rungs: Several[_RungRecord]
    eliminated: dict[Text, _Elimination]
    held_out: Text | None


_SAVED = TypeAdapter(_Saved)


@dataclass
class RaceFile:
    """What is kept of a race, on disk after each change."""

    path: Path
    """The folder of the sweep."""
    decisions: list[Rung] = field(default_factory=list)
    """What was decided for each rung after the first, in order."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each rung took, by its name."""
    finished: list[str] = field(default_factory=list)
    """The names of the rungs that are done."""
    primary: str | None = None
    """The metric that decided; None before the first rung."""
    outcome: RaceRecord | None = None
    """None before the end."""
    eliminated: Mapping[str, Elimination] = field(default_factory=dict)
    """The cells that went no further, by their keys."""
    held_out: str | None = None
    """The name of the rung in which the choice is measured on queries that took no part."""

    @classmethod
    def read(cls, path: Path) -> RaceFile:
        """Return what is kept of a race; an empty one if there is none.

        Raises:
            RunError: it is damaged.
        """
        if not is_file(path / _FILE):
            return cls(path)
        try:
            saved = read_as(_SAVED, read_json(path / _FILE))
        except WrongKind as error:
            raise RunError(f"{path / _FILE}: damaged: {error}; sweep into another folder (--output)") from None
        rungs = tuple(RungRecord(**each.model_dump()) for each in saved.rungs)
        return cls(
            path,
            [Rung(each.keep, each.batches) for each in saved.decisions],
            dict(saved.seconds),
            list(saved.finished),
            saved.primary,
            RaceRecord(saved.effort, saved.queries, saved.questions, saved.full, rungs) if saved.effort else None,
            {key: Elimination(**each.model_dump()) for key, each in saved.eliminated.items()},
            saved.held_out,
        )

    def write(self) -> None:
        """Write it, all at once."""
        outcome = self.outcome or RaceRecord("", 0, 0, 0, ())
        own = {name: getattr(self, name) for name in ("seconds", "finished", "primary", "held_out")}
        lists = {"decisions": [asdict(each) for each in self.decisions]}
        eliminated = {key: asdict(each) for key, each in self.eliminated.items()}
        write_whole(self.path / _FILE, {**own, **lists, "eliminated": eliminated, **asdict(outcome)})

    def decided(self, number: int, decide: Callable[[], Rung | None]) -> Rung | None:
        """Return what is done in a rung: as before, or else what the function returns, written down."""
        if number < len(self.decisions):
            return self.decisions[number]
        rung = decide()
        if rung is not None:
            self.decisions.append(rung)
            self.write()
        return rung

    def rung(self, name: str) -> Path:
        """Return where the sweep of a rung is kept."""
        return self.path / _RUNGS / name


def run_race(sweep: Sweep, dataset: Dataset, folder: SweepFolder, run: RunSweep, progress: bool | None) -> None:
    """Race the cells of a sweep, and keep those that are left as its finished cells.

    All cells are asked the first queries. Then, rung by rung, the better ones are asked more: cells that are
    significantly worse are dropped, by a test that stays valid however often one looks (`raglift.stats.Race`), and as
    many others are set aside as it takes for the effort to last until the last cells were asked all queries.

    Args:
        sweep: with an effort.
        dataset: of the sweep.
        folder: where it is kept.
        run: runs the sweep of a rung.
        progress: whether to show progress.

    Raises:
        ConfigurationError: too few queries, too small an effort, a primary metric that is not between 0 and 1, or every
            cell failed.
        RunError: something in the folder is damaged.
    """
    _Racing(sweep, dataset, folder, run, RaceFile.read(folder.path), progress).race()


def held_out_check_of(result: SweepResultRecord, load: Callable[[Path], SweepResult]) -> HeldOutCheck | None:
    """Return what queries that took no part in a race say of the cell that it recommends.

    Args:
        result: of the race, without a check.
        load: reads the sweep of a rung.
    """
    kept = RaceFile.read(result.folder)
    if kept.held_out is None:
        return None
    cells = load(kept.rung(kept.held_out)).results
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
    run: RunSweep
    kept: RaceFile
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
            decided=self.kept.decided,
        )
        race = course.run(self._first(effort, len(cells), [len(batch) for batch in batches]))
        if not course.rungs:
            raise ConfigurationError(f"sweep: every cell failed; the first: {next(iter(self.errors.values()))}")
        running = set(race.running.tolist())
        self.folder.set_failures({cell.key: error for cell, error in self.errors.items()})
        last = [cell for number, cell in enumerate(cells) if number in running and cell not in self.errors]
        self._keep(last)
        self.kept.eliminated = {
            cell.key: Elimination(
                bool(race.dropped[number]), int(race.asked_of[number]), float(race.means[number]), float(race.p[number])
            )
            for number, cell in enumerate(cells)
            if number not in running and cell not in self.errors
        }
        full = len(cells) * len(racing)
        self.kept.outcome = RaceRecord(str(effort), len(racing), course.questions, full, tuple(course.rungs))
        self.kept.held_out = None
        self.kept.write()
        self._check_choice(last, held_out)

    def _split(self) -> tuple[list[int], list[int]]:
        """Return the places of the queries of the race, and of those held out, with each tag in its share."""
        labelled = [place for place, query in enumerate(self.dataset.queries) if query.is_labelled]
        least = math.ceil(_FEWEST / (1 - _HELD_OUT))
        if len(labelled) < least:
            raise ConfigurationError(
                f"effort: found {len(labelled):,} labelled queries; expected at least {least:,}, or no effort: a sweep "
                "without one asks every cell all of fewer"
            )
        strata = [_stratum(self.dataset, place) for place in labelled]
        aside = round(len(labelled) * _HELD_OUT)
        batches = stratified_batches(len(labelled), aside, strata=strata, seed=self.sweep.seed)
        held = {labelled[place] for place in batches[-1].tolist()}
        return [place for place in labelled if place not in held], sorted(held)

    def _first(self, effort: Effort, cells: int, sizes: Sequence[int]) -> int:
        """Return how many batches all cells are asked.

        Raises:
            ConfigurationError: the effort does not last for one.
        """
        queries = sum(sizes)
        work = effort.questions(cells, queries)
        first = first_batches(cells, sizes, work)
        if first is None:
            least = sum(sizes[: least_batches(sizes)])
            raise ConfigurationError(
                f"effort: found {effort}, which is {counted(int(work), 'question')}; expected at least "
                f"{cells * least:,}, {least} for each of {counted(cells, 'cell')}: {math.ceil(100 * least / queries)}%"
            )
        return first

    def _questions_left(self, effort: Effort, queries: int, questions: int) -> float:
        """Return how many questions may still be asked; of minutes, at the pace of the fastest rung so far."""
        if effort.minutes is None:
            return effort.questions(len(self.sweep.cells()), queries) - questions
        left = max(0.0, 60 * effort.minutes - sum(self.kept.seconds.values()))
        pace = sum(self.kept.seconds.values()) / questions
        return left / pace if pace else math.inf

    def _values(self, name: str, cells: Sequence[Cell], queries: Sequence[int], course: Course) -> NDArray[np.float64]:
        """Return the primary metric of some cells on some queries: queries × cells; NaN for a cell that failed."""
        result = self._rung(name, cells, sorted(queries))
        if self.kept.primary is None:
            self.kept.primary = str(result.primary)
        primary, ids = self.kept.primary, [self.dataset.queries[place].id for place in queries]
        table = np.full((len(queries), len(cells)), np.nan)
        of_cell = {entry.cell: entry for entry in result.results}
        measured = [entry.evaluation.scores.query_ids for entry in result.results if entry.evaluation is not None]
        if set(cells) != set(of_cell) or any(set(one) != set(ids) for one in measured):
            raise RunError(
                f"{self.kept.rung(name)}: damaged: found other cells or queries than {_FILE} says; sweep into another "
                "folder (--output)"
            )
        for column, cell in enumerate(cells):
            entry = of_cell[cell]
            if entry.evaluation is None:
                self.errors[cell] = entry.error or "not measured"
                continue
            scores = entry.evaluation.scores
            values = scores.of(entry.evaluation.after, primary).tolist()
            known = dict(zip(scores.query_ids, values, strict=True))
            table[:, column] = [known[query] for query in ids]
            if np.isnan(table[:, column]).any():
                raise ConfigurationError(
                    f"primary: found {primary}, which leaves out labelled queries; expected one that has a value for "
                    "each, such as ndcg@10"
                )
            self.evaluations.setdefault(cell, []).append(entry.evaluation)
        running = counted(len(cells), "cell")
        notice(f"race: {running}, {course.race.asked + len(queries):,} queries asked", show=self.progress)
        return table

    def _rung(self, name: str, cells: Sequence[Cell], queries: Sequence[int]) -> SweepResult:
        """Return some cells measured on some queries of the dataset; what is finished is read."""
        place, sweep, primary = self.kept.rung(name), self.sweep, self.kept.primary
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
        is_finished = name in self.kept.finished
        began = time.monotonic()
        try:
            return self.run(asked, place, resume=is_folder(place), is_finished=is_finished)
        finally:
            if not is_finished:
                self.kept.seconds[name] = self.kept.seconds.get(name, 0.0) + time.monotonic() - began
                if is_folder(place):
                    self._note_finished(name)

    def _note_finished(self, name: str) -> None:
        """Note that a rung is done; a cell that failed in it has failed."""
        found = SweepFolder(self.kept.rung(name))
        if len(found.finished()) + len(found.failures()) >= len(found.head()["cells"]):
            self.kept.finished.append(name)
        self.kept.write()

    def _keep(self, last: Sequence[Cell]) -> None:
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
        identity = {"name": data.name, "queries": len(queries), "hash": dataset_hash(self.dataset)}
        run = replace(
            first.run,
            traces=tuple(traces[query.id] for query in queries),
            spec={**first.run.spec, "dataset": identity},
            notes=tuple(dict.fromkeys(note for rung in rungs for note in rung.run.notes)),
            inventory=inventory,
            cost=None,
        )
        shared = [metric for metric in first.scores.metrics if all(metric in rung.scores.metrics for rung in rungs)]
        decides: list[Metric] = [] if self.kept.primary is None else [parse(self.kept.primary)]
        metrics = tuple(dict.fromkeys([*shared, *decides]))
        return evaluation_of(run, data, metrics, rule, first.profile, TokenCounts())

    def _check_choice(self, last: Sequence[Cell], held_out: Sequence[int]) -> None:
        """Measure what is recommended and the runner-up on the queries that took no part."""
        result = self.run(self.sweep, self.folder.path, is_finished=True)
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
        self.kept.seconds.pop(rung, None)  # on top of the effort
        self.kept.held_out = rung
        self.kept.write()


def _stratum(dataset: Dataset, place: int) -> str:
    return "\n".join(sorted(dataset.queries[place].tags))
