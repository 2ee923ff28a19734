"""The event loop on which raglift makes all asynchronous calls of a process."""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any, TypeVar

from raglift.threads import LOOK_UP, WorkerPool, start_thread

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["event_loop", "result_of"]

T = TypeVar("T")


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all asynchronous calls of this process, which runs on a thread of its own.

    There is one, because async clients keep connections that are tied to the loop they were made on: with a loop for
    each run, the second run of the same system would find its connections dead.
    """
    return _event_loop(os.getpid())


@functools.cache
def _event_loop(_process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    # What an async system hands to threads may hang as well
    loop.set_default_executor(WorkerPool(None, "raglift-async-call"))
    start_thread(loop.run_forever, "raglift-async")
    atexit.register(loop.call_soon_threadsafe, lambda: loop.create_task(_end(loop)))
    return loop


async def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Stop the loop when what is under way is done; soon, what is not is cancelled."""
    for _ in range(2):
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=LOOK_UP)
        for task in others:
            task.cancel()
    loop.stop()


def result_of(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of all asynchronous calls, and wait for what it returns or raises.

    Ctrl-C ends the wait, and cancels the coroutine.
    """
    future = asyncio.run_coroutine_threadsafe(work, event_loop())
    try:
        while not wait([future], LOOK_UP).done:
            pass
        return future.result()
    finally:
        future.cancel()
