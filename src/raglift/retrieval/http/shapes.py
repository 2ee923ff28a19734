"""What an answer looks like, in few words: for a reader who has to write down where its hits are."""

from __future__ import annotations

import difflib
import itertools
import re
from typing import TYPE_CHECKING, Any

from raglift.printable import shorten
from raglift.retrieval.http.paths import path_text
from raglift.validation import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.retrieval.http.paths import Path

__all__ = ["kind_of", "lists_of_hits", "messages_in", "nearest_field", "shape_of", "suggestion"]

_MOST_FIELDS = 8
_LONGEST_SHOWN = 401
_DEEPEST = 5
_MOST_LOOKED_AT = 1_000
_HITS_LOOKED_AT = 5
_MOST_FIELDS_LISTED = 20
_MESSAGES = ("error", "errors", "error_description", "message", "msg", "detail", "details", "reason", "exception")
"""The usual names of what a service says to a reader."""
_MOST_MESSAGES = 3
_NO_PROSE = re.compile(r"_?(.*[_-])?(id|uuid|key|hash|url|uri|type|index)", re.IGNORECASE)
"""The names of fields that hold no text to read."""


def shape_of(value: Any) -> str:
    """Return the fields of a value and what stands in them, shortened: `{"took": 5, "rows": [10 × {"body": text}]}`."""
    return shorten(_shape(value, 0), _LONGEST_SHOWN)


def lists_of_hits(answer: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the path of each list of mappings in an answer, and its first mapping; those that lie least deep first."""
    waiting: list[tuple[Path, Any]] = [((), answer)]
    for place, (path, value) in enumerate(waiting):  # grows as it goes
        if place >= _MOST_LOOKED_AT:
            return
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield path, value[0]
        if isinstance(value, dict) and len(path) < _DEEPEST:
            waiting += [((*path, name), each) for name, each in value.items()]


def fields_of(hit: Any) -> dict[Path, Any]:
    """Return what stands in a hit under each path that leads to a single value, or to a list."""
    found: dict[Path, Any] = {}
    waiting: list[tuple[Path, Any]] = [((), hit)]
    for path, value in waiting:  # grows as it goes
        if not isinstance(value, dict):
            found[path] = value
        elif len(path) < _DEEPEST:
            room = max(0, _MOST_LOOKED_AT - len(waiting))
            waiting += [((*path, name), each) for name, each in itertools.islice(value.items(), room)]
    return found


def longest_text(hit: dict[str, Any]) -> Path | None:
    """Return the path of the longest text in a hit that is no id or address; None where it has none."""
    texts = {
        path: len(value)
        for path, value in fields_of(hit).items()
        if isinstance(value, str) and not (path and _NO_PROSE.fullmatch(path[-1]))
    }
    return max(texts, key=lambda path: texts[path]) if texts else None


def nearest_field(hits: Sequence[Any], path: Path) -> str:
    """Return the paths that hits do have, and the one that is written nearly as `path`, in words."""
    known = dict.fromkeys(path_text(each) for hit in hits[:_HITS_LOOKED_AT] for each in fields_of(hit) if each)
    if not known:
        return ""
    near = difflib.get_close_matches(path_text(path), [each for each in known if each != path_text(path)], n=1)
    listed = ", ".join(map(quoted, list(known)[:_MOST_FIELDS_LISTED]))
    more = ", …" if len(known) > _MOST_FIELDS_LISTED else ""
    return f"; the hits have {listed}{more}" + (f": perhaps {quoted(near[0])}?" if near else "")


def messages_in(answer: Any) -> list[str]:
    """Return the first texts under usual names of a message, as of an error that comes with status 200."""
    found: list[str] = []
    waiting: list[tuple[int, str, Any]] = [(0, "", answer)]
    for depth, name, value in waiting:  # grows as it goes
        inner: list[tuple[str, Any]] = []
        if isinstance(value, str) and value.strip() and name in _MESSAGES:
            found.append(value)
        elif isinstance(value, dict):
            inner = [(str(key).lower(), each) for key, each in itertools.islice(value.items(), _MOST_LOOKED_AT)]
        elif isinstance(value, list) and name in _MESSAGES:
            inner = [(name, each) for each in value[:_MOST_MESSAGES]]
        if depth < _DEEPEST and len(waiting) < _MOST_LOOKED_AT:
            waiting += [(depth + 1, *each) for each in inner]
    return list(dict.fromkeys(found))[:_MOST_MESSAGES]


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        if depth >= _DEEPEST:
            return "{…}"
        inside = [f"{quoted(name)}: {_shape(each, depth + 1)}" for name, each in list(value.items())[:_MOST_FIELDS]]
        return "{" + ", ".join([*inside, *(["…"] if len(value) > _MOST_FIELDS else [])]) + "}"
    if isinstance(value, list):
        if not value:
            return "[]"
        return "[…]" if depth >= _DEEPEST else f"[{len(value):,} × {_shape(value[0], depth + 1)}]"
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return "number"


def kind_of(value: Any) -> str:
    """Return in words what kind of JSON a value is."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return "a text" if isinstance(value, str) else "a number"


def suggestion(answer: Any) -> str:
    """Return what could be written in the mapping for an answer, as far as it can be seen; empty where it cannot."""
    for path, hit in lists_of_hits(answer):
        text = longest_text(hit)
        if text is not None:
            return f"response: {{hits: {path_text(path)}, text: {path_text(text)}}}"
    return ""
