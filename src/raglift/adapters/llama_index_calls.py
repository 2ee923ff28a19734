"""Listens to the tools, retrievers and query engines that a LlamaIndex agent or workflow calls.

LlamaIndex reports each call as a span, with the call that it is inside. One handler of spans is registered while an
agent runs, and told by a tag which of the calls in the process are this agent's.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from raglift.adapters.results import documents_of_artifact

if TYPE_CHECKING:
    from collections.abc import Iterator


_TAG = "raglift.listener"
_RETRIEVALS = ("retrieve", "aretrieve", "query", "aquery")
_POSTPROCESSING = ("_postprocess_nodes", "_apostprocess_nodes")
_INNER = ("retrieval", "postprocessing")
_registering = threading.Lock()


@dataclass
class Call:
    """One call of a tool, a retriever, a query engine or a postprocessor."""

    name: str
    """The tool's, else the name of the class."""
    kind: str
    """`tool`, `retrieval` or `postprocessing`."""
    given: frozenset[str] = frozenset()
    """The ids of the nodes that a postprocessor was given."""
    documents: list[Any] | None = None
    """What it returned, if that is documents."""
    error: str | None = None
    """Why it failed."""


@dataclass
class Heard:
    """What was called while one query was answered."""

    token: str = field(default_factory=lambda: uuid4().hex)
    """The value of the tag by which these calls are known."""
    spans: dict[str, str | None] = field(default_factory=dict)
    """Each span, with the one that it is inside."""
    calls: dict[str, Call] = field(default_factory=dict)
    """The calls by their span, in the order in which they began."""

    def begin(self, span: str, parent: str | None, call: Call | None) -> None:
        """Note a span, and the call that it is of."""
        self.spans[span] = parent
        if call is not None:
            self.calls[span] = call

    def end(self, span: str, result: Any) -> None:
        """Note what a call returned."""
        if (call := self.calls.get(span)) is None:
            return
        if call.kind == "tool" and getattr(result, "is_error", False):
            call.error = str(getattr(result, "content", ""))
        call.documents = documents_of_artifact(getattr(result, "raw_output", None) if call.kind == "tool" else result)

    def fail(self, span: str, error: str) -> None:
        """Note why a call failed."""
        if (call := self.calls.get(span)) is not None:
            call.error = error

    def documents(self) -> list[list[Any]]:
        """Return the documents of each call, in order: of a tool, what it returned, else what was retrieved inside it.

        A tool that retrieved nothing is left out.
        """
        found: list[list[Any]] = []
        loose: list[Call] = []
        for span, call in self.calls.items():
            if self._above(span, "tool"):
                continue
            if call.kind == "tool":
                found += _retrieved(loose)
                loose = []
                inside = [each for inner, each in self.calls.items() if span in self._ancestors(inner)]
                retrieved = _retrieved(self._outermost(inside))
                whole = [node for nodes in retrieved for node in nodes]
                if call.documents is not None or retrieved:
                    found.append(whole if call.documents is None else call.documents)
            elif not self._above(span, *_INNER):
                loose.append(call)
        return found + _retrieved(loose)

    def tools(self) -> list[Call]:
        """Return the calls of tools."""
        return [call for call in self.calls.values() if call.kind == "tool"]

    def _outermost(self, calls: list[Call]) -> list[Call]:
        """Return retrievals and postprocessing that are not inside another."""
        spans = {id(call): span for span, call in self.calls.items()}
        return [call for call in calls if call.kind != "tool" and not self._above(spans[id(call)], *_INNER)]

    def _above(self, span: str, *kinds: str) -> bool:
        return any(above in self.calls and self.calls[above].kind in kinds for above in self._ancestors(span))

    def _ancestors(self, span: str) -> Iterator[str]:
        parent = self.spans.get(span)
        while parent is not None:
            yield parent
            parent = self.spans.get(parent)


def _retrieved(calls: list[Call]) -> list[list[Any]]:
    """Return the nodes of each retrieval; those that a postprocessor was given are replaced by what it returned."""
    found: list[list[Any]] = []
    for call in calls:
        if call.documents is None:
            continue
        if call.kind == "postprocessing":
            kept = [[node for node in nodes if _id_of(node) not in call.given] for nodes in found]
            found = [nodes for nodes, before in zip(kept, found, strict=True) if nodes or not before]
        found.append(call.documents)
    return found


@contextmanager
def listening() -> Iterator[Heard]:
    """Note what LlamaIndex calls inside; calls in threads and tasks that are begun inside count too."""
    from llama_index_instrumentation import root_dispatcher
    from llama_index_instrumentation.dispatcher import active_instrument_tags, instrument_tags

    heard = Heard()
    handler = _handler()(heard)
    with _registering:
        root_dispatcher.span_handlers = [*root_dispatcher.span_handlers, handler]
    try:
        with instrument_tags({**active_instrument_tags.get(), _TAG: heard.token}):
            yield heard
    finally:
        with _registering:
            root_dispatcher.span_handlers = [each for each in root_dispatcher.span_handlers if each is not handler]


@cache
def _handler() -> Any:
    """Return the class of the handler of LlamaIndex's spans, which tells a `Heard` of each."""
    from llama_index_instrumentation.span_handlers import BaseSpanHandler
    from pydantic import PrivateAttr

    class CallsHandler(BaseSpanHandler[Any]):
        _heard: Heard = PrivateAttr()

        def __init__(self, heard: Heard) -> None:
            super().__init__()
            self._heard = heard

        def span_enter(
            self,
            id_: str,
            bound_args: Any,
            instance: Any = None,
            parent_id: str | None = None,
            tags: dict[str, Any] | None = None,
            **_: Any,
        ) -> None:
            if (tags or {}).get(_TAG) == self._heard.token:
                self._heard.begin(id_, parent_id, _call(id_, bound_args, instance))

        def span_exit(self, id_: str, *_: Any, result: Any = None, **__: Any) -> None:
            self._heard.end(id_, result)

        def span_drop(self, id_: str, *_: Any, err: BaseException | None = None, **__: Any) -> None:
            self._heard.fail(id_, str(err))

        def new_span(self, *_: Any, **__: Any) -> None:
            """Keep no span: LlamaIndex asks for this method, which only its own handlers use."""

        prepare_to_exit_span = prepare_to_drop_span = new_span

    return CallsHandler


def _call(span: str, bound_args: Any, instance: Any) -> Call | None:
    """Return the call that a span is of; None if it is of something else."""
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.tools.types import BaseTool

    method, name = span.partition("-")[0].rpartition(".")[2], type(instance).__name__
    if isinstance(instance, BaseTool) and method in ("call", "acall"):
        return Call(str(instance.metadata.name or name), "tool")
    if isinstance(instance, (BaseRetriever, BaseQueryEngine)) and method in _RETRIEVALS:
        return Call(name, "retrieval")
    if isinstance(instance, BaseNodePostprocessor) and method in _POSTPROCESSING:
        given = frozenset(map(_id_of, bound_args.arguments.get("nodes") or ()))
        return Call(name, "postprocessing", given)
    return None


def _id_of(node: Any) -> str:
    return str(getattr(getattr(node, "node", node), "node_id", ""))
