"""Sessions of traces, and the labelled queries that they are joined to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from raglift.text.normalization import normalize
from raglift.tracing.assembling import Search, call_of, context_of, search_tools, searches_of
from raglift.tracing.records import ImportedTrace
from raglift.tracing.spans import SEARCHES, STEPS, Kind, Span, Tree
from raglift.types.sessions import Session
from raglift.utilities.display import shorten
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.types.dataset import Dataset


_LONGEST_SHOWN = 300
Read = tuple[ImportedTrace, Session | None]
"""What became of a trace, and its session if it was joined."""


@dataclass(frozen=True)
class Scope:
    """The spans of one session."""

    tree: Tree
    """The trace they are of."""
    top: Span
    """The span of the session, or the first of several."""
    spans: tuple[Span, ...]
    """All spans, each before those in it."""
    question: str | None
    """What the user asked."""
    has_root: bool = True
    """Whether the span around them all is there."""


class Joiner:
    """Joins traces to the queries of a dataset.

    Args:
        dataset: the labelled queries.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._ids = dataset.query_by_id
        self._by_text: dict[str, list[str]] = defaultdict(list)
        for query in dataset.queries:
            self._by_text[normalize(query.text)].append(query.id)

    def find(self, scope: Scope) -> tuple[str | None, str, str]:
        """Return the id of the query of a session, how it was found or why not, and what exactly was found."""
        labels = list(dict.fromkeys(label for span in scope.spans for label in span.labels))
        known = [label for label in labels if label in self._ids]
        if len(known) == 1:
            return known[0], "id", ""
        if labels:
            listed = ", ".join(map(quoted, labels[:5]))
            return None, "ambiguous" if known else "no_such_query", f"the id {listed}"
        if not scope.has_root:
            parent = quoted(scope.top.raw.parent_id or "")
            return None, "root_missing", f"{len(scope.spans)} spans; the span {parent} around them is in no file"
        if scope.question is None:
            return None, "no_question", ""
        found = self._by_text.get(normalize(scope.question), [])
        if len(found) == 1:
            return found[0], "text", ""
        detail = f"the queries {', '.join(map(quoted, found[:5]))}" if found else quoted(scope.question)
        return None, "ambiguous" if found else "no_such_query", detail


def sessions_of(trees: Sequence[Tree], dataset: Dataset, text_tools: Collection[str] = ()) -> list[Read]:
    """Return what became of each trace, in the order of their starts, with its session if it was joined.

    Args:
        trees: the traces.
        dataset: the labelled queries.
        text_tools: the names of tools whose answer is one hit where it is a text.
    """
    tools = search_tools([tree for tree in trees if not tree.damage])
    joiner = Joiner(dataset)
    read: list[Read] = []
    any_search = bool(tools) or any(span.kind in SEARCHES for tree in trees for span in tree.spans.values())
    runs: Mapping[str, list[int]] = defaultdict(list)
    for tree in trees:
        if tree.damage:
            where = next(iter(tree.spans.values())).raw.where
            read.append((ImportedTrace(tree.trace_id, where, "", reason="damaged", detail=tree.damage), None))
            continue
        for scope in _scopes(tree):
            searches = searches_of(tree, scope.spans, tools, text_tools)
            row, session = _joined(scope, searches, joiner, any_search=any_search or bool(text_tools))
            if session is not None:
                number = len(runs[session.query_id]) + 1
                runs[session.query_id].append(number)
                row, session = replace(row, repetition=number), replace(session, repetition=number)
            read.append((row, session))
    return read


def _joined(scope: Scope, searches: Sequence[Search], joiner: Joiner, *, any_search: bool) -> Read:
    top = scope.top
    row = ImportedTrace(
        scope.tree.trace_id,
        top.raw.where,
        shorten(scope.question or "", _LONGEST_SHOWN),
        calls=len(searches),
        failed_calls=sum(search.error is not None for search in searches),
        hits=sum(len(search.hits) for search in searches),
        seconds=top.seconds if scope.has_root else None,
        error=top.raw.error,
        **_use_of_models(scope),
    )
    query_id, how, detail = joiner.find(scope)
    if query_id is None:
        return replace(row, reason=how, detail=detail), None
    if not searches and not (any_search and row.model_calls):
        return replace(row, reason="no_retrieval"), None
    for search in searches:
        reason, detail = _incomplete(search)
        if reason:
            return replace(row, reason=reason, detail=detail), None
    calls = [call_of(search) for search in searches]
    context = context_of(scope.tree, scope.spans, searches, calls)
    session = Session(query_id, calls, context, error=top.raw.error)
    return replace(row, query_id=query_id, joined_by=how), session


def _incomplete(search: Search) -> tuple[str, str]:
    """Return why not all hits of a search are known, and what exactly is missing; two empty texts where they are."""
    name = quoted(search.span.raw.name)
    spans = [search.span, *(span for _, span in search.stages)]
    lost = next((span for span in spans if span.lost), None)
    if lost is not None:
        return "truncated", f"{quoted(lost.raw.name)} lacks {lost.lost}"
    if not search.stages and search.error is None:
        return "no_documents", f"the span {name}"
    hits = [chunk for documents, _ in search.stages for chunk, _ in documents]
    if hits and not any(chunk.text.strip() or chunk.has_own_id for chunk in hits):
        return "no_documents", f"the span {name} has documents without text and id"
    return "", ""


def _use_of_models(scope: Scope) -> dict[str, Any]:
    """Return how often language models were called, and their tokens: each once, for frameworks nest their spans."""
    models = [
        span
        for span in scope.spans
        if span.kind is Kind.MODEL
        and not any(child.kind is Kind.MODEL for child in scope.tree.children.get(span.raw.span_id, ()))
        and (span.prompt is not None or span.prompt_tokens is not None)
    ]
    given = [span.prompt_tokens for span in models if span.prompt_tokens is not None]
    made = [span.answer_tokens for span in models if span.answer_tokens is not None]
    return {
        "model_calls": len(models),
        "prompt_tokens": sum(given) if given else None,
        "answer_tokens": sum(made) if made else None,
    }


# Which spans are a session: a whole trace, or each of several runs in one.


def _scopes(tree: Tree) -> Iterator[Scope]:
    missing = {top.raw.parent_id for top in tree.tops if top.raw.parent_id is not None}
    if len(tree.tops) > 1 and missing:
        spans = tuple(span for top in tree.tops for span in tree.below(top))
        first = next(top for top in tree.tops if top.raw.parent_id is not None)
        yield Scope(tree, first, spans, None, has_root=False)
        return
    for top in tree.tops:
        steps = _steps(tree, top)
        if len(steps) > 1 and _all_searches_below(tree, top, steps):
            for step in steps:
                yield _scope(tree, step, [step])
        else:
            yield _scope(tree, top, steps)


def _scope(tree: Tree, top: Span, steps: Sequence[Span]) -> Scope:
    spans = tuple(tree.below(top))
    return Scope(tree, top, spans, _question(tree, spans, steps))


def _steps(tree: Tree, top: Span) -> list[Span]:
    """Return the outermost steps of a trace that were given a question, in the order of their starts."""
    found = []
    waiting = [top]
    while waiting:
        span = waiting.pop()
        if span.kind in STEPS and span.question() is not None:
            found.append(span)
        elif span.kind in (*STEPS, Kind.OTHER):
            waiting += reversed(tree.children.get(span.raw.span_id, ()))
    return found


def _all_searches_below(tree: Tree, top: Span, steps: Sequence[Span]) -> bool:
    inside = {span.raw.span_id for step in steps for span in tree.below(step)}
    kinds = (*SEARCHES, Kind.TOOL)
    return all(span.raw.span_id in inside for span in tree.below(top) if span.kind in kinds)


def _question(tree: Tree, spans: Sequence[Span], steps: Sequence[Span]) -> str | None:
    """Return what the user asked: of the outermost step, else of the first prompt, else the first search."""
    if steps:
        return steps[0].question()
    by_start = sorted(spans, key=lambda span: span.raw.start or 0)
    for kinds in ((Kind.MODEL,), (*SEARCHES, Kind.TOOL)):
        for span in by_start:
            if span.kind in kinds and (kinds != (Kind.MODEL,) or tree.tool_around(span) is None):
                asked = span.question()
                if asked is not None:
                    return asked
    return None
