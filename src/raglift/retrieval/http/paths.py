"""Dotted paths into JSON: `hits.hits`, `_source.text`, `documents.0`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

__all__ = ["MISSING", "ROOT", "Path", "ResponseFields", "follow", "parse_path", "path_text"]

Path: TypeAlias = tuple[str, ...]
"""The names, or places in a list as texts, that lead to a value; empty for the whole."""

ROOT = "."
"""What stands for the whole: the answer itself, or the hit itself."""


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What stands for a value that is not there; null is one that is."""


def parse_path(text: str | list[str]) -> Path:
    """Return the path that a text with dots, or a list of names (where a name has a dot in it), describes."""
    if isinstance(text, list):
        return tuple(text)
    return () if text == ROOT else tuple(text.split("."))


def path_text(path: Path) -> str:
    """Return a path as it is written."""
    return ".".join(path) or ROOT


def follow(value: Any, path: Path) -> Any:
    """Return what a path leads to; MISSING where it leads nowhere."""
    for name in path:
        if isinstance(value, dict):
            value = value.get(name, MISSING)
        elif isinstance(value, list) and name.isdecimal() and len(name) <= len(str(len(value))):
            value = value[int(name)] if int(name) < len(value) else MISSING
        else:
            return MISSING
    return value


@dataclass(frozen=True, kw_only=True)
class ResponseFields:
    """Where things are in an answer: dotted paths, or lists of names where a name has a dot in it.

    What is None is looked for under the usual names. A path that is given must lead somewhere in every answer that has
    hits, so a misspelt one is an error and no figure.
    """

    hits: str | list[str] | None = None
    """From the answer to the list of hits, as `hits.hits`; `.` for an answer that is the list."""
    text: str | list[str] | None = None
    """From a hit to its text, as `_source.body`; `.` for a hit that is a text."""
    id: str | list[str] | None = None
    """From a hit to its id: a text or an integer."""
    doc_id: str | list[str] | None = None
    """From a hit to the id of its document."""
    start: str | list[str] | None = None
    """From a hit to the place of its first character in the document."""
    end: str | list[str] | None = None
    """From a hit to the place after its last character."""
    score: str | list[str] | None = None
    """From a hit to its score: a number."""
    metadata: str | list[str] | None = None
    """From a hit to a mapping of what else is known of it."""
