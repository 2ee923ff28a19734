"""A system of raglift's own parts as a run describes it, and rankings of it with one thing changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from raglift.adapters.adapt import adapt_reranker, adapt_system
from raglift.adapters.embeddings import embedder_by_name
from raglift.adapters.splitters import chunker_by_name
from raglift.adapters.stages import RetrieveStage
from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.repairing.windows import WindowedReranker, windowed
from raglift.retrieval.embedding import Embedder, build_index
from raglift.retrieval.rerankers import PairReranker
from raglift.retrieval.retrievers import DenseRetriever, HybridRetriever, parse_retriever
from raglift.text.normalization import normalize
from raglift.text.tokens import EstimatedTokens, TokenCounts, is_encoding_available
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from raglift.matching.rule import MatchRule
    from raglift.results.evaluation import Evaluation
    from raglift.types.dataset import Dataset
    from raglift.types.documents import Chunk
    from raglift.types.filters import Filter
    from raglift.types.labels import Fact, Query

NO_RERANKER = "none"
GIVEN = "given"
"""The retriever or reranker of a user's own that was handed over."""


@dataclass(frozen=True)
class System:
    """A system of raglift's own parts."""

    retriever: str
    """As `parse_retriever` reads it."""
    chunker: str
    """As `chunker_by_name` reads it."""
    embedding: str | None
    """The embedding model; None for BM25 alone."""
    reranker: str
    """The reranker, or `none`."""
    candidates: int
    """How many hits the reranker gets, or without one how many are retrieved."""
    k: int
    """By which rank a fact is to be found."""
    is_filtered: bool = True
    """Whether filters of the queries hold."""
    has_copies: bool = True
    """Whether hits that nearly repeat what a passage matches, in other documents, are left in a ranking."""
    embeds_whole: bool = False
    """Whether chunks that the embedding model would truncate are embedded window by window."""
    scores_whole: bool = False
    """Whether hits that the reranker would truncate are scored window by window."""

    @property
    def source(self) -> System:
        """The same without what comes after retrieval."""
        return replace(self, reranker=NO_RERANKER, k=0, has_copies=True, scores_whole=False)


def system_of(evaluation: Evaluation, k: int, given: Given | None, reranker: Any) -> System | None:
    """Return the system that a run describes, or that was handed over; None for one whose parts are not known.

    Args:
        evaluation: of the run.
        k: by which rank a fact is to be found.
        given: the parts that were handed over.
        reranker: the name of a reranker that goes with them.
    """
    spec = evaluation.run.spec
    if given is not None:
        name = GIVEN if given.reranker is not None else reranker or NO_RERANKER
        return System(GIVEN, GIVEN, None, name, int(spec["candidates"]), k)
    parts = spec.get("parts") or spec.get("sweep", {}).get("cell", {})
    if "retriever" not in parts or "chunker" not in parts:
        return None
    embedding = parts.get("embedding") if parse_retriever(parts["retriever"]).needs_embedding else None
    reranker = parts.get("reranker", NO_RERANKER)
    return System(parts["retriever"], parts["chunker"], embedding, reranker, int(spec["candidates"]), k)


@dataclass(frozen=True, eq=False)
class Given:
    """The parts of a system of the user's, to be asked again."""

    retriever: Any
    reranker: Any = None

    @classmethod
    def of(cls, system: Any, reranker: Any) -> Given:
        """Return the parts of a system of one retriever, and a reranker that is an object.

        Raises:
            UnsupportedSystem: an object that no adapter knows.
            ConfigurationError: a system of several stages.
        """
        stages = adapt_system(system)
        if len(stages) != 1 or not isinstance(stages[0], RetrieveStage):
            raise ConfigurationError(
                f"system: found one of {len(stages)} stages; expected its retriever alone, and what reranks its hits "
                "as reranker="
            )
        reranking = [] if reranker is None or isinstance(reranker, str) else adapt_reranker(reranker)
        return cls(stages[0].retriever, reranking[0].reranker if reranking else None)


@dataclass(eq=False)
class Trials:
    """Systems over one dataset, each really asked; what two of them share is computed once."""

    dataset: Dataset
    """With its documents."""
    rule: MatchRule
    """What counts as a match."""
    settings: dict[str, Any]
    """How models compute, as `embedder_by_name` takes it."""
    progress: bool | None = None
    given: Given | None = None
    queries: tuple[Query, ...] = ()
    """The labelled ones."""
    counter: TokenCounts = field(
        default_factory=lambda: TokenCounts() if is_encoding_available() else EstimatedTokens()
    )
    """What counts the tokens of a prompt."""
    _documents: str = field(default="", repr=False)
    _chunks: dict[str, Sequence[Chunk]] = field(default_factory=dict, repr=False)
    _retrievers: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)
    _retrieved: dict[System, list[Ranking]] = field(default_factory=dict, repr=False)
    _embedders: dict[str, Embedder] = field(default_factory=dict, repr=False)
    _rerankers: dict[str, PairReranker] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.dataset.documents:
            raise ConfigurationError(
                f"{self.dataset.name}: found no documents; expected those that were searched, to try another system "
                "over them (--dataset FOLDER)"
            )
        if is_encoding_available():
            self.counter = TokenCounts()
        self.queries = tuple(query for query in self.dataset.queries if query.is_labelled)

    def is_in_documents(self, text: str) -> bool:
        """Whether a text is in a document, as far as white space and letter case go."""
        if not self._documents:
            self._documents = "\n".join(normalize(document.text) for document in self.dataset.documents)
        return normalize(text) in self._documents

    def allows(self, wanted: Filter, fact: Fact) -> bool:
        """Whether a filter lets the document of some passage of a fact be found, as far as documents tell."""
        documents = self.dataset.document_by_id
        named = [documents[one.doc_id] for one in fact.passages if one.doc_id and one.doc_id in documents]
        return not named or any(wanted.matches(document.metadata) for document in named)

    def chunks(self, chunker: str) -> Sequence[Chunk]:
        """Return the documents, split."""
        if chunker not in self._chunks:
            self._chunks[chunker] = chunker_by_name(chunker).split(self.dataset.documents)
        return self._chunks[chunker]

    def ranks(self, system: System, places: Sequence[int]) -> dict[tuple[int, int], int]:
        """Return the rank at which a system finds each fact that it finds at all, by query and fact of the query.

        Args:
            system: what is asked.
            places: of which queries, as indices of `queries`.
        """
        asked, rankings = [self.queries[place] for place in places], self.rankings(system, places)
        (table,) = match_rankings(asked, [rankings], self.rule)
        if not system.has_copies:
            relevant: list[set[int]] = [set() for _ in places]
            for query, rank in zip(table.matches.query.tolist(), table.matches.rank.tolist(), strict=True):
                relevant[query].add(rank)
            (table,) = match_rankings(asked, [list(map(without_copies, rankings, relevant))], self.rule)
        first = table.facts.first_of_query(table.first.query)
        columns = (table.first.query, table.first.fact - first, table.first.rank)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {(places[query], fact): rank for query, fact, rank in rows}

    def rankings(self, system: System, places: Sequence[int]) -> list[Ranking]:
        """Return the last ranking of some queries."""
        retrieved = self.retrieved(system.source)
        found = [retrieved[place] for place in places]
        if system.reranker != NO_RERANKER:
            found = self._reranked(system, [self.queries[place].text for place in places], found)
        return found

    def _reranked(self, system: System, texts: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        of_user = self.given is not None and system.reranker == GIVEN
        reranker: Any = self.given.reranker if of_user and self.given else self.reranker(system.reranker)
        if system.scores_whole and isinstance(reranker, PairReranker):
            reranker = WindowedReranker(reranker)
        if hasattr(reranker, "rerank"):
            return list(reranker.rerank(texts, rankings))
        return [reranker.rerank_one(text, ranking) for text, ranking in zip(texts, rankings, strict=True)]

    def tokens(self, system: System) -> float:
        """Return the mean tokens of the first k hits of a query."""
        rankings = self.rankings(system, range(len(self.queries)))
        texts = [[hit.chunk.text for hit in ranking.hits[: system.k]] for ranking in rankings]
        counts = self.counter.of([text for of in texts for text in of])
        return float(counts.sum()) / max(len(texts), 1)

    def retrieved(self, source: System) -> list[Ranking]:
        """Return what is retrieved for every query."""
        if source not in self._retrieved:
            retriever = self._retriever(source)
            filters = [query.filter for query in self.queries]
            is_filtered = source.is_filtered and any(filters) and getattr(retriever, "takes_filters", False)
            options = {"filters": filters} if is_filtered else {}
            texts = [query.text for query in self.queries]
            if hasattr(retriever, "retrieve"):
                found = retriever.retrieve(texts, source.candidates, **options)
            else:
                found = [retriever.retrieve_one(text, source.candidates) for text in texts]
            self._retrieved[source] = list(found)
        return self._retrieved[source]

    def embedder(self, model: str) -> Embedder:
        """Return an embedding model."""
        if model not in self._embedders:
            self._embedders[model] = embedder_by_name(model, **self.settings)
        return self._embedders[model]

    def reranker(self, name: str) -> PairReranker:
        """Return a reranker by name."""
        if name not in self._rerankers:
            (stage,) = adapt_reranker(name, **self.settings, progress=self.progress)
            if not isinstance(stage.reranker, PairReranker):
                raise ConfigurationError(f"reranker: found {name!r}; expected one that scores pairs")
            self._rerankers[name] = stage.reranker
        return self._rerankers[name]

    def _retriever(self, source: System) -> Any:
        if source.retriever == GIVEN and self.given is not None:
            return self.given.retriever
        spec = parse_retriever(source.retriever)
        make = {
            "dense": partial(self._dense, source),
            "bm25": partial(self._bm25, source),
            "hybrid": partial(self._hybrid, source),
        }[spec.kind]
        key = (source.retriever, source.chunker, source.embedding, source.embeds_whole)
        if key not in self._retrievers:
            self._retrievers[key] = make()
        return self._retrievers[key]

    def _dense(self, source: System) -> Any:
        index = build_index(self.chunks(source.chunker), self.embedder(str(source.embedding)), progress=self.progress)
        return windowed(index) if source.embeds_whole else DenseRetriever(index)

    def _bm25(self, source: System) -> Any:
        return parse_retriever(source.retriever).bm25.retriever(self.chunks(source.chunker))

    def _hybrid(self, source: System) -> Any:
        spec = parse_retriever(source.retriever)
        dense = self._retriever(replace(source, retriever="dense"))
        bm25 = self._retriever(replace(source, retriever=str(spec.parts[1]), embedding=None, embeds_whole=False))
        return HybridRetriever([dense, bm25], spec.weights, constant=spec.constant)


_ALIKE = 0.85


def without_copies(ranking: Ranking, relevant: AbstractSet[int]) -> Ranking:
    """Return a ranking without the hits of other documents that nearly repeat a relevant one, as outdated copies do.

    Args:
        ranking: with copies.
        relevant: the ranks of the hits that match a passage.
    """
    from rapidfuzz.fuzz import partial_ratio

    wanted = [hit.chunk for hit in ranking.hits if hit.rank in relevant]
    left = [
        hit
        for hit in ranking.hits
        if hit.rank in relevant
        or not any(
            hit.chunk.doc_id != chunk.doc_id and partial_ratio(hit.chunk.text, chunk.text, score_cutoff=100 * _ALIKE)
            for chunk in wanted
        )
    ]
    return Ranking.of((hit.chunk, hit.score) for hit in left)
