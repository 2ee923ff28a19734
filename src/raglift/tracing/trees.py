"""The spans of a trace as a tree: each below the span in which it began."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from raglift.tracing.spans import SEARCHES, Kind
from raglift.utilities.validation import fault, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from raglift.errors import Fault
    from raglift.tracing.spans import Span


@dataclass(frozen=True)
class Tree:
    """One trace."""

    trace_id: str
    """Its id."""
    spans: Mapping[str, Span]
    """By their ids, in the order of their starts; those whose start is not known come where their file has them."""
    children: Mapping[str, Sequence[Span]]
    """Of each span that has some, in the order of their starts."""
    tops: tuple[Span, ...]
    """The spans without a parent in the trace."""
    damage: str = ""
    """Why it is no tree; empty where it is one."""

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


def trees_of(spans: Iterable[Span], faults: list[Fault]) -> list[Tree]:
    """Return the traces of spans, in the order of their starts.

    A span that comes twice, as where a file is given twice, counts once; one id for two different spans is a fault.

    Args:
        spans: of any number of traces, in any order.
        faults: where every fault is noted.
    """
    by_trace: dict[str, dict[str, Span]] = defaultdict(dict)
    damage: dict[str, str] = {}
    for span in spans:
        of_trace = by_trace[span.raw.trace_id]
        known = of_trace.setdefault(span.raw.span_id, span)
        if (known.raw.name, known.raw.parent_id) != (span.raw.name, span.raw.parent_id):
            damage[span.raw.trace_id] = f"two spans have the id {quoted(span.raw.span_id)}"
            found = f"the span id {quoted(span.raw.span_id)} a second time, after {known.raw.where}"
            faults.append(fault(span.raw.where, found, "one id for each span of a trace"))
    trees = [_tree(trace_id, found, damage.get(trace_id, ""), faults) for trace_id, found in by_trace.items()]
    return sorted(trees, key=lambda tree: min((_start(span) for span in tree.tops), default=0))


def _start(span: Span) -> int:
    return span.raw.start or 0


def _tree(trace_id: str, found: Mapping[str, Span], damage: str, faults: list[Fault]) -> Tree:
    spans = {span.raw.span_id: span for span in sorted(found.values(), key=_start)}  # stable: else as in the file
    children: dict[str, list[Span]] = defaultdict(list)
    tops = []
    for span in spans.values():
        parent = span.raw.parent_id
        if parent is not None and parent in spans:
            children[parent].append(span)
        else:
            tops.append(span)
    tree = Tree(trace_id, spans, dict(children), tuple(tops), damage)
    reached = {span.raw.span_id for top in tops for span in tree.below(top)}
    if len(reached) == len(spans):
        return tree
    circle = [span for span_id, span in spans.items() if span_id not in reached]
    first = circle[0]
    names = f"{len(circle)} spans that are below each other in a circle, as {quoted(first.raw.span_id)}"
    faults.append(fault(first.raw.where, names, "parents that lead to a root"))
    kept = {span_id: span for span_id, span in spans.items() if span_id in reached}
    left = {span_id: inside for span_id, inside in children.items() if span_id in reached}
    return Tree(trace_id, kept, left, tuple(tops), damage or "spans are below each other in a circle")
