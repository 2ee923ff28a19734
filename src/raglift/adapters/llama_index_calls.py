"""Listens to the tools, retrievers, query engines and language models that a LlamaIndex agent or workflow calls.

LlamaIndex reports each call as a span, with the call that it is inside. One handler of spans is registered while an
agent runs, and told by a tag which of the calls in the process are this agent's.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from raglift.adapters.agent_texts import places_of
from raglift.adapters.agents import Search
from raglift.adapters.results import documents_of_artifact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from raglift.adapters.agents import Scored


_TAG = "raglift.listener"
_RETRIEVALS = ("retrieve", "aretrieve", "query", "aquery")
_POSTPROCESSING = ("_postprocess_nodes", "_apostprocess_nodes")
_ASKING = frozenset({"chat", "complete", "stream_chat", "stream_complete"})
"""The methods of an LLM that ask it; those that begin with an "a" are asynchronous."""
_registering = threading.Lock()


@dataclass
class Call:
    """One call of a tool, a retriever, a query engine, a postprocessor or a language model."""

    name: str
    """The tool's, else the name of the class."""
    kind: Literal["tool", "retriever", "engine", "postprocessor", "model"]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of a tool."""
    asked: str | None = None
    """The query of a retriever or engine."""
    given: frozenset[str] = frozenset()
    """The ids of the nodes that a postprocessor was given."""
    prompt: tuple[str, ...] = ()
    """The texts of what a model was given, without what models said before."""
    documents: list[Any] | None = None
    """What it returned, if that is documents."""
    output: str | None = None
    """The text that a tool or model returned; None where it is not known, as of a stream."""
    error: str | None = None
    """Why it failed."""
    began: float = field(default_factory=time.perf_counter)
    seconds: float | None = None


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
        call.seconds = time.perf_counter() - call.began
        if call.kind == "tool":
            call.output = str(getattr(result, "content", result))
            if getattr(result, "is_error", False):
                call.error = call.output
            call.documents = documents_of_artifact(getattr(result, "raw_output", None))
        elif call.kind == "model":
            message = getattr(result, "message", None)
            said = getattr(result, "text", None) if message is None else message.content
            call.output = said if isinstance(said, str) else None
        else:
            call.documents = documents_of_artifact(result)

    def fail(self, span: str, error: str) -> None:
        """Note why a call failed."""
        if (call := self.calls.get(span)) is not None:
            call.error, call.seconds = error, time.perf_counter() - call.began

    def tools(self) -> list[Call]:
        """Return the calls of tools."""
        return list(self._of("tool").values())

    def searches(self, read: Callable[[Iterable[Any]], Scored], retrieving: Iterable[str] = ()) -> list[Search]:
        """Return the searches in order: the calls of tools that retrieved, and of what retrieved outside of tools.

        A tool in which another one retrieved, as one that asks another agent, is none. One that failed is one if the
        tool is known to retrieve.

        Args:
            read: makes hits of nodes.
            retrieving: the names of tools that are known to retrieve.
        """
        found: dict[str, Search] = {}
        for span, call in list(self.calls.items()):
            inside_tool = self._above(span, "tool")
            if call.kind == "tool":
                found[span] = self._of_tool(span, call, read)
            elif call.kind in ("retriever", "engine") and not inside_tool and not self._is_inner(span):
                found[span] = self._of_retrieval(span, call, read)
            elif (
                call.kind == "postprocessor"
                and not inside_tool
                and not self._is_inner(span)
                and call.documents is not None
            ):
                loose = {one: search for one, search in found.items() if not search.tool}
                found |= _reranked(loose, call, read)
        known = {*retrieving, *(one.tool for one in found.values() if one.found_anything and one.tool)}
        known = known or {one.tool for one in found.values() if one.error is not None}
        kept = {
            span: one
            for span, one in found.items()
            if one.found_anything or (one.error is not None and one.tool in known | {""})
        }
        around = {above for span in kept for above in self._ancestors(span)}
        return [search for span, search in kept.items() if span not in around]

    def prompt(self) -> list[str] | None:
        """Return the texts of the prompt that the answer was written from; None where no model was heard.

        It is that of the last model that was asked outside of tools, with the other prompts of the query engine that
        asked it. Where the answer of a tool is in it that a model wrote, that model's prompts are part of it.
        """
        asked = {
            span: call
            for span, call in self._of("model").items()
            if not self._above(span, "model", "retriever", "postprocessor")
        }
        own = [span for span in asked if not self._above(span, "tool")]
        if not own:
            return None
        engine = next((above for above in self._ancestors(own[-1]) if self._kind(above) == "engine"), None)
        group = [span for span in own if engine is not None and engine in self._ancestors(span)] or own[-1:]
        texts = [text for span in group for text in asked[span].prompt]
        for span, tool in self._of("tool").items():
            within = [one for one in asked if span in self._ancestors(one)]
            if not within or not tool.output or not places_of("\n".join(texts), [tool.output]):
                continue
            if (said := asked[within[-1]].output) is None or said.strip() in tool.output:
                texts += [text for one in within for text in asked[one].prompt]
        return texts

    def _of_tool(self, span: str, call: Call, read: Callable[[Iterable[Any]], Scored]) -> Search:
        inside = {one: other for one, other in self.calls.items() if span in self._ancestors(one)}
        outermost = {one: other for one, other in inside.items() if other.kind == "engine" and not self._is_inner(one)}
        handed_on = call.documents
        if handed_on is None and outermost:
            handed_on = [node for other in outermost.values() for node in other.documents or ()]
        stages, seconds, asked = self._stages(inside, read)
        return Search(
            call.name,
            call.arguments,
            asked,
            stages,
            None if handed_on is None else read(handed_on),
            call.output,
            seconds,
            call.seconds,
            error=call.error,
        )

    def _of_retrieval(self, span: str, call: Call, read: Callable[[Iterable[Any]], Scored]) -> Search:
        inside = {one: other for one, other in self.calls.items() if one == span or span in self._ancestors(one)}
        stages, seconds, _ = self._stages(inside, read)
        handed_on = read(call.documents) if call.kind == "engine" and call.documents is not None else None
        return Search(
            asked=call.asked, stages=stages, handed_on=handed_on, seconds=seconds, whole=call.seconds, error=call.error
        )

    def _stages(
        self, calls: Mapping[str, Call], read: Callable[[Iterable[Any]], Scored]
    ) -> tuple[tuple[Scored, ...], tuple[float, ...], str | None]:
        """Return what was retrieved in some calls, and what each postprocessor left of it; seconds; and the query."""
        retrievers = [
            call
            for span, call in calls.items()
            if call.kind == "retriever" and call.documents is not None and not self._above(span, "retriever")
        ]
        if not retrievers:
            return (), (), None
        stages = [read(node for call in retrievers for node in call.documents or ())]
        seconds = [sum(call.seconds or 0.0 for call in retrievers)]
        for span, call in calls.items() if len(retrievers) == 1 else ():
            is_outermost = not self._above(span, "retriever", "postprocessor")
            if call.kind == "postprocessor" and call.documents is not None and is_outermost:
                stages.append(read(call.documents))
                seconds.append(call.seconds or 0.0)
        return tuple(stages), tuple(seconds), retrievers[0].asked

    def _of(self, kind: str) -> dict[str, Call]:
        return {span: call for span, call in list(self.calls.items()) if call.kind == kind}

    def _is_inner(self, span: str) -> bool:
        return self._above(span, "retriever", "engine", "postprocessor")

    def _above(self, span: str, *kinds: str) -> bool:
        return any(self._kind(above) in kinds for above in self._ancestors(span))

    def _kind(self, span: str) -> str | None:
        call = self.calls.get(span)
        return None if call is None else call.kind

    def _ancestors(self, span: str) -> Iterator[str]:
        parent = self.spans.get(span)
        while parent is not None:
            yield parent
            parent = self.spans.get(parent)


def _reranked(searches: Mapping[str, Search], call: Call, read: Callable[[Iterable[Any]], Scored]) -> dict[str, Search]:
    """Return the searches whose nodes a postprocessor was given, each with those of its nodes that were left of it."""
    given = {span: one for span, one in searches.items() if one.stages and _ids(one.stages[-1]) & call.given}
    left = read(call.documents or ())
    reranked = {}
    for span, search in given.items():
        others = {one for other in given if other != span for one in _ids(given[other].stages[-1])}
        own = _ids(search.stages[-1])
        kept = tuple(hit for hit in left if hit[0].id in own or hit[0].id not in others)
        reranked[span] = Search(
            **{**vars(search), "stages": (*search.stages, kept), "seconds": (*search.seconds, call.seconds or 0.0)}
        )
    return reranked


def _ids(ranking: Scored) -> frozenset[str]:
    return frozenset(chunk.id for chunk, _ in ranking)


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
    from llama_index.core.base.llms.base import BaseLLM
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.tools.types import BaseTool

    method, name = span.partition("-")[0].rpartition(".")[2], type(instance).__name__
    if isinstance(instance, BaseTool) and method in ("call", "acall"):
        return Call(str(instance.metadata.name or name), "tool", _arguments(bound_args.arguments))
    if isinstance(instance, (BaseRetriever, BaseQueryEngine)) and method in _RETRIEVALS:
        given = bound_args.arguments.get("str_or_query_bundle")
        kind: Any = "retriever" if isinstance(instance, BaseRetriever) else "engine"
        return Call(name, kind, asked=None if given is None else str(getattr(given, "query_str", given)))
    if isinstance(instance, BaseNodePostprocessor) and method in _POSTPROCESSING:
        nodes = frozenset(map(_id_of, bound_args.arguments.get("nodes") or ()))
        return Call(name, "postprocessor", given=nodes)
    if isinstance(instance, BaseLLM) and method.removeprefix("a") in _ASKING:
        return Call(name, "model", prompt=_prompt(bound_args.arguments))
    return None


def _arguments(bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a tool was given, by name; a text without a name is its input."""
    by_name = {name: value for name, value in bound.items() if name not in ("args", "kwargs")}
    placed = bound.get("args") or ()
    if placed and isinstance(placed[0], str):
        by_name.setdefault("input", placed[0])
    return {**by_name, **(bound.get("kwargs") or {})}


def _prompt(bound: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts that a model is given, but for those of its own; LlamaIndex wraps some arguments once more."""
    known = {**bound, **(bound.get("kwargs") or {})}
    given = known.get("messages", known.get("prompt", next(iter(bound.get("args") or ()), "")))
    if isinstance(given, str):
        return (given,)
    roles = [str(getattr(getattr(one, "role", ""), "value", getattr(one, "role", ""))) for one in given]
    return tuple(str(one.content or "") for one, role in zip(given, roles, strict=True) if role != "assistant")


def _id_of(node: Any) -> str:
    return str(getattr(getattr(node, "node", node), "node_id", ""))
