"""LangGraph graphs and LangChain agents: what they did for a question, as a session.

Their tools, retrievers and models are seen through LangChain's callbacks; nothing is wrapped or replaced.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from raglift.adapters.agents import FrameworkAgent, Scored, UnderWay
from raglift.adapters.call_tree import CallNode, CallTree
from raglift.adapters.langchain_documents import scored_documents
from raglift.adapters.results import WITHOUT_ARTIFACTS, documents_of_artifact, is_tool_message, lists_in, results_in
from raglift.errors import QueryFailed, UnsupportedSystem
from raglift.utilities.display import describe_error

if TYPE_CHECKING:
    from raglift.adapters.langchain_chains import Asking
    from raglift.types.sessions import Session


def listener() -> AgentCalls:
    """Return a new handler of LangChain's callbacks."""
    calls: AgentCalls = _handler()()
    return calls


@cache
def _handler() -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    return type("AgentCallsHandler", (AgentCalls, BaseCallbackHandler), {})


class AgentCalls(CallTree):
    """Notes every call of a tool, a retriever or a model, with what it is inside.

    Its methods `on_…` are those of LangChain's `BaseCallbackHandler`.
    """

    retrievers_rerank = True
    run_inline = True  # in the order of the calls, also where they are asynchronous

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[tuple[int, int], list[Any]] = {}
        """The retrievers under way in each thread and task: one may call another without handing its callbacks on."""

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a chain was called by."""
        metadata = kwargs.get("metadata") or {}
        step = (metadata["langgraph_step"], *metadata.get("langgraph_path", ())) if "langgraph_step" in metadata else ()
        self.begin(run_id, kwargs.get("parent_run_id"), CallNode("chain", step=step))

    def on_tool_start(self, serialized: Any, input_str: Any, *, run_id: Any, **kwargs: Any) -> None:
        """Note what a tool was called by and with, and for which of a model's calls."""
        given = kwargs.get("inputs")
        name = kwargs.get("name") or (serialized or {}).get("name") or ""
        arguments = dict(given) if isinstance(given, Mapping) else {"input": given or input_str}
        node = CallNode("tool", name=str(name), arguments=arguments, tool_call=kwargs.get("tool_call_id"))
        self.begin(run_id, kwargs.get("parent_run_id"), node)

    def on_retriever_start(self, serialized: Any, query: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a retriever was called by, and its query."""
        with self._lock:
            around = self._open.setdefault(_flow(), [])
            inside = around[-1] if around else None
            around.append(run_id)
        self.begin(run_id, kwargs.get("parent_run_id"), CallNode("retriever", query=str(query)))
        if inside is not None and inside not in self.ancestors(run_id):
            self.move(run_id, inside)

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note the prompt of a chat model."""
        texts = tuple(
            (str(message.type), _text_of(message), getattr(message, "tool_call_id", None))
            for batch in messages
            for message in batch
        )
        self.begin(run_id, kwargs.get("parent_run_id"), CallNode("model", messages=texts))

    def on_llm_start(self, serialized: Any, prompts: Sequence[str], *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note the prompt of a model that completes texts."""
        texts = tuple(("human", prompt, None) for prompt in prompts)
        self.begin(run_id, kwargs.get("parent_run_id"), CallNode("model", messages=texts))

    def on_tool_end(self, output: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a tool returned."""
        node = self.end(run_id)
        if node is None:
            return
        message = _tool_message_in(output, node.tool_call)
        said = output if message is None else _text_of(message)
        node.output = said if isinstance(said, str) else None
        node.documents = None if message is None else documents_of_artifact(message.artifact)
        if message is not None and message.status == "error":
            node.error = said or "the tool says that it failed"

    def on_retriever_end(self, documents: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a retriever returned."""
        self._close(run_id)
        self.end(run_id, documents=list(documents))

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note what a model answered, which tools it asked for, and what it was billed."""
        generations = [one for batch in response.generations for one in batch]
        node = self.end(run_id, output="".join(one.text for one in generations))
        message = getattr(generations[0], "message", None) if generations else None
        if node is None or message is None:
            return
        calls = getattr(message, "tool_calls", None) or ()
        node.asked_for = {call["id"]: place for place, call in enumerate(calls) if call.get("id") is not None}
        usage = getattr(message, "usage_metadata", None) or {}
        if "input_tokens" in usage and "output_tokens" in usage:
            node.tokens = (usage["input_tokens"], usage["output_tokens"])

    def on_tool_error(self, error: Any, *, run_id: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Note why a tool failed."""
        self._close(run_id)
        self.end(run_id, error=describe_error(error))

    on_retriever_error = on_llm_error = on_tool_error

    def _close(self, run_id: Any) -> None:
        with self._lock:
            for around in self._open.values():
                if run_id in around:
                    around.remove(run_id)


def _tool_message_in(output: Any, tool_call: str | None) -> Any:
    """Return the message in what a tool returned, which may be a command to a graph; None if it is something else."""
    update = getattr(output, "update", None)
    given = update.get("messages", ()) if isinstance(update, Mapping) else output
    several = given if isinstance(given, (list, tuple)) else [given]
    messages = [one for one in several if is_tool_message(one)]
    return next((one for one in messages if one.tool_call_id == tool_call), messages[0] if messages else None)


def _text_of(message: Any) -> str:
    """Return the text of a message, with the documents that providers take as blocks."""
    content = message.content
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)


def _flow() -> tuple[int, int]:
    """Return what tells threads and tasks apart: what one of them begins and ends inside another call is part of it."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop in this thread
        task = None
    return threading.get_ident(), id(task)


# What was called as a session.


_LIMITS = (
    "Sorry, need more steps to process this request.",
    "Agent stopped due to iteration limit or time limit.",
    "Agent stopped due to max iterations.",
    "Model call limits exceeded:",
    "Tool call limit reached:",
)
"""How agents say, in place of an answer, that a limit of steps stopped them."""


class LangChainAgent(FrameworkAgent):
    """A graph or agent that makes its own searches.

    Args:
        runnable: the agent.
        asked: how it is asked.
        doc_key: the metadata key of document ids.
        by_async: whether only its async method answers.
    """

    def __init__(self, runnable: Any, asked: Asking, doc_key: str | None, *, by_async: bool) -> None:
        super().__init__(runnable, asked.who, asked.retrieving, doc_key, by_async=by_async)
        self._asked = asked

    def ask(self, query: str, under_way: UnderWay) -> Session:
        """Return what the agent did for a query.

        Raises:
            QueryFailed: every search failed, or a limit of steps was reached.
            UnsupportedSystem: its tools hand on no documents.
        """
        with self.refusals:
            tree = listener()
            self.begin(under_way, tree)
            answer = self.agent.invoke(self._asked.question(query), config={"callbacks": [tree]})
            return self._session(query, answer, tree)

    async def ask_async(self, query: str, under_way: UnderWay) -> Session:
        """Return what the agent did for a query, without blocking; see `ask`."""
        with self.refusals:
            tree = listener()
            self.begin(under_way, tree)
            answer = await self.agent.ainvoke(self._asked.question(query), config={"callbacks": [tree]})
            return self._session(query, answer, tree)

    def _session(self, query: str, answer: Any, tree: AgentCalls) -> Session:
        texts = _answers(answer)
        stopped = next((text for text in texts if text.strip().startswith(_LIMITS)), None)
        if stopped is not None:
            raise QueryFailed(f"{self.who}: a limit of steps was reached: “{stopped}”")
        return self.session(query, answer, tree, texts)

    def read(self, results: Any) -> Scored:
        """Return documents as hits."""
        return tuple(scored_documents(results, self.who, self.doc_key))

    def documents_in(self, answer: Any) -> Scored | None:
        """Return the documents that the answer, or the state of a graph, is or holds."""
        if not isinstance(answer, Mapping):
            return self.read(answer) if isinstance(answer, (list, tuple)) else None
        lists = list(lists_in(answer).values())
        return self.read(lists[0]) if len(lists) == 1 else None

    def check_nothing_found(self, answer: Any, *, called_tools: bool) -> None:
        """Raise unless an agent that may search did not.

        Raises:
            UnsupportedSystem: its tools hand on no documents, or its answer holds none, or several lists of them.
        """
        if not isinstance(answer, Mapping):
            self.read(answer)  # which says what was expected
            return
        if lists_in(answer):
            results_in(answer, self.who, self._asked.call)  # which says that there are several
        messages = answer.get("messages")
        called_tools = called_tools or bool(answer.get("intermediate_steps"))
        called_tools = called_tools or (isinstance(messages, Sequence) and any(map(is_tool_message, messages)))
        if self.retrieving or (self._asked.may_be_empty and not called_tools):
            return
        if called_tools:
            raise UnsupportedSystem(f"{self.who} called tools that handed on no documents; {WITHOUT_ARTIFACTS}")
        results_in(answer, self.who, self._asked.call)  # which says what was expected


def _answers(answer: Any) -> list[str]:
    """Return the texts that an agent's answer may be: those in its state, and the last message."""
    if not isinstance(answer, Mapping):
        return [answer] if isinstance(answer, str) else []
    messages = answer.get("messages")
    last = messages[-1:] if isinstance(messages, Sequence) and not isinstance(messages, str) else []
    texts = [str(message.text) for message in last if getattr(message, "type", None) == "ai"]
    return [*texts, *(value for value in answer.values() if isinstance(value, str))]
