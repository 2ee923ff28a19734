"""How output and commands end: exit codes, and what cannot be written."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

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
