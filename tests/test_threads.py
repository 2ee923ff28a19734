"""How a process ends while calls are under way."""

import subprocess
import sys
import time


def ended(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)


CALL = """
import atexit, sys, time
from raglift.threads import end_process, start_thread

def call(seconds):
    time.sleep(seconds)
    print("the call came back")
"""


# However busy the machine
LONG_MOMENT = "import raglift.threads\nraglift.threads._MOMENT = 30\n"


def test_a_call_has_a_moment_to_come_back() -> None:
    found = ended(CALL + LONG_MOMENT + "start_thread(lambda: call(0.1), 'call')\n")
    assert (found.returncode, found.stdout, found.stderr) == (0, "the call came back\n", "")


def test_a_call_that_hangs_keeps_no_process_from_ending() -> None:
    begin = time.monotonic()
    found = ended(CALL + "start_thread(lambda: call(1000), 'call')\nsys.exit(3)\n")
    assert (found.returncode, found.stdout, found.stderr) == (3, "", "")
    assert time.monotonic() - begin < 30


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
