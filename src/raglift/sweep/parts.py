"""What cells share: chunks, models, indexes and rankings, each made once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from raglift.cache import Cache, default_cache
from raglift.errors import ConfigurationError, ModelOutputError
from raglift.indexing import build_index
from raglift.integrations.adapt import adapt_reranker, adapt_system, named_stages
from raglift.integrations.embeddings import embedder_by_name
from raglift.integrations.splitters import chunker_by_name
from raglift.records import Ranking
from raglift.references import load_system
from raglift.reranking.pairs import PairReranker, sorted_by_score
from raglift.retrieval import BM25Retriever, DenseRetriever, HybridRetriever
from raglift.sweep.specification.cells import NO_RERANKER, Cell, RetrieverSpec
from raglift.systems import chunks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raglift.execution import RerankStage, Stage
    from raglift.indexing import Embedder
    from raglift.records import Chunk, Dataset
    from raglift.reranking.pairs import Pair
    from raglift.sweep.specification.record import Sweep

__all__ = ["KnownScores", "Parts", "Remembered", "parts_of", "source_of"]


def source_of(cell: Cell) -> Cell:
    """Return the cell without its reranker: what its candidates come from."""
    return replace(cell, reranker=NO_RERANKER)


class Remembered:
    """A retriever that is asked once and remembers what it answered."""

    def __init__(self, retriever: Any) -> None:
        self._retriever = retriever
        self._asked: tuple[tuple[str, ...], int] = ((), 0)
        self._rankings: list[Ranking] = []

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the first `k` hits of each query."""
        known, depth = self._asked
        if known != tuple(queries) or depth < k:
            self._rankings = self._retriever.retrieve(queries, k)
            self._asked = (tuple(queries), k)
        return [Ranking(ranking.hits[:k]) for ranking in self._rankings]

    def __getattr__(self, name: str) -> Any:
        """Everything else is the retriever's own: its chunks, its index, its cost."""
        return getattr(self._retriever, name)

    def __str__(self) -> str:
        return str(self._retriever)


class KnownScores:
    """A reranker whose scores are known already.

    Args:
        identity: what gave the scores.
        known: the score of each pair that it will be asked for.
    """

    def __init__(self, identity: str, known: Mapping[Pair, float]) -> None:
        self._identity = identity
        self._known = known

    def __str__(self) -> str:
        return self._identity

    def rerank(self, queries: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        """Sort the hits of each ranking by their score; equal scores keep their order.

        Raises:
            ModelOutputError: the reranker gave no score for one of the pairs.
        """
        return [
            sorted_by_score(ranking, [self._score(query, chunk.text) for chunk in ranking.chunks])
            for query, ranking in zip(queries, rankings, strict=True)
        ]

    def _score(self, query: str, text: str) -> float:
        score = self._known.get((query, text))
        if score is None:
            raise ModelOutputError(f"{self._identity} gave no score for the query {query[:80]!r}")
        return score


@dataclass
class Parts:
    """The parts that the cells of a sweep are made of, each made when it is first asked for."""

    sweep: Sweep
    dataset: Dataset
    progress: bool | None = None
    cache: Cache = field(default_factory=default_cache)
    _chunks: dict[str, tuple[Chunk, ...]] = field(default_factory=dict, repr=False)
    _embedders: dict[str, Embedder] = field(default_factory=dict, repr=False)
    _rerankers: dict[str, RerankStage] = field(default_factory=dict, repr=False)
    _retrievers: dict[Cell, Remembered] = field(default_factory=dict, repr=False)
    _systems: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def depth(self) -> int:
        """How many hits are retrieved for each query."""
        return max(self.sweep.candidates, *(k for k in self.sweep.ks if isinstance(k, int)))

    @property
    def queries(self) -> list[str]:
        """The texts of the queries."""
        return [query.text for query in self.dataset.queries]

    def chunks(self, chunker: str) -> tuple[Chunk, ...]:
        """Return the dataset's documents, split."""
        if chunker not in self._chunks:
            self._chunks[chunker] = chunks_of(self.dataset, chunker_by_name(chunker))
        return self._chunks[chunker]

    def embedder(self, model: str) -> Embedder:
        """Return an embedding model."""
        if model not in self._embedders:
            self._embedders[model] = embedder_by_name(model, dtype=self.sweep.dtype)
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
        """Return which model each name in a cell stands for now: files, settings and servers may change."""
        found = {} if cell.embedding is None else {cell.embedding: self.embedder(cell.embedding).identity}
        return found if cell.reranker == NO_RERANKER else {**found, cell.reranker: self.reranker_title(cell.reranker)}

    def _stage(self, name: str) -> RerankStage:
        if name not in self._rerankers:
            (self._rerankers[name],) = adapt_reranker(name, dtype=self.sweep.dtype, progress=self.progress)
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
            raise ConfigurationError(f"{source.name}: found no chunker; expected a cell of raglift's own parts")
        kind = source.retriever.kind
        if kind == "bm25":
            return BM25Retriever(self.chunks(source.chunker))
        if kind == "dense":
            embedder = self.embedder(str(source.embedding))
            return DenseRetriever(
                build_index(self.chunks(source.chunker), embedder, cache=self.cache, progress=self.progress)
            )
        parts = [make_part(part) for part in parts_of(source)]
        return HybridRetriever(parts, source.retriever.weights, constant=source.retriever.constant)

    def read_in_part(self, source: Cell) -> int:
        """Return how many distinct chunks the cell's embedding model reads only the beginning of, as far as known."""
        dense = [part for part in (*parts_of(source), source) if part.retriever == RetrieverSpec("dense")]
        return sum(self.retriever(part).index.read_in_part or 0 for part in dense)

    def forget_retrievers(self) -> None:
        """Let go of indexes and rankings; they are made again, from the cache, when they are asked for."""
        self._retrievers.clear()


def parts_of(source: Cell) -> list[Cell]:
    """Return the cells whose rankings a hybrid cell fuses; none for another."""
    if source.retriever is None or source.retriever.kind != "hybrid":
        return []
    return [
        replace(source, retriever=RetrieverSpec("dense")),
        replace(source, retriever=RetrieverSpec("bm25"), embedding=None),
    ]
