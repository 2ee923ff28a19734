"""Dotted paths into JSON: `hits.hits`, `_source.text`, `documents.0`."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

__all__ = ["MISSING", "ROOT", "Path", "follow", "parse_path", "path_text"]

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
