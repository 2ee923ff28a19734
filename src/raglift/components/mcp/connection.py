"""One connection to a server: it is made, asked, and closed, and every failure is said in words."""

from __future__ import annotations

import asyncio
import functools
import logging
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from raglift.base.validation import quoted
from raglift.components.http.availability import NoConnection
from raglift.components.http.client import reason_of, status_text
from raglift.components.mcp.wire import OWN_ERROR, TOO_LONG
from raglift.errors import MissingDependency, ServiceFailed, ServiceUnusable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence

    from raglift.base.display import Secrets
    from raglift.components.mcp.address import McpAddress
    from raglift.components.mcp.processes import ServerProcess
    from raglift.components.mcp.requests import Exchanged

MOST_TOOLS = 10_000
_MOST_PAGES = 1_000
_CLOSING = 6.0
"""This many seconds a connection has to close: a process is asked to end, told to, and ended."""
_PASSING = (408, 409, 425, 429)
_SESSION_GONE = (404, 410)


def require_sdk() -> None:
    """Raise unless the SDK is installed.

    Raises:
        MissingDependency: it is not.
    """
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise MissingDependency("mcp", "mcp", "an MCP server") from None
    _keep_loggers_from_the_terminal()


@functools.cache
def _keep_loggers_from_the_terminal() -> None:
    """Give the SDK's loggers a handler: without any, Python prints tracebacks of what is in errors here."""
    for name in ("mcp", "client"):
        logging.getLogger(name).addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Limits:
    """How long a server may take, and how much it may say."""

    timeout: float
    """The most seconds for one call."""
    start_timeout: float
    """The most seconds until it is ready."""
    most_bytes: int
    """The longest message that is read."""


class Gone(Exception):
    """The connection has ended, and a new one may do: a server that crashed, or has forgotten the session.

    Args:
        reason: what happened, in words.
        is_unheard: whether the call was surely not made, so that it can be made again at once.
    """

    def __init__(self, reason: str, *, is_unheard: bool = False) -> None:
        super().__init__(reason)
        self.is_unheard = is_unheard


class Connection:
    """A connection to one server, on the event loop that it was made on.

    The SDK's connection must be opened and closed by one task, which waits in between; calls are made by others.

    Args:
        address: of the server.
        command: what starts it, with the values of variables; empty where it has an address.
        variables: the environment of one that is started, besides what every server gets.
        headers: sent with every request to one over HTTP.
        limits: how long it may take.
        secrets: what must not be shown in an error.
    """

    def __init__(
        self,
        address: McpAddress,
        command: Sequence[str],
        variables: Mapping[str, str],
        headers: Mapping[str, str],
        limits: Limits,
        secrets: Secrets,
    ) -> None:
        self._address, self._command, self._variables, self._headers = address, command, variables, headers
        self._limits, self._secrets = limits, secrets
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Any] = self._loop.create_future()
        self._closing = asyncio.Event()
        self._process: ServerProcess | None = None
        self.tools: tuple[Any, ...] = ()
        """The tools of the server, all pages of them."""
        self.has_ended = False
        """Whether it is of no more use."""
        self.is_counted = False
        """Whether its end was counted."""
        self._task = self._loop.create_task(self._hold())
        self._task.add_done_callback(self._end)

    async def ready(self) -> None:
        """Wait until the server can be asked.

        Raises:
            NoConnection: nobody is at the address.
            ServiceUnusable: it cannot be started, or speaks another protocol.
        """
        await asyncio.shield(self._ready)

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Return the result of a tool.

        Raises:
            Gone: the server has ended, or forgotten the session.
            NoConnection: nobody is at the address any more.
            ServiceFailed: there was no usable answer.
            ServiceUnusable: the server refuses such calls.
        """
        client = await asyncio.shield(self._ready)
        return await self._asked(client.call_tool(tool, arguments, read_timeout_seconds=self._limits.timeout), "call")

    async def close(self) -> None:
        """Close the connection, and wait until a server that was started has ended."""
        self.close_soon()
        await asyncio.wait([self._task], timeout=_CLOSING)

    def close_soon(self) -> None:
        """Have the connection closed, from any thread."""
        self.has_ended = True
        with suppress(RuntimeError):  # the loop has ended, and the process with it
            self._loop.call_soon_threadsafe(self._closing.set)

    async def _hold(self) -> None:
        """Open the connection, keep it, and close it."""
        from mcp import Client
        from mcp_types import Implementation

        import raglift

        info = Implementation(name="raglift", version=raglift.__version__)
        async with self._transport() as streams:
            client = Client(_Opened(streams), cache=None, client_info=info)
            try:
                async with asyncio.timeout(self._limits.start_timeout):
                    await self._asked(client.__aenter__(), "start")
                    try:
                        self.tools = await self._all_tools(client)
                    except BaseException:
                        await client.__aexit__(None, None, None)
                        raise
            except TimeoutError:
                seconds, told = self._limits.start_timeout, self._process.told(self._secrets) if self._process else ""
                raise ServiceUnusable(
                    f"the MCP server {self._address.shown} was not ready within {seconds:g} s{told}; "
                    "expected one that answers: start_timeout in the mapping allows more"
                ) from None
            try:
                self._ready.set_result(client)
                await self._closing.wait()
            finally:
                await client.__aexit__(None, None, None)

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        if self._address.command:
            from raglift.components.mcp.processes import ServerProcess

            self._process = ServerProcess(self._command, self._variables, self._limits.most_bytes)
            try:
                async with self._process.transport() as streams:
                    yield streams
            except OSError as error:
                said = "no such command" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
                raise ServiceUnusable(
                    f"the MCP server {self._address.shown} cannot be started: {said}; expected a command that starts "
                    f"one: {quoted(self._address.command[0])} must be a file, or in a folder of PATH"
                ) from None
        else:
            from raglift.components.mcp.requests import http_transport

            async with http_transport(self._address.url, self._headers, self._limits.most_bytes) as streams:
                yield streams

    async def _all_tools(self, client: Any) -> tuple[Any, ...]:
        found: list[Any] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MOST_PAGES):
            page = await self._asked(client.list_tools(cursor=cursor), "start")
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or cursor in seen or len(found) > MOST_TOOLS:
                break
            seen.add(cursor)
        if len(found) > MOST_TOOLS:
            raise ServiceUnusable(
                f"the MCP server {self._address.shown} lists more than {MOST_TOOLS:,} tools; expected fewer"
            )
        return tuple({tool.name: tool for tool in reversed(found)}.values())[::-1]

    def _end(self, task: asyncio.Task[None]) -> None:
        self.has_ended = True
        error = None if task.cancelled() else task.exception()
        if not self._ready.done():
            self._ready.set_exception(_first_of(error) or ServiceUnusable("the connection was closed"))
            self._ready.exception()  # whether anybody waits or not

    async def _asked(self, request: Awaitable[Any], what: str) -> Any:
        """Return what is answered; a failure is said in words."""
        from mcp import MCPError

        if self._address.url:
            from raglift.components.mcp.requests import Exchanged, exchanged

            seen: Exchanged | None = Exchanged()
            exchanged.set(seen)
        else:
            seen = None
        try:
            return await request
        except Exception as failure:
            error = _first_of(failure)
            if isinstance(error, MCPError):
                raise self._said(error, seen, what) from _cause(error, seen)
            if isinstance(error, (RuntimeError, ValueError)):  # of the SDK and pydantic
                said = self._secrets.beginning(str(error).encode("utf-8", "replace"))
                raise ServiceUnusable(
                    f"the answer is not what the protocol or the tool's schema says: {said}; expected one that is"
                ) from None
            raise

    def _said(self, error: Any, seen: Exchanged | None, what: str) -> Exception:
        from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_TIMEOUT

        if (error.code == OWN_ERROR and error.message == TOO_LONG) or (seen is not None and seen.too_long):
            return ServiceFailed(
                f"an answer of more than {self._limits.most_bytes:,} bytes: not read on; most_bytes in the mapping "
                "allows more"
            )
        if seen is not None and seen.error is not None:
            return self._no_answer(seen.error)
        if seen is not None and seen.status:
            return self._refused(seen, what, error.message)
        if error.code == REQUEST_TIMEOUT:
            return ServiceFailed(f"no answer within {self._limits.timeout:g} s")
        if error.code == CONNECTION_CLOSED:
            return self._gone(what)
        said = self._secrets.beginning(error.message.encode("utf-8", "replace"))
        if error.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
            return ServiceUnusable(f"the server refuses the call: {said}; expected a tool and arguments that it takes")
        return ServiceFailed(f"the server answers with an error — {said or error.code}")

    def _gone(self, what: str) -> Exception:
        self.close_soon()
        if self._process is None:
            return Gone("the connection broke off before an answer")
        how = f"{self._process.end}{self._process.told(self._secrets)}"
        if what == "start":
            return ServiceUnusable(
                f"the MCP server {self._address.shown} ended before it was ready: {how}; expected a server that "
                "speaks MCP over stdio"
            )
        return Gone(f"the MCP server ended before an answer — {how}")

    def _no_answer(self, error: Exception) -> Exception:
        import httpx2

        said = self._secrets.hidden(reason_of(error))
        if isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout)):
            return NoConnection(said, "an MCP server there: is it running?")
        if isinstance(error, httpx2.DecodingError):
            return ServiceUnusable(f"{said}; expected plain JSON")
        return ServiceFailed(f"the connection broke off before an answer — {said}")

    def _refused(self, seen: Exchanged, what: str, message_of_sdk: str) -> Exception:
        is_redirect = seen.status < HTTPStatus.BAD_REQUEST  # of which the SDK says where to
        said = self._secrets.beginning(message_of_sdk.encode() if is_redirect else seen.body)
        message = status_text(seen.status) + (f" — {said}" if said else "")
        if what == "call" and seen.status in _SESSION_GONE:
            self.close_soon()
            return Gone(f"the server has forgotten the session — {message}", is_unheard=True)
        if (
            HTTPStatus.MULTIPLE_CHOICES <= seen.status < HTTPStatus.INTERNAL_SERVER_ERROR
            and seen.status not in _PASSING
        ):
            mend = {401: "the headers of the mapping say who asks", 403: "the headers of the mapping say who asks"}
            mended = mend.get(seen.status, "look at the address, which often ends in /mcp")
            return ServiceUnusable(f"{message}; expected an MCP server: {mended}")
        return ServiceFailed(message, status_code=seen.status, headers=seen.retry_after)


class _Opened:
    """A transport that is open already, as the SDK's client takes one."""

    def __init__(self, streams: Any) -> None:
        self._streams = streams

    async def __aenter__(self) -> Any:
        return self._streams

    async def __aexit__(self, *_: object) -> None:
        """Leave the closing to whoever opened it."""


def _cause(error: Any, seen: Exchanged | None) -> BaseException | None:
    """Return the cause that says whether another try may do: of failures on the way it may."""
    from mcp_types import REQUEST_TIMEOUT

    if seen is not None and seen.error is not None:
        return seen.error
    return TimeoutError() if error.code == REQUEST_TIMEOUT else None


def _first_of(error: BaseException | None) -> BaseException | None:
    """Return the error that a group of tasks ended with, and not the group."""
    while isinstance(error, BaseExceptionGroup):
        inner: list[BaseException] = list(error.exceptions)
        known = [each for each in inner if isinstance(each, (ServiceUnusable, ServiceFailed, NoConnection))]
        error = (known or inner)[0]
    return error
