"""A small search service on this machine, with scripted failures."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self


_PIECE = 65_536
_LOOKS_UP = 0.02


@dataclass(frozen=True)
class SearchAnswer:
    """How the server answers one request.

    `SearchAnswer(status=429, headers={"Retry-After": "1"})` is a rate limit, `SearchAnswer(seconds=90)` a hanging
    request, `SearchAnswer(cut_off=True)` a connection lost in the middle of the answer, `SearchAnswer(body=b"<html>")`
    no JSON, `SearchAnswer(endless=True)` an answer without an end.
    """

    status: int = 200
    """The HTTP status."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """What is sent besides Content-Length."""
    seconds: float = 0.0
    """How long nothing is sent."""
    body: bytes | Any = None
    """What is sent: bytes as they are, anything else as JSON."""
    cut_off: bool = False
    """Whether the connection is closed after half of the body."""
    endless: bool = False
    """Whether the body is sent over and over."""


@dataclass(frozen=True)
class SearchRequest:
    """What the server was asked."""

    method: str
    target: str
    """Path and query, as they were sent."""
    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


class SearchServer:
    """A server on 127.0.0.1 with connections that are kept open; a context manager.

    Args:
        reply: answers a request with a `SearchAnswer`, or with anything that is sent as JSON. It is called on the
            server's thread, one request after the other.
        port: where it listens; 0 for any that is free.
        keep_requests: whether `requests` is filled.
    """

    def __init__(self, reply: Callable[[SearchRequest], Any], *, port: int = 0, keep_requests: bool = True) -> None:
        self._reply = reply
        self._keeps = keep_requests
        self.requests: list[SearchRequest] = []
        """Every request so far, in the order of their arrival."""
        self.counts: Counter[str] = Counter()
        """Of `requests` and `connections`, and of `under way` the most at a time."""
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._connected, "127.0.0.1", port, backlog=1024)
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        """Where it listens."""
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="search-server")

    @property
    def address(self) -> str:
        """What is asked: `http://127.0.0.1:PORT/search`; every path is answered."""
        return f"http://127.0.0.1:{self.port}/search"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counts["connections"] += 1
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        # A client that went away, or the end of the server, in the middle of anything
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while (request := await _read(reader)) is not None:
                self.counts["requests"] += 1
                if self._keeps:
                    self.requests.append(request)
                self._under_way += 1
                self.counts["under way"] = max(self.counts["under way"], self._under_way)
                try:
                    if not await _write(reader, writer, self._reply(request)):
                        break
                finally:
                    self._under_way -= 1
        writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()


async def _read(reader: asyncio.StreamReader) -> SearchRequest | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return SearchRequest(method, rest.rpartition(" ")[0], headers, body)


async def _write(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, given: Any) -> bool:
    """Send an answer; return whether the connection continues."""
    answer = given if isinstance(given, SearchAnswer) else SearchAnswer(body=given)
    until = time.monotonic() + answer.seconds
    while (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(left, _LOOKS_UP))
        if reader.at_eof():  # whoever asked has gone
            return False
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    if answer.status == 204 or answer.body is None:
        body = b""
    length = {} if answer.endless else {"Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in {**length, **answer.headers}.items())
    writer.write(f"HTTP/1.1 {answer.status} X\r\n{head}\r\n".encode("latin-1"))
    if answer.endless:
        while True:
            writer.write(body * max(1, _PIECE // max(1, len(body))))
            await writer.drain()
    writer.write(body[: len(body) // 2] if answer.cut_off else body)
    await writer.drain()
    return not answer.cut_off
