"""Requests to an HTTP service: its address, its connections, and one request with its answer."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import json
import os
import re
import ssl
import weakref
import zlib
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx

from raglift.base.secrets import is_secret_name
from raglift.base.validation import quoted
from raglift.components.http.availability import NoConnection
from raglift.errors import ConfigurationError, ServiceFailed, ServiceUnusable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from raglift.base.display import Secrets


# Addresses of HTTP services: validation and redaction.


_SCHEMES = ("http://", "https://")
_NEARLY = re.compile(
    r"(https?:/?[^/\s]|[a-z]+://|localhost[:/]|\d{1,3}(\.\d{1,3}){3}[:/]|[\w.-]+:\d+(/|$)|[\w-]+(\.[\w-]+)+/)",
    re.IGNORECASE,
)
"""How an address begins that lacks `http://`, has half of it, or is of something else; no `module:name` does."""


def is_http_address(reference: str) -> bool:
    """Whether a text is meant as the address of an HTTP service."""
    return reference.strip().lower().startswith(_SCHEMES)


def perhaps_address(reference: str) -> bool:
    """Whether a text is not an address of an HTTP service and was probably meant as one: `localhost:8000/search`."""
    return not is_http_address(reference) and _NEARLY.match(reference.strip()) is not None


def checked_address(address: str) -> str:
    """Return the address of a service, without white space around it.

    Raises:
        ConfigurationError: it has no host or an impossible port, or holds what belongs elsewhere: a secret, a query.
    """
    text = address.strip()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _wrong(shown_address(text), f"an address, as http://localhost:8000/search ({error})") from None
    if not is_http_address(text) or not host or any(letter.isspace() or not letter.isprintable() for letter in text):
        raise _wrong(quoted(shown_address(text)), "an address, as http://localhost:8000/search")
    if "@" in parts.netloc:
        raise _wrong(
            f"a user's name or password in {shown_address(text)}",
            "none there: it would be kept with every run. Set it in the environment, and name it in the mapping: "
            'headers: {Authorization: "Basic ${SEARCH_LOGIN}"}',
        )
    secret = next((name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if is_secret_name(name)), "")
    if secret:
        raise _wrong(
            f"{quoted(secret)} in the query of {shown_address(text)}",
            "no secret there: it would be kept with every run. Set it in the environment, and name it in the mapping: "
            f"params: {{{secret}: ${{SEARCH_KEY}}}}",
        )
    if "{query}" in text or "{k}" in text:
        raise _wrong(
            f"{{query}} or {{k}} in {shown_address(text)}",
            'them in the mapping: method: GET, and params: {q: "{query}", size: "{k}"}',
        )
    return text


def shown_address(address: str) -> str:
    """Return an address without what may be secret in it: user, password, query and fragment."""
    before, _, rest = address.strip().partition("://")
    if not rest:
        return before.partition("?")[0]
    place = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = place.partition("/")
    return f"{before.lower()}://{host.rpartition('@')[2]}{slash}{path}"


def is_loopback(address: str) -> bool:
    """Whether an address is of this machine, which no proxy could reach."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _wrong(found: str, expected: str) -> ConfigurationError:
    return ConfigurationError(f"system: found {found}; expected {expected}")


# The connection pool of one service: one connection per concurrent query, kept open between requests.


_KEPT_OPEN = 30.0


@functools.cache
def trusted_certificates() -> ssl.SSLContext:
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
        return httpx.AsyncHTTPTransport(verify=trusted_certificates(), limits=limits, proxy=proxy_of(self._address))


def proxy_of(address: str) -> str | None:
    """Return the proxy that the environment names for an address."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(address)
    if is_loopback(address) or proxy_bypass(parts.netloc):
        return None
    known = getproxies()
    found = known.get(parts.scheme) or known.get("all")
    return found if not found or "://" in found else f"http://{found}"


# One request and its answer: bounded in time and size, with plain error messages.


_READ_OF_A_FAILURE = 20_000
_SHOWN = 120
_LONGEST_CONNECT = 10.0
_CONNECTING = 0.9
_MOST_REDIRECTS = 5
_REDIRECTS = range(300, 400)
_KEEPS_METHOD = (307, 308)
_PASSING = (408, 409, 425, 429)
"""Refusals that are about the moment, and not about what is asked."""
_MEND = {
    401: "the headers of the mapping say who asks",
    403: "the headers of the mapping say who asks",
    404: "look at the address",
    405: "the method of the mapping may be another",
}
_MEND_PAGE = ": this is a page, so look at the address, and at who asks"
_MEND_REQUEST = "the mapping says what is sent"
_PLAIN = ("", "identity")
_ZIPPED = ("gzip", "x-gzip", "deflate")


@dataclass(frozen=True)
class Exchange:
    """How one request is made."""

    connections: Connections
    """Over which it goes."""
    seconds: float
    """The most, from asking to the last byte."""
    most_bytes: int
    """The longest answer that is read."""
    secrets: Secrets
    """What must not be shown in an error."""

    async def json(self, request: httpx.Request) -> Any:
        """Return what a request is answered with.

        Raises:
            NoConnection: no connection could be made.
            ServiceFailed: there was no usable answer: an error, none in time, one that broke off.
            ServiceUnusable: the service refuses such requests, or answers without JSON.
        """
        answer = _Answer()
        try:
            async with asyncio.timeout(self.seconds):
                async with self.connections.lent() as connection:
                    await self._follow(connection, request, answer)
            return self._read(answer)
        except TimeoutError as error:
            part = f" — {len(answer.body):,} bytes of it had come" if answer.body else ""
            what = "the answer was not finished" if answer.began else "no answer"
            raise ServiceFailed(f"{what} within {self.seconds:g} s{part}") from error
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _unreached(error, request.url.scheme) from error
        except httpx.HTTPError as error:
            raise ServiceFailed(self._broken(error, answer)) from error

    async def _follow(self, connection: httpx.AsyncBaseTransport, request: httpx.Request, answer: _Answer) -> None:
        """Send a request, follow redirects to the same server, and read the answer, no more of it than may be."""
        for _ in range(_MOST_REDIRECTS + 1):
            # The whole request has a limit of its own, which must not be what ends connecting: nobody would be missed
            connect = min(_CONNECTING * self.seconds, _LONGEST_CONNECT)
            request.extensions["timeout"] = httpx.Timeout(None, connect=connect).as_dict()
            response = await connection.handle_async_request(request)
            try:
                answer.begin(response)
                if response.status_code not in _REDIRECTS:
                    most = self.most_bytes if response.is_success else _READ_OF_A_FAILURE
                    async for piece in response.aiter_raw():
                        answer.body += piece
                        if len(answer.body) > most:
                            break
                    return
            finally:
                await response.aclose()
            request = self._redirected(request, response)
        last = self.secrets.hidden(shown_address(str(request.url)))
        raise ServiceUnusable(f"more than {_MOST_REDIRECTS} redirects, the last to {last}")

    def _redirected(self, request: httpx.Request, response: httpx.Response) -> httpx.Request:
        """Return the request to a redirect's target, on the same server only: a header may hold a key."""
        status, location = response.status_code, response.headers.get("location", "")
        try:
            target = urljoin(str(request.url), location)
            url = httpx.URL(target)
        except (ValueError, httpx.InvalidURL):
            url = None
        if not location or url is None:
            raise ServiceUnusable(f"{status_text(status)} without an address to go on to; expected an answer")
        shown = quoted(self.secrets.hidden(shown_address(target)))
        if _server(url) != _server(request.url):
            raise ServiceUnusable(
                f"{status_text(status)}: a redirect to {shown}, which is another server and not followed; "
                "expected an answer: give that address if it is right"
            )
        if status not in _KEEPS_METHOD and request.method != "GET":
            raise ServiceUnusable(
                f"{status_text(status)}: a redirect to {shown} that would drop the query from the request; "
                "expected an answer: give that address if it is right"
            )
        return httpx.Request(request.method, url, headers=request.headers, content=request.content)

    def _read(self, answer: _Answer) -> Any:
        status = answer.status
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            said = self.secrets.beginning(answer.body)
            message = status_text(status) + (f" — {said}" if said else " — with an empty answer")
            if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _PASSING:
                raise ServiceUnusable(f"{message}; expected an answer: {_MEND.get(status, _MEND_REQUEST)}")
            raise ServiceFailed(message, status_code=status, headers=answer.retry_after)
        body = self._unpacked(answer)
        if len(body) > self.most_bytes:
            raise ServiceFailed(
                f"an answer of more than {self.most_bytes:,} bytes: not read on; most_bytes in the mapping allows more",
                status_code=status,
            )
        mend = ""
        try:
            return json.loads(body, parse_constant=_no_constant)
        except UnicodeDecodeError as error:
            message = f"the answer is not UTF-8 — at byte {error.start:,}: {self.secrets.beginning(body)}"
        except json.JSONDecodeError as error:
            what = "empty" if not body.strip() else "not JSON"
            message = f"the answer is {what} — {error.msg} at character {error.pos:,}: {self.secrets.beginning(body)}"
            mend = _MEND_PAGE if body.lstrip()[:1] == b"<" else ""
        except (ValueError, RecursionError) as error:  # numbers of thousands of digits, endless nesting
            said = "lists nested too deeply" if isinstance(error, RecursionError) else str(error).partition(";")[0]
            message = f"the answer is not JSON — {said}: {self.secrets.beginning(body)}"
        # As a refusal is: a wrong address often answers with a page, and 200
        raise ServiceUnusable(f"{message}; expected JSON{mend}") from None

    def _unpacked(self, answer: _Answer) -> bytes:
        """Return the body, unpacked no further than may be: a few bytes may stand for any number of them."""
        if answer.encoding in _PLAIN:
            return bytes(answer.body)
        if answer.encoding not in _ZIPPED:
            raise ServiceUnusable(
                f"an answer packed as {quoted(answer.encoding)}, which was not asked for; expected plain JSON"
            )
        packed = bytes(answer.body)
        for window in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):  # deflate comes with and without a frame
            try:
                return zlib.decompressobj(window).decompress(packed, self.most_bytes + 1)
            except zlib.error:
                continue
        raise ServiceFailed(f"the answer says it is {answer.encoding}, and is not", status_code=answer.status)

    def _broken(self, error: httpx.HTTPError, answer: _Answer) -> str:
        reason = self.secrets.hidden(reason_of(error))[:_SHOWN]  # it may quote what was sent in place of a head
        if isinstance(error, httpx.TransportError) and answer.began:
            return f"the connection broke off in the answer — after {len(answer.body):,} bytes of it ({reason})"
        if isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError)):
            return f"the connection broke off before an answer — {reason}"
        return f"the request failed — {reason}"


class _Answer:
    """What has come of an answer so far."""

    def __init__(self) -> None:
        self.began = False
        self.status = 0
        self.encoding = ""
        self.retry_after: dict[str, str] = {}
        self.body = bytearray()

    def begin(self, response: httpx.Response) -> None:
        """Note what the head of an answer says."""
        self.began, self.status = True, response.status_code
        self.encoding = response.headers.get("content-encoding", "").strip().lower()
        waiting = response.headers.get("retry-after")
        self.retry_after = {} if waiting is None else {"retry-after": waiting}


def _server(url: httpx.URL) -> tuple[str, bytes, int | None]:
    return url.scheme, url.raw_host, url.port


def status_text(status: int) -> str:
    """Return a status with its phrase: `HTTP 404 Not Found`."""
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name}, which JSON does not have")


def _unreached(error: httpx.TransportError, scheme: str) -> NoConnection:
    """Return why no connection could be made; the numbers of TLS errors are not those of the operating system."""
    if isinstance(error, httpx.ConnectTimeout):
        if scheme == "https":
            return NoConnection(
                "no answer to connecting", "a service that speaks TLS there: is it running, or http://?"
            )
        return NoConnection("no answer to connecting")
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, ssl.SSLError):
        inner = inner.__cause__ or inner.__context__
    if isinstance(inner, ssl.SSLCertVerificationError):
        return NoConnection(f"its certificate: {inner.verify_message}", "one that is trusted: SSL_CERT_FILE names more")
    if inner is not None:
        reason = (inner.reason or "TLS failed").lower().replace("_", " ")
        return NoConnection(
            f"it does not speak TLS as it should ({reason})", "a service with TLS: http:// may be meant"
        )
    return NoConnection(reason_of(error))


def reason_of(error: BaseException) -> str:
    """Return what lies at the bottom of an error: `Connection refused` rather than `All connection attempts failed`."""
    deepest: BaseException = error
    while (inner := deepest.__cause__ or deepest.__context__) is not None and str(inner):
        deepest = inner
    if isinstance(deepest, OSError) and deepest.errno is not None and deepest.errno > 0:
        return os.strerror(deepest.errno)
    if isinstance(deepest, OSError) and deepest.strerror:  # of names that cannot be resolved
        return deepest.strerror
    return str(error) or type(error).__name__
