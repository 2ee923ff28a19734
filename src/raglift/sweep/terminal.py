"""Plans of sweeps as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.rendering.terminal import as_text, write
from raglift.sweep.race import FIRST_QUERIES
from raglift.utilities.display import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from raglift.sweep.planning import ChunkingPlan, EmbeddingPlan, Plan, RerankingPlan


_WIDTH = 160


def plan_text(plan: Plan) -> str:
    """Return a plan as plain text."""
    return as_text(_plan_lines(plan), width=_WIDTH, wrap=False)


def print_plan(plan: Plan, console: Console) -> None:
    """Print what a sweep has to do: chunks, texts to embed, pairs to score, and what the cache has already."""
    write(console, _plan_lines(plan), wrap=False)


def _plan_lines(plan: Plan) -> Iterator[str]:
    asked = counted(plan.queries, "query") + (f" and {counted(plan.documents, 'document')}" if plan.documents else "")
    counts = [f"{plan.excluded:,} excluded"] if plan.excluded else []
    counts += [f"{plan.finished:,} finished already"] if plan.finished else []
    aside = f" ({', '.join(counts)})" if counts else ""
    yield (
        f"{plan.title}: {counted(len(plan.cells), 'cell')}{aside} over {asked} of {plan.dataset}, "
        f"{plan.candidates:,} candidates"
    )
    named = [entry.chunker for entry in plan.chunkings] + [entry.model for entry in plan.embeddings]
    width = max(map(len, [*named, *(entry.reranker for entry in plan.rerankings)]), default=0)
    yield from _section("split", [(entry.chunker, _chunking(entry)) for entry in plan.chunkings], width)
    yield from _section("embed", [(entry.model, _embedding(entry)) for entry in plan.embeddings], width)
    if plan.sources:
        yield f"  retrieve  {counted(len(plan.sources), 'ranking')} of {counted(plan.queries, 'query')}"
    yield from _section("rerank", [(entry.reranker, _reranking(entry)) for entry in plan.rerankings], width)
    if plan.effort:
        yield f"  race      {plan.effort}: all cells are asked about {FIRST_QUERIES} queries, and the better ones more"
        yield "            what is above is for all queries of all cells"


def _section(verb: str, entries: list[tuple[str, str]], width: int) -> Iterator[str]:
    for number, (name, what) in enumerate(entries):
        yield f"  {verb if number == 0 else '':8}  {name:{width}}  {what}"


def _chunking(entry: ChunkingPlan) -> str:
    if entry.error is not None:
        return f"cannot be used: {entry.error}"
    return f"{entry.chunks:,} chunks, {entry.distinct:,} of them distinct"


def _embedding(entry: EmbeddingPlan) -> str:
    if entry.error is not None:
        return f"cannot be used: {entry.error}"
    if entry.missing is None or entry.missing_queries is None:
        return f"{entry.texts:,} texts and {entry.queries:,} queries; what the cache has shows when the model is here"
    text = _to_do(entry.texts, entry.missing, "texts")
    text += "; " + _to_do(entry.queries, entry.missing_queries, "queries")
    return text


def _reranking(entry: RerankingPlan) -> str:
    if entry.error is not None:
        return f"cannot be used: {entry.error}"
    return f"at most {entry.pairs:,} pairs"


def _to_do(total: int, missing: int, unit: str) -> str:
    if not missing:
        return f"{total:,} {unit}, all in the cache"
    if missing == total:
        return f"{total:,} {unit} to embed"
    return f"{total:,} {unit}, {total - missing:,} in the cache, {missing:,} to embed"
