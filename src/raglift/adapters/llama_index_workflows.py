"""LlamaIndex agents and workflows: how they are asked a question, and where the documents are that they found.

An agent is measured by what it retrieved: the documents of every call of a tool, in the order of the calls. A workflow
of the user's own is measured by the documents in its result, or else by what was retrieved while it ran. Nothing is
found out by trial, because a trial may cost calls of a language model: the field of the question is read from the start
event that the workflow declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from raglift.adapters.base import is_from
from raglift.adapters.functions import chunk_and_score
from raglift.adapters.llama_index_calls import Heard, listening
from raglift.adapters.results import documents_of_artifact, lists_in, wrapper
from raglift.adapters.stages import RetrieveStage
from raglift.errors import QueryFailed, UnsupportedSystem
from raglift.records.rankings import Ranking

QUESTION_FIELDS = ("query", "question", "input", "user_msg", "query_str")
"""The fields of a start event under which a workflow is known to take its question."""
_REFUSALS = 3
"""After so many answers without documents, and none with, a workflow is not asked any more."""
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
    retriever = WorkflowRetriever(workflow, asking(workflow), as_deployed=as_deployed, doc_key=doc_key)
    return [RetrieveStage(retriever, name, () if as_deployed else (name,), has_own_depth=as_deployed)]


@dataclass(frozen=True)
class Asking:
    """How a workflow is asked, and how its answer is read."""

    who: str
    """The name of its class, for messages."""
    key: str
    """The argument of `run` that takes the question."""
    is_agent: bool = False
    """Whether it is one of LlamaIndex's agents, whose answer is a text."""
    knows_tools: bool = False
    """Whether one of its tools is known to retrieve, so that a call of another need not have retrieved."""

    def results(self, answer: Any, heard: Heard) -> list[Any]:
        """Return the documents of an answer, best first; of an agent, those of every call, in order.

        Raises:
            QueryFailed: a tool failed, and none found anything.
            UnsupportedSystem: no documents are in the answer, and none were retrieved.
        """
        own = None if self.is_agent else _documents_in(answer)
        if own is not None:
            return own
        calls, tools = heard.documents(), heard.tools()
        failed = next((call for call in tools if call.error is not None), None)
        if failed is not None and not calls:
            raise QueryFailed(f"{self.who}: its tool {failed.name} failed: {failed.error}")
        if calls or self.knows_tools or (self.is_agent and not tools):
            return [document for documents in calls for document in documents]
        if self.is_agent:
            raise UnsupportedSystem(f"{self.who} called tools that handed on no documents; {_HANDS_ON}")
        raise UnsupportedSystem(
            f"{self.who}: its result is a {type(answer).__name__} without documents, and it asked no retriever of "
            "LlamaIndex's; expected one of these"
            + wrapper(f"(await workflow.run({self.key}=query)).source_nodes", is_async=True)
        )


class WorkflowRetriever:
    """Runs an agent or workflow, one query at a time, each in a new context: no memory is carried over."""

    def __init__(self, workflow: Any, asked: Asking, *, as_deployed: bool, doc_key: str | None) -> None:
        self._workflow = workflow
        self._asked = asked
        self._as_deployed = as_deployed
        self._doc_key = doc_key
        self._answered = False
        self._refusals: list[UnsupportedSystem] = []

    async def aretrieve_one(self, query: str, k: int) -> Ranking:
        """Return what one run found; as deployed all of it, else the first `k`.

        Raises:
            QueryFailed: a tool failed.
            UnsupportedSystem: it found no documents, or waits for a person.
        """
        if len(self._refusals) >= _REFUSALS and not self._answered:
            raise self._refusals[0]  # a run may cost money
        try:
            with listening() as heard:
                answer = await self._run(query)
            found = self._asked.results(answer, heard)
        except UnsupportedSystem as error:
            self._refusals.append(error)
            raise
        self._answered = True
        ranked = [chunk_and_score(each, self._doc_key) for each in found]
        return Ranking.of(ranked if self._as_deployed else ranked[:k])

    async def _run(self, query: str) -> Any:
        from workflows.events import InputRequiredEvent

        handler = self._workflow.run(**{self._asked.key: query})
        try:
            async for event in handler.stream_events():
                if isinstance(event, InputRequiredEvent):
                    raise _waits(self._asked.who)
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
        return Asking(who, "user_msg", is_agent=True, knows_tools=any(map(_is_known_to_retrieve, tools)))
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
    given = ", ".join(f"{name}={'query' if at == 0 else '…'}" for at, name in enumerate(required or ["query"]))
    raise UnsupportedSystem(
        f"{who}: found {shown} in its start event, {event.__name__}; expected a subclass of StartEvent that declares "
        "the question, a text, as the only field it needs"
        + wrapper(f"(await workflow.run({given})).source_nodes", is_async=True)
    )


def _waits(who: str) -> UnsupportedSystem:
    return UnsupportedSystem(
        f"{who}: waits for a person to answer it (InputRequiredEvent); expected a workflow that runs to its end"
        + wrapper("retriever.retrieve(query)")
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
