"""LangGraph graphs and LangChain agents: what they did for a question, as a session.

Their tools, retrievers and models are seen through LangChain's callbacks; nothing is wrapped or replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from raglift.adapters.agents import Scored, Search, UnderWay, call_of, final_context, ranking_of_calls
from raglift.adapters.langchain_calls import AgentCalls, listener, searches_in_messages
from raglift.adapters.langchain_documents import scored_documents
from raglift.adapters.results import WITHOUT_ARTIFACTS, is_tool_message, lists_in, results_in
from raglift.base.event_loops import result_of
from raglift.errors import QueryFailed, UnsupportedSystem
from raglift.records.rankings import Ranking
from raglift.records.sessions import Session

if TYPE_CHECKING:
    from raglift.adapters.langchain_chains import Asking


_REFUSALS = 3
"""After so many answers without documents, and none with, an agent is not asked any more."""
_LIMITS = (
    "Sorry, need more steps to process this request.",
    "Agent stopped due to iteration limit or time limit.",
    "Agent stopped due to max iterations.",
    "Model call limits exceeded:",
    "Tool call limit reached:",
)
"""How agents say, in place of an answer, that a limit of steps stopped them."""


class _Agent:
    """A graph or agent that makes its own searches.

    Args:
        runnable: the agent; each query is the first of a conversation.
        asked: how it is asked.
        doc_key: the metadata key of document ids.
    """

    def __init__(self, runnable: Any, asked: Asking, doc_key: str | None) -> None:
        self._runnable = runnable
        self._asked = asked
        self._doc_key = doc_key
        self._answered = False
        self._refusals: list[UnsupportedSystem] = []

    def _ask(self, query: str, under_way: UnderWay) -> Session:
        tree = self._begin(under_way)
        answer = self._runnable.invoke(self._asked.question(query), config={"callbacks": [tree]})
        return self._session(query, answer, tree)

    async def _ask_async(self, query: str, under_way: UnderWay) -> Session:
        tree = self._begin(under_way)
        answer = await self._runnable.ainvoke(self._asked.question(query), config={"callbacks": [tree]})
        return self._session(query, answer, tree)

    def _begin(self, under_way: UnderWay) -> AgentCalls:
        if len(self._refusals) >= _REFUSALS and not self._answered:
            raise self._refusals[0]  # a run may cost money
        tree = listener()
        under_way.begin(lambda: tuple(map(call_of, self._searches_of(tree))))
        return tree

    def _session(self, query: str, answer: Any, tree: AgentCalls) -> Session:
        try:
            searches, documents = self._searches(query, answer, tree)
        except UnsupportedSystem as error:
            self._refusals.append(error)
            raise
        self._answered = True
        calls = tuple(map(call_of, searches))
        stopped = _limit_in(answer)
        if stopped is not None:
            raise QueryFailed(f"{self._asked.who}: a limit of steps was reached: “{stopped}”")
        if calls and all(call.error is not None for call in calls):
            one = calls[0]
            raise QueryFailed(f"{self._asked.who}: its tool {one.tool or 'without a name'} failed: {one.error}")
        context = final_context(calls, tree.prompt(_answers(answer)))
        if context is None and documents is not None:
            context = Ranking.of(documents)
        return Session(query, calls, context)

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
            documents = self._read(
                found if found is not None else results_in(answer, self._asked.who, self._asked.call)
            )
            return ([Search(asked=query, handed_on=documents)] if documents else []), documents
        messages = answer.get("messages")
        used = tree.tools() or (isinstance(messages, Sequence) and any(map(is_tool_message, messages)))
        used = used or bool(answer.get("intermediate_steps"))
        if self._asked.knows_tools or (self._asked.may_be_empty and not used):
            return [], None
        if used:
            raise UnsupportedSystem(f"{self._asked.who} called tools that handed on no documents; {WITHOUT_ARTIFACTS}")
        self._read(results_in(answer, self._asked.who, self._asked.call))  # which says what was expected
        return [], None

    def _searches_of(self, tree: AgentCalls, answer: Any = None) -> list[Search]:
        searches = tree.searches(self._read, self._asked.retrieving)
        messages = answer.get("messages") if isinstance(answer, Mapping) else None
        if isinstance(messages, Sequence) and not isinstance(messages, str):
            searches += searches_in_messages(messages, tree.tool_calls(), self._read, self._asked.retrieving)
        return searches

    def _read(self, results: Any) -> Scored:
        return tuple(scored_documents(results, self._asked.who, self._doc_key))


class SyncAgent(_Agent):
    """An agent that is asked without an event loop; by its async method where the sync one is only a stub."""

    def session_one(self, query: str, under_way: UnderWay) -> Session:
        """Return what the agent did for a query.

        Raises:
            QueryFailed: every search failed, or a limit of steps was reached.
            UnsupportedSystem: its tools hand on no documents.
        """
        try:
            return self._ask(query, under_way)
        except NotImplementedError:
            return result_of(self._ask_async(query, under_way))

    def retrieve_one(self, query: str, k: int) -> Ranking:
        """Return the first `k` hits of all searches, one search after the other."""
        return ranking_of_calls(self.session_one(query, UnderWay()), k)


class AsyncOnlyAgent(_Agent):
    """An agent of which something can be asked by async methods alone."""

    async def asession_one(self, query: str, under_way: UnderWay) -> Session:
        """Return what the agent did for a query, without blocking; see `SyncAgent.session_one`."""
        return await self._ask_async(query, under_way)

    async def aretrieve_one(self, query: str, k: int) -> Ranking:
        """Return the first `k` hits of all searches, one search after the other."""
        return ranking_of_calls(await self.asession_one(query, UnderWay()), k)


class AsyncAgent(SyncAgent):
    """An agent that can be asked in either way."""

    async def asession_one(self, query: str, under_way: UnderWay) -> Session:
        """Return what the agent did for a query, without blocking; in a thread where the async method is a stub."""
        try:
            return await self._ask_async(query, under_way)
        except NotImplementedError:
            return await asyncio.to_thread(self._ask, query, under_way)


def _answers(answer: Any) -> list[str]:
    """Return the texts that an agent's answer may be: those in its state, and the last message."""
    if not isinstance(answer, Mapping):
        return [answer] if isinstance(answer, str) else []
    messages = answer.get("messages")
    last = messages[-1:] if isinstance(messages, Sequence) and not isinstance(messages, str) else []
    texts = [str(message.text) for message in last if getattr(message, "type", None) == "ai"]
    return [*texts, *(value for value in answer.values() if isinstance(value, str))]


def _limit_in(answer: Any) -> str | None:
    """Return what an agent says in place of an answer where a limit of steps stopped it."""
    return next((text for text in _answers(answer) if text.strip().startswith(_LIMITS)), None)
