"""Usable cores; the pool of threads that calls a user's system or a model, and how a process ends while calls hang."""

from __future__ import annotations

import atexit
import contextvars
import math
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any

from raglift.errors import ConfigurationError
from raglift.utilities.display import short_repr

MOST_CONCURRENT = 1_000
"""This many calls may be under way at once: each may take a thread and a connection."""
LOOK_UP = 0.2
"""This many seconds may the main thread wait in one go: a Ctrl-C that comes as it begins to wait does not wake it."""
_MOMENT = 0.5
"""So many seconds a process that ends waits for its calls: one that comes back from native code later may abort it."""


def usable_cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_concurrency(value: object) -> None:
    """Raise unless so many calls may be under way at once."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_CONCURRENT:
        found = short_repr(value, 40)
        raise ConfigurationError(f"concurrency: found {found}; expected an integer from 1 to {MOST_CONCURRENT:,}")


class _CallThread(threading.Thread):
    """A thread that makes calls. It is a daemon thread: no process waits for a system that hangs."""


def start_thread(work: Callable[[], object], name: str) -> None:
    """Start a thread that keeps no process from ending."""
    _CallThread(target=work, daemon=True, name=name).start()


@dataclass(eq=False)
class Call:
    """A call of a `WorkerPool`."""

    function: Callable[[], Any]
    context: contextvars.Context
    future: Future[Any] = field(default_factory=Future)
    given_up: Future[None] = field(default_factory=Future)
    """Done when nobody waits for the call any more."""

    def give_up(self) -> None:
        """Note that nobody waits for the call any more."""
        if not self.given_up.done():
            self.given_up.set_result(None)


_current: contextvars.ContextVar[Call | None] = contextvars.ContextVar("raglift call", default=None)


def current_call() -> Call | None:
    """Return the call of a `WorkerPool` that this is part of; None outside of any."""
    return _current.get()


class WorkerPool(ThreadPoolExecutor):
    """Makes calls on daemon threads; as a context manager, it waits for no call.

    Python's own pool waits for its threads when a process ends, however long they hang. This one has only its
    interface, and its type, since an event loop takes no other executor. A thread ends when nothing is left to do.

    A thread cannot be stopped. A call that takes too long can be abandoned: another thread takes the place of its own,
    which ends when the call comes back.

    Args:
        workers: how many calls may be under way at once, abandoned ones not counted; None for all that are submitted.
        name: the name of the threads.
        most_abandoned: no thread takes the place of another while so many abandoned calls hang.
    """

    def __init__(self, workers: int | None, name: str, *, most_abandoned: float = math.inf) -> None:
        super().__init__(1)
        self.stopping = threading.Event()
        """Set when the pool is shut down: nothing more is begun, and what waits in a call need not wait any longer."""
        self.abandoned = 0
        """How many abandoned calls have not come back."""
        self._most_workers = math.inf if workers is None else workers
        self._most_abandoned = most_abandoned
        self._name = name
        self._waiting: deque[Call] = deque()
        self._under_way: dict[Future[Any], Call] = {}
        self._workers = 0
        self._lock = threading.Lock()

    @property
    def is_stuck(self) -> bool:
        """Whether abandoned calls hold all threads, so that nothing more is begun until one comes back."""
        with self._lock:
            return self._workers == 0 and self.abandoned >= self._most_abandoned

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called in a thread, in the context of the one who submits it."""
        call = Call(partial(function, *args, **kwargs), contextvars.copy_context())
        with self._lock:
            if self.stopping.is_set():
                raise RuntimeError("the pool has been shut down, and takes no more calls")
            self._waiting.append(call)
            self._start_workers()
        return call.future

    def abandon(self, future: Future[Any]) -> None:
        """Give up on a call that is under way: its thread is left behind, and another takes its place."""
        with self._lock:
            call = self._under_way.pop(future, None)
            if call is not None:
                self._workers -= 1
                self.abandoned += 1
                call.give_up()
                self._start_workers()

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:  # noqa: ARG002 — Python's
        """Begin nothing more; what is under way is given up on, and not waited for."""
        self.stopping.set()
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
            for call in self._under_way.values():
                call.give_up()
        for call in waiting:
            call.future.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def _start_workers(self) -> None:
        """Start as many threads as the calls need, and those left behind allow."""
        wanted = min(self._most_workers, len(self._under_way) + len(self._waiting))
        while self._workers < wanted and self.abandoned < self._most_abandoned:
            try:
                start_thread(self._work, self._name)
            except RuntimeError:  # the system has no thread left: the existing ones make the calls in turn
                if not self._workers:
                    raise
                return
            self._workers += 1

    def _work(self) -> None:
        while (call := self._next_call()) is not None:
            call.context.run(_current.set, call)
            try:
                call.future.set_result(call.context.run(call.function))
            except BaseException as error:  # noqa: BLE001 — raised again where the result is taken
                call.future.set_exception(error)
            with self._lock:
                if self._under_way.pop(call.future, None) is None:  # abandoned: this thread was replaced
                    self.abandoned -= 1
                    self._start_workers()
                    return

    def _next_call(self) -> Call | None:
        with self._lock:
            while self._waiting:
                call = self._waiting.popleft()
                if call.future.set_running_or_notify_cancel():
                    self._under_way[call.future] = call
                    return call
            self._workers -= 1
            return None


def _threads() -> list[_CallThread]:
    return [thread for thread in threading.enumerate() if isinstance(thread, _CallThread)]


@atexit.register
def _wait_a_moment() -> None:
    end = time.monotonic() + _MOMENT
    with suppress(KeyboardInterrupt):  # who is in a hurry need not wait
        for thread in _threads():
            thread.join(max(0.0, end - time.monotonic()))


def end_process(code: object) -> None:
    """End the process here and now if a call is still under way after a moment.

    It is the last step of a process: everything else that is done at its end must have been done.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C, which is in no hurry, would keep us from ending
    _wait_a_moment()
    if not _threads():
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # there is none, or it is full or closed
                stream.flush()
    finally:
        os._exit(0 if code is None else code & 0xFF if isinstance(code, int) else 1)
