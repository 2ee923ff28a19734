"""`TraceReceiver`: takes OTLP over HTTP on this machine, and keeps what came in a file."""

from __future__ import annotations

import ipaddress
import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from raglift.errors import ConfigurationError, Fault, MissingDependency
from raglift.tracing.receiving.keeping import KeptSpans
from raglift.tracing.receiving.requests import JSON, MOST_BYTES, PROTOBUF, Refused, answer_of, spans_of_request
from raglift.tracing.spans import Options
from raglift.utilities.display import printable
from raglift.utilities.limits import user_path

if TYPE_CHECKING:
    import os
    from types import TracebackType
    from typing import Self

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp


ADDRESS = "127.0.0.1:4318"
"""Where exporters send traces over HTTP if nothing else is said."""
_STOP_WITHIN = 2
_MOST_AT_ONCE = 64
_MOST_ROOTS = 1_000_000
_HIGHEST_PORT = 65_535


class TraceReceiver:
    """Receives traces over HTTP on this machine, as a context manager; `read_traces` reads the file.

        with TraceReceiver("traces.jsonl", "127.0.0.1:0") as receiver:
            exporter = OTLPSpanExporter(f"{receiver.endpoint}/v1/traces")  # of the application, which is run here

    Takes what exporters of OpenTelemetry send to `/v1/traces` as JSON or protobuf, packed with gzip or not. Each
    request is in the file before it is answered. Attributes that are not read are not kept, nor are secrets. Metrics
    and logs are answered and dropped, for one variable sets the address of all three.

    Args:
        file: where spans are kept, as lines of OTLP's JSON; added to if it is there.
        address: host and port on this machine; port 0 takes a free one.
        join_by: as for `read_traces`: an attribute that is kept too.

    Raises:
        ConfigurationError: an address that is none, is not of this machine, or is in use.
        DatasetError: the file cannot be written.
        MissingDependency: the extra `trace` is not installed.
    """

    def __init__(self, file: str | os.PathLike[str], address: str = ADDRESS, *, join_by: str | None = None) -> None:
        self.file = user_path(file)
        self.spans = 0
        """How many spans came."""
        self.faults: list[Fault] = []
        """What of them could not be used; the first hundred."""
        self._host, self._port = _parsed(address)
        self._options = Options(join_by)
        self._roots: set[str] = set()
        self._last = time.monotonic()
        self._lock = threading.Lock()
        self._kept: KeptSpans | None = None
        self._had_some = False
        self._server: Any = None
        self._thread: threading.Thread | None = None

    @property
    def endpoint(self) -> str:
        """The value of `OTEL_EXPORTER_OTLP_ENDPOINT` for it."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    @property
    def has_earlier(self) -> bool:
        """Whether the file already had something in it."""
        return self._had_some

    @property
    def traces(self) -> int:
        """How many traces came in whole: their root, which ends last, is there."""
        return len(self._roots)

    @property
    def idle(self) -> float:
        """For how many seconds nothing came."""
        return time.monotonic() - self._last

    def __enter__(self) -> Self:
        try:
            import uvicorn
        except ImportError as error:
            raise MissingDependency(error.name or "uvicorn", "trace", "receiving traces") from None
        listener = self._listener()
        try:
            self._kept = KeptSpans(self.file)
            self._had_some = self._kept.size > 0
            app = self._application()
        except BaseException:
            listener.close()
            raise
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_AT_ONCE,
            timeout_graceful_shutdown=_STOP_WITHIN,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        self._last = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            if self._kept is not None:
                self._kept.close()

    def _listener(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self._host, self._port))
            listener.listen(_MOST_AT_ONCE)
        except OSError as error:
            listener.close()
            raise ConfigurationError(
                f"address: {self._host}:{self._port} cannot be listened on ({error.strerror or error}); expected a "
                "free port: stop what listens there, as a collector, or choose another with --address 127.0.0.1:4319"
            ) from None
        self._port = listener.getsockname()[1]
        return listener

    def _application(self) -> ASGIApp:
        try:
            from starlette.applications import Starlette
            from starlette.routing import Route
        except ImportError as error:
            raise MissingDependency(error.name or "starlette", "trace", "receiving traces") from None
        return Starlette(
            routes=[
                Route("/v1/traces", self._take, methods=["POST"]),
                Route("/v1/metrics", self._drop, methods=["POST"]),
                Route("/v1/logs", self._drop, methods=["POST"]),
            ]
        )

    async def _drop(self, request: Request) -> Response:
        from starlette.responses import Response

        kind = _media_type(request)
        async for _ in request.stream():
            pass
        return Response(b"{}" if kind == JSON else b"", media_type=kind)

    async def _take(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import ClientDisconnect
        from starlette.responses import Response

        kind = _media_type(request)
        try:
            self._check_host(request)
            body = await _body(request)
            encoding = request.headers.get("content-encoding", "").strip().lower()
            answer = await run_in_threadpool(self._keep, body, kind, encoding)
            return Response(answer, media_type=kind)
        except ClientDisconnect:  # nobody reads this
            return _refusal(400, "found only a part of the request")
        except Refused as refused:
            return _refusal(refused.status, str(refused))
        except MissingDependency as error:
            return _refusal(415, str(error))
        except OSError as error:  # an exporter sends again what it was answered so
            return _refusal(503, f"the file cannot be written: {error.strerror or error}")

    def _check_host(self, request: Request) -> None:
        """Refuse a name that was made to point here, as a page in a browser could have it."""
        host = request.headers.get("host", "").rpartition(":")[0] or request.headers.get("host", "")
        if not _is_loopback(host.strip("[]")):
            raise Refused(403, f"found the host {host[:80]!r}; expected an address of this machine")

    def _keep(self, body: bytes, kind: str, encoding: str) -> bytes:
        faults: list[Fault] = []
        spans, rejected = spans_of_request(body, kind, encoding, faults, self._options)
        with self._lock:
            if self._kept is None or self._kept.is_full:
                raise Refused(503, "found no room in the file; expected raglift to be started again with a new one")
            self._kept.add(spans)
            self.spans += len(spans)
            self._last = time.monotonic()
            if len(self._roots) < _MOST_ROOTS:
                self._roots.update(span.trace_id for span in spans if span.parent_id is None)
            self.faults += faults[: max(0, 100 - len(self.faults))]
        return answer_of(rejected, str(faults[0]) if faults else "", kind)


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise Refused(413, f"found a request of more than {MOST_BYTES:,} bytes; expected smaller batches")
    return b"".join(parts)


def _media_type(request: Request) -> str:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return PROTOBUF if given == "application/protobuf" else given


def _refusal(status: int, message: str) -> Response:
    from starlette.responses import Response

    return Response(json.dumps({"message": printable(message)}), status, media_type=JSON)


def _parsed(address: str) -> tuple[str, int]:
    """Return host and port of an address of this machine.

    Raises:
        ConfigurationError: it is none.
    """
    expected = f"an address and port of this machine, as {ADDRESS}"
    host, colon, port = address.removeprefix("http://").rstrip("/").rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdecimal() or not port.isascii() or int(port[:6]) > _HIGHEST_PORT:
        raise ConfigurationError(f"address: found {address[:80]!r}; expected {expected}")
    if not _is_loopback(host):
        raise ConfigurationError(
            f"address: found the host {host[:80]!r}; expected {expected}: whoever reaches the address can send traces, "
            "so only programs on this machine may"
        )
    return "127.0.0.1" if host == "localhost" else host, int(port)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
