"""The server of the review page, on loopback."""

from __future__ import annotations

import json
import secrets
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from raglift.apps.review.labels_file import LabelsFile, hold
from raglift.apps.review.page import Desk, build_page, check_installed
from raglift.apps.review.requests import LOOPBACK, Accept, Decision, Grade, Guard, Keep, Subject, Undo, read_request
from raglift.apps.review.session import Session, StaleChange
from raglift.base.display import printable
from raglift.base.limits import user_path
from raglift.datasets.jsonl import read_queries
from raglift.errors import ConfigurationError, DatasetError, RagliftError
from raglift.judging.pooling import pool

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from raglift.records.documents import Document
    from raglift.records.labels import Query
    from raglift.results.evaluation import Evaluation


# The server of the page: on loopback only, for whoever has the printed address.


MOST_BYTES = 2**20
"""The largest body of a request."""
_MOST_DIGITS = 15
"""Of a number in an address."""
_STOP_WITHIN = 2
"""How long open requests are waited for at the end, in seconds."""


class _TooLarge(RagliftError):
    """A request's body is larger than any that the page sends."""


def application(desk: Desk, documents: Mapping[str, Document], *, token: str, port: int) -> ASGIApp:
    """Return the server as an application that answers at one address only.

    Args:
        desk: what is reviewed.
        documents: the source texts by id, if at hand.
        token: what whoever asks must know.
        port: where it listens on the loopback address.

    Raises:
        MissingDependency: starlette or Jinja2 is not installed.
    """
    check_installed()
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    page = build_page(desk.pool.name)
    answers = _Answers(desk, documents)

    async def show(_: Request) -> Response:
        return HTMLResponse(page.html, headers={"content-security-policy": page.policy})

    async def tell(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        words = "no such address" if status in (404, 405) else "the server failed; its terminal says how"
        return _json({"error": words}, status)

    def post(answer: Callable[[Request, bytes], Any]) -> Callable[[Request], Any]:
        async def answered(request: Request) -> Response:
            return await _answered(lambda body: answer(request, body), request)

        return answered

    def get(answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def answered(request: Request) -> Response:
            return await _answered(lambda _: answer(request), request)

        return answered

    routes = [
        Route("/", show),
        Route("/api/overview", get(answers.overview)),
        Route("/api/changes", get(answers.changes)),
        Route("/api/query/{index}", get(answers.query)),
        Route("/api/query/{index}", post(answers.decide), methods=["POST"]),
        Route("/api/undo", post(answers.undo), methods=["POST"]),
        Route("/api/save", post(answers.save), methods=["POST"]),
        Route("/api/take-in", post(answers.take_in), methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: tell, Exception: tell})
    return Guard(app, token=token, host=f"{LOOPBACK}:{port}")


async def _answered(answer: Callable[[bytes], Any], request: Request) -> Response:
    """Answer in a thread, so that a slow disk holds nobody else up; mistakes become JSON."""
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect

    try:
        return _json(await run_in_threadpool(answer, await _body(request)))
    except ClientDisconnect:  # a tab was closed: nobody reads this
        return _json({"error": "the request: found only a part of it"}, 400)
    except _TooLarge as error:
        return _json({"error": str(error)}, 413)
    except _Stale as error:
        return _json({"error": str(error), **error.now}, 409)
    except (ConfigurationError, DatasetError) as error:
        return _json({"error": printable(str(error))}, 422)


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise _TooLarge(f"the request: found more than {MOST_BYTES:,} bytes; expected what the page sends")
    return body


def _json(content: Any, status: int = 200) -> Response:
    from starlette.responses import Response

    # ASCII, because half a surrogate pair has no UTF-8
    return Response(json.dumps(content), status, media_type="application/json")


class _Stale(RagliftError):
    """A change on an older version, with what the page needs to show the newest."""

    def __init__(self, error: StaleChange, now: dict[str, Any]) -> None:
        super().__init__(str(error))
        self.now = now


class _Answers:
    """What is answered to each request."""

    def __init__(self, desk: Desk, documents: Mapping[str, Document]) -> None:
        self._desk, self._session, self._documents = desk, desk.session, documents

    def overview(self, _: Request) -> dict[str, Any]:
        with self._session.steady():
            return self._desk.overview()

    def query(self, request: Request) -> dict[str, Any]:
        return self._now(self._index(request))

    def changes(self, request: Request) -> dict[str, Any]:
        since = request.query_params.get("since", "")
        if not since.isdecimal() or len(since) > _MOST_DIGITS:
            raise ConfigurationError(f"since: found {since[:40]!r}; expected the number of a change")
        with self._session.steady():
            changed = self._session.changed_since(int(since))
            return {
                "start": self._session.start,
                "change": self._session.changes,
                "saving": self._session.saving.as_json(),
                "queries": [self._desk.summary(index) for index in changed],
            }

    def decide(self, request: Request, body: bytes) -> dict[str, Any]:
        index = self._index(request)
        decision = read_request(Decision, body)
        self._check_start(decision.start)
        with self._session.steady():
            try:
                settles = self._settles(index, decision)
                self._session.check_version(index, decision.version)
                operation = decision.operation.on(Subject(self._desk, index, self._documents))
                self._session.apply(index, decision.version, decision.tab, operation)
            except StaleChange as error:
                raise _Stale(error, self._now(index)) from error
            if settles is not None:
                self._desk.settle(index, settles)
            return self._now(index)

    def undo(self, _: Request, body: bytes) -> dict[str, Any]:
        asked = read_request(Undo, body)
        self._check_start(asked.start)
        return self._now(self._session.undo(asked.tab))

    def save(self, _: Request, __: bytes) -> dict[str, Any]:
        self._session.save()
        return {"saving": self._session.saving.as_json()}

    def take_in(self, _: Request, __: bytes) -> dict[str, Any]:
        told = self._session.take_in()
        return {"told": told, "saving": self._session.saving.as_json()}

    def _check_start(self, start: str) -> None:
        if start != self._session.start:
            error = StaleChange(
                "the review was started again since this page was opened; nothing was done: load it again"
            )
            raise _Stale(error, {"start": self._session.start})

    def _settles(self, index: int, decision: Decision) -> int | None:
        """Return the chunk whose disagreement a decision ends: one that was there to see before it."""
        operation = decision.operation
        if isinstance(operation, (Accept, Keep, Grade)) and self._desk.disagrees(index, operation.chunk):
            return operation.chunk
        return None

    def _now(self, index: int) -> dict[str, Any]:
        with self._session.steady():
            return {
                "start": self._session.start,
                "query": self._desk.detail(index),
                "change": self._session.changes,
                "saving": self._session.saving.as_json(),
            }

    def _index(self, request: Request) -> int:
        given: str = request.path_params["index"]
        if not given.isdecimal() or len(given) > _MOST_DIGITS or int(given) >= len(self._session):
            found = repr(given[: _MOST_DIGITS + 1])
            raise ConfigurationError(f"query: found number {found}; expected one below {len(self._session)}")
        return int(given)


def serve(
    desk: Desk, documents: Mapping[str, Document], listener: socket.socket, announce: Callable[[str], None]
) -> None:
    """Serve the page until Ctrl-C or a termination signal; the caller saves what is left.

    Args:
        desk: what is reviewed.
        documents: the source texts by id, if at hand.
        listener: from `guard.listen`.
        announce: called with the address, which holds this start's token.

    Raises:
        MissingDependency: uvicorn, starlette or Jinja2 is not installed.
    """
    check_installed()
    import uvicorn

    port: int = listener.getsockname()[1]
    token = secrets.token_urlsafe(32)
    config = uvicorn.Config(
        application(desk, documents, token=token, port=port),
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
    with suppress(KeyboardInterrupt), _termination_as_interrupt():  # uvicorn raises it again once it has stopped
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Have a termination signal, or a closed terminal, end the block as Ctrl-C does: the caller saves what is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    ending = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]  # as nohup has it
    before = {number: signal.signal(number, signal.default_int_handler) for number in ending}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# A review from its files: the pool of the runs, the labels, and models' grades.


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
        yield Desk(pooled, session, known if opinions is None else opinions, scale), added


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
