"""A bound on the processor time and the memory of what is done inside it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["TooMuchError", "within"]

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_IS_MEASURED = _CLEAR.exists()


class TooMuchError(BaseException):
    """Something took too long, or too much memory; no `except Exception` on the way may swallow it."""


@contextmanager
def within(seconds: float, megabytes: int) -> Iterator[None]:
    """Raise where what is done inside takes more than it may.

    Args:
        seconds: processor time of this process; what takes longer is interrupted (in the main thread).
        megabytes: how much more memory it may hold at a time than at the beginning (where Linux tells).

    Raises:
        TooMuchError: it took more.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = _begin_memory()
    begin = time.process_time()
    previous = signal.signal(signal.SIGPROF, _interrupt) if is_main else None
    if is_main:
        # and again each second: the first may come where it is lost, as in a callback from C
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        if is_main:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, previous)
    if time.process_time() - begin > seconds:
        raise TooMuchError("too long")
    if _peak() - before > megabytes * 1024:
        raise TooMuchError("too much memory")


def _interrupt(*_: object) -> None:
    raise TooMuchError("too long")


def _begin_memory() -> int:
    """Forget what the process held at most; return what it holds now, in kB."""
    if not _IS_MEASURED:
        return 0
    _CLEAR.write_text("5", encoding="ascii")
    return _peak()


def _peak() -> int:
    if not _IS_MEASURED:
        return 0
    status = _STATUS.read_text(encoding="ascii", errors="replace")
    return int(status.partition("VmHWM:")[2].split(None, 1)[0])
