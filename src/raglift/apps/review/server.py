"""The server of the review page, on loopback: it answers a browser that has the printed address."""

from __future__ import annotations

import json
import logging
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from raglift.apps.review.labels_file import LabelsFile, hold
from raglift.apps.review.page import Desk, build_page, check_installed
from raglift.apps.review.requests import Accept, Grade, Keep, read_decision
from raglift.apps.review.session import Session, StaleChange
from raglift.datasets.jsonl import read_queries
from raglift.errors import ConfigurationError, DatasetError, RagliftError
from raglift.grading.pooling import pool
from raglift.utilities.display import printable
from raglift.utilities.limits import user_path

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from raglift.results.evaluation import Evaluation
    from raglift.types.documents import Document
    from raglift.types.labels import Query


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
    """Return a socket that listens on the loopback address, and on no other."""
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


MOST_BYTES = 2**20
"""The largest body of a request."""
_MOST_DIGITS = 15
"""Of a number in an address."""
_STOP_WITHIN = 2
"""How long open requests are waited for at the end, in seconds."""


class _Refused(RagliftError):
    """A request that gets an answer of its own."""

    def __init__(self, status: int, text: str, **more: Any) -> None:
        super().__init__(text)
        self.status, self.more = status, more


def application(desk: Desk, *, token: str, port: int) -> ASGIApp:
    """Return the server as an application that answers at one address only."""
    check_installed()
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    page = build_page(desk.pool.name)
    one_at_a_time = threading.Lock()

    async def show(_: Request) -> Response:
        return HTMLResponse(page.html, headers={"content-security-policy": page.policy})

    async def fail(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        text = "no such address" if status in (404, 405) else "the server failed; its terminal says how"
        return _json({"error": text}, status)

    def route(path: str, answer: Callable[[Desk, Request, bytes], Any], method: str = "GET") -> Route:
        def locked(request: Request, body: bytes) -> Any:
            with one_at_a_time:
                return answer(desk, request, body)

        async def answered(request: Request) -> Response:
            return await _answered(locked, request)

        return Route(path, answered, methods=[method])

    routes = [
        Route("/", show),
        route("/api/overview", lambda desk, *_: desk.overview()),
        route("/api/query/{index}", lambda desk, request, _: _state(desk, _index(desk, request))),
        route("/api/query/{index}", _decide, "POST"),
        route("/api/undo", lambda desk, *_: _state(desk, desk.session.undo()), "POST"),
        route("/api/save", _save, "POST"),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: fail, Exception: fail})
    return Guard(app, token=token, host=f"{LOOPBACK}:{port}")


async def _answered(answer: Callable[[Request, bytes], Any], request: Request) -> Response:
    """Answer in a thread, so that a slow disk holds nobody else up; mistakes become JSON."""
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect

    try:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                found = f"the request: found more than {MOST_BYTES:,} bytes; expected what the page sends"
                return _json({"error": found}, 413)
        return _json(await run_in_threadpool(answer, request, body))
    except ClientDisconnect:  # a tab was closed: nobody reads this
        return _json({"error": "the request: found only a part of it"}, 400)
    except _Refused as error:
        return _json({"error": str(error), **error.more}, error.status)
    except (ConfigurationError, DatasetError) as error:
        return _json({"error": printable(str(error))}, 422)


def _json(content: Any, status: int = 200) -> Response:
    from starlette.responses import Response

    # ASCII, because half a surrogate pair has no UTF-8
    return Response(json.dumps(content), status, media_type="application/json")


def _state(desk: Desk, index: int) -> dict[str, Any]:
    return {"query": desk.detail(index), "saving": desk.session.saving.as_json()}


def _decide(desk: Desk, request: Request, body: bytes) -> dict[str, Any]:
    index, decision = _index(desk, request), read_decision(body)
    operation = decision.operation
    # a disagreement that was there to see before the decision ends with it
    settles = isinstance(operation, (Accept, Keep, Grade)) and desk.disagrees(index, operation.chunk)
    try:
        desk.session.apply(index, decision.version, lambda query: operation.apply(query, desk, index))
    except StaleChange as error:
        raise _Refused(409, str(error), **_state(desk, index)) from error
    if settles and isinstance(operation, (Accept, Keep, Grade)):
        desk.settle(index, operation.chunk)
    return _state(desk, index)


def _save(desk: Desk, _: Request, __: bytes) -> dict[str, Any]:
    desk.session.save()
    return {"saving": desk.session.saving.as_json()}


def _index(desk: Desk, request: Request) -> int:
    text: str = request.path_params["index"]
    if not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) >= len(desk.session):
        found = repr(text[: _MOST_DIGITS + 1])
        raise ConfigurationError(f"query: found number {found}; expected one below {len(desk.session)}")
    return int(text)


def serve(desk: Desk, listener: socket.socket, announce: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C or a termination signal; the caller saves what is left."""
    check_installed()
    import uvicorn

    port: int = listener.getsockname()[1]
    token = secrets.token_urlsafe(32)
    config = uvicorn.Config(
        application(desk, token=token, port=port),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP_WITHIN,
    )
    announce(f"http://{LOOPBACK}:{port}/?token={token}")
    server, log = uvicorn.Server(config), logging.getLogger("uvicorn.error")

    def is_serving(_: logging.LogRecord) -> bool:
        return not server.should_exit  # that a request is cut off then is no error

    log.addFilter(is_serving)
    try:
        with suppress(KeyboardInterrupt), _termination_as_interrupt():  # uvicorn raises it again once it has stopped
            server.run(sockets=[listener])
    finally:
        log.removeFilter(is_serving)


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Have a termination signal, or a closed terminal, end the block as Ctrl-C does: the caller saves what is left.

    uvicorn knows nothing of a closed terminal, and an exception that comes amid a request ends with the request.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    before = {}
    for name, end in (("SIGTERM", signal.default_int_handler), ("SIGHUP", terminate)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


SCALES = (3, 5)
"""The highest grades that there are."""


@contextmanager
def open_review(
    labels: Path,
    evaluations: Sequence[Evaluation] | Mapping[str, Evaluation],
    *,
    documents: Sequence[Document] = (),
    judged: Path | None = None,
    scale: int = 3,
    depth: int = 10,
) -> Iterator[tuple[Desk, int]]:
    """Open a file of labels to judge what systems returned; nobody else can, until the block ends.

    Args:
        labels: the queries file; made with the evaluations' queries and labels where there is none.
        evaluations: of the same queries.
        documents: the source texts, if at hand.
        judged: a queries file with models' labels; by default those of the file of labels itself.
        scale: the highest grade, 3 or 5.
        depth: how many hits of each ranking are judged.

    Yields:
        What is reviewed, and how many queries were added to the file.

    Raises:
        ConfigurationError: another review has the file open, the evaluations differ in their queries, the scale is
            none, or no model is named in `judged`.
        DatasetError: a file is malformed, or about other queries.
        MissingDependency: filelock is not installed.
    """
    if scale not in SCALES:
        expected = " or ".join(map(str, SCALES))
        raise ConfigurationError(f"scale: found {scale}; expected {expected}, the highest grade")
    pooled = pool(evaluations, depth=depth)
    opinions = None if judged is None else _opinions(judged, documents)
    with hold(labels):
        file = LabelsFile(labels, documents)
        known, added = file.open([each.query for each in pooled.queries])
        session = Session([known[each.query.id] for each in pooled.queries], file)
        by_id = {document.id: document for document in documents}
        yield Desk(pooled, session, known if opinions is None else opinions, scale, by_id), added


def _opinions(path: Path, documents: Sequence[Document]) -> Mapping[str, Query]:
    queries = read_queries(user_path(path), documents)
    passages = (
        passage
        for query in queries
        for passage in (*query.judged_irrelevant, *(one for fact in query.facts for one in fact.passages))
    )
    if not any(passage.annotator for passage in passages):
        raise ConfigurationError(
            f"{path}: found no passage that names a model as its annotator; expected labels by a model"
        )
    return {query.id: query for query in queries}
