"""How a system is run: concurrency, timeouts, retries, failures, and the record of every stage."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import tenacity

from raglift.adapters.stages import RerankStage, RetrieveStage, Stage
from raglift.base.cache import is_bypassed
from raglift.base.display import counted, describe_error
from raglift.base.event_loops import AsyncWorkerPool, cancellations
from raglift.base.progress import track
from raglift.base.threads import LOOK_UP, WorkerPool
from raglift.errors import (
    ConfigurationError,
    ModelOutputError,
    QueryFailed,
    QueryTimeout,
    RagliftError,
    ServiceUnusable,
)
from raglift.records.rankings import Ranking, StageTrace, Trace
from raglift.running.model_calls import Halted, NotAsked

if TYPE_CHECKING:
    from concurrent.futures import Future

    from raglift.adapters.stages import Policy
    from raglift.matching.provenance import Provenance
    from raglift.records.labels import Query
    from raglift.running.model_calls import Way


# Many calls of one function: in order, in a bounded pool of threads, or as tasks on an event loop. Results always come
# back in the order of the arguments. A thread cannot be stopped, so a call that exceeds its timeout is abandoned on its
# own (daemon) thread and another thread replaces it; a coroutine is cancelled, and if it blocks its event loop, another
# loop replaces that. When too many are abandoned, the system is considered to hang, and the remaining calls fail
# without being made.


T = TypeVar("T")
Call = Callable[[], T]
AsyncCall = Callable[[], Awaitable[T]]
_LEFT_BEHIND_PER_WORKER = 4
_LEFT_BEHIND_AT_LEAST = 16
_SUBMITTED_AHEAD = 50
"""How many calls wait for a worker at most."""
_BLOCKED = (
    "an async function blocked the event loop, as time.sleep and requests do: await instead, or use asyncio.to_thread"
)


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The outcome of one call: a value, or an error."""

    value: T | None
    seconds: float
    error: BaseException | None = None
    tries: int = 1
    """How often the call was made."""


class FirstFailure(Exception):
    """The first call seen to fail, where that stops the others: its location among the calls, and its error."""

    def __init__(self, place: int, error: BaseException) -> None:
        super().__init__(place, error)
        self.place = place
        self.error = error


def call_all(calls: Sequence[Call[T]], policy: Policy, finished: Callable[[int], None]) -> list[Outcome[T]]:
    """Make synchronous calls, each with its retries.

    Args:
        calls: what to call.
        policy: concurrency, timeout, retries, and whether the first failure stops.
        finished: called with 1 after each call.

    Raises:
        FirstFailure: a call failed, and the policy says `raise`; or it was told to stop, as by KeyboardInterrupt.
    """
    if policy.concurrency > 1 or policy.timeout is not None:
        watched: _WatchedCalls[T] = _WatchedCalls(calls, policy, finished, WorkerPool)
        return watched.run()
    outcomes = []
    for place, call in enumerate(calls):
        outcomes.append(_outcome(call, policy, _Tries()))
        _stop_if_asked(place, outcomes[-1], policy)
        finished(1)
    return outcomes


def call_all_async(calls: Sequence[AsyncCall[T]], policy: Policy, finished: Callable[[int], None]) -> list[Outcome[T]]:
    """Make asynchronous calls, each with its retries, on the event loop that raglift keeps for them.

    The loop runs on its own thread, so that this works inside a notebook, whose thread already has a loop, and so that
    a call that blocks the loop is given up on as any other.

    Args and Raises: as `call_all`.
    """
    watched: _WatchedCalls[T] = _WatchedCalls(calls, policy, finished, AsyncWorkerPool)
    return watched.run()


class _Tries:
    """How often a call was made so far, and how it failed the last time."""

    def __init__(self) -> None:
        self.made = 0
        self.last: BaseException | None = None
        self.given_up = False
        """Whether it is not to be made again."""

    def retrying(self, policy: Policy) -> dict[str, Any]:
        """Return the arguments for tenacity's `Retrying` and `AsyncRetrying`, which count the tries here."""
        settings = policy.retry_policy.for_tenacity()
        is_enough = settings["stop"]

        def begin(_state: Any) -> None:
            self.made += 1

        def stop(state: Any) -> bool:
            self.last = state.outcome.exception()
            return self.given_up or is_enough(state)

        return {**settings, "before": begin, "stop": stop}


def _outcome(call: Call[T], policy: Policy, tries: _Tries) -> Outcome[T]:
    """Make one call with its retries; none is made once the call has been given up on."""
    started = time.perf_counter()
    try:
        value = tenacity.Retrying(**tries.retrying(policy))(call)
    except BaseException as error:  # noqa: BLE001 — whatever the user's system raises is that query's result
        return Outcome(None, time.perf_counter() - started, error, tries.made)
    return Outcome(value, time.perf_counter() - started)


async def _outcome_async(call: AsyncCall[T], policy: Policy, tries: _Tries) -> Outcome[T]:
    """Make one asynchronous call, as `_outcome` does."""
    started = time.perf_counter()

    async def attempt() -> T:  # tenacity awaits only what is declared async
        return await call()

    try:
        value: T = await tenacity.AsyncRetrying(**tries.retrying(policy))(attempt)
    except BaseException as error:  # noqa: BLE001 — also where the user's system cancels itself
        return Outcome(None, time.perf_counter() - started, error, tries.made)
    return Outcome(value, time.perf_counter() - started)


def _stop_if_asked(place: int, outcome: Outcome[T], policy: Policy) -> None:
    error = outcome.error
    if isinstance(error, NotAsked):  # what was asked before is kept, so the others end like this too
        return
    told_to_stop = not isinstance(error, (Exception, asyncio.CancelledError))
    if error is not None and (told_to_stop or policy.on_error == "raise"):
        raise FirstFailure(place, error)


def _timed_out(policy: Policy, last: BaseException | None = None, *, blocked: bool = False) -> QueryTimeout:
    """Return the error of a query that took too long, with what went wrong before it was tried again."""
    before = f"; before that, {describe_error(last)}" if last is not None else ""
    why = f" ({_BLOCKED})" if blocked else ""
    seconds = "1 second" if policy.timeout == 1 else f"{policy.timeout:g} seconds"
    return QueryTimeout(f"no answer within the timeout of {seconds}{why}{before}")


class _WatchedCalls(Generic[T]):
    """Calls made by a pool of workers, and watched by the caller's thread, which gives up on those that are late.

    A thread cannot be stopped, and a coroutine may ignore that it is cancelled, so nothing here waits for a call.
    """

    def __init__(
        self, calls: Sequence[Any], policy: Policy, finished: Callable[[int], None], kind: type[WorkerPool]
    ) -> None:
        self._calls = calls
        self._policy = policy
        self._finished = finished
        self._kind = kind
        self._make = self._make_async if issubclass(kind, AsyncWorkerPool) else self._make_in_thread
        self._outcomes: dict[int, Outcome[T]] = {}
        self._unreported: deque[int] = deque()
        self._submitted: dict[int, Future[None]] = {}
        self._under_way: dict[int, tuple[float, _Tries]] = {}
        """When each began, the first one first."""
        self._next = 0
        self._changed = threading.Condition()

    def run(self) -> list[Outcome[T]]:
        most_abandoned = max(_LEFT_BEHIND_AT_LEAST, _LEFT_BEHIND_PER_WORKER * self._policy.concurrency)
        # When this thread is interrupted, or a failure stops the run, the pool begins no further call
        with self._kind(self._policy.concurrency, "raglift-call", most_abandoned=most_abandoned) as pool, self._changed:
            cancelled = cancellations()
            while len(self._outcomes) < len(self._calls):
                self._submit_more(pool)
                self._changed.wait(min(LOOK_UP, self._seconds_to_next_timeout()))
                if cancellations() > cancelled:
                    raise asyncio.CancelledError
                pool.look_after()
                self._give_up_on_late_calls(pool)
                self._report()
        return [self._outcomes[place] for place in range(len(self._calls))]

    def _submit_more(self, pool: WorkerPool) -> None:
        """Submit a few calls more than are made at once: each that waits takes memory, and there may be many."""
        while self._next < len(self._calls) and len(self._submitted) < self._policy.concurrency + _SUBMITTED_AHEAD:
            place, self._next = self._next, self._next + 1
            self._submitted[place] = pool.submit(self._make, place)
            self._submitted[place].add_done_callback(partial(self._end_unmade, place))

    def _make_in_thread(self, place: int) -> None:
        if (tries := self._begin(place)) is not None:
            self._end(place, _outcome(self._calls[place], self._policy, tries))

    async def _make_async(self, place: int) -> None:
        if (tries := self._begin(place)) is not None:
            self._end(place, await _outcome_async(self._calls[place], self._policy, tries))

    def _begin(self, place: int) -> _Tries | None:
        with self._changed:
            if place in self._outcomes:  # all that remained were given up on
                return None
            tries = _Tries()
            self._under_way[place] = time.monotonic(), tries
            return tries

    def _end(self, place: int, outcome: Outcome[T]) -> None:
        with self._changed:
            if self._under_way.pop(place, None) is not None:  # else it has been given up on
                self._finish(place, outcome)

    def _end_unmade(self, place: int, future: Future[None]) -> None:
        """Note the error of a call that another one kept from being made, as by cancelling all tasks of the loop."""
        error = None if future.cancelled() else future.exception()
        if error is not None:
            with self._changed:
                self._under_way.pop(place, None)
                if place not in self._outcomes:
                    self._finish(place, Outcome(None, 0.0, error))

    def _finish(self, place: int, outcome: Outcome[T]) -> None:
        self._outcomes[place] = outcome
        self._submitted.pop(place, None)
        self._unreported.append(place)
        is_all = len(self._outcomes) == len(self._calls)
        # Waking the caller's thread takes longer than many a call, so it is done only where it has something to do
        if is_all or outcome.error is not None or len(self._submitted) <= self._policy.concurrency:
            self._changed.notify_all()

    def _report(self) -> None:
        while self._unreported:
            place = self._unreported.popleft()
            self._finished(1)
            _stop_if_asked(place, self._outcomes[place], self._policy)

    def _seconds_to_next_timeout(self) -> float:
        """Return how long to wait at most; a call that no worker has begun yet cannot be late any sooner."""
        if self._policy.timeout is None:
            return math.inf
        now = time.monotonic()
        earliest, _ = next(iter(self._under_way.values()), (now, None))
        return max(0.0, earliest + self._policy.timeout - now)

    def _give_up_on_late_calls(self, pool: WorkerPool) -> None:
        if self._policy.timeout is None:
            return
        now = time.monotonic()
        while self._under_way:
            place, (began, tries) = next(iter(self._under_way.items()))
            if now - began < self._policy.timeout:
                break
            del self._under_way[place]
            tries.given_up = True
            reason = _timed_out(self._policy, tries.last, blocked=pool.is_blocked(self._submitted[place]))
            pool.abandon(self._submitted[place])
            self._finish(place, Outcome(None, now - began, reason, tries.made))
        if pool.is_stuck:
            reason = QueryTimeout(
                f"not asked: {pool.abandoned} earlier calls hang past the timeout of {self._policy.timeout:g} s"
            )
            for place in range(len(self._calls)):
                if place not in self._outcomes:
                    self._finish(place, Outcome(None, 0.0, reason))


# Runs the stages of a system over all queries and records the output of each stage for each query.


@dataclass(frozen=True)
class _Step:
    """The three ways in which a stage may be asked; None if it cannot."""

    batch: Callable[..., list[Ranking]] | None
    one: Callable[..., Ranking] | None
    one_async: Callable[..., Any] | None

    @classmethod
    def of(cls, stage: Stage) -> _Step:
        if isinstance(stage, RetrieveStage):
            asked = stage.retriever
            names = ("retrieve", "retrieve_one", "aretrieve_one")
            return cls(*(getattr(asked, name, None) for name in names))
        names = ("rerank", "rerank_one", "arerank_one")
        return cls(*(getattr(stage.reranker, name, None) for name in names))


def is_batched(stage: Stage) -> bool:
    """Whether a stage takes all queries at once."""
    return _Step.of(stage).batch is not None


def run_stages(
    stages: Sequence[Stage],
    queries: Sequence[Query],
    k: int,
    policy: Policy,
    provenance: Provenance,
    *,
    after: Sequence[Trace] | None = None,
    watch: Callable[[Stage], AbstractContextManager[Any]] = nullcontext,
    calls: Way | None = None,
) -> tuple[Trace, ...]:
    """Put every query through every stage, one stage after the other.

    Where the calls of models are counted, the first query goes through the stages before the others, to say what all
    of them will come to.

    Args:
        stages: a RetrieveStage, then any number of RerankStages, with distinct names; only RerankStages if there are
            traces to continue from.
        queries: what to ask.
        k: how many hits to retrieve.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        provenance: resolves the document and checks the offsets of every hit.
        after: traces of earlier stages, one per query, to continue from; a query that failed there is not run again.
        watch: entered while a stage is asked, and left when it has answered.
        calls: counts the calls of models, and may stop before the next query.

    Returns:
        One trace per query, in the order of the queries. A query that failed keeps the stages before the failure.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the system cannot work at all: a model that does not load, results that are not rankings.
        Halted: a limit of the calls was reached.
    """
    state = _State(queries, k, provenance)
    for place, trace in enumerate(after or ()):
        state.done[place], state.errors[place] = list(trace.stages), trace.error
    ahead = _Ahead()
    for number, stage in enumerate(stages):
        alive = [place for place, error in enumerate(state.errors) if error is None]
        if calls is not None and not ahead.outcomes and len(alive) > 1 and calls.wants_first(policy.concurrency):
            given = state.input_of(stage, alive[0])
            ahead = _Ahead(alive[0], _ask_first(stages[number:], given, policy, provenance, watch, calls))
        outcomes = ahead.of(stage)
        waiting = [place for place in alive if place not in outcomes]
        # A stage that takes all queries at once shows its own progress: only it knows what it is busy with.
        show = False if is_batched(stage) else policy.progress
        with watch(stage), track(stage.name, len(alive), "queries", show=show) as advance:
            if outcomes:
                advance(1)
            found = ask_stage(stage, [state.input_of(stage, place) for place in waiting], policy, advance, calls)
        outcomes |= zip(waiting, found, strict=True)
        not_asked = {place for place, outcome in outcomes.items() if isinstance(outcome.error, NotAsked)}
        _stop_if_unusable(stage, [outcomes[place] for place in alive if place not in not_asked])
        if isinstance(stage, RerankStage) and stage.doubt is not None and (doubt := stage.doubt()) is not None:
            raise ConfigurationError(doubt)
        for place in alive:
            state.record(stage, place, outcomes[place], is_checked=place not in waiting)
        if not_asked:
            for later in [] if ahead.place in not_asked else stages[number + 1 :]:
                for place, outcome in ahead.of(later).items():
                    state.record(later, place, outcome, is_checked=True)
            asked = [trace for place, trace in enumerate(state.traces()) if place not in not_asked]
            raise Halted(stages, queries, asked, k)
    return state.traces()


class _State:
    """How far each query came: the stages that it went through, or its error.

    Args:
        queries: what is asked.
        k: how many hits to retrieve.
        provenance: checks rankings.
    """

    def __init__(self, queries: Sequence[Query], k: int, provenance: Provenance) -> None:
        self.done: list[list[StageTrace]] = [[] for _ in queries]
        self.errors: list[str | None] = [None] * len(queries)
        self._queries = queries
        self._k = k
        self._provenance = provenance

    def input_of(self, stage: Stage, place: int) -> tuple[Any, ...]:
        """Return what a stage is given for a query."""
        text = self._queries[place].text
        return (text, self._k if isinstance(stage, RetrieveStage) else self.done[place][-1].ranking)

    def record(self, stage: Stage, place: int, outcome: Outcome[Ranking], *, is_checked: bool) -> None:
        """Note what a stage returned for a query, or why it failed."""
        if outcome.value is None:
            tried = f" (tried {outcome.tries} times)" if outcome.tries > 1 else ""
            reason = describe_error(outcome.error or QueryFailed("no ranking"))
            self.errors[place] = f"{stage.name}: {reason}{tried}"
        else:
            ranking = outcome.value if is_checked else self._provenance.check(outcome.value)
            self.done[place].append(StageTrace(stage.name, ranking, outcome.seconds))

    def traces(self) -> tuple[Trace, ...]:
        """Return one trace per query."""
        return tuple(
            Trace(query.id, tuple(stages_done), error)
            for query, stages_done, error in zip(self._queries, self.done, self.errors, strict=True)
        )


@dataclass(frozen=True)
class _Ahead:
    """What the stages returned for the query that went through them before the others."""

    place: int = -1
    """Of the query."""
    outcomes: Mapping[str, Outcome[Ranking]] = field(default_factory=dict)
    """By the names of the stages; their rankings are checked."""

    def of(self, stage: Stage) -> dict[int, Outcome[Ranking]]:
        """Return the outcome of a stage by the place of the query; empty if there is none."""
        return {self.place: self.outcomes[stage.name]} if stage.name in self.outcomes else {}


def _ask_first(
    stages: Sequence[Stage],
    given: tuple[Any, ...],
    policy: Policy,
    provenance: Provenance,
    watch: Callable[[Stage], AbstractContextManager[Any]],
    calls: Way,
) -> dict[str, Outcome[Ranking]]:
    """Put one query through the stages, up to one that takes all at once, and return the outcome of each by name."""
    outcomes: dict[str, Outcome[Ranking]] = {}
    with calls.leading():
        for stage in takewhile(lambda one: not is_batched(one), stages):
            with watch(stage):
                (outcome,) = ask_stage(stage, [given], policy, lambda _count: None, calls)
            if outcome.value is None:
                outcomes[stage.name] = outcome
                break
            ranking = provenance.check(outcome.value)
            outcomes[stage.name] = replace(outcome, value=ranking)
            given = (given[0], ranking)
    return outcomes


def ask_stage(
    stage: Stage,
    inputs: list[tuple[Any, ...]],
    policy: Policy,
    advance: Callable[[int], None],
    calls: Way | None = None,
) -> list[Outcome[Ranking]]:
    """Ask one stage for its rankings, in whichever way it may be asked.

    Args:
        stage: what is asked.
        inputs: a query's text and the depth for a RetrieveStage, its text and ranking for a RerankStage; for each.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        advance: called with the number of queries just finished.
        calls: counts the calls of models, and may stop before the next query.

    Returns:
        One outcome a query, in order: its ranking and seconds, or its error.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the stage cannot work at all.
    """
    if stage.keeper is not None and not is_bypassed():
        return stage.keeper.ask(stage, inputs, policy, advance, calls)
    step = _Step.of(stage)

    def finished(count: int) -> None:
        if calls is None or not calls.is_stopped:
            advance(count)

    try:
        if step.batch is not None:
            return _run_batch(stage, step.batch, inputs, policy, advance)
        always_async = isinstance(stage, RetrieveStage) and stage.asynchronous
        if step.one_async is not None and (policy.concurrency > 1 or always_async or step.one is None):
            asynchronous = [partial(_checked_async, stage, calls, step.one_async, *given) for given in inputs]
            return call_all_async(asynchronous, policy, finished)
        if step.one is not None:
            return call_all([partial(_checked, stage, calls, step.one, *given) for given in inputs], policy, finished)
    except FirstFailure as stop:
        failure = _stopped(stage, inputs[stop.place][0], stop.error)
        raise failure from failure.__cause__
    raise ConfigurationError(f"{stage.name}: {stage.system} has none of the methods of the protocol")


def _is_misuse(error: BaseException | None) -> bool:
    """Whether raglift itself says that the system cannot be used; a timeout says so of one query only."""
    return isinstance(error, RagliftError) and not isinstance(error, QueryFailed)


def _stopped(stage: Stage, query: str, error: BaseException) -> BaseException:
    """Return what to raise where the error of one query's call stops the run."""
    if not isinstance(error, Exception) or _is_misuse(error):
        return error
    kind = QueryTimeout if isinstance(error, QueryTimeout) else QueryFailed
    failure = kind(f"{stage.name} ({stage.system}) failed on {query[:80]!r}: {describe_error(error)}")
    failure.__cause__ = error
    return failure


def _stop_if_unusable(stage: Stage, outcomes: Sequence[Outcome[Ranking]]) -> None:
    """Raise the error where every query failed of misuse: then it is not a query's fault.

    A service can also be slow or fail temporarily: only if it answered no query, and at least half of the errors are
    configuration errors, the configuration is reported as the cause.
    """
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if not errors or len(errors) < len(outcomes):
        return
    unusable = [error for error in errors if isinstance(error, ServiceUnusable)]
    if unusable and (2 * len(unusable) >= len(errors) or all(map(_is_misuse, errors))):
        causes = [str(error).partition(" — ")[0] for error in unusable]
        worst = unusable[causes.index(max(causes, key=causes.count))]
        others = len(errors) - len(unusable)
        more = f" (every query failed, {others:,} of {len(errors):,} of another cause)" if others else ""
        raise ServiceUnusable(f"{stage.system}: {worst}{more}") from worst  # which of its addresses it was about
    if all(map(_is_misuse, errors)):
        raise errors[0]


def every_query_failed(traces: Sequence[Trace]) -> QueryFailed | None:
    """Return the error of a run in which every query failed, with the first cause; None if any query was answered."""
    if not traces or any(trace.error is None for trace in traces):
        return None
    return QueryFailed(f"every query failed; the first: {traces[0].error}")


def most_queries_failed(traces: Sequence[Trace]) -> QueryFailed | None:
    """Return an error that says how many queries failed, where it is more than half of them; else None."""
    failed = [trace for trace in traces if trace.error is not None]
    if 2 * len(failed) <= len(traces):
        return None
    return QueryFailed(
        f"{len(failed):,} of {counted(len(traces), 'query')} failed and count 0, so the figures say little of the "
        f"system; the first, {failed[0].query_id}: {failed[0].error}"
    )


def _run_batch(
    stage: Stage,
    call: Callable[..., list[Ranking]],
    inputs: list[tuple[Any, ...]],
    policy: Policy,
    advance: Callable[[int], None],
) -> list[Outcome[Ranking]]:
    """Ask for all queries at once; when that fails, one by one, so that one query cannot take the rest with it."""
    if not inputs:
        return []
    started = time.perf_counter()
    try:
        rankings = tenacity.Retrying(**policy.retry_policy.for_tenacity())(_call_batch, stage, call, inputs)
    except Exception as error:
        if isinstance(error, RagliftError) and not isinstance(error, ModelOutputError):
            raise  # not one query's fault: a model that does not load, a cache that cannot be written
        if policy.on_error == "raise":
            raise QueryFailed(f"{stage.name} ({stage.system}) failed: {describe_error(error)}") from error
        # In turn: what takes all queries at once was not promised to be safe to call from several threads
        in_turn = replace(policy, concurrency=1)
        return call_all([partial(_alone, stage, call, given) for given in inputs], in_turn, advance)
    advance(len(inputs))
    seconds = (time.perf_counter() - started) / len(inputs)
    return [Outcome(ranking, seconds) for ranking in rankings]


def _alone(stage: Stage, call: Callable[..., list[Ranking]], given: tuple[Any, ...]) -> Ranking:
    return _call_batch(stage, call, [given])[0]


def _call_batch(stage: Stage, call: Callable[..., list[Ranking]], inputs: list[tuple[Any, ...]]) -> list[Ranking]:
    texts = [given[0] for given in inputs]
    if isinstance(stage, RerankStage):
        rankings = call(texts, [given[1] for given in inputs])
    else:
        rankings = call(texts, inputs[0][1])
    if not isinstance(rankings, Sequence) or len(rankings) != len(inputs):
        found = f"{len(rankings)} rankings" if isinstance(rankings, Sequence) else type(rankings).__name__
        raise ConfigurationError(f"{stage.name}: {stage.system} returned {found}; expected {len(inputs)} rankings")
    for ranking in rankings:
        _require_ranking(stage, ranking)
    return list(rankings)


def _checked(stage: Stage, calls: Way | None, call: Callable[..., Ranking], *given: Any) -> Ranking:
    with nullcontext() if calls is None else calls.query(stage.name):
        ranking = call(*given)
    _require_ranking(stage, ranking)
    return ranking


async def _checked_async(stage: Stage, calls: Way | None, call: Callable[..., Any], *given: Any) -> Ranking:
    with nullcontext() if calls is None else calls.query(stage.name):
        ranking = await call(*given)
    _require_ranking(stage, ranking)
    assert isinstance(ranking, Ranking)  # noqa: S101 — checked above, for the type checker
    return ranking


def _require_ranking(stage: Stage, ranking: object) -> None:
    if not isinstance(ranking, Ranking):
        raise ConfigurationError(
            f"{stage.name}: {stage.system} returned a {type(ranking).__name__}; expected a raglift Ranking"
        )
    ranks = [getattr(hit, "rank", None) for hit in ranking.hits]
    if ranks != list(range(1, len(ranks) + 1)):
        raise ConfigurationError(
            f"{stage.name}: {stage.system} returned hits of the ranks {ranks[:5]}; expected 1, 2, 3, … in order: "
            "build the ranking with Ranking.of"
        )
