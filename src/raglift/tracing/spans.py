"""The spans of a trace: as a file has them, what a convention reads in them, and as a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.tracing.decoding import SpanColumns
    from raglift.types.documents import Chunk


class Kind(StrEnum):
    """What a span stands for."""

    AGENT = "agent"
    CHAIN = "chain"
    MODEL = "model"
    RETRIEVER = "retriever"
    RERANKER = "reranker"
    TOOL = "tool"
    EMBEDDING = "embedding"
    OTHER = "other"


SEARCHES = (Kind.RETRIEVER, Kind.RERANKER)
"""The kinds of spans that search by themselves."""
STEPS = (Kind.AGENT, Kind.CHAIN)
"""The kinds of spans whose input may be the user's question."""
ScoredChunks = tuple[tuple["Chunk", float | None], ...]
"""Chunks with their scores, best first."""


@dataclass(frozen=True)
class RawSpan:
    """A span as it was exported, whatever convention its attributes follow."""

    trace_id: str
    """Shared by all spans of a trace."""
    span_id: str
    """Unique within its trace."""
    parent_id: str | None
    """The span in which this one began; None for the root."""
    name: str
    """What the instrumentation calls it."""
    start: int | None
    """When it began, in nanoseconds since 1970; None where that is not known."""
    end: int | None
    """When it ended, in nanoseconds since 1970; None where that is not known."""
    error: str | None
    """What its status says if it failed; else None."""
    attributes: Mapping[str, Any]
    """Its attributes by name."""
    where: str
    """The file, and the line or index, for messages."""
    dropped: int = 0
    """How many attributes the exporter left out because there were too many."""


@dataclass(frozen=True)
class Span:
    """What a convention reads in a span. Texts that may be long are read from their JSON when they are asked for."""

    raw: RawSpan
    """The span without its attributes."""
    kind: Kind
    """What it stands for."""
    question: Callable[[], str | None] = field(default=lambda: None, compare=False)
    """Returns the text that it was given: a question, or what is searched for."""
    documents: ScoredChunks | None = None
    """What it returned, best first; None where that is not known, or where it returns no documents."""
    candidates: ScoredChunks | None = None
    """What a reranker was given; None where that is not known."""
    prompt: tuple[str, ...] | None = None
    """The texts of the messages that a language model was given; None where they are not known."""
    tool: str = ""
    """The name of a tool."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What a tool was given."""
    answer: Callable[[], str | None] = field(default=lambda: None, compare=False)
    """Returns what a tool answered, as a text."""
    prompt_tokens: int | None = None
    """The tokens that a language model was given."""
    answer_tokens: int | None = None
    """The tokens that a language model answered."""
    labels: tuple[str, ...] = ()
    """The values by which the trace may be joined to a query by id."""
    lost: str = ""
    """Why its documents or messages are not complete; empty where they are."""

    @property
    def seconds(self) -> float | None:
        """How long it took; None where that is not known."""
        if self.raw.start is None or self.raw.end is None:
            return None
        return (self.raw.end - self.raw.start) / 1e9


def keys_of(documents: ScoredChunks) -> list[tuple[str, str]]:
    """Return what documents of several spans are compared by: the id where the framework gave one, and the text."""
    return [(chunk.id if chunk.has_own_id else "", chunk.text) for chunk, _ in documents]


@dataclass(frozen=True)
class Options:
    """How spans are read."""

    join_by: str | None = None
    """The attribute, field of the metadata, or tag that holds the id of a labelled query."""
    doc_key: str | None = None
    """The key of a hit's metadata that holds the id of its document."""
    columns: SpanColumns | None = None
    """For rows of a tool's own export, in which column each part of a span is."""


# The spans of a trace, each below the span in which it began.


@dataclass(frozen=True)
class Tree:
    """One trace."""

    trace_id: str
    spans: Mapping[str, Span]
    """By their ids, in the order of their starts; those whose start is not known come where their file has them."""
    children: Mapping[str, Sequence[Span]]
    """Of each span that has some, in the order of their starts."""
    tops: tuple[Span, ...]
    """The spans without a parent in the trace."""
    damage: str = ""
    """Why it is no tree; empty if it is one."""

    def below(self, top: Span) -> Iterator[Span]:
        """Yield a span and all below it, each before those in it."""
        waiting = [top]
        while waiting:
            span = waiting.pop()
            yield span
            waiting += reversed(self.children.get(span.raw.span_id, ()))

    def tool_around(self, span: Span) -> Span | None:
        """Return the innermost call of a tool that a span lies in; None if there is none."""
        return self._around[span.raw.span_id][0]

    def is_in_search(self, span: Span) -> bool:
        """Whether a span lies in one of a retriever or reranker, as the retrievers of an ensemble do."""
        return self._around[span.raw.span_id][1]

    @cached_property
    def _around(self) -> Mapping[str, tuple[Span | None, bool]]:
        """Of each span, the call of a tool that it lies in, and whether it lies in a search."""
        found: dict[str, tuple[Span | None, bool]] = {}
        for top in self.tops:
            for span in self.below(top):  # each before those in it
                parent = self.spans.get(span.raw.parent_id or "")
                if parent is None:
                    found[span.raw.span_id] = (None, False)
                    continue
                tool, is_in_search = found[parent.raw.span_id]
                tool = parent if parent.kind is Kind.TOOL else tool
                found[span.raw.span_id] = (tool, is_in_search or parent.kind in SEARCHES)
        return found


def trees_of(spans: Iterable[Span]) -> list[Tree]:
    """Return the traces of spans, in the order of their starts.

    A span that comes twice, for example in a file that is given twice, counts once; two different spans of one id
    damage their trace.

    Args:
        spans: of any number of traces, in any order.
    """
    by_trace: dict[str, dict[str, Span]] = defaultdict(dict)
    damage: dict[str, str] = {}
    for span in spans:
        first = by_trace[span.raw.trace_id].setdefault(span.raw.span_id, span)
        if (first.raw.name, first.raw.parent_id) != (span.raw.name, span.raw.parent_id):
            damage[span.raw.trace_id] = f"two spans have the id {quoted(span.raw.span_id)}"
    trees = [_tree(trace_id, found.values(), damage.get(trace_id, "")) for trace_id, found in by_trace.items()]
    return sorted(trees, key=lambda tree: min((_start(span) for span in tree.tops), default=0))


def _start(span: Span) -> int:
    return span.raw.start or 0


def _tree(trace_id: str, found: Iterable[Span], damage: str) -> Tree:
    spans = {span.raw.span_id: span for span in sorted(found, key=_start)}  # stable: else as in the file
    children: dict[str, list[Span]] = defaultdict(list)
    tops = []
    for span in spans.values():
        parent = span.raw.parent_id
        if parent is not None and parent in spans:
            children[parent].append(span)
        else:
            tops.append(span)
    tree = Tree(trace_id, spans, dict(children), tuple(tops), damage)
    if sum(1 for top in tops for _ in tree.below(top)) == len(spans):
        return tree
    return replace(tree, damage=damage or "its spans are below each other in a circle")
