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


def test_a_call_has_a_moment_to_come_back() -> None:
    found = ended(CALL + "start_thread(lambda: call(0.1), 'call')\n")
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
