"""The final context of a session: the hits whose text is in the prompt of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.text.normalization import normalize
from raglift.tracing.attributes import parsed
from raglift.tracing.spans import Kind
from raglift.types.rankings import Ranking

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raglift.tracing.assembling import Search
    from raglift.tracing.spans import Span
    from raglift.tracing.trees import Tree
    from raglift.types.documents import Chunk


_DEEPEST = 8


def context_of(tree: Tree, spans: Sequence[Span], searches: Sequence[Search]) -> Ranking | None:
    """Return the hits that reached the prompt of the answer, in its order; None where that cannot be told.

    The prompts of the answer are those of the language model after the last search began. A tool that searches and
    answers by a language model of its own, as a query engine, has prompts too; what a model is given to rerank hits is
    none.

    Args:
        tree: the trace.
        spans: those of the session.
        searches: its searches.
    """
    prompts = [
        span for span in spans if span.kind is Kind.MODEL and span.prompt is not None and not tree.is_in_search(span)
    ]
    models = _answering(tree, prompts, searches)
    if not models or any(span.lost for span in models):
        return None
    hits: dict[tuple[str | None, str], tuple[Chunk, float | None]] = {}
    for search in searches:
        for documents, _ in reversed(search.stages):
            for chunk, score in documents:
                hits.setdefault((chunk.doc_id, chunk.text), (chunk, score))
    if hits and not any(chunk.text.strip() for chunk, _ in hits.values()):
        return None
    prompt = normalize("\n".join(text for span in models for said in span.prompt or () for text in _readings(said)))
    places: list[tuple[int, int, Chunk, float | None]] = []
    for chunk, score in hits.values():
        text = normalize(chunk.text)
        place = prompt.find(text) if text else -1
        if place >= 0:
            places.append((place, len(places), chunk, score))
    return Ranking.of((chunk, score) for _, _, chunk, score in sorted(places, key=lambda each: each[:2]))


def _answering(tree: Tree, prompts: Sequence[Span], searches: Sequence[Search]) -> list[Span]:
    """Return the calls of language models whose prompts are those of the answer, or of an answer of a tool."""
    begun = {id(search.tool): search for search in searches if search.tool is not None}
    last = max(((search.tool or search.span).raw.start or 0 for search in searches), default=0)
    found = []
    for span in prompts:
        tool = tree.tool_around(span)
        start = span.raw.start or 0
        if tool is None or not begun:
            if start >= last:
                found.append(span)
        elif (search := begun.get(id(tool))) is not None and start >= (search.span.raw.start or 0):
            found.append(span)
    outer = [span for span in found if tree.tool_around(span) is None]
    # Without a prompt of the answer itself, the session ended before it
    return found if outer or not any(search.tool is not None for search in searches) else []


def _readings(text: str) -> Iterable[str]:
    """Yield a text, and where it is JSON the texts in it: their line ends are escaped in it."""
    yield text
    value = parsed(text)
    waiting: list[tuple[int, Any]] = [(0, value)] if isinstance(value, (dict, list)) else []
    while waiting:
        depth, each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif depth < _DEEPEST and isinstance(each, dict):
            waiting += [(depth + 1, inner) for inner in reversed(each.values())]
        elif depth < _DEEPEST and isinstance(each, list):
            waiting += [(depth + 1, inner) for inner in reversed(each)]
