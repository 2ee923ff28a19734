"""The HTTP client of the MCP SDK: what became of the requests of a call, and no session that ends with one of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from http import HTTPStatus

import httpx2

from raglift.retrieval.services.addresses import proxy_of
from raglift.retrieval.services.http_retriever import MOST_BYTES, trusted_certificates, unbounded_packing

_LONGEST_CONNECT = 10.0
_OF_TRANSFER = ("content-encoding", "content-length", "transfer-encoding")

failed_requests: ContextVar[list[httpx2.Response | httpx2.HTTPError] | None] = ContextVar(
    "raglift failed requests of MCP", default=None
)
"""Takes the requests that had no answer, or one that is no success: the SDK says that there was one, and not which."""


class _Transport(httpx2.AsyncHTTPTransport):
    """Answers for a server that does not: the SDK would end the whole session, and every other call with it."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        failed = failed_requests.get()
        failed = [] if failed is None else failed
        try:
            response = await super().handle_async_request(request)
            response.request = request
            if packed := unbounded_packing(response.headers):
                await response.aclose()
                raise httpx2.DecodingError(f"an answer that is packed as {packed}: not read")
            if "text/event-stream" not in response.headers.get("content-type", ""):
                response = await _read(response)
        except httpx2.HTTPError as error:
            failed.append(error)
            return httpx2.Response(HTTPStatus.SERVICE_UNAVAILABLE, request=request)
        if response.is_error:
            failed.append(response)
        return response


async def _read(response: httpx2.Response) -> httpx2.Response:
    """Return an answer that is read whole, as far as it is not too long."""
    body = bytearray()
    try:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MOST_BYTES:
                raise httpx2.ReadError(f"an answer of more than {MOST_BYTES:,} bytes: not read on")
    finally:
        await response.aclose()
    headers = [(name, value) for name, value in response.headers.items() if name not in _OF_TRANSFER]
    return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=response.request)


def client_of(url: str, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """Return a client for a server."""
    return httpx2.AsyncClient(
        headers={"user-agent": "raglift", **headers},
        # How long a call may take is its own business; a stream of notifications may be silent for ever
        timeout=httpx2.Timeout(None, connect=_LONGEST_CONNECT),
        transport=_Transport(verify=trusted_certificates(), proxy=proxy_of(url)),
        trust_env=False,
    )
