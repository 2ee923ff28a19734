"""The JSON answer of an HTTP service: its chunks and scores, and a description of an answer that cannot be read."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from raglift.base.display import Secrets, printable, shorten
from raglift.base.validation import quoted
from raglift.components.http.mapping import MISSING, field_path_text, follow, parse_path
from raglift.errors import ServiceUnusable
from raglift.records.documents import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raglift.components.http.mapping import FieldPath, ResponseFields


# A short description of an answer's structure, for users who have to write a mapping.


_MOST_FIELDS = 8
_LONGEST_SHOWN = 401
_DEEPEST_NESTING = 5
_MOST_LOOKED_AT = 1_000
_HITS_LOOKED_AT = 5
_MOST_FIELDS_LISTED = 20
_MESSAGES = ("error", "errors", "error_description", "message", "msg", "detail", "details", "reason", "exception")
"""The usual names of what a service says to a reader."""
_MOST_MESSAGES = 3
_NO_PROSE = re.compile(r"_?(.*[_-])?(id|uuid|key|hash|url|uri|type|index)", re.IGNORECASE)
"""The names of fields that hold no text to read."""


def shape_of(value: Any) -> str:
    """Return the fields of a value and what is in them, shortened: `{"took": 5, "rows": [10 × {"body": text}]}`."""
    return shorten(_shape(value, 0), _LONGEST_SHOWN)


def lists_of_hits(answer: Any) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """Yield the path of each list of mappings in an answer, and its first mapping; those that lie least deep first."""
    waiting: list[tuple[FieldPath, Any]] = [((), answer)]
    for place, (path, value) in enumerate(waiting):  # grows as it goes
        if place >= _MOST_LOOKED_AT:
            return
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield path, value[0]
        if isinstance(value, dict) and len(path) < _DEEPEST_NESTING:
            waiting += [((*path, name), each) for name, each in value.items()]


def fields_of(hit: Any) -> dict[FieldPath, Any]:
    """Return the values of a hit at each path to a single value or a list."""
    found: dict[FieldPath, Any] = {}
    waiting: list[tuple[FieldPath, Any]] = [((), hit)]
    for path, value in waiting:  # grows as it goes
        if not isinstance(value, dict):
            found[path] = value
        elif len(path) < _DEEPEST_NESTING:
            room = max(0, _MOST_LOOKED_AT - len(waiting))
            waiting += [((*path, name), each) for name, each in itertools.islice(value.items(), room)]
    return found


def longest_text(hit: dict[str, Any]) -> FieldPath | None:
    """Return the path of the longest text in a hit that is not an id or address; None if it has none."""
    texts = {
        path: len(value)
        for path, value in fields_of(hit).items()
        if isinstance(value, str) and not (path and _NO_PROSE.fullmatch(path[-1]))
    }
    return max(texts, key=lambda path: texts[path]) if texts else None


def nearest_field(hits: Sequence[Any], path: FieldPath) -> str:
    """Return the paths that hits do have, and the one that is written nearly as `path`, in words."""
    known = dict.fromkeys(field_path_text(each) for hit in hits[:_HITS_LOOKED_AT] for each in fields_of(hit) if each)
    if not known:
        return ""
    near = difflib.get_close_matches(
        field_path_text(path), [each for each in known if each != field_path_text(path)], n=1
    )
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
        if depth < _DEEPEST_NESTING and len(waiting) < _MOST_LOOKED_AT:
            waiting += [(depth + 1, *each) for each in inner]
    return list(dict.fromkeys(found))[:_MOST_MESSAGES]


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        if depth >= _DEEPEST_NESTING:
            return "{…}"
        inside = [f"{quoted(name)}: {_shape(each, depth + 1)}" for name, each in list(value.items())[:_MOST_FIELDS]]
        return "{" + ", ".join([*inside, *(["…"] if len(value) > _MOST_FIELDS else [])]) + "}"
    if isinstance(value, list):
        if not value:
            return "[]"
        return "[…]" if depth >= _DEEPEST_NESTING else f"[{len(value):,} × {_shape(value[0], depth + 1)}]"
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
    """Return what could be written in the mapping for an answer, as far as it can be seen; empty if it cannot."""
    for path, hit in lists_of_hits(answer):
        text = longest_text(hit)
        if text is not None:
            return f"response: {{hits: {field_path_text(path)}, text: {field_path_text(text)}}}"
    return ""


# Typed values of a hit: a text, an id, a location in a document, a score.


_MOST_CHARACTERS = 10**18
"""No text has so many; a saved evaluation and arrays hold no larger number."""


class OtherShape(Exception):
    """An answer of another shape: what was found, what was expected, and what the hits have, if it is known."""

    def __init__(self, found: str, expected: str, known: str = "") -> None:
        super().__init__(found, expected, known)
        self.found, self.expected, self.known = found, expected, known


class UnfitField(OtherShape):
    """A field of a hit that is not what it should be.

    Args:
        name: of the field, as `doc_id`.
    """

    def __init__(self, name: str, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.args = (name, found, expected)  # from which a pickled error is made again
        self.name = name


def unwrapped(value: Any) -> Any:
    """Return the only item of a list of one: so Elasticsearch and Solr return fields."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def text_of(value: Any, place: int) -> str:
    """Return the text of the hit at a position.

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
    """Return a number of characters; None if it is not known.

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


# Parsing a JSON answer into chunks and scores: by the mapping's paths, otherwise by common field names.


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
            found = f"{other.found}: {field_path_text(path)}"
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
            raise _NoList(f"{what} at hits: {field_path_text(path)}", "a list of hits there")
        return found

    def _column(self, hits: Sequence[Any], name: str) -> list[Any]:
        """Return a field of each hit; None if a hit does not have it."""
        given = getattr(self.paths, name)
        if given is None:
            return [_usual(hit, name) for hit in hits]
        path = parse_path(given)
        column = [follow(hit, path) for hit in hits]
        # Languages that leave out zeros and empty texts are no reason to refuse: one hit that has it shows it is there
        if all(value is MISSING for value in column):
            raise OtherShape(f"no hit has {name}: {field_path_text(path)}", f"{name} there", nearest_field(hits, path))
        return [None if value is MISSING else value for value in column]

    def _metadata(self, hits: Sequence[Any], texts: Sequence[str]) -> list[dict[str, Any]]:
        if self.paths.metadata is None:
            return [_usual_metadata(hit, text) for hit, text in zip(hits, texts, strict=True)]
        path = parse_path(self.paths.metadata)
        found = [follow(hit, path) for hit in hits]
        if all(value is MISSING for value in found):
            raise OtherShape(
                f"no hit has metadata: {field_path_text(path)}", "metadata there", nearest_field(hits, path)
            )
        for value in found:
            if not (isinstance(value, dict) or value is None or value is MISSING):
                raise OtherShape(f"{kind_of(value)} at metadata: {field_path_text(path)}", "a mapping there")
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
    """Return the hits of the only query, where an answer has a list per query: `[[…]]`."""
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
    """Whether the value under a usual name has the expected type; otherwise it is ignored."""
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
    """Return the value of a key in the first of several objects that have it; None if none has."""
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
