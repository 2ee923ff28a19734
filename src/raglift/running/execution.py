"""How a system is run: concurrency, timeouts, retries, failures, and the record of every stage."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import tenacity

from raglift.adapters.stages import RerankStage, RetrieveStage, Stage
from raglift.base.display import describe_error
from raglift.base.progress import track
from raglift.base.threads import LOOK_UP, WorkerPool, result_of
from raglift.errors import (
    ConfigurationError,
    ModelOutputError,
    QueryFailed,
    QueryTimeout,
    RagliftError,
    ServiceUnusable,
)
from raglift.records.rankings import Ranking, StageTrace, Trace

if TYPE_CHECKING:
    from concurrent.futures import Future

    from raglift.adapters.stages import Policy
    from raglift.matching.provenance import Provenance
    from raglift.records.labels import Query


# Many calls of one function: in order, in a bounded pool of threads, or on an event loop. Results always come back in
# the order of the arguments. A thread cannot be stopped, so a call that exceeds its timeout is abandoned on its own
# (daemon) thread and another thread replaces it; when too many are abandoned, the system is considered to hang, and the
# remaining calls fail without being made.


T = TypeVar("T")
Call = Callable[[], T]
AsyncCall = Callable[[], Awaitable[T]]
_LEFT_BEHIND_PER_WORKER = 4
_LEFT_BEHIND_AT_LEAST = 16
_SUBMITTED_PER_WORKER = 2


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
        return _PooledCalls(calls, policy, finished).run()
    outcomes = []
    for place, call in enumerate(calls):
        outcomes.append(_outcome(call, policy))
        _stop_if_asked(place, outcomes[-1], policy)
        finished(1)
    return outcomes


def call_all_async(calls: Sequence[AsyncCall[T]], policy: Policy, finished: Callable[[int], None]) -> list[Outcome[T]]:
    """Make asynchronous calls, each with its retries, on the event loop that raglift keeps for them.

    The loop runs on its own thread, so that this works inside a notebook, whose thread already has a loop.

    Args and Raises: as `call_all`.
    """
    stopped = threading.Event()
    try:
        return result_of(_gather(calls, policy, finished, stopped))
    finally:
        stopped.set()  # when this thread was interrupted, no further call is made


def _outcome(call: Call[T], policy: Policy, given_up: Callable[[], bool] = lambda: False) -> Outcome[T]:
    """Make one call with its retries; none is made once the call has been given up on."""
    started = time.perf_counter()
    settings = policy.retry_policy.for_tenacity()
    enough = settings["stop"]
    settings["stop"] = lambda state: enough(state) or given_up()
    retrying = tenacity.Retrying(**settings)
    try:
        value = retrying(call)
    except BaseException as error:  # noqa: BLE001 — whatever the user's system raises is that query's result
        tries = int(retrying.statistics.get("attempt_number", 1))
        return Outcome(None, time.perf_counter() - started, error, tries)
    return Outcome(value, time.perf_counter() - started)


def _stop_if_asked(place: int, outcome: Outcome[T], policy: Policy) -> None:
    error = outcome.error
    told_to_stop = not isinstance(error, (Exception, asyncio.CancelledError))
    if error is not None and (told_to_stop or policy.on_error == "raise"):
        raise FirstFailure(place, error)


def _timed_out(policy: Policy, last: BaseException | None = None) -> QueryTimeout:
    """Return the error of a query that took too long, with what went wrong before it was tried again."""
    before = f"; before that, {describe_error(last)}" if last is not None else ""
    seconds = "1 second" if policy.timeout == 1 else f"{policy.timeout:g} seconds"
    return QueryTimeout(f"no answer within the timeout of {seconds}{before}")


async def _gather(
    calls: Sequence[AsyncCall[T]], policy: Policy, finished: Callable[[int], None], stopped: threading.Event
) -> list[Outcome[T]]:
    places = asyncio.Semaphore(policy.concurrency)

    async def one(place: int, call: AsyncCall[T]) -> Outcome[T]:
        async with places:
            if stopped.is_set():
                raise asyncio.CancelledError
            outcome = await _outcome_async(call, policy)
            try:
                _stop_if_asked(place, outcome, policy)
            except FirstFailure:
                stopped.set()
                raise
            finished(1)
            return outcome

    tasks = [asyncio.ensure_future(one(place, call)) for place, call in enumerate(calls)]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:  # after a failure that stops the run, the others are not left behind
            task.cancel()


async def _outcome_async(call: AsyncCall[T], policy: Policy) -> Outcome[T]:
    tries = 0
    last: BaseException | None = None

    async def attempt() -> T:  # tenacity awaits only what is declared async
        nonlocal tries, last
        tries += 1
        try:
            return await call()
        except Exception as error:
            last = error
            raise

    started = time.perf_counter()
    try:
        async with asyncio.timeout(policy.timeout) as limit:
            value: T = await tenacity.AsyncRetrying(**policy.retry_policy.for_tenacity())(attempt)
        return Outcome(value, time.perf_counter() - started)
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # the loop is closing; otherwise the user's system cancelled itself
        reason = _timed_out(policy, last) if limit.expired() else error
        return Outcome(None, time.perf_counter() - started, reason, tries)


class _PooledCalls(Generic[T]):
    """Calls made by a pool of workers, and watched by the caller's thread."""

    def __init__(self, calls: Sequence[Call[T]], policy: Policy, finished: Callable[[int], None]) -> None:
        self._calls = calls
        self._policy = policy
        self._finished = finished
        self._outcomes: dict[int, Outcome[T]] = {}
        self._unreported: deque[int] = deque()
        self._submitted: dict[int, Future[None]] = {}
        self._under_way: dict[int, float] = {}
        self._next = 0
        self._changed = threading.Condition()

    def run(self) -> list[Outcome[T]]:
        most_abandoned = max(_LEFT_BEHIND_AT_LEAST, _LEFT_BEHIND_PER_WORKER * self._policy.concurrency)
        # When this thread is interrupted, or a failure stops the run, the pool begins no further call
        with WorkerPool(self._policy.concurrency, "raglift-call", most_abandoned=most_abandoned) as pool, self._changed:
            while len(self._outcomes) < len(self._calls):
                self._submit_more(pool)
                self._changed.wait(min(LOOK_UP, self._seconds_to_next_timeout()))
                self._give_up_on_late_calls(pool)
                self._report()
        return [self._outcomes[place] for place in range(len(self._calls))]

    def _submit_more(self, pool: WorkerPool) -> None:
        """Submit a few calls more than are made at once: each that waits takes memory, and there may be many."""
        while self._next < len(self._calls) and len(self._submitted) < _SUBMITTED_PER_WORKER * self._policy.concurrency:
            self._submitted[self._next] = pool.submit(self._make, self._next)
            self._next += 1

    def _make(self, place: int) -> None:
        with self._changed:
            if place in self._outcomes:  # all that remained were given up on
                return
            self._under_way[place] = time.monotonic()
        outcome = _outcome(self._calls[place], self._policy, lambda: place not in self._under_way)
        with self._changed:
            if self._under_way.pop(place, None) is not None:  # else it has been given up on
                self._finish(place, outcome)

    def _finish(self, place: int, outcome: Outcome[T]) -> None:
        self._outcomes[place] = outcome
        self._submitted.pop(place, None)
        self._unreported.append(place)
        self._changed.notify_all()

    def _report(self) -> None:
        while self._unreported:
            place = self._unreported.popleft()
            self._finished(1)
            _stop_if_asked(place, self._outcomes[place], self._policy)

    def _seconds_to_next_timeout(self) -> float:
        """Return how long to wait at most; a call that no thread has taken yet cannot be late any sooner."""
        if self._policy.timeout is None:
            return math.inf
        now = time.monotonic()
        return max(0.0, min(self._under_way.values(), default=now) + self._policy.timeout - now)

    def _give_up_on_late_calls(self, pool: WorkerPool) -> None:
        if self._policy.timeout is None:
            return
        now = time.monotonic()
        for place in [place for place, began in self._under_way.items() if now - began >= self._policy.timeout]:
            pool.abandon(self._submitted[place])
            self._finish(place, Outcome(None, now - self._under_way.pop(place), _timed_out(self._policy)))
        if pool.is_stuck:
            reason = f"not asked: {pool.abandoned} earlier calls hang past the timeout of {self._policy.timeout:g} s"
            for place in range(len(self._calls)):
                if place not in self._outcomes:
                    self._finish(place, Outcome(None, 0.0, QueryTimeout(reason)))


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
) -> tuple[Trace, ...]:
    """Put every query through every stage, one stage after the other.

    Args:
        stages: a RetrieveStage, then any number of RerankStages, with distinct names; only RerankStages if there are
            traces to continue from.
        queries: what to ask.
        k: how many hits to retrieve.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        provenance: resolves the document and checks the offsets of every hit.
        after: traces of earlier stages, one per query, to continue from; a query that failed there is not run again.
        watch: entered while a stage is asked, and left when it has answered.

    Returns:
        One trace per query, in the order of the queries. A query that failed keeps the stages before the failure.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the system cannot work at all: a model that does not load, results that are not rankings.
    """
    done: list[list[StageTrace]] = [list(trace.stages) for trace in after] if after else [[] for _ in queries]
    errors: list[str | None] = [trace.error for trace in after] if after else [None] * len(queries)
    for stage in stages:
        alive = [place for place, error in enumerate(errors) if error is None]
        texts = [queries[place].text for place in alive]
        if isinstance(stage, RetrieveStage):
            inputs: list[tuple[Any, ...]] = [(text, k) for text in texts]
        else:
            inputs = [(text, done[place][-1].ranking) for place, text in zip(alive, texts, strict=True)]
        # A stage that takes all queries at once shows its own progress: only it knows what it is busy with.
        show = False if is_batched(stage) else policy.progress
        with watch(stage), track(stage.name, len(alive), "queries", show=show) as advance:
            outcomes = ask_stage(stage, inputs, policy, advance)
        _stop_if_unusable(stage, outcomes)
        for place, outcome in zip(alive, outcomes, strict=True):
            if outcome.value is None:
                tried = f" (tried {outcome.tries} times)" if outcome.tries > 1 else ""
                said = _described(stage, outcome.error or QueryFailed("no ranking"))
                errors[place] = f"{stage.name}: {said}{tried}"
            else:
                ranking = provenance.check(outcome.value)
                done[place].append(StageTrace(stage.name, ranking, outcome.seconds))
    return tuple(
        Trace(query.id, tuple(stages_done), error)
        for query, stages_done, error in zip(queries, done, errors, strict=True)
    )


def ask_stage(
    stage: Stage, inputs: list[tuple[Any, ...]], policy: Policy, advance: Callable[[int], None]
) -> list[Outcome[Ranking]]:
    """Ask one stage for its rankings, in whichever way it may be asked.

    Args:
        stage: what is asked.
        inputs: a query's text and the depth for a RetrieveStage, its text and ranking for a RerankStage; for each.
        policy: concurrency, timeout, retries, and what becomes of a failure.
        advance: called with the number of queries just finished.

    Returns:
        One outcome a query, in order: its ranking and seconds, or its error.

    Raises:
        QueryFailed: a query failed and the policy says `raise`.
        RagliftError: the stage cannot work at all.
    """
    step = _Step.of(stage)
    stage.clearing.clearance  # noqa: B018 — it looks for secrets once, before threads ask for it and seconds are counted
    try:
        if step.batch is not None:
            return _run_batch(stage, step.batch, inputs, policy, advance)
        always_async = isinstance(stage, RetrieveStage) and stage.asynchronous
        if step.one_async is not None and (policy.concurrency > 1 or always_async or step.one is None):
            asynchronous = [partial(_checked_async, stage, step.one_async, *given) for given in inputs]
            return call_all_async(asynchronous, policy, advance)
        if step.one is not None:
            return call_all([partial(_checked, stage, step.one, *given) for given in inputs], policy, advance)
    except FirstFailure as stop:
        failure = _stopped(stage, inputs[stop.place][0], stop.error)
        raise failure from failure.__cause__
    raise ConfigurationError(f"{stage.name}: {stage.system} has none of the methods of the protocol")


def _described(stage: Stage, error: BaseException) -> str:
    """Return an error of a stage as one line, without the secrets that its system holds."""
    return describe_error(error, secrets=stage.clearing.clearance.held)


def _is_misuse(error: BaseException | None) -> bool:
    """Whether raglift itself says that the system cannot be used; a timeout says so of one query only."""
    return isinstance(error, RagliftError) and not isinstance(error, QueryFailed)


def _stopped(stage: Stage, query: str, error: BaseException) -> BaseException:
    """Return what to raise where the error of one query's call stops the run."""
    if not isinstance(error, Exception) or _is_misuse(error):
        return error
    kind = QueryTimeout if isinstance(error, QueryTimeout) else QueryFailed
    system = stage.clearing.message(stage.system)
    failure = kind(f"{stage.name} ({system}) failed on {query[:80]!r}: {_described(stage, error)}")
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
        said = str(errors[0])
        if (shown := stage.clearing.message(said)) != said:
            raise ConfigurationError(shown) from None
        raise errors[0]


def every_query_failed(traces: Sequence[Trace]) -> QueryFailed | None:
    """Return the error of a run in which every query failed, with the first cause; None if any query was answered."""
    if not traces or any(trace.error is None for trace in traces):
        return None
    return QueryFailed(f"every query failed; the first: {traces[0].error}")


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
            system = stage.clearing.message(stage.system)
            raise QueryFailed(f"{stage.name} ({system}) failed: {_described(stage, error)}") from error
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
    return [_accepted(stage, ranking) for ranking in rankings]


def _checked(stage: Stage, call: Callable[..., Ranking], *given: Any) -> Ranking:
    return _accepted(stage, call(*given))


async def _checked_async(stage: Stage, call: Callable[..., Any], *given: Any) -> Ranking:
    return _accepted(stage, await call(*given))


def _accepted(stage: Stage, ranking: object) -> Ranking:
    """Return what a system gave as a ranking, without secrets: all that is kept of it comes through here.

    Raises:
        ConfigurationError: it is no ranking.
    """
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
    return stage.clearing.ranking(ranking)
