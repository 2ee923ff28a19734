"""`HttpMapping`: how a request is filled in and where the hits are in its answer, with all of its validation."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

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

from raglift.base.limits import user_path
from raglift.base.secrets import is_secret_name
from raglift.base.strict_files import NotYaml, YamlFields, parse_text
from raglift.base.validation import Location, described, faults_of, nearest, path_text, quoted, several_wrong, wrong
from raglift.errors import ConfigurationError, Fault, MappingError, MissingKey

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from raglift.base.validation import Keys
    from raglift.records.filters import Filter


# Request templates: the query and k are inserted as data, environment variables as texts. A template is a JSON value. A
# text that is exactly `{k}` becomes an integer; `{query}` and `{k}` inside a longer text are inserted into that text.
# This happens in one pass and on values, never on JSON source: a query that contains quotes, braces or `{k}` arrives
# unchanged. A text that is exactly `{filter}` becomes the filter of the query as an object; for a query without one,
# the field that it stands in is not sent.


QUERY, K, FILTER = "{query}", "{k}", "{filter}"
_PLACE = re.compile(r"\{(query|k)\}")
_LONE_PLACE = re.compile(r"\{[A-Za-z_]\w*\}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def filled(template: Any, query: str, k: int, given: Filter | None = None) -> Any:
    """Return a template with the query, k and the filter in their places; `{filter}` is left out where there is none.

    Args:
        template: a JSON value.
        query: its text.
        k: how many hits are wanted.
        given: the metadata filter of the query, sent as it is written in labels.
    """
    if isinstance(template, str):
        if template == FILTER:
            return None if given is None else given.to_dict()
        return k if template == K else _PLACE.sub(lambda found: query if found[1] == "query" else str(k), template)
    if isinstance(template, dict):
        kept = {name: value for name, value in template.items() if value != FILTER or given is not None}
        return {name: filled(value, query, k, given) for name, value in kept.items()}
    if isinstance(template, list):
        return [filled(value, query, k, given) for value in template if value != FILTER or given is not None]
    return template


def texts_of(template: Any) -> Iterator[str]:
    """Yield every text of a template, but for the names of its fields."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, dict):
        for value in template.values():
            yield from texts_of(value)
    elif isinstance(template, list):
        for value in template:
            yield from texts_of(value)


def unknown_placeholder(text: str) -> bool:
    """Whether a text looks like a placeholder and is none: `{question}`, `{top_k}`."""
    return _LONE_PLACE.fullmatch(text) is not None and text not in (QUERY, K, FILTER)


def variables_of(template: Any) -> list[str]:
    """Return the names of the environment variables that a text, or the texts of a template, ask for."""
    return [name for text in texts_of(template) for name in _VARIABLE.findall(text)]


def resolved(texts: Mapping[str, str], purpose: str) -> tuple[dict[str, str], list[str]]:
    """Return texts with the values of their environment variables, and these values.

    Args:
        texts: by name, as `{"Authorization": "Bearer ${SEARCH_TOKEN}"}`.
        purpose: what they are for, as `the header`.

    Raises:
        MissingKey: a variable is not set, or empty.
    """
    used: list[str] = []

    def value_of(found: re.Match[str], name: str) -> str:
        value = os.environ.get(found[1], "").strip()
        if not value:
            raise MissingKey(found[1], f"{purpose} {name}", named=True)
        used.append(value)
        return value

    done = {name: _VARIABLE.sub(lambda found, name=name: value_of(found, name), text) for name, text in texts.items()}  # type: ignore[misc]
    return done, used


# Dotted paths into JSON: `hits.hits`, `_source.text`, `documents.0`.


FieldPath: TypeAlias = tuple[str, ...]
"""The names, or list indices as texts, of a value; empty for the whole."""

ROOT = "."
"""What stands for the whole: the answer itself, or the hit itself."""


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What stands for a value that is not there; null is one that is."""


def parse_path(text: str | list[str]) -> FieldPath:
    """Return the path that a text with dots, or a list of names (where a name has a dot in it), describes."""
    if isinstance(text, list):
        return tuple(text)
    return () if text == ROOT else tuple(text.split("."))


def field_path_text(path: FieldPath) -> str:
    """Return a path as it is written."""
    return ".".join(path) or ROOT


def follow(value: Any, path: FieldPath) -> Any:
    """Return the value at a path; MISSING if there is none."""
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

    A field that is None is looked up under the usual names. A given path must exist in every answer that has hits, so a
    misspelt path is an error instead of a wrong figure.
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
    """From a hit to the location of its first character in the document."""
    end: str | list[str] | None = None
    """From a hit to the location after its last character."""
    score: str | list[str] | None = None
    """From a hit to its score: a number."""
    metadata: str | list[str] | None = None
    """From a hit to a mapping of what else is known of it."""


# `HttpMapping`: the request to an HTTP service, and where the hits are in its answer.


_WANTED = 'the fields of a mapping, as json: {question: "{query}", top: "{k}"}'


@dataclass(frozen=True, kw_only=True)
class HttpMapping:
    """What is sent to an HTTP service, and where its hits are in the answer.

    `{query}` and `{k}` are put in place as data, inside texts of `json` and `params`; a text that is `{k}` alone
    becomes an integer. A text of `json` that is `{filter}` alone becomes the metadata filter of the query, as it is
    written in labels; for a query without one the field is not sent. `${NAME}` in `headers` and `params` is the value
    of an environment variable.

    Raises:
        MappingError: something that cannot be sent or found; every fault is listed.
    """

    method: str = "POST"
    """`POST` or `GET`."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request, as `{"Authorization": "Bearer ${SEARCH_TOKEN}"}`."""
    params: Mapping[str, Any] | None = field(default=None, repr=False)
    """What is added to the address: texts, numbers and truth values; by default `{"query": "{query}", "k": "{k}"}`
    with GET and no body, else none."""
    json: Any = field(default=None, repr=False)
    """The body of the request; by default `{"query": "{query}", "k": "{k}"}` with POST, unless the query is in
    `params`."""
    response: ResponseFields = field(default_factory=ResponseFields)
    """Where things are in an answer; in Python a mapping too."""
    timeout: float = 30.0
    """The most seconds for one request, from asking to the last byte; another try has as many again."""
    most_bytes: int = 10_000_000
    """The longest answer that is read."""

    def __post_init__(self) -> None:

        given = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, value in checked(given).items():
            object.__setattr__(self, name, value)

    @property
    def sends_k(self) -> bool:
        """Whether the service is told how many hits are wanted."""
        return any(K in text for text in (*texts_of(self.json), *texts_of(self.params)))

    @property
    def sends_filter(self) -> bool:
        """Whether the service is told the metadata filter of a query."""
        return FILTER in texts_of(self.json)


def mapping_of(given: Mapping[str, Any]) -> HttpMapping:
    """Return the mapping that fields describe.

    Raises:
        MappingError: something that cannot be sent or found; every fault is listed.
    """
    return HttpMapping(**checked(given))


def load_mapping(path: str | os.PathLike[str]) -> HttpMapping:
    """Read a mapping from a YAML file, or a JSON file where its name ends in `.json`; docs/how-to/http.md describes it.

    Args:
        path: the file.

    Raises:
        MappingError: the file is not there, cannot be read, or does not describe a mapping; every fault is listed.
        ConfigurationError: `path` is not a path.
    """
    return HttpMapping(**fields_of_file(path, checked, _WANTED))


def fields_of_file(path: str | os.PathLike[str], check: Callable[..., dict[str, Any]], wanted: str) -> dict[str, Any]:
    """Return the checked fields of a mapping's file, in YAML, or in JSON where its name ends in `.json`.

    Args:
        path: the file.
        check: checks them, as `checked` does.
        wanted: what the file should hold.

    Raises:
        MappingError: the file is not there, cannot be read, or does not describe a mapping; every fault is listed.
        ConfigurationError: `path` is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"mapping: found a {type(path).__name__}; expected the path of a YAML file")
    file = user_path(path)
    reading = YamlFields(file.name, wanted)
    given = _json_fields(file) if file.suffix.lower() == ".json" else _yaml_fields(file, reading)
    values: dict[str, Any] = {}
    try:
        values = check(given, reading.locate, source=str(path))
    except MappingError as error:
        reading.faults += [(reading.lines_said.get(fault.where, 0), fault) for fault in error.faults]
    if reading.faults:
        raise MappingError(str(path), [fault for _, fault in sorted(reading.faults, key=lambda each: each[0])])
    return values


def mapping_digest(mapping: HttpMapping | str | os.PathLike[str]) -> str:
    """Return what tells whether two mappings ask and read alike.

    Comments and layout of a file do not count, nor what decides no hit: how long is waited, and the values of headers
    and parameters that are secret by their names.

    Args:
        mapping: the mapping, or its file.

    Raises:
        MappingError: as `load_mapping`.
    """
    read = mapping if isinstance(mapping, HttpMapping) else load_mapping(mapping)
    content = {each.name: getattr(read, each.name) for each in fields(read) if each.name not in ("timeout", "response")}
    for name in ("headers", "params"):
        content[name] = {key: _unless_secret(key, value) for key, value in (content[name] or {}).items()}
    text = json.dumps([content, asdict(read.response)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _unless_secret(name: str, value: Any) -> Any:
    return None if is_secret_name(name) or name.lower() in ("authorization", "proxy-authorization", "cookie") else value


def _yaml_fields(file: Path, reading: YamlFields) -> dict[str, Any]:
    try:
        return reading.read(file)
    except NotYaml as error:
        raise MappingError(str(file), [error.fault]) from None


def _json_fields(file: Path) -> dict[str, Any]:
    faults: list[Fault] = []
    location = Location(file.name, faults)
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            location.fault(f"more than {_MOST_BYTES:,} bytes", "a mapping, which is short")
            raise MappingError(str(file), faults)
        given = parse_text(data.decode("utf-8-sig"), location)
    except OSError as error:
        location.fault(error.strerror or type(error).__name__, f"a JSON file at {file}")
        given = None
    except UnicodeDecodeError:
        location.fault("bytes that are not UTF-8", "text in UTF-8")
        given = None
    if given is None:
        raise MappingError(str(file), faults)
    return given


_MOST_BYTES = 100_000


# Validation of a mapping by pydantic: every fault of every field, and cross-field validation.


_METHODS = ("GET", "POST")
_DEFAULT_REQUEST = {"query": "{query}", "k": "{k}"}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]+")
_NOT_OURS = ("connection", "content-length", "transfer-encoding")
_LONGEST_TIMEOUT = 86_400.0
_DEEPEST = 20
_PLACES = 'one of "{k}", "{query}", "{filter}"'


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


def header_name(value: Any) -> str:
    """Return the name of a header that may be sent."""
    if not isinstance(value, str) or not _HEADER_NAME.fullmatch(value):
        raise wrong(described(value), "the name of a header, as Authorization")
    if value.lower() in _NOT_OURS:
        raise wrong(f"the header {quoted(value)}", "none of this name: it follows from what is sent")
    return value


def header_value(value: Any) -> str:
    """Return the value of a header that may be sent; a wrong one is not repeated."""
    # a header may be a secret: what was found is said by its kind alone
    if not isinstance(value, str):
        raise wrong("what is no text", "a text; put one that looks otherwise in quotation marks")
    if not _HEADER_VALUE.fullmatch(value.strip()):
        raise wrong("an empty text" if not value.strip() else "letters that no header can have", "printable ASCII")
    return value.strip()


def _param(value: Any) -> Any:
    if isinstance(value, str):
        if FILTER in value:
            raise wrong(
                quoted(value), f'"{FILTER}" in json alone, as filter: "{FILTER}"; an address has no place for it'
            )
        return _no_unknown_place(value)
    if isinstance(value, bool) or (isinstance(value, (int, float)) and math.isfinite(value)):
        return value
    raise wrong(described(value), "a text, a number, true or false")


def json_template(value: Any) -> Any:
    """Return a copy of what JSON can hold."""
    faults: list[tuple[Keys, str, str]] = []
    copied = _copied(value, (), faults)
    if faults:
        raise several_wrong(faults)
    return copied


def _copied(value: Any, keys: Keys, faults: list[tuple[Keys, str, str]]) -> Any:
    """Return a copy of a body, or of what lies in it; every fault is noted with its location."""
    if len(keys) > _DEEPEST:
        faults.append((keys[:1], "values that lie deeper", f"at most {_DEEPEST} deep"))
    elif isinstance(value, (list, tuple)):
        return [_copied(each, (*keys, location), faults) for location, each in enumerate(value)]
    elif isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _copied(each, (*keys, name), faults) for name, each in value.items()}
    elif isinstance(value, str):
        alone = variables_of(value)
        if len(alone) == 1 and value == f"${{{alone[0]}}}":
            expected = "variables in headers or params alone; a body is plain data"
            faults.append((keys, f"the variable {quoted(value)}", expected))
        elif unknown_placeholder(value):
            faults.append((keys, quoted(value), _PLACES))
        elif FILTER in value and value != FILTER:
            faults.append((keys, quoted(value), f'"{FILTER}" alone: it becomes an object'))
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


def seconds_of(value: Any) -> float:
    """Return a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _LONGEST_TIMEOUT:
        raise wrong(described(value), "a number of seconds above 0 (a day at most)")
    return float(value)


def bytes_of(value: Any) -> int:
    """Return a number of bytes."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise wrong(described(value), "an integer, 1 or more")
    return value


def as_mapping(value: Any) -> Any:
    """Return a record, or any mapping, as a dict; anything else as it is."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return dict(value) if isinstance(value, Mapping) else value


_AnyPath = Annotated[Any, PlainValidator(_path)]
_Params = dict[Annotated[str, PlainValidator(lambda name: name)], Annotated[Any, PlainValidator(_param)]]


class ResponseModel(BaseModel):
    """Reads `ResponseFields`, with every fault."""

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
        """Return the record."""
        return ResponseFields(**self.model_dump())


class _Mapping(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    method: Annotated[str, PlainValidator(_method)] = "POST"
    headers: Annotated[
        dict[Annotated[str, PlainValidator(header_name)], Annotated[str, PlainValidator(header_value)]],
        BeforeValidator(as_mapping),
    ] = {}
    params: Annotated[_Params, BeforeValidator(as_mapping)] | None = None
    body: Annotated[Any, PlainValidator(json_template)] = Field(None, alias="json")  # a model has a json of its own
    response: Annotated[ResponseModel, BeforeValidator(as_mapping), AfterValidator(ResponseModel.read)] = Field(
        default_factory=dict, validate_default=True
    )
    timeout: Annotated[float, PlainValidator(seconds_of)] = 30.0
    most_bytes: Annotated[int, PlainValidator(bytes_of)] = 10_000_000


_MAPPING = TypeAdapter(_Mapping)
