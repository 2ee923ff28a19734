"""The plan of a sweep: its work, counted before it is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.errors import ModelError
from raglift.retrieval.embedding import missing_texts
from raglift.sweep.measuring import parts_of, source_of
from raglift.sweep.specification.cells import NO_RERANKER, Cell
from raglift.utilities.display import describe_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from raglift.sweep.measuring import Parts


@dataclass(frozen=True)
class ChunkingPlan:
    """One way to split the documents."""

    chunker: str
    chunks: int = 0
    distinct: int = 0
    """Distinct texts among the chunks."""
    error: str | None = None
    """Why it cannot be used."""


@dataclass(frozen=True)
class EmbeddingPlan:
    """What one model has to embed."""

    model: str
    texts: int = 0
    """Distinct texts of all chunkings that it embeds."""
    missing: int | None = None
    """How many of them the cache lacks; None if it is unknown without fetching the model."""
    queries: int = 0
    """Distinct queries."""
    missing_queries: int | None = None
    error: str | None = None


@dataclass(frozen=True)
class RerankingPlan:
    """What one reranker has to score."""

    reranker: str
    pairs: int = 0
    """Distinct pairs of a query and a text, at most: the candidates are not known yet."""
    error: str | None = None


@dataclass(frozen=True)
class Plan:
    """A sweep before it is run."""

    title: str
    dataset: str
    queries: int
    documents: int
    candidates: int
    cells: tuple[Cell, ...]
    """All cells of the sweep."""
    excluded: int
    """How many cells of the grid are left out."""
    finished: int
    """How many cells are done already."""
    sources: tuple[Cell, ...]
    """What is to be retrieved: the distinct cells without their rerankers."""
    chunkings: tuple[ChunkingPlan, ...]
    embeddings: tuple[EmbeddingPlan, ...]
    rerankings: tuple[RerankingPlan, ...]
    effort: str = ""
    """How much of it is done by a race, such as `40%`; empty for all."""

    def __str__(self) -> str:
        from raglift.sweep.terminal import plan_text

        return plan_text(self)


def make_plan(parts: Parts, finished: AbstractSet[str] = frozenset()) -> Plan:
    """Count what a sweep has to do. Documents are split; nothing is paid for.

    A model is loaded only where it decides where documents are cut.

    Args:
        parts: the sweep's parts.
        finished: the keys of cells that are done already.
    """
    sweep = parts.sweep
    cells = sweep.cells()
    todo = [cell for cell in cells if cell.key not in finished]
    sources = tuple(dict.fromkeys(source_of(cell) for cell in todo))
    needed = tuple(dict.fromkeys(part for source in sources for part in (*parts_of(source), source)))
    chunkings = tuple(_chunking(parts, name) for name in _distinct(source.chunker for source in sources))
    unusable = {entry.chunker for entry in chunkings if entry.error is not None}
    cut = [source for source in needed if source.chunker not in unusable]
    embeddings = tuple(_embedding(parts, name, cut) for name in _distinct(source.embedding for source in needed))
    names = _distinct(cell.reranker for cell in todo if cell.reranker != NO_RERANKER)
    return Plan(
        title=sweep.title,
        dataset=parts.dataset.name,
        queries=len(parts.dataset),
        documents=len(parts.dataset.documents),
        candidates=sweep.candidates,
        cells=cells,
        excluded=len(sweep.grid()) - sum(cell in cells for cell in sweep.grid()),
        finished=len(cells) - len(todo),
        sources=sources,
        chunkings=chunkings,
        embeddings=embeddings,
        rerankings=tuple(
            _reranking(parts, name, [source_of(cell) for cell in todo if cell.reranker == name]) for name in names
        ),
        effort=sweep.effort or "",
    )


def _distinct(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name is not None))


def _chunking(parts: Parts, chunker: str) -> ChunkingPlan:
    try:
        chunks = parts.chunks(chunker)
    except Exception as error:  # noqa: BLE001 — a chunker that fails takes its cells with it, not the sweep
        return ChunkingPlan(chunker, error=describe_error(error))
    return ChunkingPlan(chunker, len(chunks), len({chunk.text for chunk in chunks}))


def _embedding(parts: Parts, model: str, sources: Sequence[Cell]) -> EmbeddingPlan:
    texts: list[str] = []
    queries = list(dict.fromkeys(parts.queries))
    try:
        texts = list(dict.fromkeys(_texts(parts, model, sources)))
        embedder = parts.embedder(model)
        missing = missing_texts(embedder, texts, "document", parts.cache)
        missing_queries = missing_texts(embedder, queries, "query", parts.cache)
    except ModelError:  # a hub model that is not here: it is looked for when it is run
        return EmbeddingPlan(model, len(texts), None, len(queries), None)
    except Exception as error:  # noqa: BLE001 — a model that fails takes its cells with it, not the sweep
        return EmbeddingPlan(model, len(texts), None, len(queries), None, error=describe_error(error))
    return EmbeddingPlan(model, len(texts), len(missing), len(queries), len(missing_queries))


def _texts(parts: Parts, model: str, sources: Sequence[Cell]) -> Iterable[str]:
    for chunker in _distinct(source.chunker for source in sources if source.embedding == model):
        yield from parts.texts(chunker)


def _reranking(parts: Parts, name: str, sources: Sequence[Cell]) -> RerankingPlan:
    try:
        parts.reranker(name)
        return RerankingPlan(name, _most_pairs(parts, sources))
    except Exception as error:  # noqa: BLE001 — a reranker that fails takes its cells with it, not the sweep
        return RerankingPlan(name, error=describe_error(error))


def _most_pairs(parts: Parts, sources: Sequence[Cell]) -> int:
    """Return how many pairs there are at most: candidates over the same chunks are no more than the chunks."""
    by_chunker: dict[str | None, int] = {}
    for source in sources:
        depth = parts.depth if source.chunker is None else min(parts.depth, len(parts.chunks(source.chunker)))
        by_chunker[source.chunker] = by_chunker.get(source.chunker, 0) + depth
    most = sum(
        candidates if chunker is None else min(candidates, len(parts.chunks(chunker)))
        for chunker, candidates in by_chunker.items()
    )
    return most * len(set(parts.queries))
