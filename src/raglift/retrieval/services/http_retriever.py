"""`HttpRetriever`: any search service that answers with JSON, in any language."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import ssl
import weakref
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx

from raglift.errors import ConfigurationError, ServiceFailed, ServiceUnusable
from raglift.retrieval.services.addresses import checked_address, proxy_of, shown_address
from raglift.retrieval.services.answers import AnswerReader
from raglift.retrieval.services.mapping import (
    FILTER,
    K,
    filled,
    has_placeholder,
    is_secret_header,
    mapping_of,
    resolved,
    texts_of,
)
from raglift.retrieval.services.retriever import ServiceRetriever
from raglift.utilities.display import Secrets, encodable

if TYPE_CHECKING:
    from raglift.retrieval.services.mapping import ServiceMapping
    from raglift.types.documents import Chunk
    from raglift.types.filters import Filter

_HEADERS = {"accept": "application/json", "user-agent": "raglift"}
_MCP_FIELDS = ("tool", "arguments", "env", "separator", "empty", "start_timeout")
_LONGEST_CONNECT = 10.0
_KEPT_OPEN = 30.0
_CONNECTING = 0.9
"""The share of a request's time that connecting may take, so that a silent host is told from a slow answer."""
MOST_BYTES = 100_000_000
"""No answer to one query is so long; more than that is not read."""
_PACKED = ("", "identity", "gzip", "deflate")
"""Of these a piece that is read unpacks to 70 MB at most; of one in another, or twice in one, to any size."""
_TEMPORARY = (408, 409, 425, 429)
"""Refusals that are about the moment, and not about what is asked."""
_ADVICE = {
    401: "the headers of the mapping say who asks",
    403: "the headers of the mapping say who asks",
    404: "look at the address",
    405: "the method of the mapping may be another",
}


class HttpRetriever(ServiceRetriever):
    """Asks an HTTP service for the hits of each query; connections are kept open.

    Args:
        address: of the service, for example `http://localhost:8000/search`.
        mapping: what is sent and where the hits are in the answer: the fields of a `ServiceMapping`, or the path of a
            YAML file with them; by default `{"query": …, "k": …}` is posted and the usual names are looked for.

    Raises:
        ConfigurationError: the address is none, or holds a secret.
        MappingError: the mapping is not described as it must be; every fault is listed.
        MissingKey: an environment variable that the mapping names is not set.
    """

    _reader: AnswerReader

    def __init__(
        self, address: str, mapping: ServiceMapping | Mapping[str, Any] | str | os.PathLike[str] | None = None
    ) -> None:
        self._address = checked_address(address)
        self.mapping = mapping_of(mapping)
        self.mapping.require("an HTTP service", _MCP_FIELDS)
        self._body, params = self.mapping.http_request()
        headers, in_headers = resolved(self.mapping.headers, "the header", is_secret_header)
        texts = {name: value for name, value in params.items() if isinstance(value, str)}
        texts, in_params = resolved(texts, "the parameter")
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()):
                raise ConfigurationError(f"the header {name}: found letters that no header can have; expected ASCII")
        self._headers = {**_HEADERS, **{name.lower(): value for name, value in headers.items()}}
        self._params = {**params, **texts}
        self.secrets = Secrets((*in_headers, *in_params))
        self._reader = AnswerReader(self.mapping.response, self.secrets)
        self._connections = _Connections(self._address)

    def __str__(self) -> str:
        return f"HTTP {self.mapping.method} {shown_address(self._address)}"

    def __repr__(self) -> str:
        return f"HttpRetriever({shown_address(self._address)!r}, {self.mapping!r})"

    @property
    def depth_fixed(self) -> tuple[str, ...]:
        """What cannot be told how many hits are wanted; empty if it can."""
        sends_k = has_placeholder(self._body, K) or has_placeholder(self._params, K)
        return () if sends_k else (f"{self} (the mapping sends no {{k}})",)

    @property
    def takes_filters(self) -> bool:
        """Whether the service is told the metadata filter of a query."""
        return FILTER in texts_of(self._body)

    async def _hits(self, query: str, k: int, metadata_filter: Filter | None) -> list[tuple[Chunk, float | None]]:
        return self._reader.read(await self._answer(self._request(query, k, metadata_filter)))

    async def aclose(self) -> None:
        """Close the connections of the running loop; the next query opens new ones."""
        await self._connections.aclose()

    def _request(self, query: str, k: int, metadata_filter: Filter | None) -> httpx.Request:
        params = {name: filled(value, query, k) for name, value in self._params.items()}
        url = httpx.URL(self._address).copy_merge_params(
            {name: encodable(value) if isinstance(value, str) else value for name, value in params.items()}
        )
        # The request as a whole has a limit of its own
        connect = min(_CONNECTING * self.mapping.timeout, _LONGEST_CONNECT)
        timeout = httpx.Timeout(None, connect=connect).as_dict()
        content, headers = None, self._headers
        if self._body is not None:
            content = json.dumps(filled(self._body, query, k, metadata_filter)).encode()
            headers = {"content-type": "application/json", **headers}
        return httpx.Request(
            self.mapping.method, url, headers=headers, content=content, extensions={"timeout": timeout}
        )

    async def _answer(self, request: httpx.Request) -> Any:
        """Return the JSON that a request is answered with."""
        try:
            async with asyncio.timeout(self.mapping.timeout):
                response, body = await self._connections.send(request)
        except TimeoutError as error:
            raise ServiceFailed(f"no answer within {self.mapping.timeout:g} s") from error
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self._unreachable(self.secrets.hidden(reason_of(error))) from error
        except httpx.HTTPError as error:
            reason = self.secrets.beginning(reason_of(error).encode("utf-8", "replace"))
            raise ServiceFailed(f"the connection broke off before the end of an answer — {reason}") from error
        if not response.is_success:
            raise failed_status(response.status_code, response.headers, self.secrets.beginning(body), _ADVICE)
        if len(body) > MOST_BYTES:
            raise ServiceFailed(f"an answer of more than {MOST_BYTES:,} bytes: not read on", status_code=200)
        try:
            return json.loads(body, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            is_page = body.lstrip()[:1] == b"<"
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error).partition(";")[0]
        # Not a failure of one query: a wrong address often answers with a page, and 200
        raise ServiceUnusable(
            f"the answer is {'not JSON' if body.strip() else 'empty'} — {reason}: {self.secrets.beginning(body)}; "
            f"expected JSON{': this is a page, so look at the address, and at who asks' if is_page else ''}"
        )

    def _unreachable(self, reason: str) -> ServiceUnusable | ServiceFailed:
        """Return why no connection could be made; to a service that was there before it is worth another try."""
        address = shown_address(self._address)
        if self._connections.was_reached:
            return ServiceFailed(f"no connection to {address} any more — {reason}")
        expected = "one with TLS and a trusted certificate" if address.startswith("https") else "a service there"
        return ServiceUnusable(f"no connection to {address}: {reason}; expected {expected}: is it running?")


class _Connections:
    """The open connections to a service, by event loop.

    They are httpx's transports: a client writes addresses with their keys to the log, and keeps cookies.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncHTTPTransport] = (
            weakref.WeakKeyDictionary()
        )
        self.was_reached = False
        """Whether the service ever answered."""
        weakref.finalize(self, _close_soon, self._by_loop).atexit = False  # the process closes them itself

    async def send(self, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        """Return the answer to a request, and its body, of which no more is read than shows that it is too long."""
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            limits = httpx.Limits(max_connections=None, keepalive_expiry=_KEPT_OPEN)
            self._by_loop[loop] = httpx.AsyncHTTPTransport(
                verify=trusted_certificates(), limits=limits, proxy=proxy_of(self._address)
            )
        response = await self._by_loop[loop].handle_async_request(request)
        response.request = request
        self.was_reached = True
        body = bytearray()
        try:
            if packed := unbounded_packing(response.headers):
                raise ServiceUnusable(f"the answer is packed as {packed}; expected gzip, or no packing")
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    break
        finally:
            await response.aclose()
        return response, bytes(body)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        transport = self._by_loop.pop(asyncio.get_running_loop(), None)
        if transport is not None:
            await transport.aclose()


def _close_soon(by_loop: Mapping[asyncio.AbstractEventLoop, httpx.AsyncHTTPTransport]) -> None:
    for loop, transport in list(by_loop.items()):
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(transport.aclose(), loop)


def unbounded_packing(headers: Mapping[str, str]) -> str:
    """Return how an answer is packed if a few bytes of it may unpack to any size; empty if they may not."""
    packed = headers.get("content-encoding", "").strip().lower()
    return "" if packed in _PACKED else repr(packed[:40])


@functools.cache
def trusted_certificates() -> ssl.SSLContext:
    """Return whose certificates are trusted: reading them takes longer than a request."""
    return httpx.create_ssl_context()


def failed_status(
    status: int, headers: Mapping[str, str], text: str, advice: Mapping[int, str]
) -> ServiceFailed | ServiceUnusable:
    """Return the error for a status that is no success."""
    known = status in set(HTTPStatus)
    message = f"HTTP {status}{f' {HTTPStatus(status).phrase}' if known else ''} — {text or 'with an empty answer'}"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        target = shown_address(headers.get("location", ""))
        return ServiceUnusable(
            f"HTTP {status}: a redirect to {target[:200]!r}, which is not followed; expected an answer: give that "
            "address if it is right"
        )
    if status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _TEMPORARY:
        return ServiceUnusable(f"{message}; expected an answer: {advice.get(status, 'the mapping says what is sent')}")
    retry_after = {name: headers[name] for name in ("retry-after",) if name in headers}
    return ServiceFailed(message, status_code=status, headers=retry_after)


def reason_of(error: BaseException) -> str:
    """Return what lies at the bottom of an error: `Connection refused` rather than `All connection attempts failed`."""
    deepest: BaseException = error
    while (inner := deepest.__cause__ or deepest.__context__) is not None and str(inner):
        deepest = inner
    if isinstance(deepest, ssl.SSLError):  # whose numbers are not those of the operating system
        return getattr(deepest, "verify_message", "") or deepest.reason or str(deepest)
    if isinstance(deepest, OSError) and deepest.errno is not None and deepest.errno > 0:
        return os.strerror(deepest.errno)
    if isinstance(deepest, OSError) and deepest.strerror:  # of names that cannot be resolved
        return deepest.strerror
    return str(error) or "no answer to connecting"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name}, which JSON does not have")
