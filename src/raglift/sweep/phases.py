"""The work of a sweep in four phases, each for all cells: embed, retrieve, score pairs, and measure what reranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raglift.errors import CacheError, ModelOutputError, QueryFailed, RunError
from raglift.retrieval.batches import HERE, Workers
from raglift.retrieval.embedding import embed
from raglift.sweep.measuring import (
    Parts,
    ask_system,
    candidate_pairs,
    evaluated,
    latency_of,
    parts_of,
    reranked,
    score_pairs,
    source_of,
)
from raglift.sweep.specification.cells import NO_RERANKER, Cell
from raglift.utilities.display import describe_error
from raglift.utilities.limits import is_folder
from raglift.utilities.progress import notice, step, steps, track

if TYPE_CHECKING:
    from raglift.results.evaluation import Evaluation
    from raglift.retrieval.rerankers import Pair
    from raglift.sweep.folder import SweepFolder
    from raglift.sweep.planning import Plan


_EVALUATIONS_IN_MEMORY = 32


@dataclass
class Phases:
    """The work of one sweep: what cells share is done once, and each cell is saved as soon as it is finished.

    A part that fails takes with it the cells that need it; the rest continue.
    """

    parts: Parts
    folder: SweepFolder
    plan: Plan
    workers: Workers = HERE
    progress: bool | None = None
    _failures: dict[str, str] = field(default_factory=dict)
    """For each cell that failed, by its key, why."""
    _in_memory: dict[Cell, Evaluation] = field(default_factory=dict)
    _answered: list[Cell] = field(default_factory=list)
    """Users' systems that have answered every query."""
    _saved: set[Cell] = field(default_factory=set)
    """What this run has saved."""

    def run(self) -> None:
        """Do everything that is not done yet."""
        finished = finished_cells(self.folder, self.plan.cells)
        todo = [cell for cell in self.plan.cells if cell.key not in finished]
        again = self.folder.unanswered()
        missing = [source for source in self.plan.sources if source.key in again or not self._is_saved(source)]
        indexes = [source for source in missing if source.system is None]
        rerankers = list(dict.fromkeys(cell.reranker for cell in todo if cell.reranker != NO_RERANKER))
        is_timed = bool(self.parts.sweep.latency)
        with steps(len(self.plan.embeddings) + len(missing) + len(rerankers) + is_timed):
            self._embed(indexes)
            self._retrieve(indexes)
            self._ask_systems([source for source in missing if source.system is not None])
            for reranker in rerankers:
                self._rerank(reranker, [cell for cell in todo if cell.reranker == reranker])
            self._forget_answers()
            if is_timed:
                self._time()
        self.folder.set_failures(self._failures)

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
                with step(f"embed with {model}", show=show):
                    embed(embedder, texts, "document", cache, progress=show, workers=workers)
                    # A query that the model refuses is asked again with its retrieval, and fails alone
                    with suppress(ModelOutputError):
                        embed(embedder, self.parts.queries, "query", cache, progress=show, workers=workers)

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
                if source.key not in self._failures:
                    with self._failing([source]), self._retrieving(source):
                        retriever = self.parts.retriever(source)
                        evaluation = evaluated(retriever, self.parts.sweep, self.parts.dataset, progress=self.progress)
                        self._save(source, evaluation, self.parts.read_in_part(source))
            self.parts.forget_retrievers()

    def _ask_systems(self, sources: Sequence[Cell]) -> None:
        """Ask users' systems; one that has answered every query need not have its answers kept."""
        for source in sources:
            with self._failing([source]), self._retrieving(source):
                evaluation = ask_system(self.parts, source, self.folder.answers(source.key))
                self._save(source, evaluation, 0)
                if all(trace.error is None for trace in evaluation.run.traces):
                    self._answered.append(source)
                    self._forget_answers()

    def _retrieving(self, source: Cell) -> AbstractContextManager[None]:
        return step(f"retrieve {source.name.removesuffix(f' · {NO_RERANKER}')}", show=self.progress)

    def _forget_answers(self) -> None:
        """Let go of the answers of systems whose cells are all measured: while they stay, cells are measured again."""
        for source in self._answered:
            if {cell for cell in self.plan.cells if source_of(cell) == source} <= self._saved:
                self.folder.forget_answers(source.key)

    def _rerank(self, name: str, cells: Sequence[Cell]) -> None:
        """Score every distinct pair once, then measure the cells with the scores that are in the cache."""
        pairs = self._pairs(list(dict.fromkeys(map(source_of, cells))))
        remaining = [cell for cell in cells if source_of(cell).key not in self._failures]
        with self._failing(remaining), step(f"rerank with {name}", show=self.progress):
            score_pairs(self.parts.reranker(name), pairs, self.workers)
            with track("measure", len(remaining), "cells", show=self.progress) as advance:
                for cell in remaining:
                    with self._failing([cell]):
                        source = self._evaluation(source_of(cell))
                        read_in_part = source.run.spec.get("sweep", {}).get("read_in_part", 0)
                        self._save(cell, reranked(self.parts, source, name), read_in_part)
                    advance(1)

    def _pairs(self, sources: Sequence[Cell]) -> set[Pair]:
        """Return the distinct pairs of all candidates; a source that cannot be read takes its cells with it."""
        pairs: set[Pair] = set()
        for source in sources:
            if source.key in self._failures:
                continue
            try:
                pairs |= candidate_pairs(self._evaluation(source))
            except RunError as error:  # another process wrote it
                self._fail([source], str(error))
        return pairs

    def _time(self) -> None:
        """Time the cells' stages one query at a time: what was shared above was not done for one query."""
        finished = self.folder.finished()
        with step("time the configurations", show=self.progress):
            for cell in (cell for cell in self.plan.cells if cell.key in finished):
                try:
                    self._time_cell(cell)
                except CacheError:
                    raise
                except Exception as error:  # noqa: BLE001 — the cell is measured, whatever becomes of its timing
                    show = self.progress is not False
                    notice(f"{cell.name} could not be timed: {describe_error(error)}", show=show)

    def _time_cell(self, cell: Cell) -> None:
        try:
            evaluation = self.folder.load(cell.key, self.parts.dataset, is_cell=True)
        except RunError:  # said where the result is read
            return
        if evaluation.run.cost is not None and evaluation.run.cost.latencies:
            return
        cost = latency_of(evaluation, self.parts.stages(cell), self.parts.sweep, self.progress)
        self.folder.save(cell.key, replace(evaluation, run=replace(evaluation.run, cost=cost)), is_cell=True)

    def _save(self, cell: Cell, evaluation: Evaluation, read_in_part: int) -> None:
        """Write an evaluation, with what it is in the sweep."""
        mark = {
            "name": cell.name,
            "cell": cell.to_dict(),
            "read_in_part": read_in_part,
            "models": self.parts.models(cell),
        }
        run = replace(evaluation.run, spec={**evaluation.run.spec, "sweep": mark})
        marked = replace(evaluation, run=run)
        self.folder.save(cell.key, marked, is_cell=cell in self.plan.cells)
        self._saved.add(cell)
        if cell.reranker == NO_RERANKER:
            self._remember(cell, marked)

    def _evaluation(self, source: Cell) -> Evaluation:
        """Return the evaluation of a cell that is finished."""
        if source not in self._in_memory:
            is_cell = source in self.plan.cells
            self._remember(source, self.folder.load(source.key, self.parts.dataset, is_cell=is_cell))
        return self._in_memory[source]

    def _remember(self, source: Cell, evaluation: Evaluation) -> None:
        while len(self._in_memory) >= _EVALUATIONS_IN_MEMORY:
            del self._in_memory[next(iter(self._in_memory))]
        self._in_memory[source] = evaluation

    def _is_saved(self, cell: Cell) -> bool:
        return is_folder(self.folder.place(cell.key, is_cell=cell in self.plan.cells))

    @contextmanager
    def _failing(self, cells: Sequence[Cell]) -> Iterator[None]:
        """Let an error of the work inside fail the cells that need it, and nothing else."""
        try:
            yield
        except (CacheError, RunError):  # nothing can be kept any more
            raise
        except QueryFailed as error:  # every query: a single one that failed is kept
            self._fail(cells, str(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever a model, a splitter or a system raises
            self._fail(cells, describe_error(error))

    def _fail(self, cells: Sequence[Cell], reason: str) -> None:
        """Note why cells failed, and with them those that rerank their candidates."""
        for cell in (*cells, *(cell for cell in self.plan.cells if source_of(cell) in cells)):
            self._failures.setdefault(cell.key, reason)
        self.folder.set_failures(self._failures)


def finished_cells(folder: SweepFolder, cells: Iterable[Cell]) -> set[str]:
    """Return the keys of the cells that need not be measured again: those of systems that failed on no query."""
    again = folder.unanswered()
    return folder.finished() - {cell.key for cell in cells if source_of(cell).key in again}
