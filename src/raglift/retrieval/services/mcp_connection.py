"""One connection to an MCP server by the protocol's SDK: it is made, asked and closed, and failures get words."""

from __future__ import annotations

import asyncio
import functools
import logging
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raglift.errors import MissingDependency, ServiceFailed, ServiceUnusable
from raglift.retrieval.services.http_retriever import MOST_BYTES, failed_status, reason_of
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.utilities.display import Secrets

CLOSING_SECONDS = 8.0
"""The SDK gives a server so long to end: it is asked, told, and killed."""
_STDERR_BYTES = 4_000
_SESSION_GONE = (404, 410)
_LOOK_AT = "look at the address, which often ends in /mcp"
_WHO_ASKS = "the headers of the mapping say who asks"
_ADVICE = {401: _WHO_ASKS, 403: _WHO_ASKS, 404: _LOOK_AT, 405: _LOOK_AT}


def require_sdk() -> None:
    """Raise unless the SDK is installed."""
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise MissingDependency("mcp", "mcp", "an MCP server") from None
    _silence_sdk()


@functools.cache
def _silence_sdk() -> None:
    """Keep the SDK's tracebacks from the terminal: Python prints what no handler takes; errors have it here."""
    for name in ("mcp", "client"):
        logging.getLogger(name).addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Server:
    """A server, and how long it may take."""

    name: str
    command: tuple[str, ...]
    """What starts it, with the values of variables; empty for one with an address."""
    env: Mapping[str, str]
    url: str
    headers: Mapping[str, str]
    timeout: float
    """The most seconds for one call."""
    start_timeout: float
    """The most seconds until it is ready."""
    secrets: Secrets


class Connection:
    """A connection to a server, on the event loop that it was made on.

    The SDK's client must be opened and closed by one task, which waits in between; calls are made by others.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.loop = asyncio.get_running_loop()
        """The event loop that it was made on."""
        self._client: asyncio.Future[Any] = self.loop.create_future()
        self._closing = asyncio.Event()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 — closed with the connection
        self.tools: tuple[Any, ...] = ()
        """The tools of the server."""
        self._task = self.loop.create_task(self._hold())
        self._task.add_done_callback(self._end)

    @property
    def has_ended(self) -> bool:
        """Whether it is of no more use."""
        return self._task.done() or self._closing.is_set()

    async def ready(self) -> None:
        """Wait until the server can be asked.

        Raises:
            ServiceUnusable: it cannot be started, nobody is at the address, or it speaks another protocol.
        """
        await asyncio.shield(self._client)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Return the result of a tool.

        Raises:
            ServiceFailed: there was no usable answer; if the server has ended, a new connection may have one.
            ServiceUnusable: the server refuses such calls.
        """
        from mcp import MCPError

        client = await asyncio.shield(self._client)
        failed = self._note_failed_requests()
        try:
            return await client.call_tool(tool, dict(arguments), read_timeout_seconds=self._server.timeout)
        except MCPError as error:
            failure, cause = self._failure(error, failed)
        except (RuntimeError, ValueError) as error:  # of the SDK and pydantic
            message = self._server.secrets.beginning(str(error).encode("utf-8", "replace"))
            raise ServiceUnusable(
                f"the answer is not what the protocol or the tool's schema says: {message}; expected one that is"
            ) from None
        raise failure from cause

    async def close(self) -> None:
        """Close the connection, and wait until a server that was started has ended."""
        self._closing.set()
        await asyncio.wait([self._task], timeout=CLOSING_SECONDS)

    async def _hold(self) -> None:
        """Open the connection, keep it, and close it."""
        from mcp import Client
        from mcp_types import Implementation

        import raglift

        failed = self._note_failed_requests()
        info = Implementation(name="raglift", version=raglift.__version__)
        async with AsyncExitStack() as stack:
            client = Client(await self._transport(stack), cache=None, client_info=info)
            try:
                async with asyncio.timeout(self._server.start_timeout) as limit, client:
                    page = await client.list_tools()
                    tools = {tool.name: tool for tool in page.tools}
                    while page.next_cursor is not None:
                        page = await client.list_tools(cursor=page.next_cursor)
                        tools |= {tool.name: tool for tool in page.tools}
                    self.tools = tuple(tools.values())
                    limit.reschedule(None)
                    self._client.set_result(client)
                    await self._closing.wait()
            except BaseException as error:
                if not self._client.done():
                    self._client.set_exception(self._start_failure(error, failed))
                raise

    async def _transport(self, stack: AsyncExitStack) -> Any:
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        server = self._server
        if server.command:
            name, *words = server.command
            return stdio_client(StdioServerParameters(command=name, args=words, env=dict(server.env)), self._stderr)  # type: ignore[arg-type]  # a file of bytes, whose descriptor is all that is used
        from raglift.retrieval.services.mcp_http import client_of

        client = await stack.enter_async_context(client_of(server.url, server.headers))
        return streamable_http_client(server.url, http_client=client, max_sse_event_size=MOST_BYTES)

    def _end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # calls have it in words
        if not self._client.done():
            self._client.set_exception(ServiceUnusable("the connection was closed"))
        if self._client.exception() is None:
            self._closing.set()
        self._stderr.close()

    def _note_failed_requests(self) -> list[Any]:
        """Return a list that takes the requests over HTTP that fail from now on in this task."""
        failed: list[Any] = []
        if self._server.url:
            from raglift.retrieval.services.mcp_http import failed_requests

            failed_requests.set(failed)
        return failed

    # Failures in words.

    def _failure(self, error: Any, failed: list[Any]) -> tuple[Exception, BaseException | None]:
        """Return the error of a call, and a cause, which says whether another attempt may succeed."""
        from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_TIMEOUT

        message = self._server.secrets.beginning(error.message.encode("utf-8", "replace"))
        if failed and isinstance(failed[-1], Exception):
            reason = self._server.secrets.hidden(reason_of(failed[-1]))
            return ServiceFailed(f"the connection broke off before an answer — {reason}"), failed[-1]
        if failed:
            status = failed[-1].status_code
            if status not in _SESSION_GONE:
                return self._status_failure(failed[-1]), None
            self._closing.set()
            return ServiceFailed(f"the server has forgotten the session: HTTP {status}"), ConnectionResetError()
        if error.code == REQUEST_TIMEOUT:
            return ServiceFailed(f"no answer within {self._server.timeout:g} s"), TimeoutError()
        if error.code == CONNECTION_CLOSED:
            self._closing.set()
            return ServiceFailed(f"the MCP server ended before an answer{self._stderr_text()}"), ConnectionResetError()
        if error.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
            expected = "a tool and arguments that it takes"
            return ServiceUnusable(f"the server refuses the call: {message}; expected {expected}"), None
        return ServiceFailed(f"the server answers with an error — {message or error.code}"), None

    def _start_failure(self, error: BaseException, failed: list[Any]) -> ServiceFailed | ServiceUnusable:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        server = f"the MCP server {self._server.name}"
        if isinstance(error, TimeoutError):
            return ServiceUnusable(
                f"{server} was not ready within {self._server.start_timeout:g} s{self._stderr_text()}; expected one "
                "that answers: start_timeout in the mapping allows more"
            )
        if isinstance(error, MCPError) and failed and isinstance(failed[-1], Exception):
            reason = self._server.secrets.hidden(reason_of(failed[-1]))
            return ServiceUnusable(
                f"no connection to {self._server.name}: {reason}; expected an MCP server there: is it running?"
            )
        if isinstance(error, MCPError) and failed:
            return self._status_failure(failed[-1])
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            expected = "a server that speaks MCP over stdio"
            return ServiceUnusable(f"{server} ended before it was ready{self._stderr_text()}; expected {expected}")
        if isinstance(error, OSError) and self._server.command:
            reason = "no such command" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
            return ServiceUnusable(
                f"{server} cannot be started: {reason}; expected a command that starts one: "
                f"{quoted(self._server.command[0])} must be a file, or in a folder of PATH"
            )
        reason = self._server.secrets.beginning(reason_of(error).encode("utf-8", "replace"))
        return ServiceUnusable(f"{server} cannot be asked: {reason}; expected one that speaks MCP")

    def _status_failure(self, response: Any) -> ServiceFailed | ServiceUnusable:
        text = self._server.secrets.beginning(response.content)
        return failed_status(response.status_code, response.headers, text, _ADVICE)

    def _stderr_text(self) -> str:
        """Return the end of the server's error output; empty if there is none."""
        with suppress(ValueError, OSError):  # it is closed with the connection
            length = self._stderr.seek(0, 2)
            self._stderr.seek(max(0, length - _STDERR_BYTES))
            lines = [line for line in self._stderr.read().splitlines() if line.strip()]
            if lines:
                return f"; it said last: {self._server.secrets.beginning(lines[-1].strip())}"
        return ""
