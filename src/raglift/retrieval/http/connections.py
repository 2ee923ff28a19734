"""Connections to one service: as many as there are queries under way, kept open between them."""

from __future__ import annotations

import asyncio
import functools
import weakref
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from raglift.retrieval.http.address import is_loopback

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    import httpx

__all__ = ["Connections", "proxy_of"]

_KEPT_OPEN = 30.0


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return whose certificates are trusted: reading them takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()


class Connections:
    """Connections that are lent to one request at a time.

    They are httpx's transports and not its clients: a client writes every address with its parameters, which may hold a
    key, to the log, and sends back the cookies of earlier answers, so that an answer could depend on who asked before.
    A transport has one connection each: one with many looks at all of them twice a request, so that its work grows with
    the square of the concurrency. Connections belong to the event loop that they were made on.

    Args:
        address: of the service. No proxy is asked for one on this machine.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._idle: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[httpx.AsyncHTTPTransport]] = (
            weakref.WeakKeyDictionary()
        )

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[httpx.AsyncHTTPTransport]:
        """Lend a connection: the one used last, which is likeliest to be open, or a new one.

        One whose use ended early, as by a timeout, is not lent again: it may count as in use for ever.
        """
        loop = asyncio.get_running_loop()
        idle = self._idle.get(loop)
        connection = idle.pop() if idle else self._new()
        try:
            yield connection
        except BaseException:
            await connection.aclose()
            raise
        self._idle.setdefault(loop, []).append(connection)

    async def aclose(self) -> None:
        """Close the connections of the running loop that are not in use."""
        for connection in self._idle.pop(asyncio.get_running_loop(), []):
            await connection.aclose()

    def close_soon(self) -> None:
        """Close all connections, each on its loop, without waiting."""
        for loop in list(self._idle):
            if loop.is_running():
                asyncio.run_coroutine_threadsafe(self.aclose(), loop)

    def _new(self) -> httpx.AsyncHTTPTransport:
        import httpx

        limits = httpx.Limits(max_connections=1, keepalive_expiry=_KEPT_OPEN)
        return httpx.AsyncHTTPTransport(verify=_trusted(), limits=limits, proxy=proxy_of(self._address))


def proxy_of(address: str) -> str | None:
    """Return the proxy that the environment names for an address."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(address)
    if is_loopback(address) or proxy_bypass(parts.netloc):
        return None
    known = getproxies()
    found = known.get(parts.scheme) or known.get("all")
    return found if not found or "://" in found else f"http://{found}"
