"""Listens to the tools, retrievers, query engines and language models that a LlamaIndex agent or workflow calls.

LlamaIndex reports each call as a span, with the call that it is inside. One handler of spans is registered while an
agent runs, and told by a tag which of the calls in the process are this agent's.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from raglift.adapters.call_tree import CallNode, CallTree
from raglift.adapters.results import documents_of_artifact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_TAG = "raglift.listener"
_RETRIEVALS = ("retrieve", "aretrieve", "query", "aquery")
_POSTPROCESSING = ("_postprocess_nodes", "_apostprocess_nodes")
_ASKING = frozenset({"chat", "complete", "stream_chat", "stream_complete"})
"""The methods of an LLM that ask it; those that begin with an "a" are asynchronous."""
_registering = threading.Lock()


class LlamaIndexCalls(CallTree):
    """What LlamaIndex called while one query was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.token = uuid4().hex
        """The value of the tag by which these calls are known."""

    def note_result(self, span: str, result: Any) -> None:
        """Note what a call returned."""
        node = self.end(span)
        if node is None:
            return
        if node.kind == "tool":
            node.output = str(getattr(result, "content", result))
            if getattr(result, "is_error", False):
                node.error = node.output
            node.documents = documents_of_artifact(getattr(result, "raw_output", None))
        elif node.kind == "model":
            message = getattr(result, "message", None)
            said = getattr(result, "text", None) if message is None else message.content
            node.output = said if isinstance(said, str) else None
        else:
            node.documents = documents_of_artifact(result)


@contextmanager
def listening() -> Iterator[LlamaIndexCalls]:
    """Note what LlamaIndex calls inside; calls in threads and tasks that are begun inside count too."""
    from llama_index_instrumentation import root_dispatcher
    from llama_index_instrumentation.dispatcher import active_instrument_tags, instrument_tags

    calls = LlamaIndexCalls()
    handler = _handler()(calls)
    with _registering:
        root_dispatcher.span_handlers = [*root_dispatcher.span_handlers, handler]
    try:
        with instrument_tags({**active_instrument_tags.get(), _TAG: calls.token}):
            yield calls
    finally:
        with _registering:
            root_dispatcher.span_handlers = [each for each in root_dispatcher.span_handlers if each is not handler]


@cache
def _handler() -> Any:
    """Return the class of the handler of LlamaIndex's spans, which fills a tree of calls."""
    from llama_index_instrumentation.span_handlers import BaseSpanHandler
    from pydantic import PrivateAttr

    class CallsHandler(BaseSpanHandler[Any]):
        _calls: LlamaIndexCalls = PrivateAttr()

        def __init__(self, calls: LlamaIndexCalls) -> None:
            super().__init__()
            self._calls = calls

        def span_enter(
            self,
            id_: str,
            bound_args: Any,
            instance: Any = None,
            parent_id: str | None = None,
            tags: dict[str, Any] | None = None,
            **_: Any,
        ) -> None:
            if (tags or {}).get(_TAG) == self._calls.token:
                self._calls.begin(id_, parent_id, _call(id_, bound_args, instance))

        def span_exit(self, id_: str, *_: Any, result: Any = None, **__: Any) -> None:
            self._calls.note_result(id_, result)

        def span_drop(self, id_: str, *_: Any, err: BaseException | None = None, **__: Any) -> None:
            self._calls.end(id_, error=str(err))

        def new_span(self, *_: Any, **__: Any) -> None:
            """Keep no span: LlamaIndex asks for this method, which only its own handlers use."""

        prepare_to_exit_span = prepare_to_drop_span = new_span

    return CallsHandler


def _call(span: str, bound_args: Any, instance: Any) -> CallNode | None:
    """Return the call that a span is of; None if it is of something else."""
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.llms.base import BaseLLM
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.tools.types import BaseTool

    method, name = span.partition("-")[0].rpartition(".")[2], type(instance).__name__
    if isinstance(instance, BaseTool) and method in ("call", "acall"):
        return CallNode("tool", name=str(instance.metadata.name or name), arguments=_arguments(bound_args.arguments))
    if isinstance(instance, (BaseRetriever, BaseQueryEngine)) and method in _RETRIEVALS:
        given = bound_args.arguments.get("str_or_query_bundle")
        kind: Any = "retriever" if isinstance(instance, BaseRetriever) else "engine"
        return CallNode(kind, name=name, query=None if given is None else str(getattr(given, "query_str", given)))
    if isinstance(instance, BaseNodePostprocessor) and method in _POSTPROCESSING:
        nodes = frozenset(map(_id_of, bound_args.arguments.get("nodes") or ()))
        return CallNode("postprocessor", name=name, given_ids=nodes)
    if isinstance(instance, BaseLLM) and method.removeprefix("a") in _ASKING:
        return CallNode("model", name=name, messages=_messages(bound_args.arguments))
    return None


def _arguments(bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a tool was given, by name; a text without a name is its input."""
    by_name = {name: value for name, value in bound.items() if name not in ("args", "kwargs")}
    placed = bound.get("args") or ()
    if placed and isinstance(placed[0], str):
        by_name.setdefault("input", placed[0])
    return {**by_name, **(bound.get("kwargs") or {})}


def _messages(bound: Mapping[str, Any]) -> tuple[tuple[str, str, None], ...]:
    """Return what a model is given, each with its role; LlamaIndex wraps some arguments once more."""
    known = {**bound, **(bound.get("kwargs") or {})}
    given = known.get("messages", known.get("prompt", next(iter(bound.get("args") or ()), "")))
    if isinstance(given, str):
        return (("user", given, None),)
    roles = [getattr(one, "role", "") for one in given]
    return tuple(
        (str(getattr(role, "value", role)), str(one.content or ""), None)
        for one, role in zip(given, roles, strict=True)
    )


def _id_of(node: Any) -> str:
    return str(getattr(getattr(node, "node", node), "node_id", ""))
