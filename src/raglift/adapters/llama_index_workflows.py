"""LlamaIndex agents and workflows: how they are asked a question, and where the documents are that they found.

What an agent or workflow did for a question is a session: every call of a tool that retrieved, and what was retrieved
outside of tools, in order. Of a workflow that retrieves by other means, it is the documents in its result. Nothing is
found out by trial, because a trial may cost calls of a language model: the field of the question is read from the start
event that the workflow declares. LlamaIndex reports each call as a span, with the call that it is inside: one handler
of spans is registered while an agent runs, and told by a tag which of the calls in the process are this agent's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from raglift.adapters.agents import FrameworkAgent, Scored, UnderWay
from raglift.adapters.base import is_from
from raglift.adapters.call_tree import CallNode, CallTree
from raglift.adapters.functions import chunk_and_score
from raglift.adapters.results import documents_of_artifact, lists_in, wrapper
from raglift.adapters.stages import RetrieveStage
from raglift.errors import UnsupportedSystem
from raglift.utilities.event_loops import result_of

if TYPE_CHECKING:
    from raglift.types.sessions import Session


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


# How one is asked.


QUESTION_FIELDS = ("query", "question", "input", "user_msg", "query_str")
"""The fields of a start event under which a workflow is known to take its question."""
_HANDS_ON = (
    "expected tools that retrieve: a QueryEngineTool, a RetrieverTool, or a FunctionTool that asks a retriever of "
    "LlamaIndex's or returns its nodes, or mappings with a text"
)


def is_workflow(obj: Any) -> bool:
    """Whether an object is a workflow of LlamaIndex, as agents are; imports nothing."""
    return is_from(obj, "workflows.workflow", "llama_index.core.workflow")


def workflow_stages(workflow: Any, *, as_deployed: bool = False, doc_key: str | None = None) -> list[RetrieveStage]:
    """Return the one stage of an agent or workflow; its depth is that of its tools, and cannot be raised.

    Raises:
        UnsupportedSystem: the field of the question cannot be told, or the workflow waits for a person.
    """
    kind = type(workflow).__name__
    given = getattr(workflow, "name", None) if _agents(workflow) else kind
    name = f"LlamaIndex {kind}" if given in (None, "", "Agent") else str(given)  # "Agent": without a name of its own
    agent = WorkflowAgent(workflow, asking(workflow), doc_key=doc_key)
    return [RetrieveStage(agent, name, depth_fixed=() if as_deployed else (name,), has_own_depth=as_deployed)]


@dataclass(frozen=True)
class Asking:
    """How a workflow is asked, and how its answer is read."""

    who: str
    """The name of its class, for messages."""
    key: str
    """The argument of `run` that takes the question."""
    is_agent: bool = False
    """Whether it is one of LlamaIndex's agents, whose answer is a text."""
    retrieving: frozenset[str] = frozenset()
    """The names of its tools that are known to retrieve, so that a call of another need not have retrieved."""


class WorkflowAgent(FrameworkAgent):
    """Runs an agent or workflow, one query at a time, each in a new context: no memory is carried over."""

    def __init__(self, workflow: Any, asked: Asking, *, doc_key: str | None) -> None:
        super().__init__(workflow, asked.who, asked.retrieving, doc_key, by_async=True)
        self._asked = asked

    def ask(self, query: str, under_way: UnderWay) -> Session:
        """Return what one run did."""
        session: Session = result_of(self.ask_async(query, under_way))
        return session

    async def ask_async(self, query: str, under_way: UnderWay) -> Session:
        """Return what one run did, without blocking.

        Raises:
            QueryFailed: every search failed.
            UnsupportedSystem: it found no documents, or waits for a person.
        """
        with self.refusals:
            with listening() as tree:
                self.begin(under_way, tree)
                answer = await self._run(query)
            return self.session(query, answer, tree)

    def read(self, results: Any) -> Scored:
        """Return nodes as hits."""
        return tuple(chunk_and_score(node, self.doc_key) for node in results)

    def documents_in(self, answer: Any) -> Scored | None:
        """Return the documents that the result of a workflow is or holds."""
        found = None if self._asked.is_agent else _documents_in(answer)
        return None if found is None else self.read(found)

    def check_nothing_found(self, answer: Any, *, called_tools: bool) -> None:
        """Raise unless an agent that may search did not.

        Raises:
            UnsupportedSystem: nothing was retrieved, and no documents are in the answer.
        """
        if self.retrieving or (self._asked.is_agent and not called_tools):
            return
        if self._asked.is_agent:
            raise UnsupportedSystem(f"{self.who} called tools that handed on no documents; {_HANDS_ON}")
        raise UnsupportedSystem(
            f"{self.who}: its result is a {type(answer).__name__} without documents, and it asked no retriever of "
            "LlamaIndex's; expected a result that is, or holds, a response with sources or a list of nodes"
        )

    async def _run(self, query: str) -> Any:
        from workflows.events import InputRequiredEvent

        handler = self.agent.run(**{self._asked.key: query})
        try:
            async for event in handler.stream_events():
                if isinstance(event, InputRequiredEvent):
                    raise _waits(self.who)
            return await handler
        finally:
            if not handler.is_done():  # a timeout, or a person would have to answer
                await handler.cancel_run()


def asking(workflow: Any) -> Asking:
    """Return how a workflow is asked.

    Raises:
        UnsupportedSystem: the field of the question cannot be told, or it waits for a person.
    """
    from workflows.events import InputRequiredEvent

    who, agents = type(workflow).__name__, _agents(workflow)
    if agents:
        tools = [tool for agent in agents for tool in agent.tools or ()]
        retrieving = frozenset(str(tool.metadata.name) for tool in tools if _is_known_to_retrieve(tool))
        return Asking(who, "user_msg", is_agent=True, retrieving=retrieving)
    if any(issubclass(event, InputRequiredEvent) for event in workflow.events):
        raise _waits(who)
    return Asking(who, _key(who, workflow.start_event_class))


def _agents(workflow: Any) -> list[Any]:
    """Return the agents that a workflow consists of; none if it is another workflow."""
    from llama_index.core.agent.workflow import AgentWorkflow, BaseWorkflowAgent

    if isinstance(workflow, AgentWorkflow):
        return list(workflow.agents.values())
    return [workflow] if isinstance(workflow, BaseWorkflowAgent) else []


def _is_known_to_retrieve(tool: Any) -> bool:
    from llama_index.core.tools import QueryEngineTool, RetrieverTool

    return isinstance(tool, (QueryEngineTool, RetrieverTool))


def _key(who: str, event: Any) -> str:
    """Return the field of a start event that takes the question."""
    fields = event.model_fields
    required = [name for name, about in fields.items() if about.is_required()]
    known = required or [name for name in QUESTION_FIELDS if name in fields]
    if len(known) == 1 and fields[known[0]].annotation in (str, str | None, Any):
        return str(known[0])
    shown = f"the fields {', '.join(fields)}" if fields else "no fields"
    first, *others = required or ["query"]
    given = ", ".join([f"{first}=query", *(f"{name}='…'" for name in others)])
    raise UnsupportedSystem(
        f"{who}: found {shown} in its start event, {event.__name__}; expected a subclass of StartEvent that declares "
        "the question, a text, as the only field it needs" + wrapper(f"await workflow.run({given})", is_async=True)
    )


def _waits(who: str) -> UnsupportedSystem:
    return UnsupportedSystem(
        f"{who}: waits for a person to answer it (InputRequiredEvent); expected a workflow that runs to its end"
    )


def _documents_in(answer: Any) -> list[Any] | None:
    """Return the documents that the result of a workflow is or holds; None if there are none."""
    found = documents_of_artifact(answer)
    if found is not None:
        return found
    fields = answer if isinstance(answer, Mapping) else _fields(answer)
    lists = list(lists_in(fields).values())
    if len(lists) == 1:
        return documents_of_artifact(lists[0])
    sources = [documents for value in fields.values() if (documents := documents_of_artifact(value)) is not None]
    return sources[0] if len(sources) == 1 and not lists else None


def _fields(answer: Any) -> Mapping[str, Any]:
    """Return the fields of a stop event of the user's own."""
    from workflows.events import StopEvent

    return {name: getattr(answer, name) for name in type(answer).model_fields} if isinstance(answer, StopEvent) else {}
