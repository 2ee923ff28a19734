"""Servers over streamable HTTP: requests to one place, bounded answers, and what became of each request."""

from __future__ import annotations

from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx2

from raglift.components.http.client import proxy_of, trusted_certificates

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


_LONGEST_CONNECT = 10.0
_READ_OF_A_FAILURE = 20_000


@dataclass
class Exchanged:
    """What became of the HTTP requests of one call."""

    status: int = 0
    """The last status that was no success; 0 for none."""
    body: bytearray = field(default_factory=bytearray)
    """How the answer with that status begins."""
    retry_after: dict[str, str] = field(default_factory=dict)
    """The header of that answer that says when to come back."""
    error: Exception | None = None
    """Why there was no answer."""
    too_long: bool = False
    """Whether the answer was longer than may be read."""


exchanged: ContextVar[Exchanged | None] = ContextVar("exchanged", default=None)
"""What notes the requests that are made for a call: the SDK makes them in the context of the call."""


@asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str], most_bytes: int) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the streams of a server's messages, as the SDK's `Client` takes them.

    Args:
        url: of the server.
        headers: sent with every request.
        most_bytes: the longest answer that is read.
    """
    from mcp.client.streamable_http import streamable_http_client

    # How long a call may take is its own business; a stream of notifications may be silent for ever
    timeout = httpx2.Timeout(None, connect=_LONGEST_CONNECT)
    transport = _Bounded(url, most_bytes)
    headers = {"accept-encoding": "identity", "user-agent": "raglift", **headers}
    async with httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport, trust_env=False) as client:
        # The cookies of earlier answers are not sent back, so that none can depend on who asked before
        client.cookies.jar.set_policy(_no_cookies())
        async with streamable_http_client(url, http_client=client, max_sse_event_size=most_bytes) as streams:
            yield streams


class _Bounded(httpx2.AsyncBaseTransport):
    """Makes requests, and notes for the call that each is for how it failed.

    The SDK ends a whole session where one request fails on its way, and gives no reason where the status says no.
    """

    def __init__(self, url: str, most_bytes: int) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=trusted_certificates(), proxy=proxy_of(url))
        self._most_bytes = most_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        seen = exchanged.get() or Exchanged()
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.HTTPError as error:
            seen.error = error
            return httpx2.Response(HTTPStatus.SERVICE_UNAVAILABLE, request=request)
        packed = response.headers.get("content-encoding", "").strip().lower()
        if packed not in ("", "identity"):  # a few bytes may stand for any number of them
            await response.aclose()
            seen.error = httpx2.DecodingError(f"an answer packed as {packed[:40]}, which was not asked for")
            return httpx2.Response(HTTPStatus.SERVICE_UNAVAILABLE, request=request)
        if request.method != "POST":  # a stream of notifications has no end
            return response
        if response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            seen.status, seen.body = response.status_code, bytearray()
            waiting = response.headers.get("retry-after")
            seen.retry_after = {} if waiting is None else {"retry-after": waiting}
            return await _failure(response, seen, request)
        response.stream = _BoundedStream(response.stream, seen, self._most_bytes)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: Any, seen: Exchanged, most_bytes: int) -> None:
        self._inner, self._seen, self._left = inner, seen, most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._inner:
                self._left -= len(piece)
                if self._left < 0:
                    self._seen.too_long = True
                    raise httpx2.StreamError("too long")
                yield piece
        except httpx2.HTTPError as error:
            self._seen.error = error
            raise httpx2.StreamError("broken off") from error

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _failure(response: httpx2.Response, seen: Exchanged, request: httpx2.Request) -> httpx2.Response:
    """Return an answer that is no success with the beginning of its body, which the SDK does not read."""
    try:
        async for piece in response.stream:  # type: ignore[union-attr]  # of an async transport
            seen.body += piece
            if len(seen.body) >= _READ_OF_A_FAILURE:
                break
    except httpx2.HTTPError:
        pass  # the status says enough
    finally:
        await response.aclose()
    kept = {name: value for name in ("content-type", "location") if (value := response.headers.get(name))}
    return httpx2.Response(response.status_code, headers=kept, content=bytes(seen.body), request=request)


def _no_cookies() -> Any:
    from http.cookiejar import DefaultCookiePolicy

    return DefaultCookiePolicy(allowed_domains=[])
