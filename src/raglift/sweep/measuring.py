"""Measuring one cell of a sweep, and the parts that cells share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raglift.adapters.adapt import adapt_reranker, adapt_system, named_stages
from raglift.adapters.embeddings import embedder_by_name
from raglift.adapters.policy import Policy
from raglift.adapters.splitters import chunker_by_name
from raglift.errors import ConfigurationError, ModelOutputError
from raglift.matching.provenance import Provenance
from raglift.retrieval.embedding import Embedder, build_index
from raglift.retrieval.rerankers import Pair, PairReranker
from raglift.retrieval.retrievers import DenseRetriever, HybridRetriever, RetrieverSpec
from raglift.running.evaluation import evaluate, rerank
from raglift.running.filling import without_filling
from raglift.running.latency import OneAtATime, measure_latency
from raglift.running.settings import MeasuringSettings
from raglift.running.systems import chunks_of, load_system
from raglift.sweep.specification.cells import NO_RERANKER, Cell
from raglift.types.rankings import Cost, Ranking
from raglift.utilities.cache import Cache, default_cache

if TYPE_CHECKING:
    from raglift.adapters.stages import RerankStage, Stage
    from raglift.results.evaluation import Evaluation
    from raglift.retrieval.batches import Workers
    from raglift.sweep.specification.record import Sweep
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk
    from raglift.types.filters import Filter


# Shared by cells: chunks, models, indexes and rankings, each computed once.


def source_of(cell: Cell) -> Cell:
    """Return the cell without its reranker: what its candidates come from."""
    return replace(cell, reranker=NO_RERANKER)


class Remembered:
    """A retriever that is asked once and remembers what it answered.

    Asked for more hits than before, it returns those that it returned before, and behind them the others: a fusion or
    an approximate index may rank otherwise when more hits are asked for.
    """

    def __init__(self, retriever: Any) -> None:
        self._retriever = retriever
        self._known: dict[tuple[str, Filter | None], tuple[int, Ranking]] = {}

    def retrieve(self, queries: Sequence[str], k: int, filters: Sequence[Filter | None] | None = None) -> list[Ranking]:
        """Return the first `k` hits of each query."""
        keys = list(zip(queries, filters or [None] * len(queries), strict=True))
        missing = [key for key in dict.fromkeys(keys) if self._known.get(key, (0, None))[0] < k]
        if missing:
            texts = [text for text, _ in missing]
            options = {} if filters is None else {"filters": [given for _, given in missing]}
            for key, ranking in zip(missing, self._retriever.retrieve(texts, k, **options), strict=True):
                before = self._known[key][1] if key in self._known else Ranking()
                self._known[key] = (k, _continued(before, ranking, k))
        return [Ranking(self._known[key][1].hits[:k]) for key in keys]

    def __getattr__(self, name: str) -> Any:
        """Everything else is the retriever's own: its chunks, its index, its cost."""
        return getattr(self._retriever, name)

    def __str__(self) -> str:
        return str(self._retriever)


def _continued(before: Ranking, deeper: Ranking, k: int) -> Ranking:
    """Return a ranking, and behind it what else is in a deeper one, up to k hits."""
    seen = {hit.chunk.id for hit in before.hits}
    others = [hit for hit in deeper.hits if hit.chunk.id not in seen]
    return Ranking.of((hit.chunk, hit.score) for hit in [*before.hits, *others][:k]) if seen else deeper


@dataclass
class Parts:
    """The parts that the cells of a sweep are made of, each made when it is first asked for."""

    sweep: Sweep
    dataset: Dataset
    progress: bool | None = None
    cache: Cache = field(default_factory=default_cache)
    placed: tuple[str, str] | None = None
    """The number type and the device of models that compute elsewhere; None where they compute here."""
    _chunks: dict[str, Sequence[Chunk]] = field(default_factory=dict, repr=False)
    _embedders: dict[str, Embedder] = field(default_factory=dict, repr=False)
    _rerankers: dict[str, RerankStage] = field(default_factory=dict, repr=False)
    _retrievers: dict[Cell, Remembered] = field(default_factory=dict, repr=False)
    _systems: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def depth(self) -> int:
        """How many hits are retrieved for each query."""
        return max(self.sweep.candidates, *(k for k in self.sweep.ks if isinstance(k, int)))

    @property
    def computing(self) -> dict[str, Any]:
        """How models compute, as `embedder_by_name` and `adapt_reranker` take it."""
        dtype, device = self.placed or (self.sweep.dtype, self.sweep.device)
        return {"dtype": dtype, "device": device, "batch_size": self.sweep.batch_size}

    @property
    def queries(self) -> list[str]:
        """The texts of the queries."""
        return [query.text for query in self.dataset.queries]

    def chunks(self, chunker: str) -> Sequence[Chunk]:
        """Return the dataset's documents, split."""
        if chunker not in self._chunks:
            self._chunks[chunker] = chunks_of(self.dataset, chunker_by_name(chunker))
        return self._chunks[chunker]

    def texts(self, chunker: str) -> list[str]:
        """Return what an embedding model embeds of each chunk."""
        return [chunk.indexed_text for chunk in self.chunks(chunker)]

    def embedder(self, model: str) -> Embedder:
        """Return an embedding model."""
        if model not in self._embedders:
            self._embedders[model] = embedder_by_name(model, **self.computing)
        return self._embedders[model]

    def reranker(self, name: str) -> PairReranker:
        """Return a reranker."""
        reranker = self._stage(name).reranker
        if not isinstance(reranker, PairReranker):
            raise ConfigurationError(f"reranker: found {name!r}; expected one that scores pairs")
        return reranker

    def reranker_title(self, name: str) -> str:
        """Return what a reranker is called in evaluations."""
        return self._stage(name).system

    def models(self, cell: Cell) -> dict[str, str]:
        """Return which model each name in a cell is for now: files, settings and servers may change."""
        found = {} if cell.embedding is None else {cell.embedding: self.embedder(cell.embedding).identity}
        return found if cell.reranker == NO_RERANKER else {**found, cell.reranker: self.reranker_title(cell.reranker)}

    def _stage(self, name: str) -> RerankStage:
        if name not in self._rerankers:
            (self._rerankers[name],) = adapt_reranker(name, **self.computing, progress=self.progress)
        return self._rerankers[name]

    def retriever(self, cell: Cell) -> Remembered:
        """Return what a cell of raglift's own parts retrieves with; a hybrid shares its parts with their cells."""
        source = source_of(cell)
        if source not in self._retrievers:
            self._retrievers[source] = Remembered(self._made(source, self.retriever))
        return self._retrievers[source]

    def stages(self, cell: Cell) -> list[Stage]:
        """Return the stages of a cell as a user would run them, which remember nothing."""
        if cell.system is None:
            system: Any = self._deployed(source_of(cell))
        else:
            system = self.system(cell.system)
        retrieving = adapt_system(system, doc_key=self.sweep.doc_key)
        return named_stages([*retrieving, *([] if cell.reranker == NO_RERANKER else [self._stage(cell.reranker)])])

    def system(self, name: str) -> Any:
        """Return a system of the user's, made once: making one may take as long as filling an index."""
        if name not in self._systems:
            given = self.sweep.system(name)
            self._systems[name] = load_system(given.system, given.mapping)
        return self._systems[name]

    def _deployed(self, source: Cell) -> Any:
        return self._made(source, self._deployed)

    def _made(self, source: Cell, make_part: Callable[[Cell], Any]) -> Any:
        if source.chunker is None or source.retriever is None:
            raise ConfigurationError(
                f"{source.name}: found no chunker; expected a configuration of raglift's own parts"
            )
        kind = source.retriever.kind
        if kind == "bm25":
            return source.retriever.bm25.retriever(self.chunks(source.chunker))
        if kind == "dense":
            dense = build_index(
                self.chunks(source.chunker),
                self.embedder(str(source.embedding)),
                cache=self.cache,
                progress=self.progress,
            )
            return DenseRetriever(dense)
        parts = [make_part(part) for part in parts_of(source)]
        return HybridRetriever(parts, source.retriever.weights, constant=source.retriever.constant)

    def read_in_part(self, source: Cell) -> int:
        """Return how many distinct chunks the cell's embedding model truncates, as far as known."""
        dense = [part for part in (*parts_of(source), source) if part.retriever == RetrieverSpec("dense")]
        return sum(self.retriever(part).index.read_in_part or 0 for part in dense)

    def forget_retrievers(self) -> None:
        """Let go of indexes and rankings; they are made again, from the cache, when they are asked for."""
        self._retrievers.clear()


def parts_of(source: Cell) -> list[Cell]:
    """Return the cells whose rankings a hybrid cell fuses; none for another."""
    parts = () if source.retriever is None else source.retriever.parts
    return [
        replace(source, retriever=part) if part.needs_embedding else replace(source, retriever=part, embedding=None)
        for part in parts
    ]


# What is done for one cell.


def evaluated(
    system: Any,
    sweep: Sweep,
    dataset: Dataset,
    *,
    progress: bool | None,
    answers: Path | None = None,
) -> Evaluation:
    """Evaluate a system as a sweep asks for it, without a reranker."""
    settings: dict[str, Any] = {field.name: getattr(sweep, field.name) for field in fields(MeasuringSettings)}
    settings |= {"match": sweep.rule, "latency": None}  # cells are timed one by one in the end
    return evaluate(system, dataset, depth="deep", progress=progress, answers=answers, **settings)


def ask_system(parts: Parts, cell: Cell, answers: Path) -> Evaluation:
    """Evaluate a system of the user's."""
    spec = parts.sweep.system(str(cell.system))
    return evaluated(parts.system(spec.name), parts.sweep, parts.dataset, progress=parts.progress, answers=answers)


def score_pairs(reranker: PairReranker, pairs: Iterable[Pair], workers: Workers) -> dict[Pair, float]:
    """Return the scores of pairs; a query for which the reranker gives none loses its own pairs, and no other's."""
    ordered = sorted(pairs)
    try:
        return reranker.scores(ordered, workers=workers)
    except ModelOutputError:
        scores: dict[Pair, float] = {}
        for _, group in groupby(ordered, key=itemgetter(0)):
            with suppress(ModelOutputError):
                scores |= reranker.scores(list(group))
        return scores


def candidate_pairs(evaluation: Evaluation) -> set[Pair]:
    """Return the distinct pairs of each query with the texts of its candidates: its last ranking."""
    return {
        (query.text, chunk.text)
        for query, trace in zip(evaluation.dataset.queries, without_filling(evaluation.run), strict=True)
        if trace.error is None
        for chunk in trace.stages[-1].ranking.chunks
    }


def reranked(parts: Parts, source: Evaluation, name: str) -> Evaluation:
    """Rerank the candidates of a cell, match, and score; scores of pairs are taken from the cache."""
    evaluation = rerank(source, parts.reranker(name), policy=Policy(progress=False))
    *stages, last = evaluation.run.stages
    named = (*stages, replace(last, system=parts.reranker_title(name)))
    return replace(evaluation, run=replace(evaluation.run, stages=named))


def latency_of(evaluation: Evaluation, stages: Sequence[Stage], sweep: Sweep, progress: bool | None) -> Cost:
    """Return the cost of an evaluation with the seconds of its stages, asked one query at a time."""
    policy, provenance = Policy(progress=progress), Provenance(evaluation.dataset, sweep.doc_key)
    candidates = int(evaluation.run.spec["candidates"])
    answered = zip(evaluation.dataset.queries, evaluation.run.traces, strict=True)
    queries = [query for query, trace in answered if trace.error is None]
    asked = OneAtATime(stages, candidates, policy, provenance)
    latencies, whole = measure_latency(asked, [query.text for query in queries], sweep.latency, seed=sweep.seed)
    return replace(evaluation.run.cost or Cost(), latencies=latencies, whole=whole)
