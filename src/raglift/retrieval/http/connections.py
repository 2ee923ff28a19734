"""Connections to one service: as many as there are queries under way, kept open between them."""

from __future__ import annotations

import asyncio
import functools
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING

from raglift.retrieval.http.address import is_loopback

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    import httpx

__all__ = ["Connections"]

_LONGEST_CONNECT = 10.0
_KEPT_OPEN = 30.0


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return whose certificates are trusted: reading them takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()


class Connections:
    """Clients with a connection each, lent to one request at a time.

    A client with many connections looks at all of them twice a request, in httpx's pool, so that its work grows with
    the square of the concurrency. Connections belong to the event loop that they were made on.

    Args:
        address: of the service. No proxy is asked for one on this machine.
        seconds: how long connecting may take at most; ten in any case.
    """

    def __init__(self, address: str, seconds: float) -> None:
        self._address = address
        self._seconds = min(seconds, _LONGEST_CONNECT)
        self._idle: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[httpx.AsyncClient]] = (
            weakref.WeakKeyDictionary()
        )

    @contextmanager
    def lent(self) -> Iterator[httpx.AsyncClient]:
        """Lend a client: the one used last, whose connection is likeliest to be open, or a new one."""
        idle = self._idle.setdefault(asyncio.get_running_loop(), [])
        client = idle.pop() if idle else self._new()
        try:
            yield client
        finally:
            idle.append(client)

    async def aclose(self) -> None:
        """Close the connections of the running loop that are not in use."""
        for client in self._idle.pop(asyncio.get_running_loop(), []):
            await client.aclose()

    def close_soon(self) -> None:
        """Close all connections, each on its loop, without waiting."""
        for loop in list(self._idle):
            if loop.is_running():
                asyncio.run_coroutine_threadsafe(self.aclose(), loop)

    def _new(self) -> httpx.AsyncClient:
        import httpx

        return httpx.AsyncClient(
            verify=_trusted(),
            timeout=httpx.Timeout(None, connect=self._seconds),  # the whole request has a limit of its own
            limits=httpx.Limits(max_connections=1, keepalive_expiry=_KEPT_OPEN),
            follow_redirects=False,
            mounts={"all://": None} if is_loopback(self._address) else None,
        )
