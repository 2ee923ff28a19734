"""A few threads that ask at the same time, and that nobody waits for when asking is stopped."""

from __future__ import annotations

import contextvars
import functools
import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from raglift.integrations._patience import stopped_by
from raglift.threads import LOOK_UP, start_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

__all__ = ["Crew"]

Task = TypeVar("Task")
Result = TypeVar("Result")


class Crew(Generic[Task, Result]):
    """Threads that apply a function to tasks; a context manager.

    When the block ends, by Ctrl-C or otherwise, nothing more is begun. What is under way then is not waited for: it
    ends by itself, or with the process.

    Args:
        function: called with each task, in a thread, in the caller's context.
        size: how many threads.
    """

    def __init__(self, function: Callable[[Task], Result], size: int) -> None:
        self.underway = 0
        """How many tasks were sent whose result was not taken yet."""
        self._function = function
        self._size = size
        self._todo: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Task, Result | BaseException]] = queue.SimpleQueue()
        self._stopping = threading.Event()

    def send(self, task: Task) -> None:
        """Have a task done."""
        self.underway += 1
        self._todo.put(task)

    def next_done(self) -> tuple[Task, Result | BaseException]:
        """Wait for a task that is done, and return it with its result, or what was raised."""
        while True:
            with suppress(queue.Empty):
                found = self._done.get(timeout=LOOK_UP)
                self.underway -= 1
                return found

    def __enter__(self) -> Self:
        for _ in range(self._size):
            # Not a pool: its threads would be waited for at the end of the process, however long they wait themselves
            start_thread(functools.partial(contextvars.copy_context().run, self._work), "raglift-ask")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        for _ in range(self._size):
            self._todo.put(None)

    def _work(self) -> None:
        with stopped_by(self._stopping):
            while (task := self._todo.get()) is not None and not self._stopping.is_set():
                try:
                    result: Result | BaseException = self._function(task)
                except BaseException as error:  # noqa: BLE001 — raised again where it is waited for
                    result = error
                self._done.put((task, result))
