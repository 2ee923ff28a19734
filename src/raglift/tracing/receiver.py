"""`TraceReceiver`: takes OTLP over HTTP on this machine, and keeps what came in a file."""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from raglift.errors import ConfigurationError, DatasetError, Fault, MissingDependency
from raglift.tracing.attributes import numbered, parsed, without_secrets
from raglift.tracing.decoding import spans_of
from raglift.tracing.spans import Options, RawSpan
from raglift.utilities.display import encodable, printable
from raglift.utilities.limits import most_bytes, user_path
from raglift.utilities.secrets import KnownSecrets, secrets_of_environment
from raglift.utilities.strict_files import decode_text, parse_text
from raglift.utilities.validation import Location

ADDRESS = "127.0.0.1:4318"
"""Where exporters send traces over HTTP if nothing else is said."""
MOST_BYTES = 64 * 2**20
"""The bytes that a request may have, packed and unpacked: exporters send some hundred spans at a time."""
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_HERE = ("127.0.0.1", "localhost")
_SECONDS = 30
_MOST_FAULTS = 100
_GZIP = 31  # of zlib: gzip alone


class TraceReceiver:
    """Receives traces over HTTP on this machine, as a context manager; `read_traces` reads the file.

        with TraceReceiver("traces.jsonl", "127.0.0.1:0") as receiver:
            exporter = OTLPSpanExporter(f"{receiver.endpoint}/v1/traces")  # of the application, which is run here

    Takes what exporters of OpenTelemetry send to `/v1/traces` as JSON or protobuf, packed with gzip or not. Each
    request is in the file before it is answered. Attributes that are not read are not kept, nor are secrets. Metrics
    and logs are answered and dropped, for one variable sets the address of all three.

    Args:
        file: where spans are kept, one a line, as the SDK prints them; added to if it is there.
        address: host and port on this machine; port 0 takes a free one.
        join_by: as for `read_traces`: an attribute that is kept too.

    Raises:
        ConfigurationError: an address that is none, is not of this machine, or is in use.
        DatasetError: the file cannot be written.
    """

    def __init__(self, file: str | os.PathLike[str], address: str = ADDRESS, *, join_by: str | None = None) -> None:
        self.file = user_path(file)
        self.spans = 0
        """How many spans came."""
        self.faults: list[Fault] = []
        """What of them could not be used; the first hundred."""
        self.has_earlier = False
        """Whether the file already had something in it."""
        self._port = _port_of(address)
        self._options = Options(join_by)
        self._roots: set[str] = set()
        self._last = time.monotonic()
        self._lock = threading.Lock()
        self._kept: _KeptSpans | None = None
        self._server: _Server | None = None

    @property
    def endpoint(self) -> str:
        """The value of `OTEL_EXPORTER_OTLP_ENDPOINT` for it."""
        return f"http://127.0.0.1:{self._port}"

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
            handler = type("Handler", (_Handler,), {"receiver": self})
            self._server = _Server(("127.0.0.1", self._port), handler)
        except OSError as error:
            raise ConfigurationError(
                f"address: 127.0.0.1:{self._port} cannot be listened on ({error.strerror or error}); expected a "
                "free port: stop what listens there, as a collector, or choose another with --address 127.0.0.1:4319"
            ) from None
        self._port = self._server.server_address[1]
        try:
            self._kept = _KeptSpans(self.file)
        except BaseException:
            self._server.server_close()
            raise
        self.has_earlier = self._kept.size > 0
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self._last = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        with self._lock:
            if self._kept is not None:
                self._kept.close()
                self._kept = None

    def take(self, body: bytes, kind: str, encoding: str) -> bytes:
        """Keep the spans of a request, and return what is answered.

        Raises:
            _Refused: it cannot be used.
        """
        faults: list[Fault] = []
        spans, rejected = _spans_of_request(body, kind, encoding, faults, self._options)
        with self._lock:
            if self._kept is None or self._kept.size >= most_bytes():
                raise _Refused(503, "found no room in the file; expected raglift to be started again with a new one")
            self._kept.add(spans)
            self.spans += len(spans)
            self._last = time.monotonic()
            self._roots.update(span.trace_id for span in spans if span.parent_id is None)
            self.faults += faults[: max(0, _MOST_FAULTS - len(self.faults))]
        return _answer(rejected, str(faults[0]) if faults else "", kind)


def _port_of(address: str) -> int:
    """Return the port of an address of this machine.

    Raises:
        ConfigurationError: it is none.
    """
    host, _, port = address.removeprefix("http://").rstrip("/").rpartition(":")
    if host not in _HERE or not port.isdecimal() or not port.isascii() or int(port[:6]) >= 2**16:
        raise ConfigurationError(
            f"address: found {address[:80]!r}; expected an address and port of this machine, as {ADDRESS}: whoever "
            "reaches the address can send traces, so only programs on this machine may"
        )
    return int(port)


# Requests.


class _Refused(Exception):
    """A request that cannot be used: the HTTP status, and what was found and expected."""


class _Server(ThreadingHTTPServer):
    """Takes many connections at once."""

    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing of a client that hangs up: it sends again what was not answered."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers requests for a receiver."""

    receiver: TraceReceiver
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "raglift", ""
    timeout = _SECONDS

    def do_POST(self) -> None:
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        kind = _PROTOBUF if kind == "application/protobuf" else kind
        try:
            answer = self._answer(kind)
        except _Refused as refused:
            status, message = refused.args
            self.close_connection = True
            self._send(status, json.dumps({"message": printable(message)}).encode(), _JSON)
        else:
            self._send(200, answer, kind)

    def _answer(self, kind: str) -> bytes:
        if self.headers.get("transfer-encoding", "").strip().lower() == "chunked":
            body = self._chunked()
        else:
            body = self._sized(self.headers.get("content-length", ""))
        # A name that was made to point here, as a page in a browser could have it
        host = self.headers.get("host", "").rpartition(":")[0] or self.headers.get("host", "")
        if host not in _HERE:
            raise _Refused(403, f"found the host {host[:80]!r}; expected an address of this machine")
        if self.path in ("/v1/metrics", "/v1/logs"):
            return b"{}" if kind == _JSON else b""
        if self.path != "/v1/traces":
            raise _Refused(404, f"found the path {self.path[:80]!r}; expected /v1/traces")
        try:
            return self.receiver.take(body, kind, self.headers.get("content-encoding", "").strip().lower())
        except MissingDependency as error:
            raise _Refused(415, str(error)) from None
        except OSError as error:  # an exporter sends again what it was answered so
            raise _Refused(503, f"the file cannot be written: {error.strerror or error}") from None

    def _sized(self, size: str) -> bytes:
        left = int(size) if size.isdecimal() and len(size) < 20 else MOST_BYTES + 1
        if left > MOST_BYTES:
            while size.isdecimal() and left > 0:  # a client that still sends would not hear the answer
                left -= len(self.rfile.read(min(left, 2**20))) or left
            raise _Refused(413, f"found a request of {size[:20] or 'unknown'} bytes; expected at most {MOST_BYTES:,}")
        return self.rfile.read(left)

    def _chunked(self) -> bytes:
        """Return a body that is sent in pieces, each after a line with its size, as exporters that compress do."""
        parts, total = [], 0
        while True:
            line = self.rfile.readline(100).partition(b";")[0].strip()
            try:
                size = int(line, 16)
            except ValueError:
                raise _Refused(400, f"found {line[:20]!r} as the size of a chunk; expected a hexadecimal one") from None
            total += size
            if size < 0 or total > MOST_BYTES:
                raise _Refused(413, f"found a request of more bytes; expected at most {MOST_BYTES:,}")
            parts.append(self.rfile.read(size))
            self.rfile.readline(100)
            if not size:
                return b"".join(parts)

    def _send(self, status: int, answer: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _spans_of_request(
    body: bytes, kind: str, encoding: str, faults: list[Fault], options: Options
) -> tuple[list[RawSpan], int]:
    """Return the spans of a request, and how many could not be used."""
    data, location = _unpacked(body, encoding), Location("the request", faults)
    if kind == _PROTOBUF:
        request = _from_protobuf(data)
    elif kind == _JSON:
        text = decode_text(data, location)
        request = None if text is None else parse_text(text, location)
        if request is None:
            raise _Refused(400, str(faults[-1]))
    else:
        raise _Refused(415, f"found the content type {kind[:80]!r}; expected {_JSON} or {_PROTOBUF}")
    found = spans_of(request, location, options)
    if found is None and request:  # without any, some exporters look whether somebody listens
        raise _Refused(400, "found no resourceSpans; expected a request of OTLP to export traces")
    return list(found or ()), len(faults)


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise _Refused(415, f"found the content encoding {encoding[:80]!r}; expected gzip or none")
    unpacking = zlib.decompressobj(_GZIP)
    try:
        data = unpacking.decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise _Refused(400, f"found a body that is no gzip ({error})") from None
    if len(data) > MOST_BYTES:
        raise _Refused(413, f"found a body that unpacks to more than {MOST_BYTES:,} bytes; expected smaller batches")
    if not unpacking.eof:
        raise _Refused(400, "found gzip that ends too early")
    return data


def _from_protobuf(data: bytes) -> Any:
    """Return a request in protobuf as the JSON of OTLP, in which ids are hexadecimal."""
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        raise MissingDependency("opentelemetry-proto", "trace", "receiving traces as protobuf") from None
    try:
        request = MessageToDict(ExportTraceServiceRequest.FromString(data))
    except (DecodeError, RecursionError, ValueError) as error:
        raise _Refused(400, f"found a body that is no protobuf of OTLP ({type(error).__name__})") from None
    for resource in request.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                ids = {name: span[name] for name in ("traceId", "spanId", "parentSpanId") if name in span}
                span |= {name: base64.b64decode(encoded).hex() for name, encoded in ids.items()}
    return request


def _answer(rejected: int, message: str, kind: str) -> bytes:
    """Return what is answered to a request that was taken: nothing, or how many spans were not, and why."""
    if kind == _PROTOBUF:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTracePartialSuccess,
            ExportTraceServiceResponse,
        )

        partial = ExportTracePartialSuccess(rejected_spans=rejected, error_message=message)
        return bytes(ExportTraceServiceResponse(partial_success=partial if rejected else None).SerializeToString())
    found = {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}} if rejected else {}
    return json.dumps(found).encode()


# The file, without secrets.


class _KeptSpans:
    """A file that spans are added to, one a line, as OpenTelemetry's SDK prints them.

    They are written before their request is answered, so that nothing is lost when the process is killed: what
    exporters were not answered, they send again. A line that a kill cut off is ended, and left out when it is read.
    """

    def __init__(self, path: Path) -> None:
        self._file = _opened(path)
        self.size = self._file.tell()
        self._secrets = KnownSecrets(secrets_of_environment())

    def add(self, spans: Iterable[RawSpan]) -> None:
        lines = (json.dumps(_as_json(span, self._secrets), ensure_ascii=False) + "\n" for span in spans)
        data = encodable("".join(lines)).encode()
        before, left = self._file.seek(0, os.SEEK_END), memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            self._file.truncate(before)  # the next line would be lost with one that is cut off
            raise
        self.size += len(data)

    def close(self) -> None:
        self._file.close()


def _opened(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Questions and documents are the users' own: nobody else on the machine reads them
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "a+b", buffering=0)
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # the process was killed while it wrote
                file.write(b"\n")
        file.seek(0, os.SEEK_END)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        fault = Fault(str(path), f"a file that cannot be written ({said})", "a place to write to: --keep FILE")
        raise DatasetError(str(path), [fault], "nothing was received") from None
    return file


def _as_json(span: RawSpan, known: KnownSecrets) -> dict[str, Any]:
    """Return a span with the attributes that are read, without secrets."""
    attributes = {name: _clean(name, value, known) for name, value in _needed(span.attributes)}
    status = {} if span.error is None else {"status_code": "ERROR", "description": known.cleared(span.error)}
    return {
        "name": known.cleared(span.name),
        "context": {"trace_id": span.trace_id, "span_id": span.span_id},
        "parent_id": span.parent_id,
        "start_time": span.start,
        "end_time": span.end,
        "status": status,
        "attributes": attributes,
        "droppedAttributesCount": span.dropped,
    }


def _needed(attributes: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield the attributes but for those whose content others have: a step's output, a model's messages as JSON."""
    kind = attributes.get("openinference.span.kind")
    left_out: tuple[str, ...] = ()
    if kind in ("CHAIN", "AGENT", "LLM"):
        left_out = ("output.value", "output.mime_type")
    if kind == "LLM" and numbered(attributes, "llm.input_messages") is not None:
        left_out += ("input.value",)
    return ((name, value) for name, value in attributes.items() if name not in left_out)


def _clean(name: str, value: Any, known: KnownSecrets) -> Any:
    """Return the value of an attribute without secrets of the environment, and those that are one by their name."""
    found = parsed(value) if isinstance(value, str) else None
    if isinstance(found, (dict, list)):
        hidden = without_secrets(found)
        value = value if hidden == found else json.dumps(hidden, ensure_ascii=False)
    return _cleared(without_secrets(value, name.rpartition(".")[2]), known)


def _cleared(value: Any, known: KnownSecrets) -> Any:
    if isinstance(value, str):
        return known.cleared(value)
    if isinstance(value, Mapping):
        return {name: _cleared(inner, known) for name, inner in value.items()}
    return [_cleared(inner, known) for inner in value] if isinstance(value, (list, tuple)) else value
