"""How output and commands end: exit codes, what cannot be written, and the width of a line."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130
"""The exit code after Ctrl-C, as a shell has it."""


class Stopped(SystemExit):
    """Ctrl-C, where there is something to say of how to continue."""

    def __init__(self, how_to_continue: str) -> None:
        super().__init__(INTERRUPTED)
        self.how_to_continue = how_to_continue


def has_width(console: Console) -> bool:
    """Whether lines are to be wrapped: on a terminal, or where `COLUMNS` says how wide one is."""
    return console.is_terminal or os.environ.get("COLUMNS", "").isdigit()


def drop_output() -> None:
    """Let what is still to be printed go nowhere: there is no place for it."""
    with suppress(OSError):  # a test's output has no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
