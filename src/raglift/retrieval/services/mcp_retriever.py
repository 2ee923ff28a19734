"""`McpRetriever`: the search tool of any MCP server, as a system."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Mapping
from concurrent.futures import wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from raglift.errors import ConfigurationError, ServiceFailed, ServiceUnusable
from raglift.retrieval.services.addresses import parse_mcp_reference
from raglift.retrieval.services.mapping import FILTER, ServiceMapping, is_secret_header, mapping_of, resolved, texts_of
from raglift.retrieval.services.mcp_connection import CLOSING_SECONDS, Connection, Server, require_sdk
from raglift.retrieval.services.mcp_tools import ResultReader, ToolCall, planned_call
from raglift.retrieval.services.retriever import ServiceRetriever
from raglift.utilities.display import Secrets
from raglift.utilities.event_loops import is_own_loop, result_of
from raglift.utilities.validation import quoted

if TYPE_CHECKING:
    from raglift.types.documents import Chunk
    from raglift.types.filters import Filter

_HTTP_FIELDS = ("method", "params", "json")
_FEWEST_SINGLE_TEXTS = 2
"""So many answers of one text are no chance."""


class McpRetriever(ServiceRetriever):
    """Asks a tool of an MCP server for the hits of each query.

    The server is started, or connected to, when it is first needed; one process serves all queries, as many at once as
    `evaluate(…, concurrency=16)` says. It ends with the evaluation, with `close()`, or at the end of a `with` block,
    which keeps it for several evaluations. A server that crashes is started again for the next query.

    Args:
        reference: the server and, behind `#`, its tool: `mcp:python server.py#search` for one that is started and
            speaks over stdio, `mcp+http://127.0.0.1:8000/mcp#search` for one over streamable HTTP. The tool may be
            left out of a server that has one only.
        mapping: what the tool is called with and where the hits are in its result: the fields of a `ServiceMapping`, or
            the path of a YAML file with them; by default the usual names are looked for in the tool's schema and in
            the result.

    Raises:
        ConfigurationError: the reference is none, or holds a secret.
        MappingError: the mapping is not described as it must be; every fault is listed.
        MissingKey: an environment variable that the reference or the mapping names is not set.
        MissingDependency: the SDK is not installed.
    """

    _reader: ResultReader

    def __init__(
        self, reference: str, mapping: ServiceMapping | Mapping[str, Any] | str | os.PathLike[str] | None = None
    ) -> None:
        address = parse_mcp_reference(reference)
        require_sdk()
        self.mapping = mapping_of(mapping)
        kind, unused = ("stdio", "headers") if address.command else ("HTTP", "env")
        self.mapping.require(f"a server over {kind}", (*_HTTP_FIELDS, unused))
        self._tool = _tool_of(address.tool, self.mapping.tool)
        command, in_command = resolved({str(place): word for place, word in enumerate(address.command)}, "the word")
        env, in_env = resolved(self.mapping.env, "the variable")
        headers, in_headers = resolved(self.mapping.headers, "the header", is_secret_header)
        self.secrets = Secrets((*in_command, *in_env, *in_headers))
        limits = (self.mapping.timeout, self.mapping.start_timeout)
        self._server = Server(
            address.shown, tuple(command.values()), env, address.url, headers, *limits, secrets=self.secrets
        )
        self._reader = ResultReader(self.mapping.response, self.mapping.separator, self.mapping.empty, self.secrets)
        self._state = _State()
        weakref.finalize(self._state, _close, self._state.connections)

    def __str__(self) -> str:
        tool = self._tool or (self._state.call.name if self._state.call else None)
        return f"MCP {self._server.name}" + (f"#{tool}" if tool else "")

    def __repr__(self) -> str:
        return f"McpRetriever({str(self)!r}, {self.mapping!r})"

    @property
    def depth_fixed(self) -> tuple[str, ...]:
        """What cannot be told how many hits are wanted; empty if it can. The server is asked for its tools."""
        return () if self.plan().sends_k else (f"{self} (the tool is sent no {{k}})",)

    @property
    def takes_filters(self) -> bool:
        """Whether the tool is told the metadata filter of a query."""
        return FILTER in texts_of(self.mapping.arguments)

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of its rankings must know."""
        state = self._state
        if state.answers < _FEWEST_SINGLE_TEXTS or state.single_texts < state.answers:
            return ()
        one_text = f"{self} answered every query with one text, which counts as one hit"
        advice = "if it holds several, write what stands between them into the mapping, as separator: '\\n\\n'"
        return (f"{one_text}: {advice}",)

    def plan(self) -> ToolCall:
        """Return which tool is asked and with what, having asked the server for its tools.

        Raises:
            ServiceUnusable: the server cannot be asked like this, or is not there.
        """
        return self._state.call or result_of(self._connected())[1]

    async def _hits(self, query: str, k: int, metadata_filter: Filter | None) -> list[tuple[Chunk, float | None]]:
        connection, call = await self._connected()
        result = await connection.call(call.name, call.arguments(query, k, metadata_filter))
        state = self._state
        hits = self._reader.read(result, call.name)
        state.answers += 1
        state.single_texts += k > 1 and self._reader.is_one_text(result, hits)
        return hits

    async def _connected(self) -> tuple[Connection, ToolCall]:
        """Return a connection on this loop, which is made for the first call, and how its tool is called."""
        state = self._state
        if state.refused:
            raise ServiceUnusable(state.refused)
        connection = next((each for each in state.connections if each.loop is asyncio.get_running_loop()), None)
        if connection is None or connection.has_ended:
            state.connections[:] = [each for each in state.connections if not each.has_ended]
            connection = Connection(self._server)
            state.connections.append(connection)
        try:
            await connection.ready()
            if state.call is None:
                name = f"the MCP server {self._server.name}"
                state.call = planned_call(connection.tools, self._tool, self.mapping.arguments, name)
        except ServiceUnusable as error:
            if state.call is None:  # it never was ready: starting it for each query would end alike
                state.refused = str(error)
                raise
            raise ServiceFailed(str(error)) from ConnectionResetError()
        return connection, state.call

    def close(self) -> None:
        """End the server that was started, or the connection; the next query makes a new one."""
        self._state.refused = ""
        _close(self._state.connections)

    async def aclose(self) -> None:
        """End the server that was started, or the connection, without blocking."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        self._state.users += 1
        self._state.refused = ""  # each evaluation in an outer block tries again
        return self

    def __exit__(self, *_: object) -> None:
        self._state.users -= 1
        if not self._state.users:
            self.close()


@dataclass
class _State:
    """What one retriever, and those made from it, know of the server."""

    connections: list[Connection] = field(default_factory=list)
    call: ToolCall | None = None
    """How its tool is called; None until the server was ready."""
    users: int = 0
    refused: str = ""
    answers: int = 0
    """How many results came, …"""
    single_texts: int = 0
    """… and how many of them were one text."""


def _close(connections: list[Connection]) -> None:
    """Close connections and wait until the servers have ended; on raglift's own loop they are not awaited."""
    closing = [
        asyncio.run_coroutine_threadsafe(each.close(), each.loop) for each in connections if each.loop.is_running()
    ]
    connections.clear()
    if closing and not is_own_loop():
        wait(closing, CLOSING_SECONDS)


def _tool_of(in_reference: str | None, in_mapping: str | None) -> str | None:
    if in_reference and in_mapping and in_reference != in_mapping:
        raise ConfigurationError(
            f"system: found the tool {quoted(in_reference)} behind # and {quoted(in_mapping)} in the mapping; "
            "expected one of them, or the same"
        )
    return in_reference or in_mapping
