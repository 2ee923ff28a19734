"""Threads that make calls of a user's system or a model, and how a process ends while they still do.

They are daemon threads: no process waits for a system that hangs. But up to Python 3.13, a call that comes back from
native code, as PyTorch's, while the interpreter is ending, aborts the process ("terminate called without an active
exception"): Python ends the thread by an exception that C++ may not let pass. So a process that ends gives its calls a
moment to come back, and where its end is raglift's own, as that of the command line, it then ends without the
interpreter's last steps. Whoever calls raglift from a program of their own ends it themselves.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LOOK_UP", "end_process", "start_thread"]

LOOK_UP = 0.2
"""So many seconds may the main thread wait in one go: a Ctrl-C that comes as it begins to wait does not wake it."""
_MOMENT = 0.5
"""So many seconds a process that ends waits for its calls, all together."""


class _Calling(threading.Thread):
    """A thread that makes calls, and keeps no process from ending."""


def start_thread(work: Callable[[], object], name: str) -> None:
    """Start a thread that keeps no process from ending.

    Args:
        work: what is done in it.
        name: the name of the thread.
    """
    _Calling(target=work, daemon=True, name=name).start()


def _at_work() -> list[_Calling]:
    return [thread for thread in threading.enumerate() if isinstance(thread, _Calling)]


@atexit.register
def _wait_a_moment() -> None:
    end = time.monotonic() + _MOMENT
    with suppress(KeyboardInterrupt):  # who is in a hurry need not wait
        for thread in _at_work():
            thread.join(max(0.0, end - time.monotonic()))


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
