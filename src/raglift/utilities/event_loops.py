"""The event loop of asynchronous calls, and waiting for a coroutine on it."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from raglift.errors import ConfigurationError
from raglift.utilities.threads import LOOK_UP, WorkerPool, current_call, start_thread

# All asynchronous calls of a process are made on one event loop, because async clients keep connections that are tied
# to the loop they were made on: with a loop for each run, the second run of the same system would find its connections
# dead. A call that blocks that loop, or that does not end when it is cancelled, is left behind with it, and the calls
# after it are made on a new loop.


T = TypeVar("T")
_MOMENT = 0.3
"""A call that was cancelled has so many seconds to end before its loop is replaced."""
_ANSWER = 0.1
"""A loop that does nothing else for so many seconds is blocked."""


class EventLoop:
    """An event loop that runs on a daemon thread of its own, whatever is called on it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        """The loop itself."""
        self.tasks: set[_Task] = set()
        """What is under way on it, or waits to begin."""
        self.left_behind: set[_Task] = set()
        """What was cancelled, and has not ended."""
        self.is_retired = False
        """Whether it ends when nothing is under way on it."""
        self._is_ended = False
        # What an async system hands to threads may hang as well
        self.loop.set_default_executor(WorkerPool(None, "raglift-async-call"))
        start_thread(self._run, "raglift-async")

    def tell(self, function: Callable[[], object]) -> None:
        """Have a function called on the loop, if it has not ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function)

    def is_free(self) -> bool:
        """Whether nothing is left behind on the loop; what has just been cancelled has a moment to end."""
        end = time.monotonic() + _MOMENT
        while self.left_behind and not self.loop.is_closed() and time.monotonic() < end:
            time.sleep(0.001)
        return not self.left_behind and not self.loop.is_closed()

    def is_blocked(self) -> bool:
        """Whether a call keeps the loop from doing anything else."""
        answered = threading.Event()
        self.tell(answered.set)
        return not answered.wait(_ANSWER)

    def end(self) -> None:
        """End the loop soon: what is not done by then is cancelled."""
        self.tell(lambda: self.loop.create_task(self._end()))

    async def _end(self) -> None:
        for _ in range(2):
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:
                await asyncio.wait(others, timeout=LOOK_UP)
            for task in others:
                task.cancel()
        self._is_ended = True
        self.loop.stop()

    def _run(self) -> None:
        while not (self._is_ended or self.loop.is_closed()):
            # A system may stop its loop, or leave a task behind that exits; the other calls continue
            with suppress(BaseException):
                self.loop.run_forever()
        if not self.loop.is_closed():
            # asyncio has no public way to the connections that clients left open; nobody can use them any more
            for connection in list(getattr(self.loop, "_transports", {}).values()):
                connection.abort()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()


_making = threading.Lock()
_loops: list[EventLoop] = []
"""The last one takes new calls, the others end when nothing is under way on them."""
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_loops.clear)


def current_loop() -> EventLoop:
    """Return the loop for new calls: that of the last ones, unless one of these was cancelled and has not ended."""
    if is_own_loop():
        raise ConfigurationError(
            "found a call that waits for an async one inside an async function; expected the async form, awaited"
        )
    with _making:
        if _loops and _loops[-1].is_free():
            return _loops[-1]
        if _loops:
            _loops[-1].is_retired = True
        _loops[:] = [*(loop for loop in _loops if not loop.loop.is_closed()), EventLoop()]
        return _loops[-1]


def is_own_loop() -> bool:
    """Whether this is called on a loop of raglift's, which must not wait for other calls."""
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        return False
    return any(each.loop is here for each in _loops)


def is_loop_blocked() -> bool:
    """Whether a call keeps the loop of the last calls from doing anything else."""
    return bool(_loops) and _loops[-1].is_blocked()


@atexit.register
def _end_loops() -> None:
    for each in _loops:
        each.end()


def cancellations() -> int:
    """Return how often the task that this is called in was cancelled: by Ctrl-C, if `asyncio.run` runs it.

    That raises nothing in a task that does not await, so what waits in one must look.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # called on a thread without a loop
        return 0
    return 0 if task is None else task.cancelling()


class _Task:
    """A coroutine on one of the loops, of which it changes while it has not begun."""

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self.future: Future[Any] = Future()
        """Its result, when it has ended."""
        self.has_begun = False
        self._work = work
        self._loop: EventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._lock = threading.Lock()

    def start_on(self, loop: EventLoop) -> None:
        """Have the coroutine run on a loop, unless it has begun on another."""
        with self._lock:
            if self.has_begun or self._loop is loop:
                return
            self._loop = loop
            loop.tasks.add(self)
            loop.tell(partial(self._start, loop))

    def cancel(self) -> None:
        """Cancel the coroutine; what has begun may not end."""
        with self._lock:
            loop, task = self._loop, self._task
            if loop is None or task is None or not self.has_begun:
                self._loop = None
                self._work.close()
                return
            loop.left_behind.add(self)
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 — as asyncio.gather does
        loop.tell(task.cancel)

    def _start(self, loop: EventLoop) -> None:
        task = loop.loop.create_task(self._run_on(loop))
        with self._lock:
            if self._loop is loop:
                self._task = task
        task.add_done_callback(partial(self._end, loop))

    async def _run_on(self, loop: EventLoop) -> None:
        with self._lock:
            if self._loop is not loop:
                return  # it runs on another loop, or on none
            self.has_begun = True
        # The result is set here and not by the task, whose callbacks another call may keep from being called
        try:
            self.future.set_result(await self._work)
        except BaseException as error:  # noqa: BLE001 — raised again where the result is taken
            self.future.set_exception(error)

    def _end(self, loop: EventLoop, _task: asyncio.Task[None]) -> None:
        loop.tasks.discard(self)
        loop.left_behind.discard(self)
        if self._loop is loop and not self.has_begun:  # something cancelled all tasks of the loop
            self._work.close()
            self.future.set_exception(asyncio.CancelledError())
        if loop.is_retired and not loop.tasks:
            loop.end()


def result_of(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of all asynchronous calls, and wait for what it returns or raises.

    Ctrl-C ends the wait and cancels the coroutine. So does giving up on the call of a `WorkerPool` that waits here; its
    thread is then held until the coroutine has ended.

    Raises:
        ConfigurationError: called on a loop of raglift's, which would wait for itself for ever.
    """
    task = _Task(work)
    call = current_call()
    given_up: Future[None] = Future() if call is None else call.given_up
    cancelled = cancellations()
    try:
        while not task.future.done() and not given_up.done() and cancellations() == cancelled:
            if not task.has_begun:
                task.start_on(current_loop())
            wait([task.future, given_up], LOOK_UP, FIRST_COMPLETED)
    except BaseException:
        task.cancel()
        raise
    if not task.future.done():
        task.cancel()
        if given_up.done() and task.has_begun:
            wait([task.future])
        raise asyncio.CancelledError
    result: T = task.future.result()
    return result
