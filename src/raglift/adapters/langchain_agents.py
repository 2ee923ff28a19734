"""LangGraph graphs and LangChain agents: what they did for a question, as a session.

Their tools, retrievers and models are seen through LangChain's callbacks; nothing is wrapped or replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from raglift.adapters.agents import FrameworkAgent, Scored
from raglift.adapters.langchain_calls import AgentCalls, listener
from raglift.adapters.langchain_documents import scored_documents
from raglift.adapters.results import WITHOUT_ARTIFACTS, is_tool_message, lists_in, results_in
from raglift.errors import QueryFailed, UnsupportedSystem

if TYPE_CHECKING:
    from raglift.adapters.agents import UnderWay
    from raglift.adapters.langchain_chains import Asking
    from raglift.types.sessions import Session


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
