"""What the fields of a saved record hold: one kind of value each, and nothing else is taken for it.

Records are dataclasses, which take anything; a text where a number should be would be told of much later, by whatever
first counts with it. So a record is checked before it is built.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from raglift.faults import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "FLAG",
    "INTEGER",
    "NUMBER",
    "OBJECT",
    "TEXT",
    "Kind",
    "WrongKind",
    "check_record",
    "count_from",
    "list_of",
    "object_of",
    "or_null",
    "perhaps",
]

_MOST = 10**18
"""As in labels, an integer has at most 18 digits: what is larger fits into no array."""
_NOT_FINITE = ("nan", "inf", "-inf")
"""How numbers are saved that JSON has none of."""


class WrongKind(ValueError):
    """A field holds something else than is ever written there."""


@dataclass(frozen=True)
class Kind:
    """One kind of value."""

    words: str
    """What it is called in a message: `a text`."""
    fits: Callable[[Any], bool]
    """Whether a value is of the kind."""
    may_lack: bool = False
    """Whether the field may be left out."""


def check_record(value: Any, kinds: Mapping[str, Kind], where: str = "", *, with_others: bool = False) -> None:
    """Check that a value is an object with these fields.

    Args:
        value: what was read.
        kinds: of each field.
        where: the field that holds the object, for the message; empty for a whole line or file.
        with_others: whether it may have other fields too.

    Raises:
        WrongKind: it is no object; a field is missing, or not known, or holds another kind of value.
    """
    if not isinstance(value, dict):
        raise WrongKind(f"{where}: found {shown(value)}; expected an object" if where else _no_object(value))
    inside = f"{where}." if where else ""
    for name, kind in kinds.items():
        if name in value:
            if not kind.fits(value[name]):
                raise WrongKind(f"{inside}{name}: found {shown(value[name])}; expected {kind.words}")
        elif not kind.may_lack:
            raise WrongKind(f"{inside}{name}: found none; expected {kind.words}")
    for name in () if with_others else value:
        if name not in kinds:
            raise WrongKind(f"{inside[:-1] or 'fields'}: found {quoted(name)}; expected only {', '.join(kinds)}")


def perhaps(kind: Kind) -> Kind:
    """Return the kind for a field that may be left out."""
    return replace(kind, may_lack=True)


def or_null(kind: Kind) -> Kind:
    """Return the kind that is also null."""
    return Kind(f"{kind.words} or null", lambda value: value is None or kind.fits(value), kind.may_lack)


def list_of(kind: Kind, at_least: int = 0) -> Kind:
    """Return the kind of lists of a kind."""
    several = f"a list of {at_least} or more" if at_least else "a list"
    return Kind(
        f"{several}, each {kind.words}",
        lambda value: isinstance(value, list) and len(value) >= at_least and all(map(kind.fits, value)),
    )


def object_of(kind: Kind) -> Kind:
    """Return the kind of objects whose fields are all of a kind, whatever their names."""
    return Kind(
        f"an object, each field {kind.words}",
        lambda value: isinstance(value, dict) and all(map(kind.fits, value.values())),
    )


def count_from(least: int, most: int = _MOST - 1) -> Kind:
    """Return the kind of integers in a range."""
    words = f"an integer, {least} or more" if most >= _MOST - 1 else f"an integer from {least} to {most}"
    return Kind(words, lambda value: type(value) is int and least <= value <= most)


def _no_object(value: Any) -> str:
    return f"found a {type(value).__name__}; expected an object"


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return abs(value) < _MOST
    return isinstance(value, float) or value in _NOT_FINITE


TEXT = Kind("a text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
INTEGER = Kind("an integer of at most 18 digits", lambda value: type(value) is int and abs(value) < _MOST)
NUMBER = Kind("a number", _is_number)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
