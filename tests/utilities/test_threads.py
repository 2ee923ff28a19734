"""Calls on threads and on the event loop, and how a process ends while they are under way."""

import asyncio
import contextvars
import io
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, wait
from contextlib import suppress

import pytest

from raglift.errors import ConfigurationError
from raglift.utilities import event_loops, threads
from raglift.utilities.event_loops import EventLoop, current_loop, result_of
from raglift.utilities.threads import WorkerPool, end_process, require_concurrency, start_thread


def ended(script: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


CALL = """
import atexit, os, signal, sys, time
import raglift.utilities.threads
from raglift.utilities.threads import end_process, start_thread

def call(seconds):
    time.sleep(seconds)
    print("the call came back")
"""


@pytest.mark.slow
def test_a_call_that_hangs_keeps_no_process_from_ending() -> None:
    assert ended(CALL + "start_thread(lambda: call(1000), 'call')\nsys.exit(3)\n") == (3, "", "")


@pytest.mark.slow
def test_a_process_that_is_ended_during_a_call_has_printed_everything_and_its_exit_code() -> None:
    tail = "start_thread(lambda: call(1000), 'call')\nprint('out', end='')\nprint('err', file=sys.stderr)\n"
    for code, expected in (("3", 3), ("None", 0), ("'words'", 1)):
        assert ended(CALL + tail + f"end_process({code})\nprint('never')\n") == (expected, "out", "err\n")


# The pool of threads.


def test_what_a_call_raises_is_raised_where_its_result_is_taken() -> None:
    with WorkerPool(1, "test") as pool:
        failing, passing = pool.submit(divmod, 1, 0), pool.submit(divmod, 7, 2)
        with pytest.raises(ZeroDivisionError):
            failing.result()
        assert passing.result() == (3, 1)


def test_a_call_sees_the_context_of_its_submit_and_so_does_its_coroutine() -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    async def get() -> str:
        return variable.get()

    with WorkerPool(1, "test") as pool:
        token = variable.set("set")
        seen = pool.submit(variable.get), pool.submit(lambda: result_of(get()))
        variable.reset(token)
        assert [future.result() for future in (*seen, pool.submit(variable.get))] == ["set", "set", "unset"]


def test_a_pool_that_is_left_waits_for_nothing_and_begins_nothing_more() -> None:
    begun, release = threading.Event(), threading.Event()

    def hang() -> bool:
        begun.set()
        return release.wait(60)

    with WorkerPool(1, "test") as pool:
        first, second = pool.submit(hang), pool.submit(hang)
        assert begun.wait(10)
    assert pool.stopping.is_set()
    assert not first.done()
    with pytest.raises(CancelledError):
        second.result()
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(hang)
    release.set()
    assert first.result(10)


def test_another_thread_takes_the_place_of_an_abandoned_call_unless_too_many_hang() -> None:
    release = threading.Event()
    with WorkerPool(1, "test", most_abandoned=2) as pool:
        for abandoned in (1, 2):
            begun = threading.Event()
            hanging = pool.submit(lambda begun=begun: (begun.set(), release.wait(60)))
            assert begun.wait(10)
            assert not pool.is_stuck
            pool.abandon(hanging)
            assert pool.abandoned == abandoned
        waiting = pool.submit(threading.current_thread)
        assert pool.is_stuck
        assert not wait([waiting], 0.05).done
        release.set()
        assert waiting.result(10).name == "test"


def test_a_call_that_is_cancelled_before_it_begins_is_left_out() -> None:
    begun, release = threading.Event(), threading.Event()
    with WorkerPool(1, "test") as pool:
        first = pool.submit(lambda: (begun.set(), release.wait(60)))
        assert begun.wait(10)
        second, third = pool.submit(list), pool.submit(tuple)
        assert second.cancel()
        release.set()
        assert third.result(10) == ()
        pool.abandon(first)  # which has come back: nothing is given up
        assert pool.abandoned == 0


def test_where_the_system_has_no_thread_left_those_that_are_there_make_the_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    begun, release = threading.Event(), threading.Event()
    with WorkerPool(3, "test") as pool:
        first = pool.submit(lambda: (begun.set(), release.wait(60)))
        assert begun.wait(10)
        monkeypatch.setattr(threading.Thread, "start", no_thread)
        second = pool.submit(threading.current_thread)
        release.set()
        assert second.result(10).name == "test"
        assert first.done()
    with WorkerPool(3, "test") as pool, pytest.raises(RuntimeError, match="can't start"):
        pool.submit(list)


@pytest.mark.parametrize("value", [0, 1001, 2.0, True, "4"])
def test_a_number_of_calls_out_of_range_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"concurrency: found .*; expected an integer from 1 to 1,000"):
        require_concurrency(value)


@pytest.mark.parametrize(("code", "expected"), [(3, 3), (256 + 2, 2), (None, 0), ("words", 1)])
def test_what_hangs_is_not_waited_for_and_the_rest_is_written_out(
    monkeypatch: pytest.MonkeyPatch, code: object, expected: int
) -> None:
    release, ended_with, out = threading.Event(), [], io.BytesIO()
    monkeypatch.setattr(threads, "_MOMENT", 0.01)
    monkeypatch.setattr("os._exit", ended_with.append)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(out))
    monkeypatch.setattr("sys.stderr", None)  # as of a program without a console
    before = signal.getsignal(signal.SIGINT)
    try:
        sys.stdout.write("the last words")
        start_thread(lambda: release.wait(60), "hangs")
        end_process(code)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
        release.set()
    assert (ended_with, out.getvalue()) == ([expected], b"the last words")


# The event loop.

ON_THE_LOOP = """
import asyncio
from raglift.utilities.event_loops import current_loop

async def last():
    try:
        await asyncio.sleep({seconds})
        print("done")
    except asyncio.CancelledError:
        print("cancelled")
        raise

asyncio.run_coroutine_threadsafe(last(), current_loop().loop)
"""


@pytest.mark.slow
def test_what_is_on_the_loop_when_a_process_ends_is_soon_done_or_cancelled() -> None:
    assert ended(ON_THE_LOOP.format(seconds=0.01)) == (0, "done\n", "")
    assert ended(ON_THE_LOOP.format(seconds=1000)) == (0, "cancelled\n", "")


async def five() -> int:
    await asyncio.sleep(0)
    return 5


def test_a_coroutine_is_waited_for_on_any_thread_but_that_of_the_loop_itself() -> None:
    async def waits() -> int:
        return result_of(five())

    assert result_of(five()) == 5
    assert asyncio.run(waits()) == 5  # a cell of a notebook
    with pytest.raises(ConfigurationError, match="expected the async form, awaited"):
        result_of(waits())


def test_a_coroutine_is_cancelled_if_the_call_that_waits_for_it_was_abandoned() -> None:
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


def is_closed_soon(loop: EventLoop) -> bool:
    for _ in range(1000):
        if loop.loop.is_closed():
            return True
        time.sleep(0.01)
    return False


@pytest.mark.slow
def test_a_loop_that_ends_cancels_what_is_on_it_and_cuts_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loops, "LOOK_UP", 0.01)
    loop, cancelled, kept = EventLoop(), threading.Event(), []

    async def hang() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    with socket.create_server(("127.0.0.1", 0)) as server:
        opening = asyncio.open_connection(*server.getsockname())
        kept.append(asyncio.run_coroutine_threadsafe(opening, loop.loop).result(10))
        connection, _ = server.accept()
        with connection:
            connection.settimeout(10)
            asyncio.run_coroutine_threadsafe(hang(), loop.loop)
            loop.end()
            assert cancelled.wait(10)
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
    assert is_closed_soon(loop)


def test_a_call_that_something_on_the_loop_cancels_before_it_begins_is_told() -> None:
    async def cancel_others() -> None:
        while not (others := asyncio.all_tasks() - {asyncio.current_task()}):
            await asyncio.sleep(0)
        for each in others:
            each.cancel()

    with WorkerPool(2, "test") as pool:
        first = pool.submit(lambda: result_of(cancel_others()))
        waiting = pool.submit(lambda: result_of(five()))
        first.result(10)
        with pytest.raises(asyncio.CancelledError):
            waiting.result(10)
    assert result_of(five()) == 5


def test_a_blocked_loop_is_left_with_what_has_begun_and_ends_when_that_is_over() -> None:
    begun, release, queued = threading.Event(), threading.Event(), threading.Event()

    async def block() -> None:
        begun.set()
        release.wait(60)

    def wait_for_five() -> int:
        queued.set()
        return result_of(five())

    left = current_loop()
    with WorkerPool(2, "test") as pool:
        blocking = pool.submit(lambda: result_of(block()))
        assert begun.wait(10)
        waiting = pool.submit(wait_for_five)
        assert queued.wait(10)
        pool.abandon(blocking)
        assert waiting.result(10) == 5
        assert current_loop() is not left
        release.set()
    assert is_closed_soon(left)
