"""A system of raglift's own parts as a run describes it, and rankings of it with one thing changed."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from raglift.adapters.adapt import adapt_reranker
from raglift.adapters.embeddings import embedder_by_name
from raglift.adapters.splitters import chunker_by_name
from raglift.errors import ConfigurationError
from raglift.matching.match import match_rankings
from raglift.matching.overlap import may_be_alike
from raglift.matching.rule import Text
from raglift.repairing.records import Cost
from raglift.repairing.windows import WindowedReranker, windowed
from raglift.retrieval.analyzers import language_of
from raglift.retrieval.chunkers import CHUNKERS
from raglift.retrieval.embedding import Embedder, build_index
from raglift.retrieval.models import seconds_loading
from raglift.retrieval.rerankers import PairReranker
from raglift.retrieval.retrievers import DenseRetriever, HybridRetriever, parse_retriever
from raglift.text.tokens import EstimatedTokens, TokenCounts, is_encoding_available
from raglift.types.rankings import Ranking
from raglift.utilities.cache import bypassed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from raglift.matching.rule import MatchRule
    from raglift.repairing.given import Given
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
    """By which rank a fact is to be found: of a system of the user's, no deeper than it returns hits."""
    wanted: int | None = None
    """By which rank it would be found if the system returned more hits."""
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
        return replace(self, reranker=NO_RERANKER, k=0, wanted=None, has_copies=True, scores_whole=False)


def system_of(evaluation: Evaluation, k: int, given: Given | None, reranker: Any) -> System | None:
    """Return the system that a run describes, or that was handed over; None for one whose parts are not known.

    Args:
        evaluation: of the run.
        k: by which rank a fact is to be found.
        given: the parts that were handed over.
        reranker: the name of a reranker that goes with them.

    Raises:
        ConfigurationError: a system of several stages was evaluated, and only its retriever handed over.
    """
    spec = evaluation.run.spec
    if given is not None:
        name = GIVEN if given.rerankers else reranker or NO_RERANKER
        if len(evaluation.run.stages) > 1 and name == NO_RERANKER:
            raise ConfigurationError(
                "repairs: found a system without a reranker, but a run with one; expected reranker=… too (--reranker)"
            )
        return System(GIVEN, GIVEN, None, name, given.candidates, given.k, k)
    parts = spec.get("parts") or spec.get("sweep", {}).get("cell", {})
    if "retriever" not in parts or str(parts.get("chunker")).partition(":")[0] not in CHUNKERS:
        return None  # module:factory is code, which whoever saved the run may have named
    embedding = parts.get("embedding") if parse_retriever(parts["retriever"]).needs_embedding else None
    if ":" in (embedding or "").removeprefix("onnx:"):
        return None  # nor may it send documents to a provider, for money
    reranker = parts.get("reranker", NO_RERANKER)
    return System(parts["retriever"], parts["chunker"], embedding, reranker, int(spec["candidates"]), k)


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
    _facts: dict[System, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    _embedders: dict[str, Embedder] = field(default_factory=dict, repr=False)
    _rerankers: dict[str, PairReranker] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.dataset.documents:
            raise ConfigurationError(
                f"{self.dataset.name}: found no documents; expected those that were searched, to try another system "
                "over them (--dataset NAME or --documents PATH)"
            )
        if is_encoding_available():
            self.counter = TokenCounts()
        self.queries = tuple(query for query in self.dataset.queries if query.is_labelled)
        self._text = Text(self.rule)

    @cached_property
    def language(self) -> str:
        """The language of the documents, as BM25 would identify it."""
        return language_of(document.text for document in self.dataset.documents)

    def is_in_documents(self, text: str) -> bool:
        """Whether a text is in a document, as far as white space and letter case go."""
        if not self._documents:
            self._documents = "\n".join(self._text(document.text) for document in self.dataset.documents)
        return self._text(text) in self._documents

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

    def facts(self, system: System, places: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return how many facts of some queries, or of all, a system finds by rank k."""
        found = self._facts.setdefault(system, np.full(len(self.queries), np.nan))
        asked = list(range(len(self.queries)) if places is None else places)
        missing = [place for place in asked if np.isnan(found[place])]
        if missing:
            found[missing] = 0
            for (query, _), rank in self.ranks(system, missing).items():
                found[query] += rank <= system.k
        asked_for: NDArray[np.float64] = found[asked]
        return asked_for

    def rankings(self, system: System, places: Sequence[int]) -> list[Ranking]:
        """Return the last ranking of some queries."""
        retrieved = self.retrieved(system.source)
        found = [retrieved[place] for place in places]
        if system.reranker != NO_RERANKER:
            found = self._reranked(system, [self.queries[place].text for place in places], found)
        return found

    def _reranked(self, system: System, texts: Sequence[str], rankings: Sequence[Ranking]) -> list[Ranking]:
        if system.reranker == GIVEN and self.given is not None:
            return self.given.rerank(texts, rankings, system.k, scores_whole=system.scores_whole)
        reranker = self.reranker(system.reranker)
        return (WindowedReranker(reranker) if system.scores_whole else reranker).rerank(texts, rankings)

    def truncates(self, system: System, place: int, rank: int) -> bool:
        """Whether what reads hits whole in a system would truncate its hit at a rank."""
        (ranking,) = self.rankings(system, [place])
        chunk = ranking.hits[rank - 1].chunk
        if system.embeds_whole:
            return bool((self.embedder(str(system.embedding)).read_in_part([chunk.indexed_text]) or [False])[0])
        of_user = self.given.rerankers if self.given is not None else []
        rerankers = of_user if system.reranker == GIVEN else [self.reranker(system.reranker)]
        pair = (self.queries[place].text, chunk.text)
        return any(one.truncated([pair]) for one in rerankers if isinstance(one, PairReranker))

    def cost(self, system: System, places: Sequence[int]) -> Cost:
        """Return what a system costs: its tokens for some queries, its time for a few of them, and its index."""
        texts = [[hit.chunk.text for hit in ranking.hits[: system.k]] for ranking in self.rankings(system, places)]
        counts = self.counter.of([text for of in texts for text in of])
        index = getattr(self._retriever(system.source), "cost", None)
        return Cost(
            float(counts.sum()) / max(len(texts), 1),
            self._milliseconds(system, places[:: max(1, len(places) // _TIMED)][:_TIMED]),
            None if index is None else int(index.bytes),
        )

    def _milliseconds(self, system: System, places: Sequence[int]) -> float:
        """Return the median time of a query that is asked alone, with nothing in the cache."""
        spent = []
        with bypassed():
            for place in places:
                query, started = [self.queries[place]], time.perf_counter() - seconds_loading()
                found = self._asked(system.source, query)
                if system.reranker != NO_RERANKER:
                    self._reranked(system, [query[0].text], found)
                spent.append(time.perf_counter() - seconds_loading() - started)
        return 1000 * statistics.median(spent) if spent else 0.0

    def retrieved(self, source: System) -> list[Ranking]:
        """Return what is retrieved for every query."""
        if source not in self._retrieved:
            self._retrieved[source] = self._asked(source, self.queries)
        return self._retrieved[source]

    def _asked(self, source: System, queries: Sequence[Query]) -> list[Ranking]:
        if source.retriever == GIVEN and self.given is not None:
            return self.given.retrieve(queries, source.candidates, is_filtered=source.is_filtered)
        filters = [query.filter if source.is_filtered else None for query in queries]
        return list(self._retriever(source).retrieve([query.text for query in queries], source.candidates, filters))

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
            return self.given.retriever(source.candidates)
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


_TIMED = 5
"""Queries that are timed."""
_ALIKE = 0.85


def without_copies(ranking: Ranking, relevant: AbstractSet[int]) -> Ranking:
    """Return a ranking without the hits of other documents that nearly repeat a relevant one, as outdated copies do.

    Args:
        ranking: with copies.
        relevant: the ranks of the hits that match a passage.
    """
    wanted = [hit.chunk for hit in ranking.hits if hit.rank in relevant]
    left = [
        hit
        for hit in ranking.hits
        if hit.rank in relevant
        or not any(hit.chunk.doc_id != chunk.doc_id and _is_alike(hit.chunk.text, chunk.text) for chunk in wanted)
    ]
    return Ranking.of((hit.chunk, hit.score) for hit in left)


def _is_alike(text: str, other: str) -> bool:
    """Whether the shorter text is nearly a part of the longer one."""
    from rapidfuzz.fuzz import partial_ratio, ratio

    alike = (kind(text, other, score_cutoff=100 * _ALIKE) for kind in (ratio, partial_ratio))
    return may_be_alike(text, other, _ALIKE) and any(alike)
