"""How output and commands end: exit codes, and what cannot be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TextIO

INTERRUPTED = 130
"""The exit code after Ctrl-C, as a shell has it."""


class Stopped(SystemExit):
    """Ctrl-C, where there is something to say of how to continue."""

    def __init__(self, how_to_continue: str) -> None:
        super().__init__(INTERRUPTED)
        self.how_to_continue = how_to_continue


def drop_output() -> None:
    """Let what is still to be printed go nowhere: there is no place for it."""
    with suppress(OSError):  # a test's output has no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def stdout_for_results() -> Iterator[None]:
    """Send what a user's code prints to standard error; then standard output is as before, whatever that did to it."""
    before, descriptor = sys.stdout, os.dup(1)
    os.dup2(2, 1)
    sys.stdout = _output_of_others()
    try:
        yield
    finally:
        sys.stdout = before
        os.dup2(descriptor, 1)
        os.close(descriptor)


@cache
def _output_of_others() -> TextIO:
    """Return a stream to standard error that may be closed; one for all, since loggers keep it."""
    return open(os.dup(2), "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
