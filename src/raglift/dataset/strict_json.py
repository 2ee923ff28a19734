"""JSON read strictly: each field once, no NaN, no integers of a million digits; a fault says where."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from raglift.faults import quoted, shown

if TYPE_CHECKING:
    from typing import NoReturn

    from raglift.faults import Place

__all__ = ["gives_back", "parse_object", "parse_text"]

_INTEGERS = range(-(2**63), 2**64)
"""What 64 bits hold, with a sign or without: ids and hashes do, and Parquet, and most readers of JSON."""
_MOST_DIGITS = len(str(_INTEGERS.start))


class _NotStrictError(Exception):
    """JSON that Python would accept and raglift does not."""

    def __init__(self, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(found)


def parse_object(line: str, place: Place) -> dict[str, Any] | None:
    """Return the object on a line; None, and a fault, when it holds anything else.

    Args:
        line: the text of the line.
        place: the line.
    """
    return _parse(line, place, "the end of the line", "one JSON object on each line")


def parse_text(text: str, place: Place) -> dict[str, Any] | None:
    """Return the object that a whole file holds; None, and a fault with its line, when it holds anything else.

    Args:
        text: the text of the file.
        place: the file.
    """
    return _parse(text, place, "the end of the file", "one JSON object")


def gives_back(value: Any) -> bool:
    """Whether a value can be written as JSON and is read from it as the same."""
    try:
        return bool(_STRICT.decode(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError, RecursionError, _NotStrictError):
        return False


def _parse(text: str, place: Place, end: str, expected: str) -> dict[str, Any] | None:
    try:
        value = _STRICT.decode(text)
    except json.JSONDecodeError as error:
        rest = quoted(text[error.pos : error.pos + 20]) if error.pos < len(text) else end
        here = place if place.line is not None else place.at_line(error.lineno)
        (here / f"column {error.colno}").fault(f"{rest} ({error.msg[0].lower()}{error.msg[1:]})", expected)
    except _NotStrictError as error:
        place.fault(error.found, error.expected)
    except RecursionError:
        place.fault("lists or objects nested too deeply to read", "facts, and lists of alternatives in them")
    else:
        if isinstance(value, dict):
            return value
        place.fault(shown(value), "a JSON object: {…}")
    return None


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise _NotStrictError(f"the field {quoted(name)} twice in one object", "each field once")
        fields[name] = value
    return fields


def _no_constant(name: str) -> NoReturn:
    raise _NotStrictError(name, "a number: JSON has no NaN and no Infinity")


def _short_integer(digits: str) -> int:
    # Their number first: to read a million digits takes long
    if len(digits) > _MOST_DIGITS or int(digits) not in _INTEGERS:
        raise _NotStrictError(f"an integer of {len(digits.lstrip('-'))} digits", "one that 64 bits hold")
    return int(digits)


_STRICT = json.JSONDecoder(object_pairs_hook=_unique_fields, parse_constant=_no_constant, parse_int=_short_integer)
