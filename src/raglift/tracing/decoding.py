"""Spans from files: OTLP's JSON, spans as the Python SDK prints them, and rows of other exports by a mapping.

A file is one JSON value, or lines of JSON, also packed with gzip.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from raglift.errors import ConfigurationError, DatasetError, Fault
from raglift.tracing.attributes import is_read, parsed
from raglift.tracing.spans import Options, RawSpan
from raglift.utilities.display import shorten
from raglift.utilities.limits import allowed, is_folder, most_bytes, user_path
from raglift.utilities.strict_files import decode_text, lines_of, parse_list_or_object, parse_object
from raglift.utilities.validation import Location, shown

# Files.


_LONGEST_LINE = 256 * 2**20
_GZIP = b"\x1f\x8b"
_LINES = (".jsonl", ".ndjson", ".jsonlines")
_LISTS = ("data", "traces", "spans", "results", "items")
_DEEPEST_LIST = 4
_FORMS = (
    "a trace: OTLP (resourceSpans) or a span of OpenTelemetry; of another export, columns (--column) say what is what"
)


def files_in(given: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a path stands for: itself, or those of a folder, in the order of their names.

    Raises:
        DatasetError: a folder without files of traces.
    """
    path = user_path(given)
    if not is_folder(path):
        return [path]
    endings = (".json", *_LINES)
    found = sorted(each for each in path.iterdir() if each.name.lower().removesuffix(".gz").endswith(endings))
    if not found:
        raise DatasetError(str(path), [Fault(str(path), "a folder without traces", "files .json, .jsonl or .json.gz")])
    return found


def spans_in(path: Path, faults: list[Fault], options: Options) -> Iterator[RawSpan]:
    """Yield the spans of a file; what cannot be read is noted, and the rest is read.

    Args:
        path: the file.
        faults: where every fault is noted.
        options: how spans are read.
    """
    location = Location(path.name, faults)
    try:
        for entry, here in _values(path, location):
            yield from _spans_of_value(entry, here, options)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        location.fault(f"gzip that ends too early or is damaged ({error})", "the whole file")
    except OSError as error:
        location.fault(f"no readable file ({error.strerror or error})", f"a readable file at {path}")


def _values(path: Path, location: Location) -> Iterator[tuple[Any, Location]]:
    """Yield the JSON values of a file: of each line, or of the whole where no line has one for itself."""
    if _has_lines(path):
        with _opened(path) as file:
            for here, line in lines_of(file, location, longest=_LONGEST_LINE):
                if (value := parse_object(line, here)) is not None:
                    yield value, here
        return
    with _opened(path) as file:
        data = file.read(most_bytes() + 1)
    if len(data) > most_bytes():
        location.fault(f"more than {most_bytes():,} bytes", allowed())
        return
    text = decode_text(data, location)
    whole = None if text is None else parse_list_or_object(text, location)
    if whole is not None:
        yield whole, location


def _has_lines(path: Path) -> bool:
    """Whether each line is JSON for itself, whatever the file is called: collectors call such files `.json`."""
    if path.name.lower().removesuffix(".gz").endswith(_LINES):
        return True
    with _opened(path) as file:
        first = file.readline(_LONGEST_LINE)
    try:
        text = first.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return isinstance(parse_list_or_object(text, Location("", [])), dict)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked if it is packed with gzip."""
    with path.open("rb") as file:
        is_packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        if not is_packed:
            yield file
            return
        with gzip.open(file, "rb") as unpacked:
            yield unpacked  # type: ignore[misc]


def _spans_of_value(entry: Any, location: Location, options: Options, depth: int = 0) -> Iterator[RawSpan]:
    """Yield the spans of one JSON value: a request, a span, a trace, or a list of these."""
    if isinstance(entry, list) and depth <= _DEEPEST_LIST:
        for number, each in enumerate(entry):
            yield from _spans_of_value(each, location / number, options, depth + 1)
        return
    if not isinstance(entry, Mapping):
        location.fault(shown(entry), _FORMS)
        return
    found = spans_of(entry, location, options)
    inner = next((name for name in _LISTS if isinstance(entry.get(name), list)), None)
    if inner is None and isinstance(entry.get("trace"), Mapping):  # the answer of Tempo
        inner = "trace"
    if found is not None:
        yield from found
    elif inner is not None and depth <= _DEEPEST_LIST:
        yield from _spans_of_value(entry[inner], location / inner, options, depth + 1)
    elif options.columns is not None:
        yield from _of_row(entry, location, options, options.columns)
    else:
        location.fault(shown(entry), _FORMS)


# Spans of OpenTelemetry.


_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_FAILED = (2, "2", "STATUS_CODE_ERROR", "ERROR", "StatusCode.ERROR", "error")


def spans_of(entry: Mapping[str, Any], location: Location, options: Options) -> Iterator[RawSpan] | None:
    """Return the spans of a request of OTLP, of one resource, or one span; None for what is none of these.

    Args:
        entry: an object of the file.
        location: where it is.
        options: how spans are read.
    """
    name = next((name for name in _RESOURCES if name in entry), None)
    if name is not None:
        resources = _objects(entry[name], location / name)
        return (span for resource, here in resources for span in _of_scopes(resource, here, options))
    if any(name in entry for name in _SCOPES):
        return _of_scopes(entry, location, options)
    if "spanId" in entry and "traceId" in entry and "type" not in entry:
        return _of_otlp(entry, location, options, {})
    if isinstance(entry.get("context"), Mapping) and "attributes" in entry:
        return _of_sdk(entry, location, options)
    return None


def _of_scopes(resource: Mapping[str, Any], location: Location, options: Options) -> Iterator[RawSpan]:
    about = resource.get("resource")
    known = dict(_pairs(about.get("attributes"))) if isinstance(about, Mapping) else {}
    inherited = {name: value for name, value in known.items() if name == options.join_by}
    for name in _SCOPES:
        for scope, here in _objects(resource.get(name), location / name):
            for span, place in _objects(scope.get("spans"), here / "spans"):
                yield from _of_otlp(span, place, options, inherited)


def _objects(listed: Any, location: Location) -> Iterator[tuple[Mapping[str, Any], Location]]:
    """Yield the objects of a list with their locations; what is no object, or no list, is a fault."""
    if listed is not None and not isinstance(listed, list):
        location.fault(shown(listed), "a list of objects")
        return
    for number, each in enumerate(listed or ()):
        if isinstance(each, Mapping):
            yield each, location / number
        else:
            (location / number).fault(shown(each), "an object")


def _of_otlp(
    entry: Mapping[str, Any], location: Location, options: Options, inherited: Mapping[str, Any]
) -> Iterator[RawSpan]:
    listed = entry.get("attributes")
    if listed is not None and not isinstance(listed, list):
        (location / "attributes").fault(shown(listed), "a list of keys and values")
        return
    attributes = {**inherited, **dict(_pairs(listed))}
    error = _error(entry.get("status"), entry.get("events"))
    yield from _checked(entry, location, options, _OTLP, attributes, error)


def _of_sdk(entry: Mapping[str, Any], location: Location, options: Options) -> Iterator[RawSpan]:
    """Yield a span as the Python SDK prints it."""
    attributes = entry.get("attributes")
    known = dict(attributes) if isinstance(attributes, Mapping) else {}
    if isinstance(entry.get("span_kind"), str):
        known.setdefault("openinference.span.kind", entry["span_kind"])
    status = entry.get("status", {"code": entry.get("status_code"), "message": entry.get("status_message")})
    yield from _checked(entry, location, options, _SDK, known, _error(status, entry.get("events")))


def _error(status: Any, events: Any) -> str | None:
    """Return what a failed span says of its error; None if it did not fail."""
    if not isinstance(status, Mapping) or not any(status.get(name) in _FAILED for name in ("code", "status_code")):
        return None
    said = [status.get("message"), status.get("description")]
    for event in events if isinstance(events, list) else ():
        if isinstance(event, Mapping) and event.get("name") == "exception":
            listed = event.get("attributes")
            known = listed if isinstance(listed, Mapping) else dict(_pairs(listed))
            said += [known.get("exception.message"), known.get("exception.type")]
    return _first_line(*said)


def _pairs(listed: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of OTLP's list of attributes."""
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("key"), str):
            yield each["key"], _plain_value(each.get("value"))


def _plain_value(value: Any) -> Any:
    """Return a value of OTLP's JSON (`{"stringValue": …}`) as what it stands for; None of what is none."""
    if not isinstance(value, Mapping):
        return None
    for name, each in value.items():
        match name.removesuffix("Value").removesuffix("_value"):
            case "string" | "bool" | "double":
                return each
            case "int":
                return int(each) if isinstance(each, str) and re.fullmatch(r"-?\d{1,19}", each) else each
            case "array":
                inner = each.get("values") if isinstance(each, Mapping) else None
                return [_plain_value(one) for one in inner] if isinstance(inner, list) else []
            case "kvlist":
                return dict(_pairs(each.get("values") if isinstance(each, Mapping) else None))
    return None


# Rows of a tool's own export: a mapping says which column is what.


_KINDS = {
    **dict.fromkeys(("agent", "invoke_agent"), "AGENT"),
    **dict.fromkeys(("chain", "workflow", "task", "span"), "CHAIN"),
    **dict.fromkeys(("llm", "chat_model", "generation", "chat", "model"), "LLM"),
    **{kind: kind.upper() for kind in ("retriever", "reranker", "tool", "embedding")},
}
"""What tools call kinds of spans, and what OpenInference calls them."""


@dataclass(frozen=True)
class SpanColumns:
    """In which column of a row each part of a span is; `extra.metadata.id` is a field of an object in a column."""

    trace: str = "trace_id"
    span: str = "span_id"
    parent: str = "parent_id"
    name: str = "name"
    kind: str = "kind"
    """An agent, chain, llm, retriever, reranker or tool."""
    input: str = "input"
    """A question, the arguments of a tool, the messages of a model: a text, or JSON."""
    output: str = "output"
    """What was returned: the documents of a retriever, the answer of a tool."""
    start: str = "start_time"
    """A time as ISO 8601, or milliseconds since 1970."""
    end: str = "end_time"
    error: str = "error"
    """Why it failed; empty if it did not."""
    prompt_tokens: str = "prompt_tokens"
    answer_tokens: str = "completion_tokens"

    @classmethod
    def of(cls, columns: Mapping[str, str]) -> SpanColumns:
        """Return the columns that a user names.

        Raises:
            ConfigurationError: a part that no span has, or a column that is no text.
        """
        known = [field.name for field in fields(cls)]
        for name, column in columns.items():
            if name not in known:
                raise ConfigurationError(f"columns: found {name!r}; expected parts of a span: {', '.join(known)}")
            if not isinstance(column, str) or not column:
                raise ConfigurationError(f"columns: {name}: found {column!r}; expected the name of a column")
        return cls(**columns)


def _of_row(row: Mapping[str, Any], location: Location, options: Options, columns: SpanColumns) -> Iterator[RawSpan]:
    """Yield the span of a row, with the attributes of OpenInference."""
    kind, error = str(_at(row, columns.kind) or ""), _at(row, columns.error)
    attributes = {
        "openinference.span.kind": _KINDS.get(kind.lower(), kind),
        "input.value": _at(row, columns.input),
        "output.value": _at(row, columns.output),
        "llm.token_count.prompt": _at(row, columns.prompt_tokens),
        "llm.token_count.completion": _at(row, columns.answer_tokens),
    }
    if options.join_by is not None:
        attributes[options.join_by] = _at(row, options.join_by)
    names = {part: (getattr(columns, part),) for part in ("trace", "span", "parent", "name", "start", "end")}
    yield from _checked(row, location, options, names, attributes, _first_line(error) if error else None)


# The parts of any span, each checked.


_OTLP = {
    "trace": ("traceId", "trace_id"),
    "span": ("spanId", "span_id"),
    "parent": ("parentSpanId", "parent_span_id"),
    "name": ("name",),
    "start": ("startTimeUnixNano", "start_time_unix_nano"),
    "end": ("endTimeUnixNano", "end_time_unix_nano"),
}
_SDK = {
    "trace": ("context.trace_id",),
    "span": ("context.span_id",),
    "parent": ("parent_id",),
    "name": ("name",),
    "start": ("start_time",),
    "end": ("end_time",),
}
_HEX_LENGTHS = (16, 32)
_LONGEST_ID, _LONGEST_NAME, _LONGEST_ERROR = 200, 300, 1_000
_NANOSECONDS_FROM = 10**15
"""Smaller numbers are milliseconds since 1970."""


class _Damaged(Exception):
    """A span that cannot be used: the field, what was found and what was expected."""


def _checked(
    entry: Mapping[str, Any],
    location: Location,
    options: Options,
    names: Mapping[str, tuple[str, ...]],
    attributes: Mapping[str, Any],
    error: str | None,
) -> Iterator[RawSpan]:
    """Yield a span if its parts can be used; else note the fault.

    Args:
        entry: the span, as its file has it.
        location: where it is.
        options: how spans are read.
        names: where each part is: the first of several that is set.
        attributes: all of its attributes.
        error: why it failed.
    """
    dropped = _at(entry, "droppedAttributesCount", "dropped_attributes_count")
    try:
        start, end = _times(entry, names)
        name = _at(entry, *names["name"])
        yield RawSpan(
            _id(entry, names["trace"]),
            _id(entry, names["span"]),
            _parent(entry, names["parent"]),
            shorten(name, _LONGEST_NAME) if isinstance(name, str) else "",
            start,
            end,
            error,
            {
                str(name): value
                for name, value in attributes.items()
                if value is not None and is_read(str(name), options.join_by)
            },
            str(location),
            dropped if isinstance(dropped, int) and dropped > 0 else 0,
        )
    except _Damaged as damage:
        field, found, expected = damage.args
        (location / field if field else location).fault(found, expected)


def _at(entry: Mapping[str, Any], *names: str) -> Any:
    """Return the first value that is set: of a field, or of a field of an object in it; None if there is none."""
    for name in names:
        field, _, rest = name.partition(".")
        inner = parsed(entry.get(field)) if rest and name not in entry else None
        value = _at(inner, rest) if isinstance(inner, Mapping) else entry.get(name)
        if value not in (None, ""):
            return value
    return None


def _id(entry: Mapping[str, Any], names: tuple[str, ...]) -> str:
    found = _parent(entry, names)
    if found is None:
        raise _Damaged(names[0], "nothing", "the id of the span")
    return found


def _parent(entry: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    value = _at(entry, *names)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > _LONGEST_ID:
        raise _Damaged(names[0], shown(value), "an id: a text")
    text = value[2:] if value[:2].lower() == "0x" else value
    return text if text.strip("0") or len(text) not in _HEX_LENGTHS else None  # all zeros stand for no id


def _times(entry: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]) -> tuple[int | None, int | None]:
    start, end = _time(entry, names["start"]), _time(entry, names["end"])
    if start is not None and end is not None and end < start:
        found = f"a span that ends {(start - end) / 1e9:.3f} s before it begins"
        raise _Damaged("", found, "an end after its start")
    return start, end


def _time(entry: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """Return a time in nanoseconds since 1970: of these, of milliseconds, or of ISO 8601."""
    value = _at(entry, *names)
    if value in (None, 0, "0"):
        return None
    try:
        if isinstance(value, str) and not value.isdecimal():
            time = datetime.fromisoformat(value)
            return int((time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp() * 1_000_000) * 1_000
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0:
        raise _Damaged(names[0], shown(value), "a time: nanoseconds or milliseconds since 1970, or ISO 8601")
    return number if number >= _NANOSECONDS_FROM else number * 1_000_000


def _first_line(*said: Any) -> str:
    """Return the first line of the first text that is not empty."""
    texts = (each.strip() for each in said if isinstance(each, str) and each.strip())
    return next((shorten(text.splitlines()[0], _LONGEST_ERROR) for text in texts), "failed without a message")
