"""How the loop of all asynchronous calls ends with its process."""

import subprocess
import sys

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
