"""What an answer looks like, in few words: for a reader who has to write down where its hits are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raglift.dataset.faults import quoted
from raglift.retrieval.http.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raglift.retrieval.http.paths import Path

__all__ = ["lists_of_hits", "longest_text", "shape_of"]

_MOST_FIELDS = 8
_LONGEST_SHOWN = 400
_DEEPEST = 5
_MOST_LOOKED_AT = 1_000


def shape_of(value: Any) -> str:
    """Return the fields of a value and what stands in them, shortened: `{"took": 5, "rows": [10 × {"body": text}]}`."""
    shape = _shape(value, 0)
    return shape if len(shape) <= _LONGEST_SHOWN else shape[:_LONGEST_SHOWN] + "…"


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


def longest_text(hit: dict[str, Any]) -> Path | None:
    """Return the path of the longest text in a hit; None where it has none."""
    texts: dict[Path, int] = {}
    waiting: list[tuple[Path, Any]] = [((), hit)]
    for path, value in waiting[:]:
        waiting += [((*path, name), each) for name, each in value.items()] if isinstance(value, dict) else []
    for path, value in waiting:
        if isinstance(value, str):
            texts[path] = len(value)
        elif isinstance(value, dict) and path:
            texts |= {(*path, name): len(each) for name, each in value.items() if isinstance(each, str)}
    return max(texts, key=lambda path: texts[path]) if texts else None


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


def suggestion(answer: Any) -> str:
    """Return what could be written in the mapping for an answer, as far as it can be seen; empty where it cannot."""
    for path, hit in lists_of_hits(answer):
        text = longest_text(hit)
        if text is not None:
            return f"response: {{hits: {path_text(path)}, text: {path_text(text)}}}"
    return ""
