"""Agents: what one made of a question is a session, whatever framework it is built on.

The adapters of frameworks give what an agent did as searches. Here these become calls, with the hits before and after
reranking, and the hits are found that reached the prompt of the answer.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from raglift.adapters.agent_texts import hits_in, places_of
from raglift.adapters.asking import Asked, Refusals
from raglift.errors import QueryFailed
from raglift.types.rankings import Call, Ranking, StageTrace
from raglift.types.sessions import Session

if TYPE_CHECKING:
    from raglift.adapters.call_tree import CallTree
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
        StageTrace(stage_name(number), Ranking.of(ranking), took)
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


def stage_name(number: int) -> str:
    """Return what the hits of a search are called after so many rerankings."""
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


class FrameworkAgent(Asked):
    """A framework's agent: `ask(query, under_way)` returns a session.

    Args:
        agent: what is asked; each query is the first of a conversation.
        who: the name of its class, for messages.
        retrieving: the names of its tools that are known to retrieve, so that a call of another need not have
            retrieved.
        doc_key: the metadata key of document ids.
        by_async: whether only its async method answers.
    """

    def __init__(
        self, agent: Any, who: str, retrieving: Collection[str], doc_key: str | None, *, by_async: bool
    ) -> None:
        super().__init__(by_async=by_async)
        self.agent = agent
        self.who = who
        self.retrieving = retrieving
        self.doc_key = doc_key
        self.refusals = Refusals()
        if by_async:
            self.asession_one, self.aretrieve_one = self.ask_async, self._aretrieve_one
        else:
            self.session_one, self.retrieve_one = self.answer, self._retrieve_one

    @abstractmethod
    def read(self, results: Any) -> Scored:
        """Return what a retriever of the framework gave as hits."""

    @abstractmethod
    def documents_in(self, answer: Any) -> Scored | None:
        """Return the documents in the agent's answer; None if there are none."""

    @abstractmethod
    def check_nothing_found(self, answer: Any, *, called_tools: bool) -> None:
        """Raise unless an answer without any search and documents means that the agent did not search.

        Raises:
            UnsupportedSystem: it searched by means that are not seen.
        """

    def begin(self, under_way: UnderWay, tree: CallTree) -> None:
        """Note that the agent is asked now."""
        under_way.begin(lambda: tuple(map(call_of, tree.searches(self.read, self.retrieving))))

    def session(self, query: str, answer: Any, tree: CallTree, texts: Sequence[str] = ()) -> Session:
        """Return what the agent did for a query.

        Args:
            query: the question.
            answer: what it returned.
            tree: what it called.
            texts: those that its answer may be, if they are known.

        Raises:
            QueryFailed: every search failed.
            UnsupportedSystem: it searched by means that are not seen.
        """
        searches, documents = tree.searches(self.read, self.retrieving), self.documents_in(answer)
        if documents is not None and len(searches) == 1 and not searches[0].tool:  # what it left of its one retrieval
            searches = [replace(searches[0], handed_on=documents)]
        elif not searches and documents:
            searches = [Search(asked=query, handed_on=documents)]
        elif not searches and documents is None:
            self.check_nothing_found(answer, called_tools=bool(tree.of("tool")))
        calls = tuple(map(call_of, searches))
        if calls and all(call.error is not None for call in calls):
            what = f"its tool {calls[0].tool}" if calls[0].tool else "its retriever"
            raise QueryFailed(f"{self.who}: {what} failed: {calls[0].error}")
        context = final_context(calls, tree.prompt(texts))
        if context is None and documents is not None:
            context = Ranking.of(documents)
        return Session(query, calls, context)

    def _retrieve_one(self, query: str, k: int) -> Ranking:
        return _ranking_of_calls(self.answer(query, UnderWay()), k)

    async def _aretrieve_one(self, query: str, k: int) -> Ranking:
        return _ranking_of_calls(await self.ask_async(query, UnderWay()), k)


def final_context(calls: Sequence[Call], prompt: Sequence[str] | None) -> Ranking | None:
    """Return the hits that reached the prompt of the answer, in its order; None if the prompt is not known.

    A hit whose text the prompt has is there as a whole; one of which it has only a beginning is there as that
    beginning. A text that several calls returned is there once.

    Args:
        calls: of the session.
        prompt: the texts of the prompt, without what the model said itself.
    """
    if prompt is None:
        return None
    every = [hit for call in calls for stage in call.stages[::-1] for hit in stage.ranking]
    return hits_in("\n".join(prompt), every)


def _ranking_of_calls(session: Session, k: int) -> Ranking:
    """Return the hits of all calls of a session, one call after the other, at most `k`."""
    hits = [hit for call in session.calls for hit in call.ranking]
    return Ranking.of((hit.chunk, hit.score) for hit in hits[:k])
