"""raglift's own retrievers: their protocols, dense and hybrid retrieval, and how one is chosen by name."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from raglift.errors import ConfigurationError
from raglift.retrieval.bm25 import BM25Settings
from raglift.retrieval.exact_search import allowed_numbers, exact_search
from raglift.types.filters import Filter, by_filter
from raglift.types.rankings import IndexCost, Ranking
from raglift.utilities.display import short_repr
from raglift.utilities.validation import nearest

if TYPE_CHECKING:
    from raglift.retrieval.embedding import DenseIndex, Embedder
    from raglift.types.documents import Chunk


# The protocols of retrievers, of one method each. A retriever that can take all queries at once implements `Retriever`;
# a remote or framework system that takes one query at a time implements `QueryRetriever` (or its async version), and
# raglift calls it with the configured concurrency, timeout and retries. A retriever with an index may report the cost
# of building it, as `Indexed`.


@runtime_checkable
class Retriever(Protocol):
    """Ranks chunks for all queries at once."""

    def retrieve(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return one ranking of at most `k` hits for each query, in the order of the queries."""


@runtime_checkable
class QueryRetriever(Protocol):
    """Ranks chunks for one query."""

    def retrieve_one(self, query: str, k: int) -> Ranking:
        """Return a ranking of at most `k` hits."""


@runtime_checkable
class AsyncQueryRetriever(Protocol):
    """Ranks chunks for one query, without blocking."""

    async def aretrieve_one(self, query: str, k: int) -> Ranking:
        """Return a ranking of at most `k` hits."""


@runtime_checkable
class Indexed(Protocol):
    """Keeps an index, and says what it cost."""

    @property
    def cost(self) -> IndexCost:
        """What the index took to build, and its size."""


# Dense retrieval: cosine similarity over every chunk.


class DenseRetriever:
    """Ranks the chunks of an index by cosine similarity to the query.

    Args:
        index: from `build_index`.
    """

    takes_filters = True

    def __init__(self, index: DenseIndex) -> None:
        self.index = index

    @property
    def chunks(self) -> Sequence[Chunk]:
        """All chunks that it chooses from, in index order."""
        return self.index.chunks

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        """The models that it asks."""
        return (self.index.embedder,)

    def __str__(self) -> str:
        return f"dense ({self.index.embedder.identity}, {len(self.index.chunks):,} chunks)"

    @property
    def cost(self) -> IndexCost:
        """What the index took to build, and its size."""
        return self.index.cost

    def retrieve(self, queries: Sequence[str], k: int, filters: Sequence[Filter | None] | None = None) -> list[Ranking]:
        """Return the `k` most similar chunks of each query; the score is the cosine similarity.

        Args:
            queries: their texts.
            k: the most hits of each.
            filters: for each query, which chunks may be found; None for all.
        """
        chunks, vectors = self.index.chunks, self.index.query_vectors(queries)
        rankings = [Ranking()] * len(queries)
        for given, places in by_filter(filters, len(queries)).items():
            allowed = None if given is None else allowed_numbers(chunks, given)
            scores, numbers = exact_search(self.index.vectors, vectors[places], k, among=allowed)
            for place, row, found in zip(places, scores.tolist(), numbers.tolist(), strict=True):
                rankings[place] = Ranking.of((chunks[number], score) for number, score in zip(found, row, strict=True))
        return rankings


# Retrievers as text: `dense`, `bm25`, `bm25(language=de)`, `hybrid`, `hybrid(dense=0.7,bm25=0.3)`.


RETRIEVERS = ("dense", "bm25", "hybrid")
"""The kinds of retrievers that raglift brings itself."""

RRF_CONSTANT = 60
"""The constant of reciprocal rank fusion in Cormack et al. (2009)."""

_PARTS = ("dense", "bm25")
_GRAMMAR = (
    "dense, bm25, hybrid, bm25 with settings, as bm25(language=de,k1=0.9,b=0.4), or hybrid with weights and the "
    "settings of its BM25, as hybrid(dense=0.7,bm25=0.3,language=de)"
)
_TEXTS = ("language", "stemmer")
_NUMBERS = (*_PARTS, "constant", "k1", "b")
_FORM = re.compile(r"(?P<kind>[^()]*?)\s*(?:\((?P<settings>.*)\))?", re.DOTALL)


@dataclass(frozen=True)
class RetrieverSpec:
    """Which of raglift's retrievers, how its BM25 reads texts, and how a hybrid one fuses its parts.

    Its text is its identity: `parse_retriever(str(spec)) == spec`.

    Raises:
        ConfigurationError: an unknown kind; a weight that is not above 0; a constant that is not 0 or more; or settings
            for a retriever that has none.
    """

    kind: str = "dense"
    """One of `RETRIEVERS`."""
    weights: tuple[float, float] = (1.0, 1.0)
    """Of a hybrid's dense and its BM25 part."""
    constant: int = RRF_CONSTANT
    """What is added to each rank in a fusion: the larger, the less the first ranks stand out."""
    bm25: BM25Settings = field(default_factory=BM25Settings)
    """Of BM25, alone or as a part of a hybrid."""

    def __post_init__(self) -> None:
        if self.kind not in RETRIEVERS:
            expected = nearest(self.kind, RETRIEVERS)
            raise ConfigurationError(f"retriever: found {short_repr(self.kind)}; expected {expected}")
        object.__setattr__(self, "weights", checked_weights(self.weights, len(_PARTS)))
        checked_constant(self.constant)
        if self.kind != "hybrid" and (self.weights, self.constant) != ((1.0, 1.0), RRF_CONSTANT):
            raise ConfigurationError(
                f"retriever: found weights for {short_repr(self.kind)}; expected them with 'hybrid' alone"
            )
        if self.kind == "dense" and self.bm25 != BM25Settings():
            raise ConfigurationError(
                f"retriever: found {', '.join(self.bm25.changed())} for 'dense'; expected settings of BM25 with 'bm25' "
                "or 'hybrid' alone"
            )

    @property
    def needs_embedding(self) -> bool:
        """Whether an embedding model takes part."""
        return self.kind != "bm25"

    @property
    def parts(self) -> tuple[RetrieverSpec, ...]:
        """What a hybrid retriever fuses; empty for any other."""
        return (RetrieverSpec("dense"), RetrieverSpec("bm25", bm25=self.bm25)) if self.kind == "hybrid" else ()

    def __str__(self) -> str:
        settings = []
        if self.weights != (1.0, 1.0):
            settings += [f"{part}={_plain(weight)}" for part, weight in zip(_PARTS, self.weights, strict=True)]
        if self.constant != RRF_CONSTANT:
            settings.append(f"constant={self.constant}")
        for name, value in self.bm25.changed().items():
            settings.append(f"{name}={value if isinstance(value, str) else _plain(value)}")
        return self.kind + (f"({','.join(settings)})" if settings else "")


def parse_retriever(text: str) -> RetrieverSpec:
    """Read a retriever from its text form; a weight that is left out is 1.

    Raises:
        ConfigurationError: the text does not have this form, or names something that there is not.
    """
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise ConfigurationError(f"retriever: found {short_repr(text)}; expected {_GRAMMAR}")
    settings: dict[str, Any] = {}
    for setting in filter(None, map(str.strip, (form["settings"] or "").split(","))):
        name, _, found = (piece.strip() for piece in setting.partition("="))
        value = _number(found) if name in _NUMBERS else found if name in _TEXTS else None
        if name in settings or value in (None, ""):
            raise ConfigurationError(
                f"retriever: found the setting {short_repr(setting)}; expected {_GRAMMAR}, each setting once"
            )
        settings[name] = value
    constant = settings.pop("constant", RRF_CONSTANT)
    weights = (settings.pop("dense", 1.0), settings.pop("bm25", 1.0))
    whole = int(constant) if constant == int(constant) else constant
    return RetrieverSpec(form["kind"], weights, whole, BM25Settings(**settings))


def _number(text: str) -> float | None:
    """Return a finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def checked_weights(weights: Sequence[float] | None, parts: int) -> tuple[float, ...]:
    """Return the weights of a fusion; by default all 1."""
    if weights is None:
        return (1.0,) * parts
    usable = [float(weight) for weight in weights if isinstance(weight, (int, float)) and 0 < weight < math.inf]
    if not len(usable) == len(weights) == parts:
        raise ConfigurationError(
            f"fusion weights: found {short_repr(weights)}; expected {parts} numbers above 0, one for each retriever"
        )
    return tuple(usable)


def checked_constant(constant: object) -> int:
    """Return the constant of a fusion."""
    if type(constant) is not int or constant < 0:
        raise ConfigurationError(f"fusion constant: found {short_repr(constant)}; expected an integer, 0 or more")
    return constant


def _plain(weight: float) -> str:
    """Return a number as short as it can be read back exactly."""
    return repr(weight).removesuffix(".0")


# Hybrid retrieval: several rankings combined by weighted reciprocal rank fusion.


class HybridRetriever:
    """Asks several retrievers and fuses their rankings by `fuse`.

    Args:
        retrievers: at least two that take all queries at once, as `DenseRetriever` and `BM25Retriever`, over chunks
            that share their ids.
        weights: one above 0 for each; by default all alike.
        constant: what is added to each rank.
        depth: how many hits each retriever is asked for where that is more than are asked of the hybrid. None asks for
            as many as are asked of the hybrid: then its rankings are the fusion of what the retrievers return alone.

    Raises:
        ConfigurationError: fewer than two retrievers, something that is not a retriever, or a weight, a constant or a
            depth that makes no sense.
    """

    def __init__(
        self,
        retrievers: Sequence[Retriever],
        weights: Sequence[float] | None = None,
        *,
        constant: int = RRF_CONSTANT,
        depth: int | None = None,
    ) -> None:
        self.retrievers = tuple(retrievers)
        for retriever in self.retrievers:
            if not isinstance(retriever, Retriever):
                raise ConfigurationError(
                    f"HybridRetriever: found a {type(retriever).__name__}; expected objects with retrieve(queries, k)"
                )
        if len(self.retrievers) < 2:
            raise ConfigurationError(f"HybridRetriever: found {len(self.retrievers)} retrievers; expected two or more")
        self.weights = checked_weights(weights, len(self.retrievers))
        self.constant = checked_constant(constant)
        self.depth = depth

    @property
    def chunks(self) -> Sequence[Chunk]:
        """All chunks that the retrievers choose from, each once; empty if one does not tell its own."""
        parts: list[Sequence[Chunk]] = [getattr(retriever, "chunks", ()) for retriever in self.retrievers]
        if all(part is parts[0] for part in parts):
            return parts[0]
        return tuple({chunk.id: chunk for part in parts for chunk in part}.values()) if all(parts) else ()

    @property
    def cost(self) -> IndexCost | None:
        """What the retrievers' indexes took together; None if one does not say."""
        costs = [getattr(retriever, "cost", None) for retriever in self.retrievers]
        known = [cost for cost in costs if isinstance(cost, IndexCost)]
        return IndexCost.together(known) if len(known) == len(costs) else None

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        """The models that its retrievers ask, each once."""
        asked = [embedder for retriever in self.retrievers for embedder in getattr(retriever, "embedders", ())]
        return tuple({id(embedder): embedder for embedder in asked}.values())

    def __str__(self) -> str:
        parts = " + ".join(
            f"{weight:g} × {retriever}" for weight, retriever in zip(self.weights, self.retrievers, strict=True)
        )
        deeper = "" if self.depth is None else f", depth {self.depth}"
        return f"hybrid (reciprocal rank fusion, constant {self.constant}{deeper}: {parts})"

    @property
    def takes_filters(self) -> bool:
        """Whether all its retrievers take filters."""
        return all(getattr(retriever, "takes_filters", False) for retriever in self.retrievers)

    def retrieve(self, queries: Sequence[str], k: int, filters: Sequence[Filter | None] | None = None) -> list[Ranking]:
        """Return the best `k` chunks of each query; the score is that of the fusion.

        Args:
            queries: their texts.
            k: the most hits of each.
            filters: for each query, which chunks may be found; None for all.
        """
        filtered: dict[str, Any] = {} if filters is None else {"filters": filters}
        depth = max(k, self.depth or 0)
        rankings = [retriever.retrieve(queries, depth, **filtered) for retriever in self.retrievers]
        return fuse(rankings, self.weights, self.constant, k)


def fuse(
    rankings_by_part: Sequence[Sequence[Ranking]],
    weights: Sequence[float] | None = None,
    constant: int = RRF_CONSTANT,
    k: int | None = None,
) -> list[Ranking]:
    """Fuse several retrievers' rankings of the same queries: weighted reciprocal rank fusion.

    The score of a chunk is Σ weight / (constant + rank) over the rankings that hold it, by its id (Cormack, Clarke and
    Büttcher, “Reciprocal rank fusion outperforms Condorcet and individual rank learning methods”, SIGIR 2009, where
    all weights are 1). It lies in (0, Σ weights / (constant + 1)]. Chunks of the same score keep the order of the first
    ranking, then of the second, and so on. A chunk that a ranking holds twice counts there once, at its better rank.

    Args:
        rankings_by_part: for each retriever, one ranking per query, in the order of the queries.
        weights: one above 0 for each retriever; by default all 1.
        constant: what is added to each rank; the larger, the less the first ranks stand out.
        k: the most hits of each query; None for all.

    Raises:
        ConfigurationError: no retriever, weights or a constant that make no sense, or unequal numbers of rankings.
    """
    checked = checked_weights(weights, len(rankings_by_part))
    added = checked_constant(constant)
    if len({len(rankings) for rankings in rankings_by_part}) != 1:
        raise ConfigurationError("fuse: found rankings of different queries; expected the same from each retriever")
    return [_fused(rankings, checked, added, k) for rankings in zip(*rankings_by_part, strict=True)]


def _fused(rankings: Sequence[Ranking], weights: Sequence[float], constant: int, k: int | None) -> Ranking:
    chunks: dict[str, Chunk] = {}
    ranks: dict[str, list[float]] = {}
    for part, ranking in enumerate(rankings):
        for rank, hit in enumerate(ranking, start=1):
            chunks.setdefault(hit.chunk.id, hit.chunk)
            places = ranks.setdefault(hit.chunk.id, [math.inf] * len(rankings))
            places[part] = min(places[part], rank)
    # fsum, for sums that do not depend on which retriever comes first: else ties would be broken by a last bit
    scores = {
        chunk_id: math.fsum(weight / (constant + rank) for weight, rank in zip(weights, places, strict=True))
        for chunk_id, places in ranks.items()
    }
    best = sorted(ranks, key=lambda chunk_id: (-scores[chunk_id], ranks[chunk_id]))
    return Ranking.of((chunks[chunk_id], scores[chunk_id]) for chunk_id in best[:k])
