"""The plan of a sweep: its work, counted before it is run, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raglift.errors import ModelError
from raglift.rendering.terminal import as_text, write
from raglift.retrieval.embedding import missing_texts
from raglift.sweep.measuring import Parts, parts_of, source_of
from raglift.sweep.race import FIRST_QUERIES
from raglift.sweep.specification.cells import NO_RERANKER, Cell
from raglift.utilities.display import counted, describe_error

if TYPE_CHECKING:
    from rich.console import Console


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
        return plan_text(self)


def make_plan(parts: Parts, finished: AbstractSet[str] = frozenset()) -> Plan:
    """Count what a sweep has to do. Documents are split; nothing is paid for.

    A model is loaded only where it decides where documents are cut.
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


_WIDTH = 160


def plan_text(plan: Plan) -> str:
    """Return a plan as plain text."""
    return as_text(_plan_lines(plan), width=_WIDTH, wrap=False)


def print_plan(plan: Plan, console: Console) -> None:
    """Print what a sweep has to do: chunks, texts to embed, pairs to score, and what the cache has already."""
    write(console, _plan_lines(plan), wrap=False)


def _plan_lines(plan: Plan) -> Iterator[str]:
    asked = counted(plan.queries, "question") + (
        f" and {counted(plan.documents, 'document')}" if plan.documents else ""
    )
    counts = [f"{plan.excluded:,} excluded"] if plan.excluded else []
    counts += [f"{plan.finished:,} finished already"] if plan.finished else []
    aside = f" ({', '.join(counts)})" if counts else ""
    yield (
        f"{plan.title}: {counted(len(plan.cells), 'configuration')}{aside} over {asked} of {plan.dataset}, "
        f"{plan.candidates:,} candidates"
    )
    named = [entry.chunker for entry in plan.chunkings] + [entry.model for entry in plan.embeddings]
    width = max(map(len, [*named, *(entry.reranker for entry in plan.rerankings)]), default=0)
    yield from _section("split", [(entry.chunker, _chunking_text(entry)) for entry in plan.chunkings], width)
    yield from _section("embed", [(entry.model, _embedding_text(entry)) for entry in plan.embeddings], width)
    if plan.sources:
        yield f"  retrieve  {counted(len(plan.sources), 'ranking')} of {counted(plan.queries, 'question')}"
    yield from _section("rerank", [(entry.reranker, _reranking_text(entry)) for entry in plan.rerankings], width)
    if plan.effort:
        first = f"all configurations are asked about {FIRST_QUERIES} questions, and the better ones more"
        yield f"  effort    {plan.effort}: {first}"
        yield "            what is above is for all questions of all configurations"


def _section(verb: str, entries: list[tuple[str, str]], width: int) -> Iterator[str]:
    for number, (name, what) in enumerate(entries):
        yield f"  {verb if number == 0 else '':8}  {name:{width}}  {what}"


def _chunking_text(entry: ChunkingPlan) -> str:
    if entry.error is not None:
        return f"cannot be used: {entry.error}"
    return f"{entry.chunks:,} chunks, {entry.distinct:,} of them distinct"


def _embedding_text(entry: EmbeddingPlan) -> str:
    if entry.error is not None:
        return f"cannot be used: {entry.error}"
    if entry.missing is None or entry.missing_queries is None:
        return f"{entry.texts:,} texts and {entry.queries:,} questions; what the cache has shows when the model is here"
    text = _to_do(entry.texts, entry.missing, "texts")
    text += "; " + _to_do(entry.queries, entry.missing_queries, "questions")
    return text


def _reranking_text(entry: RerankingPlan) -> str:
    if entry.error is not None:
        return f"cannot be used: {entry.error}"
    return f"at most {entry.pairs:,} pairs"


def _to_do(total: int, missing: int, unit: str) -> str:
    if not missing:
        return f"{total:,} {unit}, all in the cache"
    if missing == total:
        return f"{total:,} {unit} to embed"
    return f"{total:,} {unit}, {total - missing:,} in the cache, {missing:,} to embed"
