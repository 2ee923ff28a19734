"""LangGraph graphs and LangChain agents: what they did for a question, as a session.

Their tools, retrievers and models are seen through LangChain's callbacks; nothing is wrapped or replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from raglift.adapters.agents import FrameworkAgent, Scored, Search, call_of
from raglift.adapters.langchain_calls import AgentCalls, listener, searches_in_messages
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
        sync: whether it can be asked without an event loop.
        asynchronous: whether it is async of its own.
    """

    def __init__(self, runnable: Any, asked: Asking, doc_key: str | None, *, sync: bool, asynchronous: bool) -> None:
        super().__init__(runnable, asked.who, sync=sync, asynchronous=asynchronous)
        self._asked = asked
        self._doc_key = doc_key

    def ask(self, query: str, under_way: UnderWay) -> Session:
        """Return what the agent did for a query.

        Raises:
            QueryFailed: every search failed, or a limit of steps was reached.
            UnsupportedSystem: its tools hand on no documents.
        """
        with self.refusals:
            tree = self._begin(under_way)
            answer = self.agent.invoke(self._asked.question(query), config={"callbacks": [tree]})
            searches, documents = self._searches(query, answer, tree)
        return self._session(query, answer, tree, searches, documents)

    async def ask_async(self, query: str, under_way: UnderWay) -> Session:
        """Return what the agent did for a query, without blocking; see `ask`."""
        with self.refusals:
            tree = self._begin(under_way)
            answer = await self.agent.ainvoke(self._asked.question(query), config={"callbacks": [tree]})
            searches, documents = self._searches(query, answer, tree)
        return self._session(query, answer, tree, searches, documents)

    def _begin(self, under_way: UnderWay) -> AgentCalls:
        tree = listener()
        under_way.begin(lambda: tuple(map(call_of, self._searches_of(tree))))
        return tree

    def _session(
        self, query: str, answer: Any, tree: AgentCalls, searches: list[Search], documents: Scored | None
    ) -> Session:
        texts = _answers(answer)
        stopped = next((text for text in texts if text.strip().startswith(_LIMITS)), None)
        if stopped is not None:
            raise QueryFailed(f"{self.who}: a limit of steps was reached: “{stopped}”")
        return self.session(query, searches, documents, tree.prompt(texts))

    def _searches(self, query: str, answer: Any, tree: AgentCalls) -> tuple[list[Search], Scored | None]:
        """Return the searches of a run, and the documents in the agent's answer, if there are any."""
        searches = self._searches_of(tree, answer)
        found = answer if not isinstance(answer, Mapping) else None
        lists = lists_in(answer) if isinstance(answer, Mapping) else {}
        documents = self._read(next(iter(lists.values()))) if len(lists) == 1 else None
        if searches:
            only = searches[0] if len(searches) == 1 and not searches[0].tool else None
            if only is not None and documents:  # what a graph left of the one retrieval that it made
                searches = [Search(**{**vars(only), "handed_on": documents})]
            return searches, documents
        if found is not None or lists:
            documents = self._read(found if found is not None else results_in(answer, self.who, self._asked.call))
            return ([Search(asked=query, handed_on=documents)] if documents else []), documents
        messages = answer.get("messages")
        used = tree.tools() or (isinstance(messages, Sequence) and any(map(is_tool_message, messages)))
        used = used or bool(answer.get("intermediate_steps"))
        if self._asked.knows_tools or (self._asked.may_be_empty and not used):
            return [], None
        if used:
            raise UnsupportedSystem(f"{self.who} called tools that handed on no documents; {WITHOUT_ARTIFACTS}")
        self._read(results_in(answer, self.who, self._asked.call))  # which says what was expected
        return [], None

    def _searches_of(self, tree: AgentCalls, answer: Any = None) -> list[Search]:
        searches = tree.searches(self._read, self._asked.retrieving)
        messages = answer.get("messages") if isinstance(answer, Mapping) else None
        if isinstance(messages, Sequence) and not isinstance(messages, str):
            searches += searches_in_messages(messages, tree.tool_calls(), self._read, self._asked.retrieving)
        return searches

    def _read(self, results: Any) -> Scored:
        return tuple(scored_documents(results, self.who, self._doc_key))


def _answers(answer: Any) -> list[str]:
    """Return the texts that an agent's answer may be: those in its state, and the last message."""
    if not isinstance(answer, Mapping):
        return [answer] if isinstance(answer, str) else []
    messages = answer.get("messages")
    last = messages[-1:] if isinstance(messages, Sequence) and not isinstance(messages, str) else []
    texts = [str(message.text) for message in last if getattr(message, "type", None) == "ai"]
    return [*texts, *(value for value in answer.values() if isinstance(value, str))]
