"""Calls on threads that keep no process from ending, and how a process ends while they are under way."""

import contextvars
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, wait

import pytest

from raglift.base.threads import WorkerPool


def ended(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)


CALL = """
import atexit, sys, time
from raglift.base.threads import end_process, start_thread

def call(seconds):
    time.sleep(seconds)
    print("the call came back")
"""


# However busy the machine
LONG_MOMENT = "import raglift.base.threads\nraglift.base.threads._MOMENT = 30\n"


def test_a_call_has_a_moment_to_come_back() -> None:
    found = ended(CALL + LONG_MOMENT + "start_thread(lambda: call(0.1), 'call')\n")
    assert (found.returncode, found.stdout, found.stderr) == (0, "the call came back\n", "")


def test_a_call_that_hangs_keeps_no_process_from_ending() -> None:
    begin = time.monotonic()
    found = ended(CALL + "start_thread(lambda: call(1000), 'call')\nsys.exit(3)\n")
    assert (found.returncode, found.stdout, found.stderr) == (3, "", "")
    assert time.monotonic() - begin < 30


@pytest.mark.slow
def test_a_process_that_is_ended_during_a_call_has_printed_everything_and_its_exit_code() -> None:
    tail = "start_thread(lambda: call(1000), 'call')\nprint('kept', end='')\nprint('told', file=sys.stderr)\n"
    for code, expected in (("3", 3), ("None", 0), ("'words'", 1)):
        found = ended(CALL + tail + f"end_process({code})\nprint('never')\n")
        assert (found.returncode, found.stdout, found.stderr) == (expected, "kept", "told\n")


def test_without_a_call_under_way_nothing_is_ended() -> None:
    found = ended(CALL + "end_process(3)\nprint('goes on')\n")
    assert (found.returncode, found.stdout, found.stderr) == (0, "goes on\n", "")


COMMAND = """
from raglift import cli
from raglift.__main__ import main

def command(seconds):
    start_thread(lambda: call(seconds), "call")
    sys.exit(5)

"""


def test_the_command_waits_a_moment_and_ends_with_its_own_exit_code() -> None:
    back = ended(CALL + COMMAND + LONG_MOMENT + "cli.main = lambda: command(0.1)\nmain()\n")
    assert (back.returncode, back.stdout, back.stderr) == (5, "the call came back\n", "")
    hanging = ended(CALL + COMMAND + "cli.main = lambda: command(1000)\nmain()\n")
    assert (hanging.returncode, hanging.stdout, hanging.stderr) == (5, "", "")


PRESS = """
import os, signal

def press():
    time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)

atexit.register(lambda: start_thread(press, "press"))
start_thread(lambda: call(1000), "call")
"""


def test_ctrl_c_during_the_moment_tells_nothing_and_keeps_the_exit_code() -> None:
    as_library = ended(CALL + PRESS + "sys.exit(7)\n")
    assert (as_library.returncode, as_library.stderr) == (7, "")
    as_command = ended(CALL + "atexit.register(lambda: end_process(130))\n" + PRESS)
    assert (as_command.returncode, as_command.stderr) == (130, "")


def test_without_standard_output_a_process_still_ends() -> None:
    found = ended(CALL + "start_thread(lambda: call(1000), 'call')\nsys.stdout = None\nend_process(3)\n")
    assert (found.returncode, found.stderr) == (3, "")


def test_a_pool_makes_no_more_calls_at_once_than_it_has_workers() -> None:
    lock, under_way, most = threading.Lock(), 0, 0

    def count(number: int) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.005)
        with lock:
            under_way -= 1
        return number

    with WorkerPool(3, "test") as pool:
        assert [future.result() for future in [pool.submit(count, n) for n in range(30)]] == list(range(30))
    assert most == 3


def test_without_a_number_of_workers_every_call_has_a_thread() -> None:
    barrier = threading.Barrier(20, timeout=10)
    with WorkerPool(None, "test") as pool:
        for future in [pool.submit(barrier.wait) for _ in range(20)]:
            future.result(10)


def test_what_a_call_raises_is_raised_where_its_result_is_taken() -> None:
    with WorkerPool(1, "test") as pool:
        failing, passing = pool.submit(divmod, 1, 0), pool.submit(divmod, 7, 2)
        with pytest.raises(ZeroDivisionError):
            failing.result()
        assert passing.result() == (3, 1)


def test_a_call_sees_the_context_of_its_submit() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    with WorkerPool(1, "test") as pool:
        token = variable.set("set")
        seen = pool.submit(variable.get)
        variable.reset(token)
        assert (seen.result(), pool.submit(variable.get).result()) == ("set", "unset")


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
        assert waiting.result(10).name == "test"  # there is room for a thread again


def test_an_abandoned_call_that_is_over_already_changes_nothing() -> None:
    with WorkerPool(1, "test") as pool:
        done = pool.submit(int)
        assert done.result(10) == 0
        time.sleep(0.05)
        pool.abandon(done)
        assert pool.abandoned == 0
        assert pool.submit(int).result(10) == 0
