"""The spans of a trace as a tree: each below the span in which it began."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from raglift.tracing.spans import SEARCHES, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.tracing.spans import Span


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

    Of spans with one id, as where a file is given twice, the first counts.

    Args:
        spans: of any number of traces, in any order.
    """
    by_trace: dict[str, dict[str, Span]] = defaultdict(dict)
    for span in spans:
        by_trace[span.raw.trace_id].setdefault(span.raw.span_id, span)
    trees = [_tree(trace_id, found.values()) for trace_id, found in by_trace.items()]
    return sorted(trees, key=lambda tree: min((_start(span) for span in tree.tops), default=0))


def _start(span: Span) -> int:
    return span.raw.start or 0


def _tree(trace_id: str, found: Iterable[Span]) -> Tree:
    spans = {span.raw.span_id: span for span in sorted(found, key=_start)}  # stable: else as in the file
    children: dict[str, list[Span]] = defaultdict(list)
    tops = []
    for span in spans.values():
        parent = span.raw.parent_id
        if parent is not None and parent in spans:
            children[parent].append(span)
        else:
            tops.append(span)
    reached = {span.raw.span_id: span for top in tops for span in Tree("", {}, children, ()).below(top)}
    return Tree(trace_id, {key: span for key, span in spans.items() if key in reached}, dict(children), tuple(tops))
