"""LlamaIndex agents and workflows: how they are asked a question, and where the documents are that they found.

What an agent or workflow did for a question is a session: every call of a tool that retrieved, and what was retrieved
outside of tools, in order. Of a workflow that retrieves by other means, it is the documents in its result. Nothing is
found out by trial, because a trial may cost calls of a language model: the field of the question is read from the start
event that the workflow declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.adapters.agents import FrameworkAgent, Scored
from raglift.adapters.base import is_from
from raglift.adapters.functions import chunk_and_score
from raglift.adapters.llama_index_calls import listening
from raglift.adapters.results import documents_of_artifact, lists_in, wrapper
from raglift.adapters.stages import RetrieveStage
from raglift.errors import UnsupportedSystem
from raglift.utilities.event_loops import result_of

if TYPE_CHECKING:
    from raglift.adapters.agents import UnderWay
    from raglift.types.sessions import Session

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
    name = type(workflow).__name__
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
