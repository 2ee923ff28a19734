"""Who gets an answer from the server of the review page: a browser that has the printed address, on this machine."""

from __future__ import annotations

import json
import secrets
import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from raglift.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


LOOPBACK = "127.0.0.1"

_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NO_PAGE = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


class Guard:
    """An application that lets requests through to another one, or answers 403.

    Every request names this host, so that no name that was made to point here gets an answer. Every request knows the
    token: by the address of the page, once, and by a cookie from then on, which no script reads and no other site
    sends. Every write comes from this origin, as JSON.

    Args:
        app: the application behind.
        token: what must be known.
        host: the address and port, as browsers name it.
    """

    def __init__(self, app: ASGIApp, *, token: str, host: str) -> None:
        self._app, self._token, self._host = app, token, host.encode()
        # cookies of one host are sent to all its ports: the name distinguishes them
        self._cookie = f"raglift-review-{host.rpartition(':')[2]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                named = {name.lower() for name, _ in headers}
                policy = [] if _NO_PAGE[0] in named else [_NO_PAGE]
                message = {**message, "headers": [*headers, *_HEADERS, *policy, *self._new_cookie(scope)]}
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, with_headers)
            return
        body = json.dumps({"error": refusal}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        refused = [*headers, *_HEADERS, _NO_PAGE]
        await send({"type": "http.response.start", "status": 403, "headers": refused})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused; None for one that is not."""
        if _values(scope, b"host") != [self._host]:
            return "found another host than expected: open the address that raglift printed"
        if not self._knows_by_cookie(scope) and not self._knows_by_address(scope):
            return "found no token of this start: open the address that raglift printed"
        if scope["method"] in ("GET", "HEAD"):
            return None
        if _values(scope, b"origin") != [b"http://" + self._host]:
            return "found a request from another page; expected one from this"
        if [kind.partition(b";")[0].strip() for kind in _values(scope, b"content-type")] != [b"application/json"]:
            return "found a body that is not JSON; expected what the page sends"
        return None

    def _knows_by_address(self, scope: Scope) -> bool:
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return len(tokens) == 1 and self._is_token(tokens[0])

    def _knows_by_cookie(self, scope: Scope) -> bool:
        pairs = (pair for header in _values(scope, b"cookie") for pair in header.decode("latin-1").split(";"))
        cookies = (pair.strip().partition("=") for pair in pairs)
        return any(name == self._cookie and self._is_token(value) for name, _, value in cookies)

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode("utf-8", "replace"), self._token.encode())

    def _new_cookie(self, scope: Scope) -> Sequence[tuple[bytes, bytes]]:
        if not self._knows_by_address(scope):
            return ()
        value = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        return ((b"set-cookie", value.encode()),)


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key.lower() == name]


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address, and on no other.

    Args:
        port: 0 for any that is free.

    Raises:
        ConfigurationError: the port is not a port, or is taken.
    """
    if not 0 <= port <= 2**16 - 1:
        raise ConfigurationError(f"--port: found {port}; expected 0 (any that is free) to 65535")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = error.strerror or error
        raise ConfigurationError(
            f"--port: found {port}, where nothing can be served ({reason}); expected one that is free: choose another, "
            "or 0 for any"
        ) from error
    return listener
