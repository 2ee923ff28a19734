"""Spans as Phoenix, MLflow, Langfuse and LangSmith export them, each with the attributes that its convention reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from raglift.base.validation import shown
from raglift.tracing.attributes import parsed
from raglift.tracing.decoding.fields import Damaged, SpanReader, error_text
from raglift.tracing.spans import RawSpan

if TYPE_CHECKING:
    from collections.abc import Callable

    from raglift.base.validation import Location
    from raglift.tracing.options import Options


_LANGFUSE_TYPES = (
    *("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"),
)


def spans_of(entry: Mapping[str, Any], location: Location, options: Options) -> Iterator[RawSpan] | None:
    """Return the spans of an object that one of the tools exported; None for what is none.

    Args:
        entry: an object of the file.
        location: where it is.
        options: how spans are read.
    """
    if "context.span_id" in entry or "context.trace_id" in entry:
        return _read(_phoenix, entry, location, options)
    whole = parsed(entry.get("trace"))
    if isinstance(whole, Mapping) and "data" in whole:  # a row of `mlflow.search_traces()`
        return _mlflow(whole, location / "trace", options)
    if "info" in entry and "data" in entry:
        return _mlflow(entry, location, options)
    if "run_type" in entry:
        return _read(_langsmith, entry, location, options)
    if isinstance(entry.get("observations"), list):
        return _langfuse_trace(entry, location, options)
    if str(entry.get("type", "")).upper() in _LANGFUSE_TYPES and ("traceId" in entry or "trace_id" in entry):
        return _read(_langfuse, entry, location, options)
    return None


def _read(one: Callable[[SpanReader], RawSpan], entry: Any, location: Location, options: Options) -> Iterator[RawSpan]:
    if not isinstance(entry, Mapping):
        location.fault(shown(entry), "an object")
        return
    try:
        yield one(SpanReader(entry, location, options))
    except Damaged:
        return


def _phoenix(reader: SpanReader) -> RawSpan:
    """A row of the data frame of spans: `context.span_id`, `parent_id`, `attributes.…`."""
    entry = reader.entry
    begin = "attributes."
    found = {name.removeprefix(begin): value for name, value in entry.items() if name.startswith(begin)}
    attributes = reader.attributes({name: _plain(value) for name, value in found.items()})
    if isinstance(entry.get("span_kind"), str):
        attributes.setdefault("openinference.span.kind", entry["span_kind"])
    start, end = reader.duration(reader.instant("start_time"), reader.instant("end_time"))
    failed = entry.get("status_code") == "ERROR"
    return RawSpan(
        reader.identity("context.trace_id") or "",
        reader.identity("context.span_id") or "",
        reader.identity("parent_id", required=False),
        reader.name(),
        start,
        end,
        error_text(entry.get("status_message")) if failed else None,
        attributes,
        str(reader.location),
    )


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a data frame as an object of JSON, without what is missing."""
    values = {str(name): _plain(value) for name, value in row.items()}
    return {name: value for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    """Return a value of a data frame as JSON would have it: arrays as lists, and what is missing as None."""
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if value is None or (isinstance(value, (float, datetime)) and value != value):  # NaN, and NaT of pandas
        return None
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _mlflow(entry: Mapping[str, Any], location: Location, options: Options) -> Iterator[RawSpan]:
    """Yield the spans of a trace of MLflow: `{"info": …, "data": {"spans": […]}}`."""
    info = entry.get("info")
    info = info if isinstance(info, Mapping) else {}
    data = parsed(entry.get("data"))
    listed = data.get("spans") if isinstance(data, Mapping) else None
    if not isinstance(listed, list):
        (location / "data").fault(shown(data), "the spans of a trace of MLflow, as Trace.to_json() writes them")
        return
    about: dict[str, Any] = {}
    for name in ("trace_metadata", "request_metadata", "tags"):
        known = info.get(name)
        about |= known if isinstance(known, Mapping) else {}
    for number, span in enumerate(listed):
        yield from _read(lambda reader: _mlflow_span(reader, info, about), span, location / "spans" / number, options)


def _mlflow_span(reader: SpanReader, info: Mapping[str, Any], about: Mapping[str, Any]) -> RawSpan:
    entry = reader.entry
    trace_id = info.get("trace_id", info.get("request_id"))
    status = entry.get("status")
    status = status if isinstance(status, Mapping) else {}
    code = status.get("code", entry.get("status_code"))
    context = entry.get("context")
    start, end = reader.duration(
        reader.nanoseconds("start_time_unix_nano") or reader.nanoseconds("start_time"),
        reader.nanoseconds("end_time_unix_nano") or reader.nanoseconds("end_time"),
    )
    attributes = reader.attributes(entry.get("attributes"))
    # Attributes of MLflow are JSON, one by one; those that a query is joined by are compared as they are
    attributes |= {"metadata": json.dumps({str(name): value for name, value in about.items()}, default=str)}
    own = reader.identity("span_id", "context/span_id")
    if not isinstance(trace_id, str):
        trace_id = context.get("trace_id") if isinstance(context, Mapping) else entry.get("trace_id")
    if not isinstance(trace_id, str):
        reader.fault("trace_id", shown(trace_id), "the id of the trace")
    return RawSpan(
        str(trace_id),
        own or "",
        reader.identity("parent_span_id", "parent_id", required=False),
        reader.name(),
        start,
        end,
        error_text(status.get("message"), entry.get("status_message"))
        if code in ("ERROR", "STATUS_CODE_ERROR")
        else None,
        attributes,
        str(reader.location),
    )


def _langfuse_trace(entry: Mapping[str, Any], location: Location, options: Options) -> Iterator[RawSpan]:
    """Yield the observations of a trace of Langfuse, with the metadata and tags of the trace."""
    known = {
        "langfuse.trace.metadata": entry.get("metadata"),
        "langfuse.trace.tags": entry.get("tags"),
        "langfuse.trace.input": entry.get("input"),
    }
    trace_id = entry.get("id")
    for number, each in enumerate(entry["observations"]):
        full = {**each, "traceId": each.get("traceId") or trace_id} if isinstance(each, Mapping) else each
        for span in _read(_langfuse, full, location / "observations" / number, options):
            about = dict(SpanReader({}, location, options).needed(iter(known.items())))
            if span.parent_id is not None:
                about.pop("langfuse.trace.input", None)
            yield RawSpan(**{**vars(span), "attributes": {**about, **span.attributes}})


def _langfuse(reader: SpanReader) -> RawSpan:
    """An observation of Langfuse, as its API, its exports and its storage have it."""
    entry = reader.entry

    def given(*names: str) -> Any:
        return next((entry[name] for name in names if entry.get(name) is not None), None)

    start, end = reader.duration(reader.instant("startTime", "start_time"), reader.instant("endTime", "end_time"))
    found = {
        "langfuse.observation.type": str(entry.get("type", "")).lower(),
        "langfuse.observation.input": entry.get("input"),
        "langfuse.observation.output": entry.get("output"),
        "langfuse.observation.metadata": entry.get("metadata"),
        "langfuse.trace.tags": given("traceTags", "tags"),
        "langfuse.observation.usage_details": given("usageDetails", "usage_details", "usage"),
    }
    if reader.options.join_by is not None:
        found[reader.options.join_by] = entry.get(reader.options.join_by)
    failed = str(entry.get("level", "")).upper() == "ERROR"
    return RawSpan(
        reader.identity("traceId", "trace_id") or "",
        reader.identity("id") or "",
        reader.identity("parentObservationId", "parent_observation_id", required=False),
        reader.name(),
        start,
        end,
        error_text(given("statusMessage", "status_message")) if failed else None,
        reader.attributes(found),
        str(reader.location),
    )


def _langsmith(reader: SpanReader) -> RawSpan:
    """A run of LangSmith, as the SDK and the exports of runs have it."""
    entry = reader.entry
    extra = parsed(entry.get("extra"))
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else entry.get("metadata")
    found = {
        "langsmith.span.kind": entry.get("run_type"),
        "langsmith.inputs": entry.get("inputs"),
        "langsmith.outputs": entry.get("outputs"),
        "langsmith.span.tags": entry.get("tags"),
        "gen_ai.usage.input_tokens": entry.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": entry.get("completion_tokens"),
    }
    known = parsed(metadata)
    if isinstance(known, Mapping):
        found |= {f"langsmith.metadata.{name}": value for name, value in known.items()}
    if reader.options.join_by is not None:
        found[reader.options.join_by] = entry.get(reader.options.join_by)
    start, end = reader.duration(reader.instant("start_time"), reader.instant("end_time"))
    failed = entry.get("error")
    return RawSpan(
        reader.identity("trace_id", "id") or "",
        reader.identity("id") or "",
        reader.identity("parent_run_id", required=False),
        reader.name(),
        start,
        end,
        error_text(failed) if failed else None,
        reader.attributes(found),
        str(reader.location),
    )
