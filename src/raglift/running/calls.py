"""Many calls of one function: in order, in a bounded pool of threads, or as tasks on an event loop.

Results always come back in the order of the arguments. A thread cannot be stopped, so a call that exceeds its timeout
is abandoned on its own (daemon) thread and another thread replaces it; a coroutine is cancelled, and if it blocks its
event loop, another loop replaces that. When too many are abandoned, the system is considered to hang, and the remaining
calls fail without being made.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import tenacity

from raglift.base.display import describe_error
from raglift.base.event_loops import AsyncWorkerPool, cancellations
from raglift.base.threads import LOOK_UP, WorkerPool
from raglift.errors import QueryTimeout, order_to_stop

if TYPE_CHECKING:
    from concurrent.futures import Future

    from raglift.adapters.policy import Policy


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
    return Outcome(value, time.perf_counter() - started, tries=tries.made)


async def _outcome_async(call: AsyncCall[T], policy: Policy, tries: _Tries) -> Outcome[T]:
    """Make one asynchronous call, as `_outcome` does."""
    started = time.perf_counter()

    async def attempt() -> T:  # tenacity awaits only what is declared async
        return await call()

    try:
        value: T = await tenacity.AsyncRetrying(**tries.retrying(policy))(attempt)
    except BaseException as error:  # noqa: BLE001 — also where the user's system cancels itself
        return Outcome(None, time.perf_counter() - started, error, tries.made)
    return Outcome(value, time.perf_counter() - started, tries=tries.made)


def _stop_if_asked(place: int, outcome: Outcome[T], policy: Policy) -> None:
    error = outcome.error
    order = order_to_stop(error)
    if order is not None:
        raise FirstFailure(place, order)
    if error is not None and policy.on_error == "raise":
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
