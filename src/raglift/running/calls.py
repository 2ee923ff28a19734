"""Many calls of one function: in order, or in a bounded pool of threads.

Results always come back in the order of the arguments. Each call of an async function is a coroutine on raglift's
event loop, for which a thread of the pool waits. A thread cannot be stopped, so a call that exceeds its timeout is
abandoned on its own (daemon) thread, which another one replaces; a coroutine is cancelled. When too many are abandoned,
the system is considered to hang, and the remaining calls fail without being made.
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
from typing import TYPE_CHECKING, Generic, TypeVar

import tenacity

from raglift.errors import QueryTimeout, order_to_stop
from raglift.utilities.display import describe_error, error_text
from raglift.utilities.event_loops import cancellations, is_loop_blocked, result_of
from raglift.utilities.threads import LOOK_UP, WorkerPool

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
        return _WatchedCalls([partial(_make, call) for call in calls], policy, finished).run()
    outcomes: list[Outcome[T]] = []
    for place, call in enumerate(calls):
        outcomes.append(_outcome(partial(_make, call), policy, _Tries()))
        _stop_if_asked(place, outcomes[-1], policy)
        finished(1)
    return outcomes


def call_all_async(calls: Sequence[AsyncCall[T]], policy: Policy, finished: Callable[[int], None]) -> list[Outcome[T]]:
    """Make asynchronous calls, each with its retries, on the event loop that raglift has for them.

    The loop runs on its own thread, so that this works inside a notebook, whose thread already has a loop, and so that
    a call that blocks the loop is given up on as any other.

    Args and Raises: as `call_all`.
    """
    return _WatchedCalls([partial(_make_async, call) for call in calls], policy, finished).run()


class _Tries:
    """How often a call was made so far, and how it failed the last time."""

    def __init__(self) -> None:
        self.began: float | None = None
        """When the first one began; None while the call waits for its event loop."""
        self.made = 0
        self.last: BaseException | None = None
        self.given_up = False
        """Whether it is not to be made again."""

    def begin(self) -> None:
        """Note that the call begins."""
        if self.began is None:
            self.began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long the call has taken so far."""
        return 0.0 if self.began is None else time.perf_counter() - self.began

    def retrying(self, policy: Policy) -> tenacity.Retrying:
        """Return what makes the call again, and counts here how often."""
        settings = policy.retry_policy.for_tenacity()
        is_enough = settings["stop"]

        def before(_state: tenacity.RetryCallState) -> None:
            self.made += 1

        def stop(state: tenacity.RetryCallState) -> bool:
            self.last = state.outcome.exception() if state.outcome else None
            return self.given_up or is_enough(state)

        return tenacity.Retrying(**{**settings, "before": before, "stop": stop})


def _make(call: Call[T], tries: _Tries) -> T:
    tries.begin()
    return call()


def _make_async(call: AsyncCall[T], tries: _Tries) -> T:
    async def run() -> T:
        tries.begin()
        return await call()

    return result_of(run())


def _outcome(call: Callable[[_Tries], T], policy: Policy, tries: _Tries) -> Outcome[T]:
    """Make one call with its retries; none is made once the call has been given up on."""
    try:
        value = tries.retrying(policy)(call, tries)
    except BaseException as error:  # noqa: BLE001 — whatever the user's system raises is that query's result
        if policy.timeout is not None:
            error_text(error)  # here, so that one that takes for ever to make its text is given up on
        return Outcome(None, tries.seconds, error, tries.made)
    return Outcome(value, tries.seconds, tries=tries.made)


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
    """Calls made by a pool of threads, and watched by the caller's thread, which gives up on those that are late.

    A thread cannot be stopped, and a coroutine may ignore that it is cancelled, so nothing here waits for a call.
    """

    def __init__(self, calls: Sequence[Callable[[_Tries], T]], policy: Policy, finished: Callable[[int], None]) -> None:
        self._calls = calls
        self._policy = policy
        self._finished = finished
        self._outcomes: dict[int, Outcome[T]] = {}
        self._unreported: deque[int] = deque()
        self._submitted: dict[int, Future[None]] = {}
        self._under_way: dict[int, _Tries] = {}
        self._next = 0
        self._changed = threading.Condition()

    def run(self) -> list[Outcome[T]]:
        most_abandoned = max(_LEFT_BEHIND_AT_LEAST, _LEFT_BEHIND_PER_WORKER * self._policy.concurrency)
        # When this thread is interrupted, or a failure stops the run, the pool begins no further call
        with WorkerPool(self._policy.concurrency, "raglift-call", most_abandoned=most_abandoned) as pool, self._changed:
            cancelled = cancellations()
            while len(self._outcomes) < len(self._calls):
                self._submit_more(pool)
                self._changed.wait(min(LOOK_UP, self._seconds_to_next_timeout()))
                if cancellations() > cancelled:
                    raise asyncio.CancelledError
                self._give_up_on_late_calls(pool)
                self._report()
        return [self._outcomes[place] for place in range(len(self._calls))]

    def _submit_more(self, pool: WorkerPool) -> None:
        """Submit a few calls more than are made at once: each that waits takes memory, and there may be many."""
        while self._next < len(self._calls) and len(self._submitted) < self._policy.concurrency + _SUBMITTED_AHEAD:
            place, self._next = self._next, self._next + 1
            self._submitted[place] = pool.submit(self._make, place)

    def _make(self, place: int) -> None:
        with self._changed:
            if place in self._outcomes:  # all that remained were given up on
                return
            tries = self._under_way[place] = _Tries()
        outcome = _outcome(self._calls[place], self._policy, tries)
        with self._changed:
            if self._under_way.pop(place, None) is not None:  # else it has been given up on
                self._finish(place, outcome)

    def _finish(self, place: int, outcome: Outcome[T]) -> None:
        self._outcomes[place] = outcome
        self._submitted.pop(place, None)
        self._unreported.append(place)
        is_all = len(self._outcomes) == len(self._calls)
        # Waking the caller's thread takes longer than many a call, so it is done only when it has something to do
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
        longest = max((tries.seconds for tries in self._under_way.values()), default=0.0)
        return max(0.0, self._policy.timeout - longest)

    def _give_up_on_late_calls(self, pool: WorkerPool) -> None:
        limit = self._policy.timeout
        if limit is None:
            return
        for place, tries in list(self._under_way.items()):
            if (seconds := tries.seconds) < limit:
                continue
            del self._under_way[place]
            tries.given_up = True
            reason = _timed_out(self._policy, tries.last, blocked=is_loop_blocked())
            pool.abandon(self._submitted[place])
            self._finish(place, Outcome(None, seconds, reason, tries.made))
        if pool.is_stuck:
            reason = QueryTimeout(f"not asked: {pool.abandoned} earlier calls hang past the timeout of {limit:g} s")
            for place in range(len(self._calls)):
                if place not in self._outcomes:
                    self._finish(place, Outcome(None, 0.0, reason))
