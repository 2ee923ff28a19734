"""What a row has at a path, `outputs.contexts`: in objects, in each item of a list, and in what a cell holds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from raglift.utilities.strict_files import parse_list_or_object
from raglift.utilities.validation import Location

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.datasets.formats.rows import Row


JSON, LITERAL = "json", "literal"
"""Decodings of a cell besides separators: JSON, and a literal as Python writes it."""


class Item(NamedTuple):
    """A value, and where it is."""

    value: Any
    location: Location


class Found(NamedTuple):
    """What a path leads to."""

    items: list[Item]
    is_list: bool

    @property
    def is_missing(self) -> bool:
        """Whether there is a blank or a null instead of a value."""
        value = None if self.is_list else self.items[0].value
        return not self.is_list and (value is None or (isinstance(value, str) and not value.strip()))


def at_path(row: Row, path: str) -> Found | None:
    """Return what a row has at a path, `outputs.contexts`; None if it has nothing there.

    A field that has the whole path as its name comes first. Of a list the path goes on in each item, and in a cell in
    what it holds as JSON or as a literal of Python's. What a row does not have, the object around it may.
    """
    scope: Row | None = row
    names = path.split(".")
    while scope is not None:
        if path in scope.values:
            return Found([Item(scope.values[path], scope.location / path)], is_list=False)
        if names[0] in scope.values:
            return _walked(scope.values[names[0]], names[1:], scope.location / names[0])
        scope = scope.outer
    return None


def _walked(value: Any, names: Sequence[str], location: Location) -> Found | None:
    if not names:
        return Found([Item(value, location)], is_list=False)
    if isinstance(value, str):
        value = parsed(value, (JSON, LITERAL))
    if isinstance(value, dict):
        return _walked(value[names[0]], names[1:], location / names[0]) if names[0] in value else None
    if not isinstance(value, list):
        return None
    items: list[Item] = []
    for index, each in enumerate(value):
        here = location / index
        part = _walked(each, names, here)
        # Where others have a value, or nothing could have one, it is for the field to say what it expected
        missing = Item(None, here / names[0]) if isinstance(each, dict) else Item(each, here)
        items += [missing] if part is None else part.items
    if items and all(item.value is None for item in items):
        return None
    return Found(items, is_list=True)


def looks_like_list(value: Any) -> bool:
    """Whether a value is a text with the brackets of a list or an object around it."""
    return isinstance(value, str) and value.strip()[:1] + value.strip()[-1:] in ("[]", "{}")


def parsed(text: str, ways: Sequence[str]) -> Any:
    """Return the list or object that a text is as JSON or as a literal of Python's; the text if it is neither."""
    if not looks_like_list(text):
        return text
    value = parse_list_or_object(text, Location("", [])) if JSON in ways else None
    if value is None and LITERAL in ways:
        try:
            value = ast.literal_eval(text.strip())  # of constants alone: nothing is called
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return text
    return text if value is None else value
