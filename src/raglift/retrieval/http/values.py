"""Single values of a hit, each read as what it should be: a text, an id, a place in a document, a score."""

from __future__ import annotations

import math
from typing import Any

from raglift.retrieval.http.shapes import kind_of

__all__ = ["OtherShape", "UnfitField", "identity_of", "is_integer", "offset_of", "score_of", "text_of", "unwrapped"]

_MOST_CHARACTERS = 10**18
"""No text has so many; a saved evaluation and arrays hold no larger number."""


class OtherShape(Exception):
    """An answer of another shape: what was found, what was expected, and what the hits have, where that is known."""

    def __init__(self, found: str, expected: str, known: str = "") -> None:
        super().__init__(found)
        self.found, self.expected, self.known = found, expected, known


class UnfitField(OtherShape):
    """A field of a hit that is not what it should be.

    Args:
        name: of the field, as `doc_id`.
    """

    def __init__(self, name: str, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.name = name


def unwrapped(value: Any) -> Any:
    """Return the only item of a list of one: so Elasticsearch and Solr return fields."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def text_of(value: Any, place: int) -> str:
    """Return the text of the hit at a place.

    Raises:
        UnfitField: it is something else.
    """
    text = unwrapped(value)
    if not isinstance(text, str):
        what = "no text" if text is None else f"{kind_of(text)} for a text"
        raise UnfitField("text", f"hit {place + 1} has {what}", "a text in every hit: name its field as text")
    return text


def identity_of(value: Any, name: str, place: int) -> str | None:
    """Return an id as text; None for none.

    Raises:
        UnfitField: it is something else.
    """
    value = unwrapped(value)
    if value is None or isinstance(value, str):
        return value
    if is_integer(value):
        return str(value)
    raise UnfitField(name, f"hit {place + 1} has {kind_of(value)} for {name}", "a text or an integer")


def offset_of(value: Any, name: str, place: int) -> int | None:
    """Return a number of characters; None where it is not known.

    Raises:
        UnfitField: it is something else.
    """
    value = unwrapped(value)
    if value is None or (is_integer(value) and abs(value) < _MOST_CHARACTERS):
        return None if value is None or value < 0 else int(value)  # LangChain says -1 where it does not know
    raise UnfitField(name, f"hit {place + 1} has {kind_of(value)} for {name}", "an integer: a number of characters")


def score_of(value: Any, place: int) -> float | None:
    """Return a score; None for none.

    Raises:
        UnfitField: it is something else.
    """
    value = unwrapped(value)
    if value is None:
        return None
    try:
        number = math.nan if isinstance(value, (bool, list, dict)) else float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UnfitField("score", f"hit {place + 1} has {kind_of(value)} for score", "a number")
    return number


def is_integer(value: Any) -> bool:
    """Whether a value of JSON is an integer."""
    return isinstance(value, int) and not isinstance(value, bool)
