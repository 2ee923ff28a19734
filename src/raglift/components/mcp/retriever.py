"""`McpRetriever`: the search tool of any MCP server, as a system."""

from __future__ import annotations

import asyncio
import copy
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any, Self

from raglift.base.display import Secrets
from raglift.base.event_loops import is_own_loop, result_of
from raglift.base.secrets import is_public_header, is_secret_name
from raglift.base.validation import quoted
from raglift.components.http.availability import Availability, CircuitBreaker
from raglift.components.http.mapping import resolved
from raglift.components.mcp.address import parse_mcp_reference
from raglift.components.mcp.answers import ResultReader
from raglift.components.mcp.mapping import McpMapping, load_mcp_mapping, mcp_mapping_of
from raglift.components.mcp.tools import planned_call
from raglift.errors import ConfigurationError, ServiceFailed, ServiceUnusable
from raglift.records.rankings import Ranking

if TYPE_CHECKING:
    import os

    from raglift.components.mcp.connection import Connection
    from raglift.components.mcp.tools import ToolCall
    from raglift.records.filters import Filter


_MOST_CRASHES = 5
"""A server that ends so often in a row without an answer is not started again."""
_CLOSING = 7.0
_ENOUGH_TO_TELL = 2
"""So many answers of one text are no chance."""


class McpRetriever:
    """Asks a tool of an MCP server for the hits of each query.

    The server is started, or connected to, when it is first needed; one process serves all queries, as many at once as
    `evaluate(…, concurrency=16)` says. It ends with the evaluation, with `close()`, or at the end of a `with` block,
    which keeps it for several evaluations. A server that crashes is started again for the next query.

    Args:
        reference: the server and, behind `#`, its tool: `mcp:python server.py#search` for one that is started and
            speaks over stdio, `mcp+http://127.0.0.1:8000/mcp#search` for one over streamable HTTP. Without a tool, the
            only one that looks like search is taken.
        mapping: what the tool is called with and where the hits are in its result: an `McpMapping`, its fields, or the
            path of a YAML or JSON file with them; by default the usual names are looked for in the tool's schema and
            in the result.

    Raises:
        ConfigurationError: the reference is none, or holds a secret.
        MappingError: the mapping is not described as it must be; every fault is listed.
        MissingKey: an environment variable that the reference or the mapping names is not set.
        MissingDependency: the SDK is not installed.
    """

    def __init__(
        self, reference: str, mapping: McpMapping | Mapping[str, Any] | str | os.PathLike[str] | None = None
    ) -> None:
        from raglift.components.mcp.connection import Limits, require_sdk

        self._address = parse_mcp_reference(reference)
        require_sdk()
        self.mapping = _mapping_of(mapping)
        self._tool = _tool_of(self._address.tool, self.mapping.tool)
        _require_fit(self.mapping, is_started=bool(self._address.command))
        words, in_words = resolved({str(place): word for place, word in enumerate(self._address.command)}, "the word")
        env, in_env = resolved(self.mapping.env, "the variable")
        headers, in_headers = resolved(self.mapping.headers, "the header")
        in_clear = [value for name, value in headers.items() if not is_public_header(name)]
        in_clear += [value for name, value in env.items() if is_secret_name(name)]
        self._secrets = Secrets((*in_words, *in_env, *in_headers, *in_clear))
        self._command, self._env, self._headers = tuple(words.values()), env, headers
        self._limits = Limits(self.mapping.timeout, self.mapping.start_timeout, self.mapping.most_bytes)
        self._doc_key: str | None = None
        self._servers = _Servers()
        weakref.finalize(self, self._servers.close_soon)
        self._availability = Availability(self._address.shown)
        self._circuit_breaker = CircuitBreaker()
        self._lender: McpRetriever | None = None

    def __str__(self) -> str:
        tool = self._tool or (self._servers.plan.name if self._servers.plan else None)
        return f"MCP {self._address.shown}" + (f"#{tool}" if tool else "")

    def __repr__(self) -> str:
        return f"McpRetriever({str(self)!r}, {self.mapping!r})"

    async def listed_tools(self) -> tuple[dict[str, Any], ...]:
        """Return the tools of the server as it lists them, as JSON has them.

        Raises:
            ServiceUnusable: the server cannot be started, or is not there.
        """
        connection = await self._availability.call(self._opened)
        return tuple(tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in connection.tools)

    @property
    def depth_fixed(self) -> tuple[str, ...]:
        """What cannot be told how many hits are wanted; empty if it can. The server is asked for its tools."""
        return () if self.plan().sends_k else (f"{self} (the tool is sent no {{k}})",)

    def plan(self) -> ToolCall:
        """Return which tool is asked and with what, having asked the server for its tools.

        Raises:
            ServiceUnusable: the server cannot be asked like this, or is not there.
        """
        if self._servers.plan is None:
            result_of(self._availability.call(self._connected))
        assert self._servers.plan is not None  # noqa: S101 — connecting sets it
        return self._servers.plan

    @property
    def takes_filters(self) -> bool:
        """Whether the tool is told the metadata filter of a query."""
        return self.mapping.sends_filter

    def retrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        """Return the hits of one query, among what matches its filter.

        Raises:
            ServiceFailed: there was no usable answer.
            ServiceUnusable: the server cannot be asked like this, or is not there.
            ConfigurationError: called on raglift's own event loop, which would wait for itself.
        """
        if is_own_loop():
            raise ConfigurationError("McpRetriever: found retrieve_one in an async function; expected aretrieve_one")
        return result_of(self.aretrieve_one(query, k, given))

    async def aretrieve_one(self, query: str, k: int, given: Filter | None = None) -> Ranking:
        """Return the hits of one query, among what matches its filter, without blocking.

        Raises:
            ServiceFailed: there was no usable answer.
            ServiceUnusable: the server cannot be asked like this, or is not there.
        """

        async def asked() -> Ranking:
            return await self._asked(query, k, given)

        ranking: Ranking = await self._availability.call(lambda: self._circuit_breaker.call(asked))
        return ranking

    async def _asked(self, query: str, k: int, given: Filter | None) -> Ranking:
        from raglift.components.mcp.connection import Gone

        connection = await self._connected()
        plan = self._servers.plan
        assert plan is not None  # noqa: S101 — connecting sets it
        arguments = plan.arguments(query, k, given)
        try:
            result = await connection.call(plan.name, arguments)
        except Gone as gone:
            if not gone.is_unheard:
                self._servers.count(connection)
                raise ServiceFailed(str(gone)) from ConnectionResetError()
            try:
                result = await (await self._connected()).call(plan.name, arguments)
            except Gone as again:
                raise ServiceFailed(str(again)) from ConnectionResetError()
        self._servers.crashes = 0
        response = self.mapping.response
        reader = ResultReader(
            plan.name, response, self.mapping.separator, self.mapping.empty, self._secrets, self._doc_key
        )
        hits = reader.read(result)
        with self._servers.lock:
            self._servers.answers += 1
            self._servers.single_texts += k > 1 and reader.is_one_text(result, hits)
        return Ranking.of(hits[:k])

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of its rankings must know."""
        servers = self._servers
        if servers.answers < _ENOUGH_TO_TELL or servers.single_texts < servers.answers:
            return ()
        one_text = f"{self} answered every query with one text, which counts as one hit"
        advice = "if it holds several, write what stands between them into the mapping, as separator: '\\n\\n'"
        return (f"{one_text}: {advice}",)

    async def _connected(self) -> Connection:
        """Return a connection to a server whose tool is known."""
        servers = self._servers
        connection = await self._opened()
        if servers.plan is None:
            try:
                server = f"the MCP server {self._address.shown}"
                servers.plan = planned_call(connection.tools, self._tool, self.mapping.arguments, server)
            except ServiceUnusable as error:
                connection.close_soon()
                servers.refused = error
                raise
        return connection

    async def _opened(self) -> Connection:
        """Return a connection to the server on this loop, which is made for the first call; the others wait for it."""
        from raglift.components.mcp.connection import Connection

        servers = self._servers
        if servers.refused is not None:
            raise ServiceUnusable(str(servers.refused))
        if servers.crashes >= _MOST_CRASHES:
            raise ServiceUnusable(
                f"the MCP server {self._address.shown} ended {servers.crashes} times in a row before an answer, and is "
                "not started again; expected one that stays"
            )
        connection = servers.current()
        if connection is None:
            connection = Connection(self._address, self._command, self._env, self._headers, self._limits, self._secrets)
            servers.add(connection)
        try:
            await connection.ready()
        except ServiceUnusable as error:
            if servers.plan is None:  # it never was ready: starting it for each query would end alike
                servers.refused = error
            servers.count(connection)
            raise
        return connection

    def with_doc_key(self, doc_key: str | None) -> McpRetriever:
        """Return one that reads documents' ids under a key of the hits, where the mapping says nothing of them."""
        if doc_key is None:
            return self
        other = copy.copy(self)
        # It holds this one, whose end would close the connections that both have
        vars(other).update(_doc_key=doc_key, _lender=self)
        return other

    def close(self) -> None:
        """End the server that was started, or the connection; the next query makes a new one."""
        self._servers.close()

    async def aclose(self) -> None:
        """End the server that was started, or the connection, without blocking."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        with self._servers.lock:
            self._servers.users += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._servers.lock:
            self._servers.users -= 1
            is_last = not self._servers.users
        if is_last:
            self.close()


class _Servers:
    """The connections of one retriever, and of those made from it: one for each event loop."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        """How many `with` blocks are open."""
        self.crashes = 0
        """How often the server ended in a row without an answer."""
        self.plan: ToolCall | None = None
        self.answers = 0
        """How many results came, …"""
        self.single_texts = 0
        """… and how many of them were one text."""
        self.refused: ServiceUnusable | None = None
        """Why the server cannot be asked."""
        self._connections: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Connection] = (
            weakref.WeakKeyDictionary()
        )

    def count(self, connection: Connection) -> None:
        """Count that a server ended; all calls that were under way hear of it."""
        if not connection.is_counted:
            connection.is_counted = True
            self.crashes += 1

    def current(self) -> Connection | None:
        """Return the connection on the running loop; None if there is none, or it has ended."""
        found = self._connections.get(asyncio.get_running_loop())
        return None if found is None or found.has_ended else found

    def add(self, connection: Connection) -> None:
        """Use a connection on the running loop from now on."""
        self._connections[asyncio.get_running_loop()] = connection

    def close(self) -> None:
        """Close all connections, and wait until the servers have ended; on a loop of raglift's they are not awaited."""
        self.crashes, self.refused = 0, None
        closing = [
            asyncio.run_coroutine_threadsafe(connection.close(), loop)
            for loop, connection in list(self._connections.items())
            if loop.is_running()
        ]
        self._connections.clear()
        if closing and not is_own_loop():
            wait(closing, _CLOSING)

    def close_soon(self) -> None:
        """Close all connections without waiting."""
        for connection in list(self._connections.values()):
            connection.close_soon()


def _mapping_of(given: Any) -> McpMapping:
    if given is None:
        return McpMapping()
    if isinstance(given, McpMapping):
        return given
    return mcp_mapping_of(given) if isinstance(given, Mapping) else load_mcp_mapping(given)


def _tool_of(in_reference: str | None, in_mapping: str | None) -> str | None:
    if in_reference and in_mapping and in_reference != in_mapping:
        raise ConfigurationError(
            f"system: found the tool {quoted(in_reference)} behind # and {quoted(in_mapping)} in the mapping; "
            "expected one of them, or the same"
        )
    return in_reference or in_mapping


def _require_fit(mapping: McpMapping, *, is_started: bool) -> None:
    """Raise for a part of a mapping that servers of the other kind have."""
    if is_started and mapping.headers:
        raise ConfigurationError(
            "mapping: found headers with a server over stdio; expected env, or a server over HTTP (mcp+http://…)"
        )
    if not is_started and mapping.env:
        raise ConfigurationError(
            "mapping: found env with a server over HTTP, which runs already; expected headers, or a server that is "
            "started (mcp:COMMAND)"
        )
