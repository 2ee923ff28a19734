"""Requests of OTLP over HTTP: their bytes, JSON or protobuf, as spans; what is too large or no OTLP is refused."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import TYPE_CHECKING, Any

from raglift.errors import Fault, MissingDependency
from raglift.tracing.decoding import otlp
from raglift.utilities.strict_files import decode_text, parse_text
from raglift.utilities.validation import Location

if TYPE_CHECKING:
    from raglift.tracing.spans import Options, RawSpan


MOST_BYTES = 64 * 2**20
"""The bytes that a request may have, packed and unpacked: exporters send some hundred spans at a time."""
JSON, PROTOBUF = "application/json", "application/x-protobuf"
_GZIP = ("gzip", "x-gzip")
_ENDED = 31  # of zlib: gzip alone


class Refused(Exception):
    """A request that cannot be used.

    Args:
        status: the HTTP status.
        message: what was found and what was expected.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[1])


def spans_of_request(
    body: bytes, kind: str, encoding: str, faults: list[Fault], options: Options
) -> tuple[list[RawSpan], int]:
    """Return the spans of a request, and how many could not be used.

    Args:
        body: as it was sent.
        kind: its media type.
        encoding: how it is packed; empty for not at all.
        faults: where every fault is noted.
        options: how spans are read.

    Raises:
        Refused: it is no request of OTLP, or too large.
        MissingDependency: it is protobuf, and opentelemetry-proto is not installed.
    """
    data = _unpacked(body, encoding)
    known = len(faults)
    if kind == PROTOBUF:
        request: Any = _from_protobuf(data)
    elif kind == JSON:
        location = Location("the request", faults)
        text = decode_text(data, location)
        request = None if text is None else parse_text(text, location)
        if request is None:
            raise Refused(400, str(faults[-1]))
    else:
        raise Refused(415, f"found the content type {kind[:80]!r}; expected {JSON} or {PROTOBUF}")
    found = otlp.spans_of(request, Location("the request", faults), options)
    if found is None:
        if request == {}:  # of no spans, as some exporters look whether somebody listens
            return [], 0
        raise Refused(400, "found no resourceSpans; expected a request of OTLP to export traces")
    return list(found), len(faults) - known


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        return body
    if encoding not in _GZIP:
        raise Refused(415, f"found the content encoding {encoding[:80]!r}; expected gzip or none")
    unpacking = zlib.decompressobj(_ENDED)
    try:
        data = unpacking.decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise Refused(400, f"found a body that is no gzip ({error})") from None
    if len(data) > MOST_BYTES:
        raise Refused(413, f"found a body that unpacks to more than {MOST_BYTES:,} bytes; expected smaller batches")
    if not unpacking.eof:
        raise Refused(400, "found gzip that ends too early")
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
        raise Refused(400, f"found a body that is no protobuf of OTLP ({type(error).__name__})") from None
    for resource in request.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = _hexadecimal(span[name])
    return request


def _hexadecimal(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).hex()
    except (binascii.Error, ValueError):
        return encoded


def answer_of(rejected: int, message: str, kind: str) -> bytes:
    """Return what is answered to a request that was taken: nothing, or how many spans were not, and why.

    Args:
        rejected: how many spans could not be used.
        message: the first fault.
        kind: the media type of the request, which the answer has too.
    """
    if kind == PROTOBUF:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTracePartialSuccess,
            ExportTraceServiceResponse,
        )

        partial = ExportTracePartialSuccess(rejected_spans=rejected, error_message=message)
        return bytes(ExportTraceServiceResponse(partial_success=partial if rejected else None).SerializeToString())
    found = {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}} if rejected else {}
    return json.dumps(found).encode()
