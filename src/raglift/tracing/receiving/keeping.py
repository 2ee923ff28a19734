"""The file in which received spans are kept as they come: lines of OTLP's JSON, without secrets."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from raglift.errors import DatasetError, Fault
from raglift.tracing.attributes import numbered, parsed, without_secrets
from raglift.utilities.display import encodable
from raglift.utilities.limits import most_bytes
from raglift.utilities.secrets import KnownSecrets, secrets_of_environment

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import BinaryIO

    from raglift.tracing.spans import RawSpan


class KeptSpans:
    """A file that spans are added to, one line a request.

    Each line is written before its request is answered, so that nothing is lost when the process is killed: what
    exporters were not answered, they send again. A line that a kill cut off is ended, and left out when it is read.

    Args:
        path: the file; made where there is none, and else added to.

    Raises:
        DatasetError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _opened(path)
        self.size = self._file.tell()
        """Its bytes."""
        self._secrets = KnownSecrets(secrets_of_environment())

    @property
    def is_full(self) -> bool:
        """Whether it has as many bytes as are read of one file."""
        return self.size >= most_bytes()

    def add(self, spans: Iterable[RawSpan]) -> None:
        """Add spans as one line.

        Args:
            spans: what came with one request.

        Raises:
            OSError: the disk is full, or fails.
        """
        kept = [_as_json(span, self._secrets) for span in spans]
        if not kept:
            return
        line = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": kept}]}]}, ensure_ascii=False)
        data = encodable(line).encode() + b"\n"
        self._file.write(data)
        self._file.flush()
        self.size += len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _opened(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Questions and documents are the users' own: nobody else on the machine reads them
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "a+b")
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # the process was killed while it wrote
                file.write(b"\n")
                file.flush()
        file.seek(0, os.SEEK_END)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        fault = Fault(str(path), f"a file that cannot be written ({said})", "a place to write to: --keep FILE")
        raise DatasetError(str(path), [fault], "nothing was received") from None
    return file


def _as_json(span: RawSpan, known: KnownSecrets) -> dict[str, Any]:
    """Return a span in OTLP's JSON with the attributes that are read, without secrets."""
    found: dict[str, Any] = {"traceId": span.trace_id, "spanId": span.span_id}
    if span.parent_id is not None:
        found["parentSpanId"] = span.parent_id
    found["name"] = known.cleared(span.name)
    for name, time in (("startTimeUnixNano", span.start), ("endTimeUnixNano", span.end)):
        if time is not None:
            found[name] = str(time)
    if span.error is not None:
        found["status"] = {"code": 2, "message": known.cleared(span.error)}
    found["attributes"] = [
        {"key": name, "value": _any_value(_clean(name, value, known))} for name, value in _needed(span.attributes)
    ]
    if span.dropped:
        found["droppedAttributesCount"] = span.dropped
    return found


def _needed(attributes: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield the attributes but for those whose content others have: a step's output, a model's messages as JSON."""
    kind = attributes.get("openinference.span.kind")
    left_out: tuple[str, ...] = ()
    if kind in ("CHAIN", "AGENT"):
        left_out = ("output.value", "output.mime_type")
    elif kind == "LLM":
        has_messages = numbered(attributes, "llm.input_messages") is not None
        left_out = ("output.value", "output.mime_type", *(("input.value",) if has_messages else ()))
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
    if isinstance(value, (list, tuple)):
        return [_cleared(inner, known) for inner in value]
    return value


def _any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [_any_value(each) for each in value]}}
    if isinstance(value, Mapping):
        return {
            "kvlistValue": {"values": [{"key": str(name), "value": _any_value(each)} for name, each in value.items()]}
        }
    return {"stringValue": value if isinstance(value, str) else ""}
