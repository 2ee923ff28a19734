"""The event loop of asynchronous calls: what may wait for it, and how it ends with its process."""

import asyncio
import gc
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import wait

import pytest

from raglift.base.event_loops import AsyncWorkerPool, EventLoop, current_loop, result_of
from raglift.base.threads import WorkerPool
from raglift.errors import ConfigurationError

SCRIPT = """
import asyncio
from raglift.base.event_loops import current_loop

async def last(seconds):
    try:
        await asyncio.sleep(seconds)
        print("done")
    except asyncio.CancelledError:
        print("cancelled")
        raise

asyncio.run_coroutine_threadsafe(last({seconds}), current_loop().loop)
"""


def ended(seconds: float) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(seconds=seconds)], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_what_is_soon_done_is_done() -> None:
    assert ended(0.01) == (0, "done\n", "")


def test_what_takes_long_is_cancelled_and_nothing_is_said_of_it() -> None:
    assert ended(1000) == (0, "cancelled\n", "")


async def five() -> int:
    await asyncio.sleep(0)
    return 5


def test_a_coroutine_is_waited_for_on_any_thread_but_that_of_the_loop_itself() -> None:
    async def waits_for_itself() -> int:
        return result_of(five())

    async def cell() -> int:
        return result_of(five())

    assert result_of(five()) == 5
    assert asyncio.run(cell()) == 5
    with pytest.raises(ConfigurationError, match="expected the async form, awaited"):
        result_of(waits_for_itself())


def test_a_coroutine_is_cancelled_where_the_call_that_waits_for_it_was_abandoned() -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    with WorkerPool(1, "test") as pool:
        future = pool.submit(lambda: result_of(hang()))
        assert begun.wait(10)
        pool.abandon(future)
        assert cancelled.wait(10)


def test_no_more_async_calls_are_under_way_than_the_pool_has_workers() -> None:
    now = most = 0

    async def count(number: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1
        return number

    with AsyncWorkerPool(3, "test") as pool:
        assert [future.result(10) for future in [pool.submit(count, n) for n in range(20)]] == list(range(20))
    assert most == 3


def is_closed_soon(loop: EventLoop) -> bool:
    for _ in range(1000):
        if loop.loop.is_closed():
            return True
        threading.Event().wait(0.01)
    return False


def test_a_loop_that_was_left_ends_when_what_blocked_it_is_over() -> None:
    begun, release = threading.Event(), threading.Event()

    async def block() -> None:
        begun.set()
        release.wait(60)

    left = current_loop()
    with AsyncWorkerPool(1, "test") as pool:
        future = pool.submit(block)
        assert begun.wait(10)
        pool.abandon(future)
        assert current_loop() is not left
    release.set()
    assert is_closed_soon(left)


def test_a_loop_that_was_left_ends_while_a_call_that_it_had_not_begun_is_under_way_on_the_next_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    left_begun, left_release, next_begun, next_release = (threading.Event() for _ in range(4))

    async def block() -> None:
        left_begun.set()
        left_release.wait(60)

    async def block_the_next_one() -> None:
        next_begun.set()
        next_release.wait(60)

    left = current_loop()
    holding = threading.Event()
    left.tell(lambda: holding.wait(60))  # so that both calls are on this loop before the first of them begins
    with AsyncWorkerPool(2, "test") as pool:
        abandoned = pool.submit(block)
        pool.submit(block_the_next_one)
        holding.set()
        assert left_begun.wait(10)
        pool.abandon(abandoned)
        for _ in range(1000):
            if next_begun.wait(0.01):
                break
            pool.look_after()
        assert next_begun.is_set()
        left_release.set()
        assert is_closed_soon(left)
        next_release.set()
    assert caplog.messages == []


def result_while_busy(loop: EventLoop, before: Callable[[], None], after: Callable[[], None]) -> int:
    """Submit a call while a loop is busy, and tell the loop something right before it and after it."""
    busy, release = threading.Event(), threading.Event()

    def hold() -> None:
        busy.set()
        release.wait(60)

    async def call() -> int:
        return 1

    with AsyncWorkerPool(1, "test") as pool:
        pool._loop = loop
        loop.tell(hold)
        assert busy.wait(10)
        before()
        future = pool.submit(call)
        after()
        release.set()
        for _ in range(1000):
            if wait([future], 0.01).done:
                break
            pool.look_after()
        return future.result(0)


def nothing() -> None:
    pass


def test_a_call_that_comes_as_its_loop_ends_is_made_on_the_next_one_alone() -> None:
    loop = EventLoop()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert result_while_busy(loop, lambda: loop.tell(loop._stop), nothing) == 1
        gc.collect()
    assert told == []  # as of a coroutine that was never awaited


def test_a_call_that_has_just_ended_is_told_before_its_loop_ends() -> None:
    loop = EventLoop()
    assert result_while_busy(loop, nothing, loop.end_when_idle) == 1


def test_a_loop_that_ends_closes_the_connections_that_clients_left_open_on_it() -> None:
    """Where a loop is replaced, the connections in the pool of a client would otherwise stay open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        loop = EventLoop()
        opened = asyncio.open_connection(*server.getsockname())
        kept = asyncio.run_coroutine_threadsafe(opened, loop.loop).result(10)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(10)
            loop.end()
            assert connection.recv(1) == b""
        assert kept
