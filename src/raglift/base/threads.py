"""Daemon threads for calls, and how a process ends while calls are under way."""

from __future__ import annotations

import atexit
import contextvars
import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from raglift.base.display import short_repr
from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


# Threads that make calls of a user's system or a model, and how a process ends while they still do. They are daemon
# threads: no process waits for a system that hangs. But up to Python 3.13, a call that comes back from native code,
# as PyTorch's, while the interpreter is ending, aborts the process ("terminate called without an active exception"):
# Python ends the thread by an exception that C++ may not let pass. So a process that ends gives its calls a moment to
# come back, then raises an exception in those that are in Python's own code every now and then, and where its end is
# raglift's own, as that of the command line, it then ends without the interpreter's last steps. Whoever calls raglift
# from a program of their own ends it themselves.


MOST_CONCURRENT = 1_000
"""This many calls may be under way at once: each may take a thread and a connection."""
LOOK_UP = 0.2
"""This many seconds may the main thread wait in one go: a Ctrl-C that comes as it begins to wait does not wake it."""
_MOMENT = 0.5
"""This many seconds a process that ends waits for its calls, all together."""
_LAST_MOMENT = 0.2
"""And this many more after it has told them to end."""


def require_concurrency(value: object) -> None:
    """Raise unless so many calls may be under way at once.

    Raises:
        ConfigurationError: it is no integer, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_CONCURRENT:
        found = short_repr(value, 40)
        raise ConfigurationError(f"concurrency: found {found}; expected an integer from 1 to {MOST_CONCURRENT:,}")


class _Calling(threading.Thread):
    """A thread that makes calls, and keeps no process from ending."""

    is_to_end = False
    """Whether the process is ending, so that the thread makes no further call."""


def is_to_end() -> bool:
    """Whether the process is ending, and the thread that this is called on is to end too."""
    return getattr(threading.current_thread(), "is_to_end", False)


def start_thread(work: Callable[[], object], name: str) -> None:
    """Start a thread that keeps no process from ending.

    Args:
        work: what is done in it.
        name: the name of the thread.
    """
    _Calling(target=work, daemon=True, name=name).start()


_given_up: contextvars.ContextVar[Callable[[], bool]] = contextvars.ContextVar("raglift call given up on")


def is_given_up() -> bool:
    """Whether the call that this is part of, made by a `WorkerPool`, has been given up on."""
    asked = _given_up.get(None)
    return asked is not None and asked()


@dataclass(frozen=True, eq=False)
class Call:
    """What is to be called, and where its result goes."""

    future: Future[Any]
    context: contextvars.Context
    function: Callable[[], Any]


class WorkerPool(ThreadPoolExecutor):
    """Makes calls on daemon threads, which keep no process from ending; as a context manager, it waits for no call.

    Python's own pool waits for its threads when a process ends, however long they hang. Of it, this one has only the
    interface, and its type, since an event loop takes no other executor. A thread ends when nothing is left to do, so
    that a process that ends finds only threads that are making a call.

    A thread cannot be stopped either. A call that takes too long can be abandoned: another thread takes the place of
    its own, which ends when the call comes back.

    Args:
        workers: how many calls may be under way at once, abandoned ones not counted; None for all that are submitted.
        name: the name of the threads.
        most_abandoned: no thread takes the place of another while so many abandoned calls hang.
    """

    def __init__(self, workers: int | None, name: str, *, most_abandoned: float = math.inf) -> None:
        super().__init__(1)
        self.stopping = threading.Event()
        """Set when the pool is shut down: nothing more is begun, and what waits in a call need not wait any longer."""
        self._most_workers = math.inf if workers is None else workers
        self._most_abandoned = most_abandoned
        self._name = name
        self._waiting: deque[Call] = deque()
        self._under_way: set[Future[Any]] = set()
        self._abandoned: set[Future[Any]] = set()
        self._workers = 0
        self._lock = threading.Lock()

    @property
    def abandoned(self) -> int:
        """How many abandoned calls have not come back."""
        return len(self._abandoned)

    @property
    def is_stuck(self) -> bool:
        """Whether abandoned calls keep all threads, so that nothing more is begun until one comes back."""
        with self._lock:
            return self._workers == 0 and self.abandoned >= self._most_abandoned

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called in a thread, in the context of the one who submits it."""
        call = Call(Future(), contextvars.copy_context(), partial(function, *args, **kwargs))
        with self._lock:
            if self.stopping.is_set():
                raise RuntimeError("the pool has been shut down, and takes no more calls")
            self._waiting.append(call)
            self._start_workers()
        return call.future

    def look_after(self) -> None:
        """See to it that calls go on where abandoned ones are in their way; threads are not."""

    def is_blocked(self, future: Future[Any]) -> bool:  # noqa: ARG002 — for pools whose calls share a thread
        """Whether the thread that a call is made on does nothing else; that of one call has nothing else to do."""
        return False

    def abandon(self, future: Future[Any]) -> None:
        """Give up on a call that is under way: its thread is left behind, and another takes its place."""
        with self._lock:
            if future in self._under_way:
                self._under_way.remove(future)
                self._workers -= 1
                self._abandoned.add(future)
                self._leave_behind(future)
                self._start_workers()

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:  # noqa: ARG002 — Python's
        """Begin nothing more; what is under way is not waited for."""
        self.stopping.set()
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
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
                self._start_worker()
            except RuntimeError:  # the system has no thread left: those that there are make the calls in turn
                if not self._workers:
                    raise
                return
            self._workers += 1

    def _start_worker(self) -> None:
        start_thread(self._work, self._name)

    def _leave_behind(self, future: Future[Any]) -> None:
        """Do what there is to be done about a call that has just been abandoned: nothing can stop a thread."""

    def _work(self) -> None:
        while (call := self._take()) is not None:
            call.context.run(_given_up.set, partial(self._is_given_up, call.future))
            try:
                call.future.set_result(call.context.run(call.function))
            except BaseException as error:  # noqa: BLE001 — raised again where the result is taken
                call.future.set_exception(error)
            if not self._finish(call.future) or is_to_end():
                return

    def _is_given_up(self, future: Future[Any]) -> bool:
        """Return whether nobody waits for a call that is under way."""
        return future in self._abandoned or (self.stopping.is_set() and future in self._under_way)

    def _take(self) -> Call | None:
        with self._lock:
            while self._waiting:
                call = self._waiting.popleft()
                if call.future.set_running_or_notify_cancel():
                    self._under_way.add(call.future)
                    return call
            self._workers -= 1
            return None

    def _finish(self, future: Future[Any]) -> bool:
        """Return whether the thread that made a call makes further ones; that of an abandoned call was replaced."""
        with self._lock:
            if future in self._under_way:
                self._under_way.remove(future)
                return True
            self._abandoned.remove(future)
            self._start_workers()
            return False


def _at_work() -> list[_Calling]:
    return [thread for thread in threading.enumerate() if isinstance(thread, _Calling)]


@atexit.register
def _wait_a_moment() -> None:
    with suppress(KeyboardInterrupt):  # who is in a hurry need not wait
        _join_all(_MOMENT)
        _interrupt(_at_work())
        _join_all(_LAST_MOMENT)


def _join_all(seconds: float) -> None:
    end = time.monotonic() + seconds
    for thread in _at_work():
        thread.join(max(0.0, end - time.monotonic()))


def _interrupt(threads: list[_Calling]) -> None:
    """Have threads raise SystemExit when they are in Python's own code, as one is that calls PyTorch in a loop."""
    for thread in threads:
        thread.is_to_end = True
        raise_in = getattr(ctypes, "pythonapi", None)
        if raise_in is not None:
            raise_in.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))


def end_process(code: object) -> None:
    """End the process here and now if a call is still under way after a moment.

    It is the last step of a process: what else was to be done at its end must have been.

    Args:
        code: the exit code, as `SystemExit` has it.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C, which is in no hurry, would keep us from ending
    _wait_a_moment()
    if not _at_work():
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # there is none, or it is full or closed
                stream.flush()
    finally:
        os._exit(0 if code is None else code & 0xFF if isinstance(code, int) else 1)
