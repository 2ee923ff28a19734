"""Processes that are started quickly and killed with all that they started.

They are forked from a server that has imported the libraries and done nothing else: most of the life of a command is
imports, in which there is nothing to lose. What is forked is a process of its own in a process group of its own, and
SIGKILL is SIGKILL.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import raglift

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.process import BaseProcess

__all__ = ["QUIET", "Command", "Started", "call", "events_of", "prepare", "start"]

QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"
"""Who is killed gives no semaphore back; the system does that when the last process of the server ends."""
LIBRARIES = "killing.libraries"
_QUIET = {
    "RAGLIFT_PROGRESS": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "NO_COLOR": "1",
    "PYTHONWARNINGS": QUIET,
}
_LONGEST = 540.0


@dataclass(frozen=True)
class Command:
    """A command line of raglift, and where it is run."""

    arguments: tuple[str, ...]
    """As `("sweep", "sweep.yaml", "-o", "sweep")`."""
    folder: Path
    """The working folder."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What is set besides."""
    beside: tuple[tuple[str, ...], ...] = ()
    """Arguments of further commands that are run in the same process group at the same time."""
    stop_before: int | None = None
    """Before which operation on files the process kills itself; None for never."""

    @property
    def log(self) -> Path:
        """Where the processes write what they do, line by line."""
        return self.folder / "events.log"


@dataclass
class Started:
    """A command that was started."""

    process: BaseProcess
    command: Command
    at: float
    """When, on `time.monotonic()`."""

    @property
    def is_running(self) -> bool:
        """Whether the command has not ended."""
        return self.process.is_alive()

    def kill(self) -> bool:
        """Kill the process group, and return whether its first process was running until then."""
        with suppress(ProcessLookupError, PermissionError):  # it may have ended, or not have a group yet
            os.killpg(int(self.process.pid or 0), signal.SIGKILL)
        self.process.kill()
        self.process.join(_LONGEST)
        return self.was_killed

    @property
    def was_killed(self) -> bool:
        """Whether it was SIGKILL that ended it."""
        return self.process.exitcode == -signal.SIGKILL

    def finish(self) -> float:
        """Wait until it has ended well, and return its seconds.

        Raises:
            AssertionError: it has not; the message is what it said.
        """
        self.process.join(_LONGEST)
        if self.process.exitcode != 0:
            self.kill()
            raise AssertionError(f"exit code {self.process.exitcode}: {self.said()[-3000:]}")
        return time.monotonic() - self.at

    def said(self) -> str:
        """Return what its processes wrote to their standard error."""
        return (self.command.folder / "stderr").read_text("utf-8", "replace")


@cache
def prepare() -> None:
    """Start the server that processes are forked from, with the libraries imported, unless it runs."""
    before = dict(os.environ)
    os.environ.update(_QUIET)
    # The server does not look where this process finds modules, and leaves out silently what it does not find
    places = [str(Path(__file__).parents[1]), str(Path(raglift.__file__).parents[1]), before.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([LIBRARIES])
    try:
        process = context.Process(target=_nothing)
        process.start()
        process.join()
    finally:
        os.environ.clear()
        os.environ.update(before)


def start(command: Command) -> Started:
    """Start a command."""
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_run, args=(command,))
    before = time.monotonic()
    process.start()
    return Started(process, command, before)


def call(function: Callable[..., object], *arguments: Any) -> BaseProcess:
    """Call a function in a process of its own."""
    process = multiprocessing.get_context("forkserver").Process(target=function, args=arguments, daemon=True)
    process.start()
    return process


def events_of(command: Command) -> list[list[Any]]:
    """Return what all processes that shared the command's folder wrote down, in order: process, kind, items, time."""
    written = command.log.read_bytes() if command.log.exists() else b""
    # One of them may be writing its next line just now
    return [json.loads(line) for line in written[: written.rfind(b"\n") + 1].splitlines()]


def _nothing() -> None:
    """Do nothing."""


def _run(command: Command) -> None:
    """Become a command: in its own process group, with files as its terminal."""
    from killing.probes import install

    os.setsid()
    os.chdir(command.folder)
    os.environ.update(command.environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _redirect(command.folder / "stdout", 1)
    _redirect(command.folder / "stderr", 2)
    others = []
    arguments = command.arguments
    for beside in command.beside:
        other = os.fork()
        if other == 0:
            others, arguments = [], beside
            break
        others.append(other)
    install(command)
    code = _code_of(arguments)
    codes = [os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) for other in others]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(max([code, *map(abs, codes)]))


def _code_of(arguments: tuple[str, ...]) -> int:
    """Run a command line of raglift, and return its exit code."""
    from raglift.cli import main

    sys.argv = ["raglift", *arguments]
    try:
        main()
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    except BaseException:  # noqa: BLE001 — the process ends here, and says why
        traceback.print_exc()
        return 1
    return 0


def _redirect(path: Path, descriptor: int) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, descriptor)
    os.close(file)
