"""JSON answers as chunks and scores: by the paths of a mapping, otherwise by the field names that services use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from raglift.errors import ServiceUnusable
from raglift.retrieval.services.mapping import MISSING, FieldPath, ResponseFields, field_path_text, follow
from raglift.types.documents import Chunk
from raglift.utilities.display import Secrets, printable, shorten
from raglift.utilities.validation import quoted

_LIST_NAMES = (
    *("results", "result", "hits", "documents", "docs", "matches", "items", "points", "chunks", "passages", "nodes"),
    *("rows", "data", "value", "response", "root", "children"),
)
"""The usual names of a list of hits, and of what it lies in."""
_DEEPEST_LIST = 3
_FIELD_HOLDERS = ("", "_source", "payload", "fields", "document", "node", "chunk", "metadata")
"""Where the fields of a hit may lie, as services nest them."""
_METADATA = ("metadata", "payload", "_source", "fields")
_MOST_CHARACTERS = 10**18
"""No text has so many; a saved evaluation and arrays hold no larger number."""


# The values of fields.


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _identity(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(_integer(value))


def _offset(value: Any) -> int | None:
    if value is None or _integer(value) < 0:  # LangChain writes -1 for an unknown one
        return None
    if value >= _MOST_CHARACTERS:
        raise ValueError
    return int(value)


def _score(value: Any) -> float | None:
    if value is None:
        return None
    number = math.nan if isinstance(value, bool) else float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


@dataclass(frozen=True)
class _Field:
    """A field of a hit: its usual names, how its value is read, and what is expected."""

    names: tuple[str, ...]
    read: Callable[[Any], Any]
    expected: str


_FIELDS = {
    "text": _Field(
        ("text", "content", "page_content", "body", "passage", "chunk", "snippet", "document"),
        _text,
        "a text in every hit: name its field as text; without texts nothing can be matched, so let the service return "
        "them",
    ),
    "id": _Field(("id", "_id", "chunk_id", "node_id", "uuid"), _identity, "a text or an integer"),
    "doc_id": _Field(("doc_id", "document_id", "docid"), _identity, "a text or an integer"),
    "start": _Field(("start", "start_char_idx", "start_index"), _offset, "a number of characters"),
    "end": _Field(("end", "end_char_idx", "end_index"), _offset, "a number of characters"),
    "score": _Field(("score", "_score", "relevance", "@search.score", "similarity"), _score, "a number"),
}


def _unwrapped(value: Any) -> Any:
    """Return the only item of a list of one: so Elasticsearch and Solr return fields."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _is_usual(field: _Field, value: Any) -> bool:
    """Whether the value under a usual name has the usual type; otherwise the name means something else."""
    if field.read is _score and isinstance(value, str):
        return False
    try:
        field.read(_unwrapped(value) if field.read is _text else value)
    except (TypeError, ValueError, OverflowError):
        return False
    return value is not None


class _OtherShape(Exception):
    """An answer of another shape: what was found, and what was expected."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.found, self.expected = found, expected


@dataclass(frozen=True)
class AnswerReader:
    """Reads answers by the paths of a mapping."""

    paths: ResponseFields
    secrets: Secrets = field(default_factory=lambda: Secrets(()))
    """What must not be shown if an answer repeats it."""
    doc_key: str | None = None
    """If the paths name no document: the key that holds its id, in a hit's metadata or in the hit."""

    def read(self, answer: Any) -> list[tuple[Chunk, float | None]]:
        """Return the hits of an answer, best first, as the service has them."""
        try:
            return self._hits(answer)
        except _OtherShape as other:
            outline = self.secrets.hidden(shorten(_outline(answer), _LONGEST_OUTLINE))
            message = f"JSON of another shape: {other.found} — found {outline}; expected {other.expected}"
        raise ServiceUnusable(printable(message))

    def _hits(self, answer: Any) -> list[tuple[Chunk, float | None]]:
        hits = self._list(answer)
        if not hits:
            return []
        columns = {name: self._column(hits, name) for name in _FIELDS}
        metadata = self._metadata(hits, columns["text"])
        if self.doc_key is not None and self.paths.doc_id is None:
            holders = zip(metadata, hits, strict=True)
            columns["doc_id"] = [_identity(_unwrapped(self._document_of(*each))) for each in holders]
        scores = columns.pop("score")
        columns["id"] = [each or "" for each in columns["id"]]
        fields = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        chunks = [Chunk(**each, metadata=more) for each, more in zip(fields, metadata, strict=True)]
        return list(zip(chunks, scores, strict=True))

    def _document_of(self, *holders: Any) -> Any:
        held = [each.get(self.doc_key) for each in holders if isinstance(each, dict)]
        return next((value for value in held if value is not None), None)

    def _list(self, answer: Any) -> Sequence[Any]:
        path = self.paths.hits
        if path is None:
            hits = answer if isinstance(answer, list) else _first_list(answer, 0)
            if hits is None:
                raise _OtherShape(
                    "no list of hits", "one: the mapping says where, as response: {hits: data.rows, text: body}"
                )
            # An answer may have a list of hits for each of several queries: `[[…]]`
            return hits[0] if len(hits) == 1 and isinstance(hits[0], list) else hits
        hits = follow(answer, path)
        if hits is None:  # as some languages write an empty list
            return []
        if not isinstance(hits, list):
            raise _OtherShape(f"{_kind_of(hits)} at hits: {field_path_text(path)}", "a list of hits there")
        return hits

    def _column(self, hits: Sequence[Any], name: str) -> list[Any]:
        """Return the values of a field of all hits."""
        known, path = _FIELDS[name], getattr(self.paths, name)
        values = [_usual(hit, known) for hit in hits] if path is None else self._at(hits, name, path)
        column = []
        for rank, value in enumerate(map(_unwrapped, values), start=1):
            try:
                column.append(known.read(value))
            except (TypeError, ValueError, OverflowError):
                place = "" if path is None else f": {field_path_text(path)}"
                raise _OtherShape(f"hit {rank} has {_kind_of(value)} for {name}{place}", known.expected) from None
        return column

    def _at(self, hits: Sequence[Any], name: str, path: FieldPath) -> list[Any]:
        """Return what hits have at a path; None for hits without it, since some languages leave out zeros."""
        values = [follow(hit, path) for hit in hits]
        if all(value is MISSING for value in values):
            raise _OtherShape(f"no hit has {name}: {field_path_text(path)}", f"{name} there")
        return [None if value is MISSING else value for value in values]

    def _metadata(self, hits: Sequence[Any], texts: Sequence[str]) -> list[dict[str, Any]]:
        path = self.paths.metadata
        if path is None:
            return [_usual_metadata(hit, text) for hit, text in zip(hits, texts, strict=True)]
        values = self._at(hits, "metadata", path)
        for value in values:
            if not (isinstance(value, dict) or value is None):
                raise _OtherShape(f"{_kind_of(value)} at metadata: {field_path_text(path)}", "a mapping there")
        return [dict(value or {}) for value in values]


def _first_list(value: Any, depth: int) -> list[Any] | None:
    """Return the list under the first usual name, however these are nested; null under one is an empty list."""
    if not isinstance(value, dict) or depth >= _DEEPEST_LIST:
        return None
    named = [value[name] for name in _LIST_NAMES if name in value]
    lists = [each for each in named if isinstance(each, list)]
    lists += [inner for each in named if (inner := _first_list(each, depth + 1)) is not None]
    if lists:
        return lists[0]
    return [] if any(each is None for each in named) else None


def _usual(hit: Any, field: _Field) -> Any:
    if isinstance(hit, str):
        return hit if field.read is _text else None
    if isinstance(hit, dict):
        for name in _FIELD_HOLDERS:
            holder = hit.get(name) if name else hit
            if isinstance(holder, dict):
                for usual in field.names:
                    if _is_usual(field, holder.get(usual)):
                        return holder[usual]
    return None


def _usual_metadata(hit: Any, text: str) -> dict[str, Any]:
    """Return what else is known of a hit, without its text: that would be kept twice."""
    if not isinstance(hit, dict):
        return {}
    metadata: dict[str, Any] = next((hit[name] for name in _METADATA if isinstance(hit.get(name), dict)), {})
    return {name: value for name, value in metadata.items() if _unwrapped(value) != text}


# Descriptions of an answer, for users who have to write a mapping.


_MOST_FIELDS = 8
_DEEPEST = 5
_LONGEST_TEXT = 60
_LONGEST_OUTLINE = 400


def _outline(value: Any, depth: int = 0) -> str:
    """Return the fields of a value and what is in them: `{"took": 5, "rows": [10 × {"body": "The lamp …"}]}`."""
    if isinstance(value, (dict, list)) and value and depth >= _DEEPEST:
        return "{…}" if isinstance(value, dict) else "[…]"
    if isinstance(value, dict):
        fields = [f"{quoted(name)}: {_outline(value[name], depth + 1)}" for name in list(value)[:_MOST_FIELDS]]
        return "{" + ", ".join([*fields, *(["…"] if len(value) > _MOST_FIELDS else [])]) + "}"
    if isinstance(value, list):
        return f"[{len(value):,} × {_outline(value[0], depth + 1)}]" if value else "[]"
    if isinstance(value, str):
        return quoted(shorten(" ".join(value.split()), _LONGEST_TEXT))
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return "a number" if isinstance(value, int) and abs(value) > _MOST_CHARACTERS else f"{value}"


def _kind_of(value: Any) -> str:
    kinds = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false"}
    return "nothing" if value is None or value is MISSING else kinds.get(type(value), "a number")
