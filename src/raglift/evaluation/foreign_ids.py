"""Labels by chunk id of which none ever comes back: most likely the hits have other ids, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raglift.printable import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from raglift.records import Chunk, Dataset, Run

__all__ = ["ids_that_never_came"]

_HOW = "return them as {'id': …, 'text': …} or rl.Chunk(text, id=…)"
_SHOWN = 60


def ids_that_never_came(run: Run, dataset: Dataset) -> list[str]:
    """Say so where labels name chunk ids and no hit of any query has one of them, and why that may be."""
    labels = {
        passage.chunk_id: None
        for query in dataset.queries
        if query.is_labelled
        for fact in query.facts
        for passage in fact.passages
        if passage.chunk_id is not None
    }
    chunks = [hit.chunk for trace in run.traces for done in trace.stages[:1] for hit in done.ranking]
    if not labels or not chunks or any(chunk.id in labels for chunk in chunks):
        return []
    named = f"{counted(len(labels), 'chunk id')}, as {next(iter(labels))[:_SHOWN]!r}"
    return [f"labels name {named}, and no hit has one of them: {_why(labels.keys(), chunks)}"]


def _why(labels: Iterable[str], chunks: list[Chunk]) -> str:
    as_text = next((chunk.text for chunk in chunks if chunk.text in labels), None)
    if as_text is not None:
        return f"the text of a hit is {as_text[:_SHOWN]!r}: if texts are ids, {_HOW}"
    own = next((chunk.id for chunk in chunks if chunk.has_own_id), None)
    if own is None:
        return f"hits have no ids of their own: {_HOW}"
    return f"the first hit with an id of its own has {own[:_SHOWN]!r}"
