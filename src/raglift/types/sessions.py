"""Sessions: the searches that an agent made for one question, and what it kept of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral

from raglift.errors import ConfigurationError
from raglift.types.rankings import Call, Ranking, StageTrace, Trace, ranking_of
from raglift.utilities.validation import described, quoted


@dataclass(frozen=True)
class Session:
    """What an agent did for one labelled query: its searches in order, and the hits that reached the answer's prompt.

        rl.Session("q7", [rl.Call.of("lamp 1871", first), rl.Call.of("who lit the lamp?", second)], context=kept)

    Raises:
        ConfigurationError: an id that is no text, calls that are no `Call`, a context that is no chunks, or a
            repetition that is not an integer of 1 or more.
    """

    query_id: str
    """The id of the query in the dataset."""
    calls: Sequence[Call]
    """The searches, in order; none for an agent that answered without one."""
    context: Ranking | Iterable[object] | None = None
    """The hits that reached the prompt of the answer: a `Ranking`, or chunks in order; None where it is not known."""
    repetition: int = 1
    """Which run of the same query it is, where the query was run several times: 1, 2, …"""
    error: str | None = None
    """Why the agent stopped before it was done; None if it did not. Its calls up to then count."""
    retries: int = 0
    """How often the agent was run again after a failure, before it did this."""

    def __post_init__(self) -> None:
        where = f"Session {quoted(self.query_id)}"
        if not isinstance(self.query_id, str):
            raise ConfigurationError(f"Session.query_id: found {described(self.query_id)}; expected a text")
        if not isinstance(self.calls, (list, tuple)):
            raise ConfigurationError(f"{where}: found {described(self.calls)} for calls; expected a list of Call")
        for number, call in enumerate(self.calls, start=1):
            if not isinstance(call, Call):
                raise ConfigurationError(
                    f"{where}, call {number}: found {described(call)}; expected a Call, as Call.of(query, hits)"
                )
        repetition: object = self.repetition
        if isinstance(repetition, bool) or not isinstance(repetition, Integral) or repetition < 1:
            raise ConfigurationError(f"{where}: found the repetition {repetition!r}; expected an integer, 1 or more")
        if self.error is not None and not isinstance(self.error, str):
            raise ConfigurationError(f"{where}: found {described(self.error)} for error; expected a text or None")
        object.__setattr__(self, "calls", tuple(self.calls))
        if self.context is not None:
            object.__setattr__(self, "context", ranking_of(self.context, f"{where}, context"))


def stage_names(sessions: Iterable[Session]) -> tuple[str, ...]:
    """Return the names of the stages of all calls, in the order that all calls have them in."""
    chains = dict.fromkeys(tuple(stage.stage for stage in call.stages) for one in sessions for call in one.calls)
    names: list[str] = []
    for chain in chains:
        for place, name in enumerate(chain):
            if name not in names:
                later = [names.index(other) for other in chain[place + 1 :] if other in names]
                names.insert(min(later, default=len(names)), name)
    for chain in chains:
        if list(chain) != [name for name in names if name in chain]:
            raise ConfigurationError(
                f"sessions: found calls with the stages {' → '.join(chain)} and others with them in another order; "
                "expected one order for all calls, as retrieve → rerank"
            )
    return tuple(names) or ("retrieve",)


def session_trace(session: Session, stages: Sequence[str]) -> Trace:
    """Return a session as a trace: after each stage, the hits of its calls one after the other.

    What comes twice is kept twice: the agent was given it twice. A call without one of the stages has there what it had
    before that stage: what was not reranked is as it was retrieved.
    """
    done = tuple(
        StageTrace(
            name,
            Ranking.of((hit.chunk, hit.score) for call in session.calls for hit in ranking_at(call, name, stages)),
            sum(one.seconds for call in session.calls for one in call.stages if one.stage == name),
        )
        for name in stages
    )
    context = session.context if isinstance(session.context, Ranking) else None
    return Trace(session.query_id, done, session.error, tuple(session.calls), context, retries=session.retries)


def ranking_at(call: Call, stage: str, stages: Sequence[str]) -> Ranking:
    """Return the hits of a call after a stage of the run.

    A call that does not have it, has there the hits of its last stage before that one; where its first stage comes
    later, it has the hits of that.
    """
    order = list(stages)
    before = [one for one in call.stages if order.index(one.stage) <= order.index(stage)]
    if before:
        return before[-1].ranking
    return call.stages[0].ranking if call.stages else Ranking()
