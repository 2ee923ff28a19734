"""Many calls of one function: in order, in a bounded pool of threads, or on an event loop.

Results always come back in the order of the arguments. A thread cannot be stopped, so a call that runs past its
timeout is left behind on its own (daemon) thread and another thread takes its place; when too many are left behind,
the system is taken to hang, and the calls that remain fail without being made.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import tenacity

from raglift.errors import QueryTimeout
from raglift.event_loop import result_of
from raglift.redaction import describe_error
from raglift.threads import LOOK_UP, WorkerPool

if TYPE_CHECKING:
    from concurrent.futures import Future

    from raglift.execution.policy import Policy

__all__ = ["Call", "FirstFailure", "Outcome", "call_all", "call_all_async"]

T = TypeVar("T")
Call = Callable[[], T]
AsyncCall = Callable[[], Awaitable[T]]
_LEFT_BEHIND_PER_WORKER = 4
_LEFT_BEHIND_AT_LEAST = 16
_SUBMITTED_PER_WORKER = 2


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What became of one call: a value, or an error."""

    value: T | None
    seconds: float
    error: BaseException | None = None
    tries: int = 1
    """How often the call was made."""


class FirstFailure(Exception):
    """The first call seen to fail, where that stops the others: its place among the calls, and its error."""

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
