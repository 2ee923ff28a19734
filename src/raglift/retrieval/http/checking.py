"""A mapping's fields, checked by pydantic: every fault of every field, and of what the fields say together."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
)

from raglift.errors import Fault, MappingError
from raglift.retrieval.http.paths import ResponseFields
from raglift.retrieval.http.template import QUERY, texts_of, unknown_placeholder, variables_of
from raglift.validation import described, faults_of, nearest, path_text, quoted, several_wrong, wrong

if TYPE_CHECKING:
    from raglift.validation import Keys

__all__ = ["checked"]

_METHODS = ("GET", "POST")
_DEFAULT_REQUEST = {"query": "{query}", "k": "{k}"}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]+")
_NOT_OURS = ("connection", "content-length", "transfer-encoding")
_LONGEST_TIMEOUT = 86_400.0
_DEEPEST = 20
_PLACES = 'one of "{k}", "{query}"'


def checked(
    given: Mapping[str, Any], locate: Callable[[Keys], str] = path_text, *, source: str = "HttpMapping"
) -> dict[str, Any]:
    """Return the fields of a mapping, checked, with the defaults that depend on each other filled in.

    Args:
        given: what was written for each field.
        locate: says where a value is.
        source: what the whole is called in an error.

    Raises:
        MappingError: something that cannot be sent or found; every fault is listed.
    """
    try:
        model = _MAPPING.validate_python(dict(given))
    except ValidationError as error:
        found = faults_of(error, _MAPPING, yaml=True)
        raise MappingError(source, [Fault(locate(each.keys), each.found, each.expected) for each in found]) from None
    values = {each.alias or name: getattr(model, name) for name, each in _Mapping.model_fields.items()}
    faults = [Fault(locate(keys), found, expected) for keys, found, expected in _disagreements(values)]
    if faults:
        raise MappingError(source, faults)
    return values


def _disagreements(values: dict[str, Any]) -> list[tuple[Keys, str, str]]:
    """Fill in the request that was not given; return what is wrong with all of it together."""
    in_params = any(QUERY in text for text in texts_of(values["params"]))
    if values["json"] is None and values["method"] == "POST" and not in_params:
        values["json"] = dict(_DEFAULT_REQUEST)
    if values["params"] is None:
        bare = values["method"] == "GET" and values["json"] is None
        values["params"] = dict(_DEFAULT_REQUEST) if bare else {}
    if not any(QUERY in text for text in (*texts_of(values["json"]), *texts_of(values["params"]))):
        where = "json" if values["json"] is not None else "params"
        return [((where,), f"no {QUERY}", f'a field with the query, as question: "{QUERY}"')]
    return []


def _method(value: Any) -> str:
    name = value.strip().upper() if isinstance(value, str) else value
    if name not in _METHODS:
        raise wrong(described(value), nearest(str(name), _METHODS))
    return str(name)


def _header_name(value: Any) -> str:
    if not isinstance(value, str) or not _HEADER_NAME.fullmatch(value):
        raise wrong(described(value), "the name of a header, as Authorization")
    if value.lower() in _NOT_OURS:
        raise wrong(f"the header {quoted(value)}", "none of this name: it follows from what is sent")
    return value


def _header(value: Any) -> str:
    # a header may be a secret: what was found is said by its kind alone
    if not isinstance(value, str):
        raise wrong("what is no text", "a text; put one that looks otherwise in quotation marks")
    if not _HEADER_VALUE.fullmatch(value.strip()):
        raise wrong("an empty text" if not value.strip() else "letters that no header can have", "printable ASCII")
    return value.strip()


def _param(value: Any) -> Any:
    if isinstance(value, str):
        return _no_unknown_place(value)
    if isinstance(value, bool) or (isinstance(value, (int, float)) and math.isfinite(value)):
        return value
    raise wrong(described(value), "a text, a number, true or false")


def _json(value: Any) -> Any:
    """Return a copy of what JSON can hold."""
    faults: list[tuple[Keys, str, str]] = []
    copied = _copied(value, (), faults)
    if faults:
        raise several_wrong(faults)
    return copied


def _copied(value: Any, keys: Keys, faults: list[tuple[Keys, str, str]]) -> Any:
    """Return a copy of a body, or of what lies in it; every fault is noted with its place."""
    if len(keys) > _DEEPEST:
        faults.append((keys[:1], "values that lie deeper", f"at most {_DEEPEST} deep"))
    elif isinstance(value, (list, tuple)):
        return [_copied(each, (*keys, place), faults) for place, each in enumerate(value)]
    elif isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _copied(each, (*keys, name), faults) for name, each in value.items()}
    elif isinstance(value, str):
        alone = variables_of(value)
        if len(alone) == 1 and value == f"${{{alone[0]}}}":
            expected = "variables in headers or params alone; a body is plain data"
            faults.append((keys, f"the variable {quoted(value)}", expected))
        elif unknown_placeholder(value):
            faults.append((keys, quoted(value), _PLACES))
    elif not (value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))):
        faults.append(
            (keys, described(value), "what JSON has; put a date, or what looks otherwise, in quotation marks")
        )
    return value


def _no_unknown_place(text: str) -> str:
    if unknown_placeholder(text):
        raise wrong(quoted(text), _PLACES)
    return text


def _path(value: Any) -> Any:
    if value is None or (isinstance(value, str) and value.strip() and all(value.strip().split(".")[1:])):
        return value.strip() if value else None
    if isinstance(value, str) and value.strip() == ".":
        return "."
    if isinstance(value, (list, tuple)) and value and all(isinstance(name, str) and name for name in value):
        return list(value)
    raise wrong(described(value), "a path with dots, as hits.hits, or a list of names")


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _LONGEST_TIMEOUT:
        raise wrong(described(value), "a number of seconds above 0 (a day at most)")
    return float(value)


def _bytes(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise wrong(described(value), "an integer, 1 or more")
    return value


def _as_mapping(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return dict(value) if isinstance(value, Mapping) else value


_AnyPath = Annotated[Any, PlainValidator(_path)]
_Params = dict[Annotated[str, PlainValidator(lambda name: name)], Annotated[Any, PlainValidator(_param)]]


class _Response(BaseModel):
    model_config = ConfigDict(extra="forbid")

    hits: _AnyPath = None
    text: _AnyPath = None
    id: _AnyPath = None
    doc_id: _AnyPath = None
    start: _AnyPath = None
    end: _AnyPath = None
    score: _AnyPath = None
    metadata: _AnyPath = None

    def read(self) -> ResponseFields:
        return ResponseFields(**self.model_dump())


class _Mapping(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    method: Annotated[str, PlainValidator(_method)] = "POST"
    headers: Annotated[
        dict[Annotated[str, PlainValidator(_header_name)], Annotated[str, PlainValidator(_header)]],
        BeforeValidator(_as_mapping),
    ] = {}
    params: Annotated[_Params, BeforeValidator(_as_mapping)] | None = None
    body: Annotated[Any, PlainValidator(_json)] = Field(None, alias="json")  # a model has a json of its own
    response: Annotated[_Response, BeforeValidator(_as_mapping), AfterValidator(_Response.read)] = Field(
        default_factory=dict, validate_default=True
    )
    timeout: Annotated[float, PlainValidator(_seconds)] = 30.0
    most_bytes: Annotated[int, PlainValidator(_bytes)] = 10_000_000


_MAPPING = TypeAdapter(_Mapping)
