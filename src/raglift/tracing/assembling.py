"""The calls of a session from the spans of a trace: what was retrieved, reranked and returned by tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from raglift.adapters.agents import final_context, stage_name
from raglift.tracing.span_values import question_in
from raglift.tracing.spans import SEARCHES, Kind, ScoredChunks, Span, Tree, keys_of
from raglift.types.documents import Chunk
from raglift.types.rankings import Call, Ranking, StageTrace

_DEEPEST = 20
_MOST_LOOKED_AT = 100


@dataclass
class Search:
    """A search while its spans are put together."""

    span: Span
    """The span it began with."""
    tool: Span | None
    """The call of a tool that it belongs to."""
    stages: list[tuple[ScoredChunks, Span]] = field(default_factory=list)
    """What came back, after each stage, with the span of it."""
    query: str = ""
    """What was searched for."""
    error: str | None = None
    """Why it failed."""

    @property
    def hits(self) -> ScoredChunks:
        """What came back in the end."""
        return self.stages[-1][0] if self.stages else ()

    @property
    def end(self) -> int:
        """When its last span ended."""
        return max((span.raw.end or 0 for _, span in self.stages), default=self.span.raw.end or 0)


def search_tools(trees: Sequence[Tree]) -> set[str]:
    """Return the names of the tools that search: some call of them returned documents, or holds a retriever.

    Args:
        trees: all traces, for a call that found nothing does not show what it is.
    """
    names = set()
    for tree in trees:
        for span in tree.spans.values():
            if span.kind is Kind.TOOL and span.documents is not None:
                names.add(span.tool)
            elif span.kind in SEARCHES and (tool := tree.tool_around(span)) is not None:
                names.add(tool.tool)
    return names


def searches_of(tree: Tree, spans: Sequence[Span], tools: Collection[str], named: Collection[str] = ()) -> list[Search]:
    """Return the searches among the spans of a session, in the order of their starts.

    Args:
        tree: the trace.
        spans: those of the session, each before those in it.
        tools: the names of the tools that search.
        named: the names of tools whose answer is one hit where it is a text.
    """
    outermost = [span for span in spans if span.kind in SEARCHES and not tree.is_in_search(span)]
    by_tool: dict[str, list[Search]] = defaultdict(list)
    for span in outermost:
        if span.kind is Kind.RETRIEVER:
            by_tool[_tool_id(tree, span)].append(_retrieved(tree, span))
    for span in sorted(outermost, key=lambda span: span.raw.start or 0):
        if span.kind is Kind.RERANKER:
            here = _tool_id(tree, span)
            by_tool[here] = _reranked(tree, span, by_tool[here])
    has_tools = {_tool_id(tree, span) for span in spans if span.kind is Kind.TOOL}
    for span in spans:
        if span.kind is Kind.TOOL:
            is_around_others = span.raw.span_id in has_tools
            inside = by_tool[span.raw.span_id]
            by_tool[span.raw.span_id] = _of_tool(span, inside, tools, named, is_around_others=is_around_others)
    found = [search for searches in by_tool.values() for search in searches]
    return sorted(found, key=lambda search: (search.tool or search.span).raw.start or 0)


def _tool_id(tree: Tree, span: Span) -> str:
    """Return the id of the call of a tool that a span belongs to; empty for none."""
    tool = tree.tool_around(span)
    return "" if tool is None else tool.raw.span_id


def call_of(search: Search) -> Call:
    """Return a search as a call of a session."""
    stages = tuple(
        StageTrace(stage_name(number), Ranking.of(documents), max(0.0, span.seconds or 0.0))
        for number, (documents, span) in enumerate(search.stages)
    )
    seconds = _seconds(search) if search.tool is None else search.tool.seconds
    return Call(
        search.query,
        stages,
        tool=search.tool.tool if search.tool is not None else "",
        arguments=dict(search.tool.arguments) if search.tool is not None else {},
        seconds=seconds,
        error=search.error,
    )


def _seconds(search: Search) -> float | None:
    start = search.span.raw.start
    return None if start is None or search.end < start else (search.end - start) / 1e9


# Retrievers, and the retrievers and rerankers in them.


def _retrieved(tree: Tree, span: Span) -> Search:
    stages = _stages(tree, span)
    error = span.raw.error if not stages else None
    return Search(span, tree.tool_around(span), stages, span.question() or "", error)


def _stages(tree: Tree, span: Span, depth: int = 0) -> list[tuple[ScoredChunks, Span]]:
    """Return what a retriever returned, after what one in it had returned if it only reordered or left out.

    The retrievers of an ensemble are no stages: their results are put together.
    """
    inner = [each for each in tree.children.get(span.raw.span_id, ()) for each in _searches_at(tree, each)]
    own = [] if span.documents is None else [(span.documents, span)]
    if len(inner) > 1 and any(each.kind is Kind.RERANKER for each in inner):
        return _with_reranker(inner, own)
    if len(inner) != 1 or depth >= _DEEPEST:
        return own
    before = _stages(tree, inner[0], depth + 1)
    if inner[0].kind is Kind.RERANKER and inner[0].candidates is not None:
        before = [(inner[0].candidates, inner[0]), *before]
    if not own:
        return before
    if not before or not _is_part(own[0][0], before[-1][0]):
        return own
    is_same = keys_of(own[0][0]) == keys_of(before[-1][0])
    return before if is_same else [*before, *own]


def _with_reranker(inner: Sequence[Span], own: list[tuple[ScoredChunks, Span]]) -> list[tuple[ScoredChunks, Span]]:
    """Return the stages of a retriever that asks others and has their results reranked."""
    reranker = next(each for each in reversed(inner) if each.kind is Kind.RERANKER)
    retrievers = [each for each in inner if each.kind is Kind.RETRIEVER and each.documents is not None]
    before = reranker.candidates
    if len(retrievers) == 1 and retrievers[0].documents is not None:
        before = retrievers[0].documents
    after = own or ([] if reranker.documents is None else [(reranker.documents, reranker)])
    return after if before is None else [(before, retrievers[0] if retrievers else reranker), *after]


def _searches_at(tree: Tree, span: Span) -> Iterator[Span]:
    """Yield the outermost retrievers and rerankers at a span and below it that returned documents."""
    waiting = [span]
    while waiting:
        each = waiting.pop()
        if each.kind in SEARCHES and each.documents is not None:
            yield each
        else:
            waiting += reversed(tree.children.get(each.raw.span_id, ()))


def _is_part(some: ScoredChunks, of: ScoredChunks) -> bool:
    """Whether each of some documents is among others."""
    ids = {chunk.id for chunk, _ in of if chunk.has_own_id}
    texts = {chunk.text for chunk, _ in of}
    return all(chunk.text in texts or (chunk.has_own_id and chunk.id in ids) for chunk, _ in some)


# Rerankers beside retrievers.


def _reranked(tree: Tree, reranker: Span, found: list[Search]) -> list[Search]:
    """Return the searches of one scope with what a reranker made of one of them, or of several together.

    Args:
        tree: the trace.
        reranker: the reranker.
        found: the searches of the same call of a tool, or outside of tools.
    """
    tool = tree.tool_around(reranker)
    given = reranker.candidates if reranker.candidates is not None else reranker.documents
    began = reranker.raw.start or 0
    last = found[-_MOST_LOOKED_AT:]
    before = [search for search in last if search.stages and (search.span.raw.start or 0) <= began]
    # What is in the same step of a graph is nearer than what ran before in another
    near = [search for search in before if search.span.raw.parent_id == reranker.raw.parent_id] or before
    used: list[Search] = []
    wanted = set() if given is None else {chunk.text for chunk, _ in given}
    for search in reversed(near):
        texts = {chunk.text for chunk, _ in search.hits}
        if given is None or texts & wanted:
            used.append(search)
            wanted -= texts
        if not wanted:
            break
    after = [] if reranker.documents is None else [(reranker.documents, reranker)]
    query, error = reranker.question() or "", reranker.raw.error
    if not used:
        stages = ([(given, reranker)] if given is not None and reranker.candidates is not None else []) + after
        return [*found, Search(reranker, tool, stages, query, error)]
    first = used[-1]
    if len(used) == 1:
        merged = replace(first, stages=[*first.stages, *after], error=error or first.error)
    else:  # the results of several retrievers, which are reranked together
        merged = replace(first, stages=[(given or (), reranker), *after], query=query or first.query, error=error)
    gone = {id(search) for search in used}
    return [merged if search is first else search for search in found if search is first or id(search) not in gone]


# Tools.


def _of_tool(
    tool: Span, inside: list[Search], tools: Collection[str], named: Collection[str], *, is_around_others: bool
) -> list[Search]:
    """Return the searches of one call of a tool: those in it, put together where it answers with documents, or itself.

    Args:
        tool: the call.
        inside: the searches in it.
        tools: the names of the tools that search.
        named: the names of tools whose answer is one hit where it is a text.
        is_around_others: whether it calls other tools, as an agent that is the tool of another.
    """
    asked = question_in(tool.arguments) or tool.question() or ""
    failed = tool.raw.error
    if len(inside) > 1 and tool.documents is not None:
        return [Search(tool, tool, [(tool.documents, tool)], asked)]
    if inside:
        if failed is None or inside[-1].hits or any(search.error for search in inside):
            return inside
        return [*inside[:-1], replace(inside[-1], error=failed)]
    if tool.documents is not None:
        return [Search(tool, tool, [(tool.documents, tool)], asked, failed)]
    if is_around_others:
        return []
    if tool.tool in named and failed is None and (text := tool.answer()):
        return [Search(tool, tool, [(((Chunk(text), None),), tool)], asked)]
    if tool.tool in tools or tool.tool in named:
        return [Search(tool, tool, [] if failed else [((), tool)], asked, failed)]
    return []


# The final context: the hits whose text is in the prompt of the answer.


def context_of(tree: Tree, spans: Sequence[Span], searches: Sequence[Search], calls: Sequence[Call]) -> Ranking | None:
    """Return the hits that reached the prompt of the answer, in its order; None if that cannot be known.

    The prompts of the answer are those of the language model after the last search began. A tool that searches and
    answers by a language model of its own, as a query engine, has prompts too; what a model is given to rerank hits is
    none.

    Args:
        tree: the trace.
        spans: those of the session.
        searches: its searches.
        calls: what they are in the session.
    """
    prompts = [span for span in spans if span.prompt is not None and not tree.is_in_search(span)]
    models = _answering(tree, prompts, searches)
    if not models or any(span.lost for span in models):
        return None
    hits = [hit for call in calls for stage in call.stages for hit in stage.ranking]
    if hits and not any(hit.chunk.text.strip() for hit in hits):
        return None
    return final_context(calls, [text for span in models for text in span.prompt or ()])


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
    return found if outer or not begun else []
