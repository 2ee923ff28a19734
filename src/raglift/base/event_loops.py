"""The event loop of asynchronous calls, and the pool that makes calls on it."""

from __future__ import annotations

import asyncio
import atexit
import math
import os
import threading
import time
from concurrent.futures import wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from raglift.base.threads import LOOK_UP, Call, WorkerPool, is_given_up, is_to_end, start_thread
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future


# All asynchronous calls of a process are made on one event loop, because async clients keep connections that are tied
# to the loop they were made on: with a loop for each run, the second run of the same system would find its connections
# dead. A call that blocks that loop, or that does not end when it is cancelled, is left behind with it, and the calls
# after it are made on a new loop.


T = TypeVar("T")
_SILENT = 0.3
"""A loop that gives no sign of life for so many seconds is blocked, where a call on it was given up on."""
_MOST_BLOCKED = 16
"""A system that blocks so many loops, each on a thread of its own, is given up on."""


class EventLoop:
    """An event loop that runs on a daemon thread of its own, whatever is called on it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        """The loop itself."""
        self.left_behind: set[Future[Any]] = set()
        """The calls on it that were given up on and have not ended."""
        # What an async system hands to threads may hang as well
        self.loop.set_default_executor(WorkerPool(None, "raglift-async-call"))
        self._asked = -math.inf
        self._answered = True
        self.is_ended = False
        """Whether the loop stops after what it is doing; a task that is made then would never begin."""
        start_thread(self._run, "raglift-async")

    @property
    def is_silent(self) -> bool:
        """Whether the loop has not given a sign of life for a while."""
        return not self._answered and time.monotonic() - self._asked >= _SILENT

    @property
    def is_blocked(self) -> bool:
        """Whether a call that was given up on keeps the loop from doing anything else."""
        return self.loop.is_closed() or (bool(self.left_behind) and self.is_silent)

    def ping(self) -> None:
        """Ask the loop for a sign of life now and then, unless it has yet to give the last one."""
        if self._answered and time.monotonic() - self._asked >= LOOK_UP:
            self._asked, self._answered = time.monotonic(), False
            self.tell(self._answer)

    def _answer(self) -> None:
        self._answered = True

    def is_free(self) -> bool:
        """Whether nothing is left behind on the loop; what has just been cancelled has a moment to end."""
        end = time.monotonic() + _SILENT
        while self.left_behind and not self.is_blocked and time.monotonic() < end:
            time.sleep(0.001)
        return not self.left_behind and not self.loop.is_closed()

    def tell(self, function: Callable[[], object]) -> None:
        """Have a function called on the loop, if it has not ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function)

    def end_when_idle(self) -> None:
        """End the loop when nothing is under way on it any more, however long that takes."""
        self.tell(lambda: self.loop.create_task(self._end_when_idle()))

    def end(self) -> None:
        """End the loop soon: what is not done by then is cancelled."""
        self.tell(lambda: self.loop.create_task(self._end()))

    async def _end_when_idle(self) -> None:
        is_idle = False
        while not is_idle:
            if others := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(others)
            else:
                await asyncio.sleep(0)  # callbacks of a task that has just ended have yet to run, and may begin another
                is_idle = not asyncio.all_tasks() - {asyncio.current_task()}
        self._stop()

    async def _end(self) -> None:
        for _ in range(2):
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:
                await asyncio.wait(others, timeout=LOOK_UP)
            for task in others:
                task.cancel()
        self._stop()

    def _stop(self) -> None:
        self.is_ended = True
        self.loop.stop()

    def _run(self) -> None:
        while not (self.is_ended or self.loop.is_closed() or is_to_end()):
            # A system may stop its loop, or leave a task behind that exits; the other calls go on
            with suppress(BaseException):
                self.loop.run_forever()
        if not is_to_end() and not self.loop.is_closed():
            self._close()

    def _close(self) -> None:
        """Close the loop, with the connections that clients left open on it, which nobody can use any more."""
        # asyncio has no public way to them. Left alone, each stays an open socket until it is garbage collected.
        connections = list(getattr(self.loop, "_transports", {}).values())
        for connection in connections:
            connection.abort()
        if connections:
            self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


_making = threading.Lock()
_loops: dict[int, list[EventLoop]] = {}
"""By process. The last one takes new calls, the others end when they are idle."""


def current_loop() -> EventLoop:
    """Return the loop for new calls: that of the last ones, unless one of these was given up on and has not ended.

    Raises:
        ConfigurationError: called on a loop of raglift's, which would wait for itself for ever.
    """
    if is_own_loop():
        raise ConfigurationError(
            "found a call that waits for an async one inside an async function; expected the async form, awaited"
        )
    with _making:
        loops = _loops.setdefault(os.getpid(), [])
        if loops and loops[-1].is_free():
            return loops[-1]
        if loops:
            loops[-1].end_when_idle()
        loops[:] = [*(loop for loop in loops if not loop.loop.is_closed()), EventLoop()]
        return loops[-1]


def is_own_loop() -> bool:
    """Whether this is called on a loop of raglift's, which must not wait for other calls."""
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        return False
    return any(each.loop is here for each in _loops.get(os.getpid(), ()))


@atexit.register
def _end_loops() -> None:
    for each in _loops.get(os.getpid(), ()):
        each.end()


def cancellations() -> int:
    """Return how often the task that this is called in was cancelled: by Ctrl-C, where `asyncio.run` runs it.

    That raises nothing in a task that does not await, so what waits in one must look.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # called on a thread without a loop
        return 0
    return 0 if task is None else task.cancelling()


class AsyncWorkerPool(WorkerPool):
    """Makes calls of async functions, each as a task on the event loop; in all else it is a `WorkerPool`.

    A call that is abandoned is cancelled. Where that does not help and the loop is blocked, the calls that have not
    begun are made on a new loop. What had begun on the blocked loop stays there.

    Args:
        workers: how many calls may be under way at once, abandoned ones not counted.
        name: of the pool.
        most_abandoned: nothing more is begun while so many abandoned calls have not ended.
    """

    def __init__(self, workers: int | None, name: str, *, most_abandoned: float = math.inf) -> None:
        super().__init__(workers, name, most_abandoned=most_abandoned)
        self._loop = current_loop()
        self._starting = 0
        """How many workers the loop was told to start and has not started."""
        self._tasks: dict[Future[Any], tuple[EventLoop, asyncio.Task[Any]]] = {}
        self._not_begun: dict[Future[Any], tuple[EventLoop, Call]] = {}
        """The calls that the loop has a task for and has not begun."""
        self._left: list[EventLoop] = []

    @property
    def is_stuck(self) -> bool:
        """Whether nothing more is begun: too many abandoned calls have not ended, or block a loop each."""
        return super().is_stuck or sum(loop.is_blocked for loop in self._left) >= _MOST_BLOCKED

    def look_after(self) -> None:
        """See whether the loop is blocked by an abandoned call, and go on with another one if it is."""
        self._loop.ping()
        if self._loop.is_blocked:
            free = current_loop()
            with self._lock:
                self._left.append(self._loop)
                self._loop = free
                for _ in range(self._starting):
                    free.tell(partial(self._begin, free))
                for future, (_, call) in self._not_begun.items():
                    self._not_begun[future] = free, call
                    self._tasks.pop(future, None)
                    free.tell(partial(self._make, free, call))

    def is_blocked(self, future: Future[Any]) -> bool:
        """Whether the loop that a call is under way on does nothing else, be it this call or another that blocks it."""
        found = self._tasks.get(future)
        return found is not None and found[0].is_silent

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        """Begin nothing more, and cancel what is under way; it is not waited for."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        with self._lock:
            for future in self._under_way:
                self._leave_behind(future)

    def _start_worker(self) -> None:
        self._starting += 1
        self._loop.tell(partial(self._begin, self._loop))

    def _begin(self, loop: EventLoop) -> None:
        with self._lock:
            if loop is not self._loop or loop.is_ended:  # another one was told to instead, or will be
                return
            self._starting -= 1
        self._make_next(loop)

    def _make_next(self, loop: EventLoop) -> None:
        call = self._take()
        if call is not None:
            with self._lock:
                self._not_begun[call.future] = loop, call
            self._make(loop, call)

    def _make(self, loop: EventLoop, call: Call) -> None:
        if loop.is_ended:  # it is made on the next one: see `look_after`
            return
        # Two threads cannot be in one context, and the task that a blocked loop had for this call may yet run
        task = loop.loop.create_task(self._result_on(loop, call), context=call.context.copy())
        with self._lock:
            self._tasks[call.future] = loop, task
            if self.stopping.is_set():
                self._leave_behind(call.future)
        task.add_done_callback(partial(self._end, loop, call.future))

    async def _result_on(self, loop: EventLoop, call: Call) -> Any:
        with self._lock:
            if self._not_begun.get(call.future) != (loop, call):
                raise asyncio.CancelledError  # it is made on another loop
            del self._not_begun[call.future]
        return await call.function()

    def _end(self, loop: EventLoop, future: Future[Any], task: asyncio.Task[Any]) -> None:
        with self._lock:
            loop.left_behind.discard(future)
            if self._tasks.get(future) != (loop, task):
                return
            del self._tasks[future]
            self._not_begun.pop(future, None)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            future.set_result(task.result())
        else:
            future.set_exception(error)
        if self._finish(future):
            if loop is self._loop:
                self._make_next(loop)
                return
            with self._lock:
                self._workers -= 1
                self._start_workers()

    def _leave_behind(self, future: Future[Any]) -> None:
        if future in self._tasks:
            loop, task = self._tasks[future]
            loop.left_behind.add(future)
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 — as asyncio.gather does
            loop.tell(task.cancel)


def result_of(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of all asynchronous calls, and wait for what it returns or raises.

    Ctrl-C ends the wait and cancels the coroutine, and so does being given up on by the pool that makes this call.

    Raises:
        ConfigurationError: called on a loop of raglift's, which would wait for itself for ever.
    """
    begun = False

    async def run() -> T:
        nonlocal begun
        begun = True
        return await work

    try:
        with AsyncWorkerPool(1, "raglift-async") as pool:
            future = pool.submit(run)
            cancelled = cancellations()
            while not wait([future], LOOK_UP).done:
                pool.look_after()
                if is_given_up() or cancellations() > cancelled:
                    raise asyncio.CancelledError
            result: T = future.result()
            return result
    finally:
        if not begun:
            work.close()
