"""Many calls of one function: in order, in a bounded pool of threads, or on an event loop.

Results always come back in the order of the arguments. A thread cannot be stopped, so a call that runs past its
timeout is left behind on its own (daemon) thread and another thread takes its place; when too many are left behind,
the system is taken to hang, and the calls that remain fail without being made.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import tenacity

from raglift.errors import QueryTimeout
from raglift.execution.policy import Policy, retry_settings

__all__ = ["Call", "Outcome", "call_all", "call_all_async"]

T = TypeVar("T")
Call = Callable[[], T]
_LEFT_BEHIND_PER_WORKER = 4
_LEFT_BEHIND_AT_LEAST = 16


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What became of one call: a value, or an error."""

    value: T | None
    seconds: float
    error: BaseException | None = None


def call_all(calls: Sequence[Call[T]], policy: Policy, finished: Callable[[int], None]) -> list[Outcome[T]]:
    """Make synchronous calls, each with its retries.

    Args:
        calls: what to call.
        policy: concurrency, timeout, retries, and whether the first failure stops.
        finished: called with 1 after each call, on the caller's thread.

    Raises:
        BaseException: the error of the first call seen to fail, when the policy says `raise`.
    """
    if policy.concurrency == 1 and policy.timeout is None:
        outcomes = []
        for call in calls:
            outcome = _outcome(call, policy)
            _raise_if_asked(outcome, policy)
            outcomes.append(outcome)
            finished(1)
        return outcomes
    return _Pool(calls, policy, finished).run()


def call_all_async(
    calls: Sequence[Callable[[], Awaitable[T]]], policy: Policy, finished: Callable[[int], None]
) -> list[Outcome[T]]:
    """Make asynchronous calls, each with its retries, on an event loop of their own.

    The loop runs on its own thread, so that this works inside a notebook, whose thread already has a loop.

    Args and Raises: as `call_all`.
    """
    done: list[Outcome[list[Outcome[T]]]] = []

    def run() -> None:
        try:
            done.append(Outcome(asyncio.run(_gather(calls, policy, finished)), 0.0))
        except BaseException as error:  # noqa: BLE001 — raised again on the caller's thread
            done.append(Outcome(None, 0.0, error))

    thread = threading.Thread(target=run, daemon=True, name="raglift-async")
    thread.start()
    thread.join()
    if done[0].error is not None:
        raise done[0].error
    return done[0].value or []


def _outcome(call: Call[T], policy: Policy) -> Outcome[T]:
    started = time.perf_counter()
    try:
        value = tenacity.Retrying(**retry_settings(policy))(call)
    except Exception as error:  # noqa: BLE001 — whatever the user's system raises is that query's result
        return Outcome(None, time.perf_counter() - started, error)
    return Outcome(value, time.perf_counter() - started)


def _raise_if_asked(outcome: Outcome[T], policy: Policy) -> None:
    if outcome.error is not None and policy.on_error == "raise":
        raise outcome.error


def _timed_out(policy: Policy) -> QueryTimeout:
    return QueryTimeout(f"no answer within the timeout of {policy.timeout:g} seconds")


async def _gather(
    calls: Sequence[Callable[[], Awaitable[T]]], policy: Policy, finished: Callable[[int], None]
) -> list[Outcome[T]]:
    places = asyncio.Semaphore(policy.concurrency)

    async def one(call: Callable[[], Awaitable[T]]) -> Outcome[T]:
        async with places:
            started = time.perf_counter()
            try:
                async with asyncio.timeout(policy.timeout) as limit:
                    value: T = await tenacity.AsyncRetrying(**retry_settings(policy))(call)
                outcome = Outcome(value, time.perf_counter() - started)
            except Exception as error:  # noqa: BLE001 — whatever the user's system raises is that query's result
                reason = _timed_out(policy) if limit.expired() else error
                outcome = Outcome(None, time.perf_counter() - started, reason)
            _raise_if_asked(outcome, policy)
            finished(1)
            return outcome

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(call)) for call in calls]
    return [task.result() for task in tasks]


class _Pool(Generic[T]):
    """Daemon threads that take the next call, watched by the caller's thread."""

    def __init__(self, calls: Sequence[Call[T]], policy: Policy, finished: Callable[[int], None]) -> None:
        self._calls = calls
        self._policy = policy
        self._finished = finished
        self._outcomes: dict[int, Outcome[T]] = {}
        self._under_way: dict[int, float] = {}
        self._next = 0
        self._left_behind = 0
        self._changed = threading.Condition()

    def run(self) -> list[Outcome[T]]:
        reported = 0
        for _ in range(min(self._policy.concurrency, len(self._calls))):
            self._start_worker()
        with self._changed:
            while len(self._outcomes) < len(self._calls):
                self._changed.wait(self._seconds_to_next_timeout())
                self._give_up_on_late_calls()
                while reported < len(self._outcomes):
                    reported += 1
                    self._finished(1)
                if self._policy.on_error == "raise":
                    self._stop_at_first_error()
        return [self._outcomes[place] for place in range(len(self._calls))]

    def _start_worker(self) -> None:
        threading.Thread(target=self._work, daemon=True, name="raglift-call").start()

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._next >= len(self._calls):
                    return
                place = self._next
                self._next += 1
                self._under_way[place] = time.monotonic()
            outcome = _outcome(self._calls[place], self._policy)
            with self._changed:
                if place not in self._under_way:  # given up on: another thread has taken this one's place
                    self._left_behind -= 1
                    return
                del self._under_way[place]
                self._outcomes[place] = outcome
                self._changed.notify_all()

    def _seconds_to_next_timeout(self) -> float | None:
        if self._policy.timeout is None or not self._under_way:
            return None
        return max(0.0, min(self._under_way.values()) + self._policy.timeout - time.monotonic())

    def _give_up_on_late_calls(self) -> None:
        if self._policy.timeout is None:
            return
        now = time.monotonic()
        late = [place for place, started in self._under_way.items() if now - started >= self._policy.timeout]
        for place in late:
            self._outcomes[place] = Outcome(None, now - self._under_way.pop(place), _timed_out(self._policy))
            self._left_behind += 1
            if self._left_behind < max(
                _LEFT_BEHIND_AT_LEAST, _LEFT_BEHIND_PER_WORKER * self._policy.concurrency
            ):
                self._start_worker()
            elif not self._under_way:
                self._give_up_on_the_rest()

    def _give_up_on_the_rest(self) -> None:
        reason = f"not asked: {self._left_behind} earlier calls still hang past the timeout of {self._policy.timeout:g} s"
        for place in range(self._next, len(self._calls)):
            self._outcomes[place] = Outcome(None, 0.0, QueryTimeout(reason))
        self._next = len(self._calls)

    def _stop_at_first_error(self) -> None:
        for outcome in self._outcomes.values():
            if outcome.error is not None:
                self._next = len(self._calls)
                raise outcome.error
