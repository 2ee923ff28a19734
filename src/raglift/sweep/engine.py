"""Runs a sweep: shared work once, and each cell kept as soon as it is finished."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from raglift.errors import CacheError, RunError
from raglift.execution.policy import describe_error
from raglift.indexing import embed
from raglift.metrics import parse
from raglift.progress import listen, show_status
from raglift.sweep.cells import NO_RERANKER, Cell
from raglift.sweep.course import Course, Step
from raglift.sweep.measuring import Measurement, Outcome, ask_system, candidate_pairs, evaluated, latency_of, measure
from raglift.sweep.parts import parts_of, source_of
from raglift.sweep.result import CellResult, SweepResult
from raglift.work import HERE, Workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.indexing import Embedder
    from raglift.records import Dataset, Evaluation
    from raglift.reranking.pairs import Pair
    from raglift.sweep.folder import SweepFolder
    from raglift.sweep.parts import Parts
    from raglift.sweep.plan import Plan

__all__ = ["Engine", "read_result"]

_EVALUATIONS_AT_HAND = 32
_TIMING_LABEL = "time the cells"


@dataclass
class Engine:
    """One sweep on its way.

    Work goes through four phases, each for all cells: embed, retrieve, score pairs, and measure the cells that rerank.
    A part that fails takes with it the cells that need it; the rest go on.
    """

    parts: Parts
    folder: SweepFolder
    plan: Plan
    workers: Workers = HERE
    progress: bool | None = None
    _failures: dict[str, str] = field(default_factory=dict)
    """For each cell that failed, by its key, why."""
    _at_hand: dict[Cell, Evaluation] = field(default_factory=dict)
    _course: Course = field(default_factory=lambda: Course([], print))

    def run(self) -> SweepResult:
        """Do everything that is not done yet.

        Raises:
            RunError: a finished cell cannot be written.
            CacheError: the cache cannot be read or written.
        """
        finished = self.folder.finished()
        todo = [cell for cell in self.plan.cells if cell.key not in finished]
        missing = [s for s in self.plan.sources if not self.folder.place(s.key, is_cell=self._is_cell(s)).is_dir()]
        own = [source for source in missing if source.system is None]
        with show_status(show=self.progress) as say:
            self._course = Course(_steps(self.plan, todo, missing, latency=self.parts.sweep.latency), say)
            with listen(self._course.advance):
                self._embed(own)
                self._retrieve(own)
                self._ask_systems([source for source in missing if source.system is not None])
                for reranker in dict.fromkeys(cell.reranker for cell in todo if cell.reranker != NO_RERANKER):
                    self._rerank(reranker, [cell for cell in todo if cell.reranker == reranker])
                if self.parts.sweep.latency:
                    self._time()
        self.folder.set_failures(self._failures)
        return read_result(self.folder, self.parts.dataset)

    def _embed(self, sources: Sequence[Cell]) -> None:
        """Put every distinct text through each model once, and every query."""
        needed = list(dict.fromkeys(part for source in sources for part in (*parts_of(source), source)))
        cache, show = self.parts.cache, self.progress
        for model in dict.fromkeys(part.embedding for part in needed if part.embedding is not None):
            with self._failing([source for source in sources if source.embedding == model]):
                embedder = self.parts.embedder(model)
                # A provider limits the rate of a key, not of a machine: its requests come from one process
                workers = HERE if hasattr(embedder, "tokens_billed") else self.workers
                texts = self._texts([part for part in needed if part.embedding == model])
                with self._billing(model, embedder):
                    with self._course.taking(_embedding_label(model)):
                        embed(embedder, texts, "document", cache, progress=show, workers=workers)
                    with self._course.taking(_query_label(model)):
                        embed(embedder, self.parts.queries, "query", cache, progress=show)

    def _texts(self, needed: Sequence[Cell]) -> list[str]:
        """Return the distinct texts of the chunks of some cells; a chunker that fails takes its cells with it."""
        texts: dict[str, None] = {}
        for chunker in dict.fromkeys(str(part.chunker) for part in needed):
            with self._failing([source for source in self.plan.sources if source.chunker == chunker]):
                texts.update(dict.fromkeys(chunk.text for chunk in self.parts.chunks(chunker)))
        return list(texts)

    def _retrieve(self, sources: Sequence[Cell]) -> None:
        """Retrieve once from each index."""
        for chunker in dict.fromkeys(source.chunker for source in sources):
            for source in (source for source in sources if source.chunker == chunker):
                if source.key in self._failures:
                    self._course.skip(_retrieval_label(source))
                    continue
                with self._failing([source]), self._course.taking(_retrieval_label(source)):
                    retriever = self.parts.retriever(source)
                    evaluation = evaluated(retriever, self.parts.sweep, self.parts.dataset, progress=self.progress)
                    self._keep(source, evaluation, self.parts.read_in_part(source))
                    self._course.advance("rankings", 1)
            self.parts.forget_retrievers()

    def _ask_systems(self, sources: Sequence[Cell]) -> None:
        """Ask users' systems; an object cannot be sent elsewhere, so it is asked here."""
        there = [source for source in sources if self.parts.sweep.system(str(source.system)).reference is not None]
        here = [source for source in sources if source not in there]
        for workers, asked in ((self.workers, there), (HERE, here)):
            progress = self.progress if workers is HERE else False
            ask = partial(ask_system, self.parts.sweep, self.parts.dataset, progress)
            for source, outcome in workers.map(ask, asked):
                with self._course.taking(_retrieval_label(source)):
                    self._settle(source, outcome, 0)
                    self._course.advance("rankings", 1)

    def _rerank(self, name: str, cells: Sequence[Cell]) -> None:
        """Score every distinct pair once, then measure the cells."""
        alive = [cell for cell in cells if source_of(cell).key not in self._failures]
        with self._failing(alive):
            reranker = self.parts.reranker(name)
            pairs: set[Pair] = set()
            for source in dict.fromkeys(map(source_of, alive)):
                pairs |= candidate_pairs(self._evaluation(source))
            with self._course.taking(_scoring_label(name), len(pairs)):
                scores = reranker.scores(sorted(pairs), workers=self.workers)
            with self._course.taking(_measuring_label(name)):
                for item, outcome in self.workers.map(measure, list(self._measurements(name, alive, scores))):
                    self._settle(item.cell, outcome, item.source.run.spec["sweep"]["read_in_part"])
                    self._course.advance("cells", 1)

    def _measurements(self, name: str, cells: Sequence[Cell], scores: dict[Pair, float]) -> Iterator[Measurement]:
        title = self.parts.reranker_title(name)
        for cell in cells:
            source = self._evaluation(source_of(cell))
            yield Measurement(cell, source, title, {pair: scores[pair] for pair in candidate_pairs(source)})

    def _time(self) -> None:
        """Time the cells' stages, here and one query at a time: what was shared above was not done for one query."""
        with self._course.taking(_TIMING_LABEL):
            for cell in self.plan.cells:
                if cell.key not in self.folder.finished():
                    continue
                evaluation = self.folder.load(cell.key, self.parts.dataset, is_cell=True)
                if evaluation.run.cost is None or not evaluation.run.cost.latencies:
                    with self._failing([cell]):
                        cost = latency_of(evaluation, self.parts.stages(cell), self.parts.sweep, self.progress)
                        self.folder.save(
                            cell.key, replace(evaluation, run=replace(evaluation.run, cost=cost)), is_cell=True
                        )
                self._course.advance("cells", 1)

    def _settle(self, cell: Cell, outcome: Outcome, read_in_part: int) -> None:
        if outcome.evaluation is None:
            self._fail([cell], str(outcome.error))
        else:
            self._keep(cell, outcome.evaluation, read_in_part)

    def _keep(self, cell: Cell, evaluation: Evaluation, read_in_part: int) -> None:
        """Write an evaluation, with what it is in the sweep."""
        mark = {"name": cell.name, "cell": cell.to_dict(), "read_in_part": read_in_part}
        cost = evaluation.run.cost
        if cost is not None:  # what was billed was for all cells of the model
            cost = replace(cost, tokens_billed=None, dollars=None)
        run = replace(evaluation.run, spec={**evaluation.run.spec, "sweep": mark}, cost=cost)
        marked = replace(evaluation, run=run)
        self.folder.save(cell.key, marked, is_cell=self._is_cell(cell))
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

    @contextmanager
    def _billing(self, model: str, embedder: Embedder) -> Iterator[None]:
        """Keep what the work inside was billed for, however it ends."""
        before = getattr(embedder, "tokens_billed", 0)
        try:
            yield
        finally:
            self.folder.add_bill(model, getattr(embedder, "tokens_billed", 0) - before)

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


def read_result(folder: SweepFolder, dataset: Dataset | None = None) -> SweepResult:
    """Return what is finished of a sweep, and what failed.

    Args:
        folder: where it is kept.
        dataset: what it was measured on, with its documents; without it, evaluations have the queries alone.

    Raises:
        RunError: something in the folder is damaged.
    """
    head, failures, finished = folder.head(), folder.failures(), folder.finished()
    results = []
    for cell in map(Cell.of, head["cells"]):
        if cell.key not in finished:
            results.append(CellResult(cell, error=failures.get(cell.key)))
            continue
        evaluation = folder.load(cell.key, dataset, is_cell=True)
        results.append(CellResult(cell, evaluation, read_in_part=int(evaluation.run.spec["sweep"]["read_in_part"])))
    return SweepResult(
        head["title"], parse(head["primary"]), int(head["seed"]), tuple(results), folder.path, folder.billed()
    )


def _steps(plan: Plan, todo: Sequence[Cell], missing: Sequence[Cell], *, latency: int) -> list[Step]:
    """Return what is to be done, in the order in which it is."""
    steps = []
    for entry in plan.embeddings:
        steps.append(Step(_embedding_label(entry.model), "chunks", _known(entry.missing, entry.texts)))
        steps.append(Step(_query_label(entry.model), "queries", _known(entry.missing_queries, entry.queries)))
    steps += [Step(_retrieval_label(source), "rankings", 1) for source in missing]
    for planned in plan.rerankings:
        cells = sum(cell.reranker == planned.reranker for cell in todo)
        steps.append(Step(_scoring_label(planned.reranker), "pairs", _known(planned.missing, planned.pairs)))
        steps.append(Step(_measuring_label(planned.reranker), "cells", cells))
    if latency:
        steps.append(Step(_TIMING_LABEL, "cells", len(plan.cells)))
    return steps


def _known(exact: int | None, most: int) -> int:
    return most if exact is None else exact


def _embedding_label(model: str) -> str:
    return f"embed with {model}"


def _query_label(model: str) -> str:
    return f"embed queries with {model}"


def _retrieval_label(source: Cell) -> str:
    return f"retrieve {source.name.removesuffix(f' · {NO_RERANKER}')}"


def _scoring_label(reranker: str) -> str:
    return f"score with {reranker}"


def _measuring_label(reranker: str) -> str:
    return f"measure with {reranker}"
