"""Servers over stdio: a process of its own for each, with bounded messages and an end that is certain."""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import shutil
import signal
import time
from collections import deque
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio

from raglift.base.display import shorten
from raglift.components.mcp.wire import OWN_ERROR, TOO_LONG, failed_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from raglift.base.display import Secrets


# The SDK has a transport of its own for this. It joins a message of any length in memory, copying what there is with
# every piece, writes what a server says on stderr to the terminal, and logs what is no JSON with a traceback; it also
# has no answer to a process that ends by itself within its shutdown. What is used here of the SDK is the protocol.


_GRACE = 1.0
"""This many seconds a server has to end when its input is closed, and as many after SIGTERM."""
_LOOK = 0.01
_EARS = 65_536
_KEPT_LINES, _LONGEST_LINE = 20, 300
_ENDS = 300
"""So many bytes of both ends of a message that is too long are looked at for its id."""
_ID_FIRST = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_INHERITED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
_INHERITED_ON_WINDOWS = (
    *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE"),
    *("SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"),
)


class ServerProcess:
    """A server that was started: what it says besides its messages, and how it ended.

    Args:
        command: what starts it.
        env: variables besides those that every server gets.
        most_bytes: the longest message that is read.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], most_bytes: int) -> None:
        self._command = tuple(command)
        self._env = {**_inherited(), **env}
        self._most_bytes = most_bytes
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self.no_message = ""
        """The first line on its stdout that is no message."""
        self.exit_code: int | None = None
        """How it ended by itself; None while it runs, and where it was told to."""
        self._too_long = False

    def told(self, secrets: Secrets) -> str:
        """Return what a server that failed said last, and on stdout besides messages; empty if nothing."""
        last = next((line for line in reversed(self._said) if line.strip()), "")
        stderr = f"; it said last: {secrets.beginning(last.encode())}" if last else ""
        if not self.no_message:
            return stderr
        shown = secrets.beginning(self.no_message.encode())
        return f"; its stdout has what is no message: {shown} — a server's log belongs on stderr{stderr}"

    @property
    def end(self) -> str:
        """How it ended, in words."""
        if self._too_long:
            return (
                f"it sent a message of more than {self._most_bytes:,} bytes, and most_bytes in the mapping allows more"
            )
        code = self.exit_code
        if code is None:
            return "it closed its output"
        if code < 0:
            with suppress(ValueError):
                return f"it was ended by {signal.Signals(-code).name}"
        return f"it ended with exit code {code}"

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        """Start the server, and yield the streams of its messages, as the SDK's `Client` takes them.

        Raises:
            OSError: it cannot be started.
        """
        name, *words = self._command
        process = await anyio.open_process(
            [shutil.which(name) or name, *words],  # on Windows npx is npx.cmd
            env=self._env,
            start_new_session=os.name == "posix",  # Ctrl-C is for raglift, which ends the server itself
        )
        _running.add(process.pid)
        to_client, incoming = anyio.create_memory_object_stream[Any](0)
        outgoing, from_client = anyio.create_memory_object_stream[Any](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, process, to_client)
                tasks.start_soon(self._write, process, from_client)
                tasks.start_soon(self._listen, process)
                try:
                    yield incoming, outgoing
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process)
            for stream in (to_client, incoming, outgoing, from_client):
                stream.close()
            _running.discard(process.pid)

    async def _read(self, process: Any, to_client: Any) -> None:
        """Hand on one message a line; of one that is too long only its ends are kept."""
        line, head, tail, length = bytearray(), b"", b"", 0
        try:
            async for piece in process.stdout:
                for number, part in enumerate(piece.split(b"\n")):
                    if number:  # a line has ended
                        await self._hand_on(to_client, bytes(line) if length <= self._most_bytes else None, head, tail)
                        line.clear()
                        head, tail, length = b"", b"", 0
                    length += len(part)
                    if length <= self._most_bytes:
                        line += part
                    else:
                        head, tail = head or bytes(line[:_ENDS]) or part[:_ENDS], (tail + part)[-_ENDS:]
                        line.clear()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass
        # Whoever waits for a message learns now that none will come, and how the server ended
        with anyio.move_on_after(_GRACE):
            while process.returncode is None and not self._too_long:
                await anyio.sleep(_LOOK)
        self.exit_code = process.returncode
        to_client.close()

    async def _hand_on(self, to_client: Any, line: bytes | None, head: bytes, tail: bytes) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        if line is None:
            found = _ID_FIRST.search(head) or _ID_LAST.search(tail)
            if found is None:
                self._too_long = True
                raise anyio.BrokenResourceError  # nobody knows whose answer it is: all that wait learn that none comes
            message: Any = failed_reply(int(found[1]), OWN_ERROR, TOO_LONG)
        elif not line.strip():
            return
        else:
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                self.no_message = self.no_message or shorten(line.decode("utf-8", "replace").strip(), _LONGEST_LINE)
                return
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await to_client.send(SessionMessage(message))

    async def _write(self, process: Any, from_client: Any) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            async for sent in from_client:
                data = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(data.encode("utf-8", "replace") + b"\n")

    async def _listen(self, process: Any) -> None:
        rest = b""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            async for piece in process.stderr:
                *lines, rest = (rest + piece).split(b"\n")
                self._said += [line[:_LONGEST_LINE].decode("utf-8", "replace") for line in lines if line.strip()]
                rest = rest[:_EARS]
        if rest.strip():
            self._said.append(rest[:_LONGEST_LINE].decode("utf-8", "replace"))


def _inherited() -> dict[str, str]:
    """Return the variables that every server gets, as other MCP clients have it; the others may be secret."""
    names = _INHERITED_ON_WINDOWS if os.name == "nt" else _INHERITED
    return {name: os.environ[name] for name in names if name in os.environ}


# The end of a process, and of all of them with raglift's own.


_running: set[int] = set()
"""The servers that have not ended."""


async def _stop(process: Any) -> None:
    """End a server: close its input, then SIGTERM, then SIGKILL to all that it started; take its exit code."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await process.stdin.aclose()
    drain = asyncio.ensure_future(_drain(process))
    try:
        for order in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if order is not None:
                _signal(process.pid, order)
            end = time.monotonic() + _GRACE
            while process.returncode is None and time.monotonic() < end:
                await asyncio.sleep(_LOOK)
            if process.returncode is not None:
                break
    finally:
        drain.cancel()
        _signal(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # what it started and left behind
        with suppress(Exception):
            await process.aclose()


async def _drain(process: Any) -> None:
    """Read on what a server writes: one that waits for a full pipe does not see that its input is closed."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
        while True:
            await process.stdout.receive(_EARS)


def _signal(pid: int, order: signal.Signals) -> None:
    """Send a signal to a server and all that it started, which is a group of processes named after it."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(pid, order)
        else:
            os.kill(pid, order)


@atexit.register
def _end_all() -> None:
    """End what still runs when the process ends: a loop that is stopped waits for none."""
    for pid in tuple(_running):
        _signal(pid, signal.SIGTERM)
    end = time.monotonic() + _GRACE
    while any(map(_is_alive, tuple(_running))) and time.monotonic() < end:
        time.sleep(_LOOK)
    for pid in tuple(_running):
        _signal(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
