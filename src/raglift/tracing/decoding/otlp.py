"""Spans of OTLP's JSON, as exporters and collectors write them, and of `ReadableSpan.to_json()`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from raglift.tracing.decoding.fields import Damaged, SpanReader, error_text, pairs_of
from raglift.tracing.spans import RawSpan
from raglift.utilities.validation import shown

if TYPE_CHECKING:
    from raglift.tracing.spans import Options
    from raglift.utilities.validation import Location


_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_FAILED = (2, "2", "STATUS_CODE_ERROR", "ERROR", "StatusCode.ERROR", "error")


def spans_of(entry: Mapping[str, Any], location: Location, options: Options) -> Iterator[RawSpan] | None:
    """Return the spans of a request, of one resource, or one span; None for what is none of these.

    Args:
        entry: an object of the file.
        location: where it is.
        options: how spans are read.
    """
    name = next((name for name in _RESOURCES if name in entry), None)
    if name is not None:
        return _of_resources(entry[name], location / name, options)
    if any(name in entry for name in _SCOPES):
        return _of_scopes(entry, location, options)
    if "spanId" in entry and "traceId" in entry and "type" not in entry:
        return _one(entry, location, options, {})
    if isinstance(entry.get("context"), Mapping) and "attributes" in entry:
        return _of_sdk(entry, location, options)
    return None


def _of_resources(listed: Any, location: Location, options: Options) -> Iterator[RawSpan]:
    for resource, here in _objects(listed, location):
        yield from _of_scopes(resource, here, options)


def _of_scopes(resource: Mapping[str, Any], location: Location, options: Options) -> Iterator[RawSpan]:
    described = resource.get("resource")
    known = dict(pairs_of(described.get("attributes"))) if isinstance(described, Mapping) else {}
    inherited = (
        {options.join_by: known[options.join_by]} if options.join_by is not None and options.join_by in known else {}
    )
    for name in _SCOPES:
        for scope, here in _objects(resource.get(name), location / name):
            for span, place in _objects(scope.get("spans"), here / "spans"):
                yield from _one(span, place, options, inherited)


def _objects(listed: Any, location: Location) -> Iterator[tuple[Mapping[str, Any], Location]]:
    """Yield the objects of a list with their locations; what is no object, or no list, is a fault."""
    if listed is None:
        return
    if not isinstance(listed, list):
        location.fault(shown(listed), "a list of objects")
        return
    for number, each in enumerate(listed):
        if isinstance(each, Mapping):
            yield each, location / number
        else:
            (location / number).fault(shown(each), "an object")


def _one(
    entry: Mapping[str, Any], location: Location, options: Options, inherited: Mapping[str, Any]
) -> Iterator[RawSpan]:
    reader = SpanReader(entry, location, options)
    try:
        listed = entry.get("attributes")
        if listed is not None and not isinstance(listed, list):
            reader.fault("attributes", shown(listed), "a list of keys and values")
        start, end = reader.duration(
            reader.nanoseconds("startTimeUnixNano") or reader.nanoseconds("start_time_unix_nano"),
            reader.nanoseconds("endTimeUnixNano") or reader.nanoseconds("end_time_unix_nano"),
        )
        dropped = entry.get("droppedAttributesCount", entry.get("dropped_attributes_count", 0))
        yield RawSpan(
            reader.identity("traceId", "trace_id") or "",
            reader.identity("spanId", "span_id") or "",
            reader.identity("parentSpanId", "parent_span_id", required=False),
            reader.name(),
            start,
            end,
            _error(entry.get("status"), entry.get("events")),
            {**inherited, **dict(reader.needed(pairs_of(listed)))},
            str(location),
            dropped if isinstance(dropped, int) and dropped > 0 else 0,
        )
    except Damaged:
        return


def _of_sdk(entry: Mapping[str, Any], location: Location, options: Options) -> Iterator[RawSpan]:
    """Yield a span as the Python SDK prints it."""
    reader = SpanReader(entry, location, options)
    try:
        start, end = reader.duration(reader.instant("start_time"), reader.instant("end_time"))
        attributes = reader.attributes(entry.get("attributes"))
        if isinstance(entry.get("span_kind"), str):
            attributes.setdefault("openinference.span.kind", entry["span_kind"])
        status = entry.get("status", {"code": entry.get("status_code"), "message": entry.get("status_message")})
        yield RawSpan(
            reader.identity("context/trace_id") or "",
            reader.identity("context/span_id") or "",
            reader.identity("parent_id", required=False),
            reader.name(),
            start,
            end,
            _error(status, entry.get("events")),
            attributes,
            str(location),
        )
    except Damaged:
        return


def _error(status: Any, events: Any) -> str | None:
    if not isinstance(status, Mapping):
        return None
    if not any(status.get(name) in _FAILED for name in ("code", "status_code")):
        return None
    said = [status.get("message"), status.get("description")]
    for event in events if isinstance(events, list) else ():
        if isinstance(event, Mapping) and event.get("name") == "exception":
            listed = event.get("attributes")
            known = listed if isinstance(listed, Mapping) else dict(pairs_of(listed))
            said += [known.get("exception.message"), known.get("exception.type")]
    return error_text(*said)
