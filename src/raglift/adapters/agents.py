"""Agents: what one made of a question is a session, whatever framework it is built on.

The adapters of frameworks give what an agent did as searches. Here these become calls, with the hits before and after
reranking, and the hits are found that reached the prompt of the answer.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.adapters.agent_texts import hits_in, places_of
from raglift.adapters.asking import BothWays, Refusals
from raglift.errors import QueryFailed
from raglift.types.rankings import Call, Ranking, StageTrace
from raglift.types.sessions import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raglift.types.documents import Chunk


Scored = tuple[tuple["Chunk", float | None], ...]
"""What a search found, best first."""
_QUERY_NAMES = ("query", "question", "q", "input", "search_query", "text", "search", "queries")
"""The arguments in which tools are known to take what is searched for."""


class UnderWay:
    """One run of an agent over a question: its calls so far are known too if it fails, or is given up on.

    Args:
        repetition: which run of the same query it is.
    """

    def __init__(self, repetition: int = 1) -> None:
        self.repetition = repetition
        self._calls: Callable[[], tuple[Call, ...]] = tuple

    def begin(self, calls: Callable[[], tuple[Call, ...]]) -> None:
        """Note that the agent is asked now, and what returns its calls so far; a further attempt begins anew."""
        self._calls = calls

    def calls(self) -> tuple[Call, ...]:
        """Return the calls so far; none where what was found by them cannot be read."""
        with suppress(Exception):  # the run failed already, and its error is the one to tell
            return self._calls()
        return ()

    def __str__(self) -> str:
        """Tell the runs of a query apart: their answers are kept by this."""
        return f"run {self.repetition}"


@dataclass(frozen=True)
class Search:
    """One search: a call of a tool, or of a retriever that no tool called."""

    tool: str = ""
    """The name of the tool; empty for a retriever."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the tool was given."""
    asked: str | None = None
    """What the retriever was asked."""
    stages: tuple[Scored, ...] = ()
    """What was retrieved, and what was left of it after each reranking; nothing if no retriever was called."""
    handed_on: Scored | None = None
    """The documents that the tool handed on beside its text; None if it did not."""
    output: str | None = None
    """The text that the tool gave the model; None for a retriever."""
    seconds: tuple[float, ...] = ()
    """Of each of the stages, as far as they are known."""
    whole: float | None = None
    """Seconds of the call."""
    tokens: int | None = None
    """Tokens of the text in the next prompt, as the provider counted them."""
    error: str | None = None
    """Why it failed."""

    @property
    def found_anything(self) -> bool:
        """Whether documents are known of it, also if there are none in the list."""
        return bool(self.stages) or self.handed_on is not None


def call_of(search: Search) -> Call:
    """Return a search as a call of a session.

    Where a tool handed on other documents than were retrieved in it, or its text has only some of them, or has them in
    another order, they were reranked in the tool: that is a stage.
    """
    rankings = list(search.stages)
    after = search.handed_on if search.handed_on is not None else _in_output(search)
    if after is not None and (not rankings or _chunks(rankings[-1]) != _chunks(after)):
        rankings.append(after)
    seconds = list(search.seconds[: len(rankings)])
    if len(seconds) < len(rankings):  # the rest of the call's time is that of what follows the retriever
        seconds += [max((search.whole or 0.0) - sum(seconds), 0.0)] + [0.0] * (len(rankings) - len(seconds) - 1)
    query, others = _query_and_others(search)
    stages = tuple(
        StageTrace(_stage_name(number), Ranking.of(ranking), took)
        for number, (ranking, took) in enumerate(zip(rankings, seconds, strict=True))
    )
    return Call(
        query,
        () if search.error is not None else stages,
        search.tool,
        others,
        search.tokens,
        search.whole,
        search.error,
    )


def _stage_name(number: int) -> str:
    return "retrieve" if number == 0 else "rerank" if number == 1 else f"rerank-{number}"


def _chunks(ranking: Scored) -> list[Chunk]:
    return [chunk for chunk, _ in ranking]


def _in_output(search: Search) -> Scored | None:
    """Return those of the hits that a tool's text has, in its order; None where it has none of them, or no hits."""
    if search.output is None or not search.stages or not search.stages[-1]:
        return None
    found = search.stages[-1]
    order = places_of(search.output, [chunk.text for chunk, _ in found])
    return tuple(found[place] for place in order) or None


def _query_and_others(search: Search) -> tuple[str, dict[str, Any]]:
    """Return what was searched for, and the other arguments."""
    given = {str(name): value for name, value in search.arguments.items() if _is_json(value)}
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    names = [name for name, value in texts.items() if value == search.asked]
    names += [name for name in _QUERY_NAMES if name in texts]
    if not names and len(texts) == 1:
        names = list(texts)
    if names:
        return texts[names[0]], {name: value for name, value in given.items() if name != names[0]}
    if search.asked is not None:
        return search.asked, given
    return (json.dumps(given, ensure_ascii=False) if given else ""), given


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def final_context(calls: Sequence[Call], prompt: Sequence[str] | None) -> Ranking | None:
    """Return the hits of a session that reached the prompt of its answer, in the order in which they are in it.

    A hit whose text the prompt has is there as a whole; one of which it has only a beginning is there as that
    beginning. A text that several calls returned is there once.

    Args:
        calls: of the session.
        prompt: the texts of the prompt, without what the model said itself; None where it is not known.
    """
    if prompt is None:
        return None
    every = [hit for call in calls for stage in call.stages[::-1] for hit in stage.ranking]
    return hits_in("\n".join(prompt), every)


class FrameworkAgent(BothWays):
    """A framework's agent: `ask(query, under_way)` returns a session.

    Args:
        agent: what is asked; each query is the first of a conversation.
        who: the name of its class, for messages.
        sync: whether it can be asked without an event loop.
        asynchronous: whether it is async of its own.
    """

    def __init__(self, agent: Any, who: str, *, sync: bool, asynchronous: bool) -> None:
        super().__init__(sync=sync, asynchronous=asynchronous)
        self.agent = agent
        self.who = who
        self.refusals = Refusals()
        if sync:
            self.session_one, self.retrieve_one = self.answer, self._retrieve_one
        if asynchronous:
            self.asession_one, self.aretrieve_one = self.answer_async, self._aretrieve_one

    def session(
        self, query: str, searches: Sequence[Search], documents: Scored | None, prompt: Sequence[str] | None
    ) -> Session:
        """Return what the agent did for a query.

        Args:
            query: the question.
            searches: that it made.
            documents: those in its answer, which are the context if the prompt is not known; None if there are none.
            prompt: the texts that the answer was written from.

        Raises:
            QueryFailed: every search failed.
        """
        calls = tuple(map(call_of, searches))
        if calls and all(call.error is not None for call in calls):
            what = f"its tool {calls[0].tool}" if calls[0].tool else "its retriever"
            raise QueryFailed(f"{self.who}: {what} failed: {calls[0].error}")
        context = final_context(calls, prompt)
        if context is None and documents is not None:
            context = Ranking.of(documents)
        return Session(query, calls, context)

    def _retrieve_one(self, query: str, k: int) -> Ranking:
        return _ranking_of_calls(self.answer(query, UnderWay()), k)

    async def _aretrieve_one(self, query: str, k: int) -> Ranking:
        return _ranking_of_calls(await self.answer_async(query, UnderWay()), k)


def _ranking_of_calls(session: Session, k: int) -> Ranking:
    """Return the hits of all calls of a session, one call after the other, at most `k`."""
    hits = [hit for call in session.calls for hit in call.ranking]
    return Ranking.of((hit.chunk, hit.score) for hit in hits[:k])
