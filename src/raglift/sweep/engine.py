"""Sweeps as users run them: planned, run, stopped, resumed and loaded."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from raglift.analysis.paired_statistics import primary_of
from raglift.base.display import describe_error
from raglift.base.limits import is_folder, user_path
from raglift.base.progress import listen, notice, show_status
from raglift.components.batches import HERE, Workers
from raglift.components.bm25 import BM25_VERSION
from raglift.components.devices import require_device, resolve_device
from raglift.components.embedding import embed
from raglift.components.vocabulary import names_of_models
from raglift.datasets.loading import load_dataset
from raglift.errors import CacheError, ConfigurationError, ModelOutputError, RunError
from raglift.metrics.computing import choose_metrics
from raglift.metrics.parsing import parse
from raglift.metrics.prompt_measures import DEFAULT_BUDGET
from raglift.records.dataset import Dataset
from raglift.records.metric import Tokens
from raglift.running.spec import dataset_hash
from raglift.stats.margins import MARGIN, checked_margin
from raglift.sweep.eta import (
    ASKING_LABEL,
    TIMING_LABEL,
    TimeEstimate,
    embedding_label,
    measuring_label,
    query_label,
    retrieval_label,
    scoring_label,
    steps_of,
)
from raglift.sweep.fairness import decided_fairly
from raglift.sweep.folder import BM25, MAPPINGS, NAMED, OWN_METRICS, SweepFolder, measure_again
from raglift.sweep.measuring import (
    Measurement,
    Outcome,
    Parts,
    ask_elsewhere,
    ask_system,
    candidate_pairs,
    evaluated,
    latency_of,
    lost,
    measure,
    measurement,
    parts_of,
    score_pairs,
    source_of,
)
from raglift.sweep.planning import Plan, make_plan
from raglift.sweep.racing import RaceFile, held_out_check_of, run_race
from raglift.sweep.ray import RayWorkers
from raglift.sweep.records import CellResult
from raglift.sweep.result import SweepResult
from raglift.sweep.specification.cells import NO_RERANKER, Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from raglift.components.embedding import Embedder
    from raglift.components.rerankers import Pair, Truncated
    from raglift.records.metric import Metric
    from raglift.records.rankings import Trace
    from raglift.results.evaluation import Evaluation
    from raglift.sweep.specification.record import Sweep


# The finished cells of a sweep, read from its folder.


def read_result(folder: SweepFolder, dataset: Dataset | None = None) -> SweepResult:
    """Return what is finished of a sweep, and what failed.

    Args:
        folder: where it is kept.
        dataset: what it was measured on, with its documents; without it, evaluations have the queries alone.

    Raises:
        RunError: what is swept over cannot be read. A cell that cannot be read counts as failed.
    """
    head, failures, finished = folder.head(), folder.failures(), folder.finished()
    race = RaceFile.read(folder.path)
    try:
        cells = [Cell.of(parts) for parts in head["cells"]]
        if len(set(cells)) < len(cells):
            raise folder.damaged("cells: found one twice; expected each once")
        results = [
            _measured(folder, cell, dataset, is_raced=race.outcome is not None)
            if cell.key in finished
            else CellResult(cell, error=failures.get(cell.key), eliminated=race.eliminated.get(cell.key))
            for cell in cells
        ]
        margin = checked_margin(head["sweep"].get("margin", MARGIN))
        named = head["sweep"].get("budget", DEFAULT_BUDGET)
        budget = None if named is None else Tokens(named).most
        # By now, what stands for a metric that is not installed here is known
        primary = parse(race.primary or head["primary"])
    except ConfigurationError as error:
        raise folder.damaged(str(error)) from None
    results = [_with_primary(folder, result, primary) for result in results]
    results, decides, fairness = decided_fairly(
        results, primary, is_named=race.primary is not None or _is_named(head), budget=budget
    )
    found = SweepResult(
        head["title"],
        decides,
        head["seed"],
        tuple(results),
        folder.path,
        folder.billed(),
        fairness=fairness,
        margin=margin,
        race=race.outcome,
    )
    return found if race.held_out is None else replace(found, check=held_out_check_of(found, load_sweep_result))


def _is_named(head: Mapping[str, Any]) -> bool:
    """Whether the primary metric of a sweep was named; of one that does not say so, whether it is not the default."""
    if NAMED in head:
        return bool(head[NAMED])
    try:
        metrics = choose_metrics(head["sweep"]["metrics"], head["sweep"]["ks"])
        return bool(head["primary"] != str(primary_of(None, metrics)))
    except (KeyError, TypeError, ConfigurationError):
        return True


def _measured(folder: SweepFolder, cell: Cell, dataset: Dataset | None, *, is_raced: bool) -> CellResult:
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


# Runs a sweep: shared work once, and each cell saved as soon as it is finished.


_EVALUATIONS_AT_HAND = 32


@dataclass
class Engine:
    """One sweep on its way.

    Work goes through four phases, each for all cells: embed, retrieve, score pairs, and measure the cells that rerank.
    A part that fails takes with it the cells that need it; the rest continue.
    """

    parts: Parts
    folder: SweepFolder
    plan: Plan
    workers: Workers = HERE
    progress: bool | None = None
    _failures: dict[str, str] = field(default_factory=dict)
    """For each cell that failed, by its key, why."""
    _at_hand: dict[Cell, Evaluation] = field(default_factory=dict)
    _answered: list[Cell] = field(default_factory=list)
    """Users' systems that have answered every query."""
    _saved: set[Cell] = field(default_factory=set)
    """What this run has saved."""
    _course: TimeEstimate = field(default_factory=lambda: TimeEstimate([], print))

    def run(self) -> SweepResult:
        """Do everything that is not done yet.

        Raises:
            RunError: a finished cell cannot be written.
            CacheError: the cache cannot be read or written.
        """
        finished = _finished(self.folder, self.plan.cells)
        todo = [cell for cell in self.plan.cells if cell.key not in finished]
        again = self.folder.unanswered()
        missing = [source for source in self.plan.sources if source.key in again or not self._is_there(source)]
        own = [source for source in missing if source.system is None]
        with show_status(show=self.progress) as say:
            self._course = TimeEstimate(steps_of(self.plan, todo, missing, latency=self.parts.sweep.latency), say)
            with listen(self._course.advance):
                self._work(own, [source for source in missing if source.system is not None], todo)
        self.folder.set_failures(self._failures)
        self._at_hand.clear()
        return replace(read_result(self.folder, self.parts.dataset), margin=self.parts.sweep.margin)

    def _work(self, own: Sequence[Cell], systems: Sequence[Cell], todo: Sequence[Cell]) -> None:
        """Go through the phases, for indexes of our own, users' systems, and cells that are not measured yet."""
        self._embed(own)
        self._retrieve(own)
        self._ask_systems(systems)
        for reranker in dict.fromkeys(cell.reranker for cell in todo if cell.reranker != NO_RERANKER):
            self._rerank(reranker, [cell for cell in todo if cell.reranker == reranker])
        self._forget_answers()
        if self.parts.sweep.latency:
            self._time()

    def _embed(self, sources: Sequence[Cell]) -> None:
        """Put every distinct text through each model once, and every query."""
        needed = list(dict.fromkeys(part for source in sources for part in (*parts_of(source), source)))
        cache, show = self.parts.cache, self.progress
        for model in dict.fromkeys(part.embedding for part in needed if part.embedding is not None):
            with self._failing([source for source in sources if source.embedding == model]):
                embedder = self.parts.embedder(model)
                # A provider limits the rate of a key, not of a machine: its requests come from one process
                workers = HERE if getattr(embedder, "is_remote", False) else self.workers
                texts = self._texts([part for part in needed if part.embedding == model])
                with self._billing(model, embedder):
                    with self._course.taking(embedding_label(model)):
                        embed(embedder, texts, "document", cache, progress=show, workers=workers)
                    # A query that the model refuses is asked again with its retrieval, and fails alone
                    with self._course.taking(query_label(model)), suppress(ModelOutputError):
                        embed(embedder, self.parts.queries, "query", cache, progress=show, workers=workers)
            self._course.skip(embedding_label(model), query_label(model))  # what failed is not waited for

    def _is_measured(self, cell: Cell) -> bool:
        return cell.key not in self._failures

    def _texts(self, needed: Sequence[Cell]) -> list[str]:
        """Return the distinct texts of the chunks of some cells; a chunker that fails takes its cells with it."""
        texts: dict[str, None] = {}
        for chunker in dict.fromkeys(str(part.chunker) for part in needed):
            with self._failing([source for source in self.plan.sources if source.chunker == chunker]):
                texts.update(dict.fromkeys(self.parts.texts(chunker)))
        return list(texts)

    def _retrieve(self, sources: Sequence[Cell]) -> None:
        """Retrieve once from each index."""
        for chunker in dict.fromkeys(source.chunker for source in sources):
            for source in (source for source in sources if source.chunker == chunker):
                if source.key in self._failures:
                    self._course.skip(retrieval_label(source))
                    continue
                with self._failing([source]), self._course.taking(retrieval_label(source)):
                    retriever = self.parts.retriever(source)
                    evaluation = evaluated(retriever, self.parts.sweep, self.parts.dataset, progress=self.progress)
                    self._keep(source, evaluation, self.parts.read_in_part(source))
                    self._course.advance("rankings", 1)
            self.parts.forget_retrievers()

    def _ask_systems(self, sources: Sequence[Cell]) -> None:
        """Ask users' systems; an object cannot be sent elsewhere, so it is asked here."""
        sweep, dataset = self.parts.sweep, self.parts.dataset
        there = []
        if self.workers is not HERE:
            there = [source for source in sources if sweep.system(str(source.system)).reference is not None]
        for source in sources:
            if source not in there:
                with self._course.taking(retrieval_label(source)):
                    self._settle_system(source, ask_system(self.parts, source, self.folder.answers(source.key)))
        if there:
            self._course.merge([retrieval_label(source) for source in there], ASKING_LABEL)
            with self._course.taking(ASKING_LABEL):
                named = [system for system in sweep.systems if system.reference is not None]
                ask = partial(ask_elsewhere, replace(sweep, systems=named), dataset)  # objects stay here
                for source, outcome in self.workers.map(ask, there, lost, uses_models=False):
                    self._settle_system(source, outcome)
                    self._course.advance("queries", len(dataset))

    def _settle_system(self, source: Cell, outcome: Outcome) -> None:
        """Write what a user's system gave; where it has answered every query, its answers need not be kept."""
        self._settle(source, outcome, 0)
        if outcome.evaluation is not None and not any(map(_failed, outcome.evaluation.run.traces)):
            self._answered.append(source)
            self._forget_answers()

    def _forget_answers(self) -> None:
        """Let go of the answers of systems whose cells are all measured: where they stay, cells are measured again."""
        for source in self._answered:
            cells = {cell for cell in self.plan.cells if source_of(cell) == source}
            if cells <= self._saved:
                self.folder.forget_answers(source.key)

    def _rerank(self, name: str, cells: Sequence[Cell]) -> None:
        """Score every distinct pair once, then measure the cells."""
        pairs = self._pairs(list(dict.fromkeys(map(source_of, cells))))
        alive = [cell for cell in cells if source_of(cell).key not in self._failures]
        with self._failing(alive):
            reranker = self.parts.reranker(name)
            with self._course.taking(scoring_label(name), len(pairs)):
                scores = score_pairs(reranker, pairs, self.workers)
                truncated = reranker.truncated(sorted(pairs))
            with self._course.taking(measuring_label(name)):
                items = self._measurements(name, alive, scores, truncated)
                measuring = partial(measure, self.parts.dataset)
                for item, outcome in self.workers.map(measuring, items, lost, uses_models=False):
                    self._settle(item.cell, outcome, item.source.run.spec.get("sweep", {}).get("read_in_part", 0))
                    self._course.advance("cells", 1)
        self._course.skip(scoring_label(name), measuring_label(name))

    def _pairs(self, sources: Sequence[Cell]) -> set[Pair]:
        """Return the distinct pairs of all candidates; a source that cannot be read takes its cells with it."""
        pairs: set[Pair] = set()
        for source in sources:
            if source.key in self._failures:
                continue
            try:
                pairs |= candidate_pairs(self._evaluation(source))
            except RunError as error:  # it was read here, and written by another process
                self._fail([source], str(error))
        return pairs

    def _measurements(
        self, name: str, cells: Sequence[Cell], scores: dict[Pair, float], truncated: dict[Pair, Truncated] | None
    ) -> Iterator[Measurement]:
        title = self.parts.reranker_title(name)
        model = next(names_of_models(self.parts.reranker(name)), None)
        for cell in cells:
            yield measurement(cell, self._evaluation(source_of(cell)), title, scores, truncated, model)

    def _time(self) -> None:
        """Time the cells' stages, here and one query at a time: what was shared above was not done for one query."""
        finished = self.folder.finished()
        with self._course.taking(TIMING_LABEL):
            for cell in self.plan.cells:
                if cell.key in finished:
                    try:
                        self._time_cell(cell)
                    except CacheError:
                        raise
                    except Exception as error:  # noqa: BLE001 — the cell is measured, whatever becomes of its timing
                        show = self.progress is not False
                        notice(f"{cell.name} could not be timed: {describe_error(error)}", show=show)
                self._course.advance("cells", 1)

    def _time_cell(self, cell: Cell) -> None:
        try:
            evaluation = self.folder.load(cell.key, self.parts.dataset, is_cell=True)
        except RunError:  # said where the result is read
            return
        if evaluation.run.cost is not None and evaluation.run.cost.latencies:
            return
        embedder = None if cell.embedding is None else self.parts.embedder(cell.embedding)
        with self._billing(str(cell.embedding), embedder):
            cost = latency_of(evaluation, self.parts.stages(cell), self.parts.sweep, self.progress)
        self.folder.save(cell.key, replace(evaluation, run=replace(evaluation.run, cost=cost)), is_cell=True)

    def _settle(self, cell: Cell, outcome: Outcome, read_in_part: int) -> None:
        if outcome.evaluation is None:
            self._fail([cell], str(outcome.error))
        else:
            self._keep(cell, outcome.evaluation, read_in_part)

    def _keep(self, cell: Cell, evaluation: Evaluation, read_in_part: int) -> None:
        """Write an evaluation, with what it is in the sweep."""
        mark = {
            "name": cell.name,
            "cell": cell.to_dict(),
            "read_in_part": read_in_part,
            "models": self.parts.models(cell),
        }
        cost = evaluation.run.cost
        if cost is not None:  # what was billed was for all cells of the model
            cost = replace(cost, tokens_billed=None)
        run = replace(evaluation.run, spec={**evaluation.run.spec, "sweep": mark}, cost=cost)
        marked = replace(evaluation, run=run, dataset=self.parts.dataset)
        self.folder.save(cell.key, marked, is_cell=self._is_cell(cell))
        self._saved.add(cell)
        if cell.reranker == NO_RERANKER:
            self._remember(cell, marked)

    def _evaluation(self, source: Cell) -> Evaluation:
        """Return the evaluation of a cell that is finished."""
        if source not in self._at_hand:
            self._remember(source, self.folder.load(source.key, self.parts.dataset, is_cell=self._is_cell(source)))
        return self._at_hand[source]

    def _remember(self, source: Cell, evaluation: Evaluation) -> None:
        while len(self._at_hand) >= _EVALUATIONS_AT_HAND:
            del self._at_hand[next(iter(self._at_hand))]
        self._at_hand[source] = evaluation

    def _is_cell(self, cell: Cell) -> bool:
        return cell in self.plan.cells

    def _is_there(self, source: Cell) -> bool:
        return is_folder(self.folder.place(source.key, is_cell=self._is_cell(source)))

    @contextmanager
    def _billing(self, model: str, embedder: Embedder | None) -> Iterator[None]:
        """Keep what the work inside is billed for, batch by batch: a killed process has no last word."""
        kept = getattr(embedder, "tokens_billed", 0)

        def keep(_unit: str = "", _count: int = 0) -> None:
            nonlocal kept
            now = getattr(embedder, "tokens_billed", 0)
            self.folder.add_bill(model, now - kept)
            kept = now

        try:
            with listen(keep):
                yield
        finally:
            keep()

    @contextmanager
    def _failing(self, cells: Sequence[Cell]) -> Iterator[None]:
        """Let an error of the work inside fail the cells that need it, and nothing else."""
        try:
            yield
        except (CacheError, RunError):  # nothing can be kept any more
            raise
        except Exception as error:  # noqa: BLE001 — whatever a model, a splitter or a user's system raises
            self._fail(cells, describe_error(error))

    def _fail(self, cells: Sequence[Cell], reason: str) -> None:
        """Note why cells failed, and with them those that rerank their candidates."""
        for cell in (*cells, *(cell for cell in self.plan.cells if source_of(cell) in cells)):
            self._failures.setdefault(cell.key, reason)
        self.folder.set_failures(self._failures)


def _finished(folder: SweepFolder, cells: Iterable[Cell]) -> set[str]:
    """Return the keys of the cells that need not be measured again: those of systems that failed on no query."""
    again = folder.unanswered()
    return folder.finished() - {cell.key for cell in cells if source_of(cell).key in again}


def _failed(trace: Trace) -> bool:
    return trace.error is not None


# Plan, run, stop and resume sweeps.


EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = ("local", "ray")
"""Where the work of a sweep is done."""


def plan_sweep(sweep: Sweep, folder: str | Path | None = None, *, progress: bool | None = None) -> Plan:
    """Count what a sweep would do, without running a model or paying for anything.

    Args:
        sweep: what is to be measured.
        folder: where it was begun, to count what is finished there; another sweep there counts as nothing.
        progress: whether to show progress; None decides by the terminal.

    Raises:
        DatasetError, CorpusError: the dataset cannot be loaded.
    """
    dataset = dataset_of(sweep)
    kept = None if folder is None else SweepFolder(user_path(folder))
    occupied = kept.occupied(_head(sweep, dataset)) if kept is not None and kept.exists() else ""
    finished = set() if kept is None or occupied else _finished(kept, sweep.cells())
    return replace(make_plan(Parts(sweep, dataset, progress), finished, exact=True), occupied=occupied)


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
        engine: `local`, or `ray` to send models' batches and cells to a Ray cluster.
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

        def run(part: Sweep, place: Path, *, resume: bool = False, is_finished: bool = False) -> SweepResult:
            if is_finished:
                return load_sweep_result(place)
            own: dict[str, Any] = {"engine": engine, "address": address, "progress": progress}
            return run_sweep(part, place, resume=resume, **own)

        with begun as kept:
            announce(make_plan(Parts(sweep, dataset, progress), _finished(kept, sweep.cells())))
            run_race(sweep, dataset, kept, run, progress)
            return replace(read_result(kept, dataset), margin=sweep.margin)
    # Workers come first: a cluster that does not answer leaves no folder behind
    with _workers(engine, address, sweep) as (workers, placed), begun as kept:
        parts = Parts(sweep, dataset, progress, placed=placed)
        plan = make_plan(parts, _finished(kept, sweep.cells()))
        announce(plan)
        return Engine(parts, kept, plan, workers, progress).run()


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
    return load_dataset(sweep.dataset, documents=documents, include=sweep.include_files, encoding=sweep.encoding)


def _head(sweep: Sweep, dataset: Dataset) -> dict[str, object]:
    """Return what a sweep is over, for its folder."""
    noted = {MAPPINGS: sweep.mappings, OWN_METRICS: sweep.own_metrics, BM25: BM25_VERSION if sweep.uses_bm25 else None}
    return {
        "title": sweep.title,
        "primary": sweep.primary,
        NAMED: sweep.names_primary,
        "seed": sweep.seed,
        "hash": f"{sweep.hash}-{dataset_hash(dataset)}",
        "sweep": {**sweep.to_dict(), **{name: value for name, value in noted.items() if value}},
        "cells": [cell.to_dict() for cell in sweep.cells()],
    }
