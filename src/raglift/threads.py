"""Threads that make calls of a user's system or a model, and how a process ends while they still do.

They are daemon threads: no process waits for a system that hangs. But a call that comes back from native code, as
PyTorch's, while the interpreter is ending, aborts the process ("terminate called without an active exception"): Python
ends the thread by an exception that C++ may not let pass. So a process that ends gives its calls a moment to come
back, and the command line, whose processes are its own, then ends without the interpreter's last steps.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LOOK_UP", "end_process", "start_thread"]

LOOK_UP = 0.2
"""So many seconds may the main thread wait in one go: a Ctrl-C that comes as it begins to wait does not wake it."""
_MOMENT = 0.5
"""So many seconds a process that ends waits for its calls, all together."""
_started: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


def start_thread(work: Callable[[], object], name: str) -> None:
    """Start a thread that keeps no process from ending.

    Args:
        work: what is done in it.
        name: the name of the thread.
    """
    thread = threading.Thread(target=work, daemon=True, name=name)
    _started.add(thread)
    thread.start()


def _at_work() -> list[threading.Thread]:
    return [thread for thread in list(_started) if thread.is_alive()]


@atexit.register
def _wait_a_moment() -> None:
    end = time.monotonic() + _MOMENT
    for thread in _at_work():
        thread.join(max(0.0, end - time.monotonic()))


def end_process(code: object) -> None:
    """End the process here and now if a call is still under way; everything that was to be done at its end must be.

    Args:
        code: the exit code, as `SystemExit` has it.
    """
    if not _at_work():
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # full, or closed
            stream.flush()
    os._exit(0 if code is None else code if isinstance(code, int) else 1)
