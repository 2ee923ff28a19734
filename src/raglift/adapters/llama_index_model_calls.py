"""Listens to the language models and embedding models that are called through LlamaIndex.

A method of an LLM often calls another one of itself, as `chat` calls `complete`, and LlamaIndex tells of both. So what
is counted are spans that are in no span of another call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.adapters.model_calls import ModelCall, current_tally
from raglift.llm.llama_index import name_of, usage_of
from raglift.llm.replies import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


_ASKING = frozenset({"chat", "complete", "stream_chat", "stream_complete"})
"""The methods of an LLM that ask it; those that begin with an "a" are asynchronous."""


def attach() -> Callable[[], None]:
    """Listen from now on, and return what ends that."""
    from llama_index.core import instrumentation
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.base.llms.base import BaseLLM
    from llama_index.core.instrumentation.event_handlers import BaseEventHandler
    from llama_index.core.instrumentation.events.embedding import EmbeddingEndEvent
    from llama_index.core.instrumentation.events.llm import LLMChatEndEvent, LLMCompletionEndEvent
    from llama_index.core.instrumentation.span_handlers import NullSpanHandler

    calls = _ModelCalls(BaseLLM, BaseEmbedding)

    class Spans(NullSpanHandler):
        def span_enter(
            self, id_: str, bound_args: Any, instance: Any = None, parent_id: str | None = None, *_: Any, **__: Any
        ) -> None:
            calls.enter(id_, parent_id, instance, bound_args.arguments)

        def span_exit(self, id_: str, bound_args: Any, instance: Any = None, result: Any = None, **_: Any) -> None:  # noqa: ARG002
            calls.leave(id_, result)

        def span_drop(self, id_: str, *_: Any, **__: Any) -> None:
            calls.leave(id_, None)

    class Events(BaseEventHandler):
        def handle(self, event: Any, **_: Any) -> None:
            if isinstance(event, (LLMChatEndEvent, LLMCompletionEndEvent)):
                calls.answered(event.span_id, event.response)
            elif isinstance(event, EmbeddingEndEvent):
                calls.embedded(event.span_id, event.chunks)

    module: Any = instrumentation
    root = module.get_dispatcher()  # all others hand on to it
    spans, events = Spans(), Events()
    root.add_span_handler(spans)
    root.add_event_handler(events)

    def detach() -> None:
        root.span_handlers = [one for one in root.span_handlers if one is not spans]
        root.event_handlers = [one for one in root.event_handlers if one is not events]

    return detach


@dataclass(frozen=True)
class _Span:
    """A span that is open."""

    parent: str | None
    instance: Any


class _ModelCalls:
    """Counts the calls, by the spans that make them."""

    def __init__(self, llm: type, embedding: type) -> None:
        self._llm = llm
        self._embedding = embedding
        self._open: dict[str, _Span] = {}
        self._calls: dict[str, ModelCall] = {}

    def enter(self, span: str, parent: str | None, instance: Any, arguments: Mapping[str, Any]) -> None:
        """Note that a span began, and count it if it asks an LLM."""
        tally = current_tally()
        if tally is None:
            return
        self._open[span] = _Span(parent, instance)
        if not isinstance(instance, self._llm) or _method(span).removeprefix("a") not in _ASKING:
            return
        if not any(above in self._calls for above in self._above(span)):
            self._calls[span] = call = ModelCall("language model", name_of(instance), _sent(arguments))
            tally.add(call)

    def leave(self, span: str, result: Any) -> None:
        """Note that a span ended; a stream is told of later, when it is read to its end."""
        self._open.pop(span, None)
        if hasattr(result, "raw"):
            self.answered(span, result)
        elif result is None:
            self._calls.pop(span, None)

    def answered(self, span: str | None, reply: Any) -> None:
        """Note what was answered, and what it was billed."""
        call = self._calls.get(span or "")
        if call is None or reply is None:
            return
        message = getattr(reply, "message", None)
        call.answered = len(str(getattr(reply, "text", "") if message is None else message.content or ""))
        usage = usage_of(reply)
        call.usage = None if usage == Usage() else usage
        if span not in self._open:
            self._calls.pop(span or "", None)

    def embedded(self, span: str | None, texts: list[str]) -> None:
        """Count a request to an embedding model, where that is asked with a key: others run on this machine."""
        tally, found = current_tally(), self._open.get(span or "")
        if tally is None or found is None:
            return
        model = found.instance
        if isinstance(model, self._embedding) and hasattr(model, "api_key"):
            tally.add(ModelCall("embedding model", name_of(model), sum(map(len, texts))))

    def _above(self, span: str) -> Iterator[str]:
        found = self._open.get(span)
        while found is not None and found.parent is not None:
            yield found.parent
            found = self._open.get(found.parent)


def _method(span: str) -> str:
    """Return the method of a span's id, which is `Class.method-uuid`."""
    return span.partition(".")[2].partition("-")[0]


def _sent(arguments: Mapping[str, Any]) -> int:
    """Return how many characters an LLM was given; what LlamaIndex wraps has its arguments in `args` and `kwargs`."""
    known = {**arguments, **(arguments.get("kwargs") or {})}
    given = known.get("messages", known.get("prompt", next(iter(arguments.get("args") or ()), "")))
    messages = [given] if isinstance(given, str) else given
    return sum(len(str(getattr(message, "content", message) or "")) for message in messages)
