"""From the JSON of an answer to chunks and scores: by the mapping's paths, else by the names that services use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.errors import ServiceUnusable
from raglift.printable import printable
from raglift.records import Chunk
from raglift.redaction import Secrets
from raglift.retrieval.http.paths import MISSING, follow, parse_path, path_text
from raglift.retrieval.http.shapes import kind_of, messages_in, nearest_field, shape_of, suggestion
from raglift.retrieval.http.values import (
    OtherShape,
    UnfitField,
    identity_of,
    is_integer,
    offset_of,
    score_of,
    text_of,
    unwrapped,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raglift.retrieval.http.mapping import ResponseFields

__all__ = ["AnswerReader"]

_LISTS = [
    "results",
    "result",
    "hits",
    "documents",
    "docs",
    "matches",
    "items",
    "points",
    "chunks",
    "passages",
    "nodes",
    "rows",
    "data",
    "value",
    "response",
    "root",
    "children",
]
"""The usual names of a list of hits, and of what it lies in."""
_INSIDE = ("", "_source", "payload", "fields", "document", "node", "chunk", "metadata")
"""Where the fields of a hit may lie, as services nest them."""
_NAMES = {
    "text": ("text", "content", "page_content", "body", "passage", "chunk", "snippet", "document"),
    "id": ("id", "_id", "chunk_id", "node_id", "uuid"),
    "doc_id": ("doc_id", "document_id", "docid"),
    "start": ("start", "start_char_idx", "start_index"),
    "end": ("end", "end_char_idx", "end_index"),
    "score": ("score", "_score", "relevance", "@search.score", "similarity"),
}
_METADATA = ("metadata", "payload", "_source", "fields")
_IDS_ALONE = "; hits without texts cannot be matched: let the service return them (`raglift score` takes files of ids)"
_DEEPEST = 3
_DEEPEST_METADATA = 50


class _NoList(OtherShape):
    """An answer without a list of hits: it may say why, as an error that comes with status 200."""


@dataclass(frozen=True)
class AnswerReader:
    """Reads answers by a mapping's paths."""

    paths: ResponseFields
    secrets: Secrets = field(default_factory=lambda: Secrets(()))
    """What must not be shown, should an answer repeat it."""
    doc_key: str | None = None
    """Where the paths name no document: the key that holds its id, in a hit's metadata or in the hit."""

    def read(self, answer: Any) -> list[tuple[Chunk, float | None]]:
        """Return the hits of an answer, best first, as the service has them.

        Raises:
            ServiceUnusable: the answer has another shape; the message shows it, and what to write in the mapping.
        """
        try:
            return self._hits(answer)
        except OtherShape as other:
            hint = "" if other.known else suggestion(answer)
            no_text = _IDS_ALONE if isinstance(other, UnfitField) and other.name == "text" else ""
            what_to_do = f"; perhaps, in the mapping, {hint}" if hint else other.known or no_text
            said = [self.secrets.beginning(each.encode("utf-8", "replace")) for each in messages_in(answer)]
            says = f"the answer says {', '.join(map(_in_marks, said))}; " if said and isinstance(other, _NoList) else ""
            message = (
                f"JSON of another shape: {other.found} — {says}found {self.secrets.hidden(shape_of(answer))}; "
                f"expected {other.expected}{what_to_do}"
            )
            raise ServiceUnusable(printable(message)) from None

    def _hits(self, answer: Any) -> list[tuple[Chunk, float | None]]:
        hits = self._list(answer)
        if not hits:
            return []
        columns = {name: self._column(hits, name) for name in _NAMES}
        try:
            texts = [text_of(value, place) for place, value in enumerate(columns["text"])]
            metadata = self._metadata(hits, texts)
            if self.doc_key is not None and self.paths.doc_id is None:
                columns["doc_id"] = [_under(self.doc_key, *each) for each in zip(metadata, hits, strict=True)]
            scores = [score_of(value, place) for place, value in enumerate(columns["score"])]
            chunks = [
                Chunk(
                    text=text,
                    id=identity_of(columns["id"][place], "id", place) or "",
                    doc_id=identity_of(columns["doc_id"][place], "doc_id", place),
                    start=offset_of(columns["start"][place], "start", place),
                    end=offset_of(columns["end"][place], "end", place),
                    metadata=metadata[place],
                )
                for place, text in enumerate(texts)
            ]
        except UnfitField as other:
            if (given := getattr(self.paths, other.name)) is None:
                raise
            path = parse_path(given)
            found = f"{other.found}: {path_text(path)}"
            raise OtherShape(found, other.expected, nearest_field(hits, path)) from None
        deep = next((place for place, each in enumerate(metadata) if _is_too_deep(each)), None)
        if deep is not None:  # it could be measured, and then not be saved
            raise OtherShape(f"hit {deep + 1} has metadata nested too deeply", f"at most {_DEEPEST_METADATA} levels")
        return list(zip(chunks, scores, strict=True))

    def _list(self, answer: Any) -> Sequence[Any]:
        if self.paths.hits is None:
            found = answer if isinstance(answer, list) else _first_list(answer, 0)
            if found is None:
                raise _NoList("no list of hits", f"a list, or one under {', '.join(_LISTS[:4])} or the like")
            return _one_row(found)
        path = parse_path(self.paths.hits)
        found = follow(answer, path)
        if found is None:  # as some languages write an empty list
            return []
        if not isinstance(found, list):
            what = "nothing" if found is MISSING else kind_of(found)
            raise _NoList(f"{what} at hits: {path_text(path)}", "a list of hits there")
        return found

    def _column(self, hits: Sequence[Any], name: str) -> list[Any]:
        """Return a field of each hit; None where a hit does not have it."""
        given = getattr(self.paths, name)
        if given is None:
            return [_usual(hit, name) for hit in hits]
        path = parse_path(given)
        column = [follow(hit, path) for hit in hits]
        # Languages that leave out zeros and empty texts are no reason to refuse: one hit that has it shows it is there
        if all(value is MISSING for value in column):
            raise OtherShape(f"no hit has {name}: {path_text(path)}", f"{name} there", nearest_field(hits, path))
        return [None if value is MISSING else value for value in column]

    def _metadata(self, hits: Sequence[Any], texts: Sequence[str]) -> list[dict[str, Any]]:
        if self.paths.metadata is None:
            return [_usual_metadata(hit, text) for hit, text in zip(hits, texts, strict=True)]
        path = parse_path(self.paths.metadata)
        found = [follow(hit, path) for hit in hits]
        if all(value is MISSING for value in found):
            raise OtherShape(f"no hit has metadata: {path_text(path)}", "metadata there", nearest_field(hits, path))
        for value in found:
            if not (isinstance(value, dict) or value is None or value is MISSING):
                raise OtherShape(f"{kind_of(value)} at metadata: {path_text(path)}", "a mapping there")
        return [dict(value) if isinstance(value, dict) else {} for value in found]


def _first_list(value: Any, depth: int) -> list[Any] | None:
    """Return the list under the first usual name, however these are nested; null under one is an empty list."""
    if not isinstance(value, dict) or depth >= _DEEPEST:
        return None
    named = [value[name] for name in _LISTS if name in value]
    for each in named:
        if isinstance(each, list):
            return each
    for each in named:
        found = _first_list(each, depth + 1)
        if found is not None:
            return found
    return [] if any(each is None for each in named) else None


def _one_row(found: list[Any]) -> list[Any]:
    """Return the hits of the only query, where an answer has a list a query: `[[…]]`."""
    return found[0] if len(found) == 1 and isinstance(found[0], list) else found


def _usual(hit: Any, name: str) -> Any:
    if isinstance(hit, str):
        return hit if name == "text" else None
    if not isinstance(hit, dict):
        return None
    for inside in _INSIDE:
        place = hit if not inside else hit.get(inside)
        if isinstance(place, dict):
            for usual in _NAMES[name]:
                value = place.get(usual)
                if value is not None and _fits(name, value):
                    return value
    return None


def _fits(name: str, value: Any) -> bool:
    """Whether what stands under a usual name is what it is taken for: a guess that does not fit is none."""
    if name == "text":
        return isinstance(unwrapped(value), str)
    if name in ("id", "doc_id"):
        return isinstance(value, str) or is_integer(value)
    if name == "score":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_integer(value)


def _usual_metadata(hit: Any, text: str) -> dict[str, Any]:
    """Return what else is known of a hit, without its text: that would be kept twice."""
    if not isinstance(hit, dict):
        return {}
    found: dict[str, Any] = next((hit[name] for name in _METADATA if isinstance(hit.get(name), dict)), {})
    return {name: value for name, value in found.items() if unwrapped(value) != text}


def _under(key: str, *places: Any) -> Any:
    """Return what stands under a key in the first of some places that has it; None where none has."""
    return next((place[key] for place in places if isinstance(place, dict) and place.get(key) is not None), None)


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST_METADATA):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def _in_marks(text: str) -> str:
    return f'"{text}"'
