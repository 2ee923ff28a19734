"""The fields of exported spans: ids, times and errors, each checked, with the location of what is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from raglift.tracing.attributes import LONGEST_VALUE, is_read
from raglift.utilities.display import shorten
from raglift.utilities.validation import shown

if TYPE_CHECKING:
    from typing import NoReturn

    from raglift.tracing.spans import Options
    from raglift.utilities.validation import Location


_LONGEST_ID, _LONGEST_NAME, _LONGEST_ERROR = 200, 300, 1_000
_LATEST = 2**63
_HEX_LENGTHS = (16, 32)
_DIGITS = re.compile(r"\d{1,19}(?:\.0+)?")
_DEEPEST = 30


class Damaged(Exception):
    """A span that cannot be used; the fault is noted."""


@dataclass(frozen=True)
class SpanReader:
    """Reads the fields of one exported span."""

    entry: Mapping[str, Any]
    """The span, as its file has it."""
    location: Location
    """Where it is, for faults."""
    options: Options
    """How spans are read."""

    def identity(self, *names: str, required: bool = True) -> str | None:
        """Return the id under the first of several names that is set; None where it may be missing, and is.

        Raises:
            Damaged: there is none, or it is no id.
        """
        for name in names:
            value: Any = self.entry
            for part in name.split("/"):
                value = value.get(part) if isinstance(value, Mapping) else None
            if value is None or value == "":
                continue
            if not isinstance(value, str) or len(value) > _LONGEST_ID:
                self.fault(name.replace("/", "."), shown(value), "an id: a text")
            text = value[2:] if value[:2].lower() == "0x" else value
            if text.strip("0") or len(text) not in _HEX_LENGTHS:  # what is all zeros stands for no id
                return str(text)
        if not required:
            return None
        self.fault(names[0].replace("/", "."), "nothing", "the id of the span")
        return None

    def name(self, field: str = "name") -> str:
        """Return what the span is called; empty where it has no name."""
        value = self.entry.get(field)
        return shorten(value, _LONGEST_NAME) if isinstance(value, str) else ""

    def nanoseconds(self, name: str) -> int | None:
        """Return a time in nanoseconds since 1970, written as an integer or as its digits; None for none.

        Raises:
            Damaged: it is something else.
        """
        value = self.entry.get(name)
        if value is None or value == "":
            return None
        number = int(value.partition(".")[0]) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
            self.fault(name, shown(value), "nanoseconds since 1970: an integer, 0 or more")
        if not 0 <= number < _LATEST:
            self.fault(name, shown(value), "nanoseconds since 1970: an integer, 0 or more")
        return int(number) or None

    def instant(self, *names: str) -> int | None:
        """Return a time that is written as ISO 8601, or as milliseconds since 1970; None for none.

        Raises:
            Damaged: it is something else.
        """
        name = next((name for name in names if self.entry.get(name) not in (None, "")), None)
        if name is None:
            return None
        value = self.entry[name]
        if isinstance(value, datetime):
            return _since_1970(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _LATEST / 1e6:
            return int(value * 1_000_000)
        try:
            return _since_1970(datetime.fromisoformat(value))
        except (TypeError, ValueError, OverflowError):
            self.fault(name, shown(value), "a time, as 2026-01-31T12:00:00Z")

    def duration(self, start: int | None, end: int | None) -> tuple[int | None, int | None]:
        """Return when a span began and ended.

        Raises:
            Damaged: it ended before it began.
        """
        if start is not None and end is not None and end < start:
            self.fault("", f"a span that ends {(start - end) / 1e9:.3f} s before it begins", "an end after its start")
        return start, end

    def attributes(self, found: Any) -> dict[str, Any]:
        """Return those attributes of a mapping that are read.

        Raises:
            Damaged: it is no mapping.
        """
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            self.fault("attributes", shown(found), "an object")
        return dict(self.needed((str(name), value) for name, value in found.items()))

    def needed(self, found: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Yield the names and values of attributes that are read.

        Raises:
            Damaged: one is longer than what is read.
        """
        for name, value in found:
            if value is None:
                continue
            if not is_read(name, self.options.join_by):
                continue
            if isinstance(value, str) and len(value) > LONGEST_VALUE:
                self.fault(name, f"{len(value):,} characters", f"at most {LONGEST_VALUE:,}")
            yield name, value

    def fault(self, field: str, found: str, expected: str) -> NoReturn:
        """Note a fault.

        Raises:
            Damaged: always.
        """
        (self.location / field if field else self.location).fault(found, expected)
        raise Damaged


def _since_1970(time: datetime) -> int:
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    since = aware - datetime(1970, 1, 1, tzinfo=UTC)
    whole = since.days * 86_400 + since.seconds
    if whole < 0:
        raise ValueError("before 1970")
    return whole * 1_000_000_000 + since.microseconds * 1_000


def error_text(*said: Any) -> str:
    """Return what a failed span says of its error: the first line of the first text that is not empty."""
    for each in said:
        if isinstance(each, str) and each.strip():
            return shorten(each.strip().splitlines()[0], _LONGEST_ERROR)
    return "failed without a message"


def plain_value(value: Any, depth: int = 0) -> Any:
    """Return a value of OTLP's JSON (`{"stringValue": …}`) as what it stands for; None of what is none."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return None
    for name, each in value.items():
        match name:
            case "stringValue" | "string_value" | "boolValue" | "bool_value" | "doubleValue" | "double_value":
                return each
            case "intValue" | "int_value":
                if isinstance(each, str) and re.fullmatch(r"-?\d{1,19}", each):
                    return int(each)
                return each
            case "arrayValue" | "array_value":
                inner = each.get("values", []) if isinstance(each, Mapping) else []
                return [plain_value(one, depth + 1) for one in inner] if isinstance(inner, list) else None
            case "kvlistValue" | "kvlist_value":
                inner = each.get("values", []) if isinstance(each, Mapping) else []
                return dict(pairs_of(inner, depth + 1))
    return None


def pairs_of(listed: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of OTLP's list of attributes."""
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("key"), str):
            yield each["key"], plain_value(each.get("value"), depth)
