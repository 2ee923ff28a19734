"""What labels check when they are made: what is wrong is refused where it is written, not where it is scored."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from raglift.errors import DatasetError, Fault
from raglift.utilities.validation import Location, described

T = TypeVar("T")

FARTHEST = 10**18
"""No text is as long; a location beyond it fits into no array."""
_SHOWN = 20
# Letters and symbols by their category, which are drawn as nothing: the Hangul fillers, and Braille without dots
_INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0\u2800")
# Controls, format characters (zero-width spaces and joiners, byte-order marks), marks without a letter, white space
_WITHOUT_WORDS = frozenset({"Cc", "Cf", "Mn", "Me", "Zs", "Zl", "Zp"})


def has_words(text: str) -> bool:
    """Return whether a text has anything that a reader sees: not only white space and zero-width characters."""
    return (text[:1].isalnum() and text[0] not in _INVISIBLE) or any(map(_is_visible, text))


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in _WITHOUT_WORDS and character not in _INVISIBLE


def check_text(value: object, location: Location) -> None:
    """Note a fault unless a value is a text with words."""
    if not isinstance(value, str):
        location.fault(described(value), "a text")
    elif not has_words(value):
        location.fault(f"a text without a visible character {value[:_SHOWN]!a}", "a text with words")


def check_id(value: object, location: Location) -> None:
    """Note a fault unless a value is a text that is not blank, as ids and tags are."""
    if not isinstance(value, str) or not value.strip():
        location.fault(described(value), "a text that is not only white space")


def tuple_of(kind: type[T], value: object, location: Location) -> tuple[T, ...]:
    """Return a tuple or list as a tuple; a fault for anything else, and for each item of another class."""
    if not isinstance(value, (tuple, list)):
        location.fault(described(value), f"a tuple of objects of the class {kind.__name__}")
        return ()
    for index, item in enumerate(value):
        if not isinstance(item, kind):
            (location / index).fault(described(item), f"an object of the class {kind.__name__}")
    return tuple(value)


def raise_faults(made: str, faults: list[Fault]) -> None:
    """Raise if there are any faults."""
    if faults:
        raise DatasetError(made, faults, "it was not made")


def trusted(record: type[T], values: dict[str, Any]) -> T:
    """Return a record that is not checked: for what was checked before, as when it was saved.

    Args:
        record: its class, whose defaults are values and made by no factory.
        values: its fields; a missing one gets its default.
    """
    made = object.__new__(record)
    for name, default in defaults_of(record):
        object.__setattr__(made, name, values.get(name, default))
    return made


def _defaults_of(record: type) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, field.default) for field in fields(record))


defaults_of: Callable[[type], tuple[tuple[str, Any], ...]] = cache(_defaults_of)
"""Returns the names of a record's fields, each with its default; `MISSING` where it has none."""
