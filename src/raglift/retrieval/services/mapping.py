"""`ServiceMapping`: what an HTTP service or MCP server is sent, and where the hits are in its answer."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from raglift.errors import ConfigurationError, Fault, MappingError, MissingKey
from raglift.utilities.limits import user_path
from raglift.utilities.secrets import is_public_header, is_secret_name
from raglift.utilities.strict_files import InvalidYaml, YamlFields
from raglift.utilities.validation import Keys, described, faults_of, path_text, quoted, several_wrong, wrong

if TYPE_CHECKING:
    from raglift.types.filters import Filter


# Request templates are JSON values. The query and k are inserted as data into their texts, in one pass and never into
# JSON source: a query that contains quotes, braces or `{k}` arrives unchanged.


QUERY, K, FILTER = "{query}", "{k}", "{filter}"
_PLACEHOLDER = re.compile(r"\{(query|k)\}")
_UNKNOWN_PLACEHOLDER = re.compile(r"\{(?!query\}|k\}|filter\})[A-Za-z_]\w*\}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def filled(template: Any, query: str, k: int, metadata_filter: Filter | None = None) -> Any:
    """Return a template with the query, k and the filter inserted.

    A text that is `{k}` alone becomes an integer, and one that is `{filter}` alone an object; without a filter, the
    field or item that it would be in is left out.
    """
    if isinstance(template, str):
        if template == FILTER:
            return None if metadata_filter is None else metadata_filter.to_dict()
        return k if template == K else _PLACEHOLDER.sub(lambda name: query if name[1] == "query" else str(k), template)
    left_out = FILTER if metadata_filter is None else MISSING
    if isinstance(template, dict):
        items = template.items()
        return {name: filled(value, query, k, metadata_filter) for name, value in items if value != left_out}
    if isinstance(template, list):
        return [filled(value, query, k, metadata_filter) for value in template if value != left_out]
    return template


def texts_of(template: Any) -> Iterator[str]:
    """Yield every text of a template, but for the names of its fields."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, (dict, list)):
        for value in template.values() if isinstance(template, dict) else template:
            yield from texts_of(value)


def has_placeholder(template: Any, placeholder: str) -> bool:
    """Whether a placeholder such as `{query}` is in any text of a template."""
    return any(placeholder in text for text in texts_of(template))


def variables_of(template: Any) -> list[str]:
    """Return the names of the environment variables that the texts of a template name, as `${NAME}`."""
    return [name for text in texts_of(template) for name in _VARIABLE.findall(text)]


def resolved(
    texts: Mapping[str, str], purpose: str, is_secret: Callable[[str], bool] = is_secret_name
) -> tuple[dict[str, str], list[str]]:
    """Return texts with the values of their environment variables, and what must not be shown of them.

    Args:
        texts: by name, for example `{"Authorization": "Bearer ${SEARCH_TOKEN}"}`.
        purpose: what they are for, for example `the header`.
        is_secret: whether a text of a name is secret; the values of variables always are.
    """
    values: dict[str, str] = {}
    hidden: list[str] = []
    for name, text in texts.items():
        for variable in variables_of(text):
            value = os.environ.get(variable, "").strip()
            if not value:
                raise MissingKey(variable, f"{purpose} {name}", named=True)
            hidden.append(value)
        values[name] = _VARIABLE.sub(lambda variable: os.environ[variable[1]].strip(), text)
        if is_secret(name):
            hidden.append(values[name])
    return values, hidden


def is_secret_header(name: str) -> bool:
    """Whether the value of a header must not be shown."""
    return not is_public_header(name)


# Dotted paths into JSON: `hits.hits`, `_source.text`, `documents.0`.


FieldPath: TypeAlias = tuple[str, ...]
"""The names, or list indices as texts, of a value; empty for the whole, which is written `.`."""


MISSING: Final = object()
"""Stands for a value that is not there; null is one that is."""


def field_path_text(path: FieldPath) -> str:
    """Return a path as it is written."""
    return ".".join(path) or "."


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


# The types of fields, with their faults in words. What may be secret is not repeated in a fault.


_DEFAULT_REQUEST = {"query": QUERY, "k": K}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]+")
_PLACEHOLDERS = f'one of "{K}", "{QUERY}", "{FILTER}"'


def _path(value: Any) -> FieldPath | None:
    if value is None:
        return None
    if isinstance(value, str) and value.strip() == ".":
        return ()
    if isinstance(value, str) and all(value.strip().split(".")):
        return tuple(value.strip().split("."))
    if isinstance(value, (list, tuple)) and value and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    raise wrong(described(value), "a path with dots, for example hits.hits, or a list of names")


def _upper(value: Any) -> Any:
    return value.strip().upper() if isinstance(value, str) else value


def _header_name(value: Any) -> str:
    if not isinstance(value, str) or not _HEADER_NAME.fullmatch(value):
        raise wrong(described(value), "the name of a header, for example Authorization")
    return value


def _header_value(value: Any) -> str:
    text = _variable_value(value).strip()
    if not _HEADER_VALUE.fullmatch(text):
        raise wrong("an empty text" if not text else "letters that no header can have", "printable ASCII")
    return text


def _variable_name(value: Any) -> str:
    if not isinstance(value, str) or not _VARIABLE.fullmatch(f"${{{value}}}"):
        raise wrong(described(value), "the name of an environment variable, for example SEARCH_KEY")
    return value


def _variable_value(value: Any) -> str:
    if not isinstance(value, str):
        raise wrong("what is no text", "a text; put one that looks otherwise in quotation marks")
    return value


def _param(value: Any) -> Any:
    if isinstance(value, (list, tuple, Mapping)) or value is None:
        raise wrong(described(value), "a text, a number, true or false")
    if isinstance(value, str) and FILTER in value:
        raise wrong(quoted(value), f'"{FILTER}" in json alone: an address cannot hold it')
    return value if isinstance(value, str) and _VARIABLE.search(value) else _template(value)


def _template(value: Any) -> Any:
    faults: list[tuple[Keys, str, str]] = []
    copied = _copied(value, (), faults)
    if faults:
        raise several_wrong(faults)
    return copied


def _arguments(value: Any) -> Any:
    if value is not None and not isinstance(value, Mapping):
        raise wrong(described(value), f'the arguments by name, for example question: "{QUERY}"')
    return _template(value)


def _copied(value: Any, keys: Keys, faults: list[tuple[Keys, str, str]]) -> Any:
    """Return a copy of a template; each fault in it is added with its keys."""
    if isinstance(value, (list, tuple)):
        return [_copied(each, (*keys, position), faults) for position, each in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _copied(each, (*keys, name), faults) for name, each in value.items()}
    if isinstance(value, str):
        if _VARIABLE.fullmatch(value):
            faults.append((keys, f"the variable {quoted(value)}", "variables in headers, params or env alone"))
        elif _UNKNOWN_PLACEHOLDER.fullmatch(value):
            faults.append((keys, quoted(value), _PLACEHOLDERS))
        elif FILTER in value and value != FILTER:
            faults.append((keys, quoted(value), f'"{FILTER}" alone: it becomes an object'))
    elif not (value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))):
        faults.append((keys, described(value), "what JSON has; put a date or the like in quotation marks"))
    return value


# The mapping itself.


_PathField = Annotated[FieldPath | None, PlainValidator(_path)]
_Headers = dict[Annotated[str, PlainValidator(_header_name)], Annotated[str, PlainValidator(_header_value)]]
_Variables = dict[Annotated[str, PlainValidator(_variable_name)], Annotated[str, PlainValidator(_variable_value)]]
_Seconds = Annotated[float, Field(gt=0, le=86_400, strict=True)]


class ResponseFields(BaseModel):
    """Where things are in an answer: dotted paths, or lists of names for a name with a dot in it; `.` for the whole.

    A field that is None is looked up under the usual names. A path that is given must exist in every answer that has
    hits, so a misspelt path is an error instead of a wrong figure.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    hits: _PathField = None
    """From the answer to the list of hits, for example `hits.hits`."""
    text: _PathField = None
    """From a hit to its text, for example `_source.body`."""
    id: _PathField = None
    """From a hit to its id: a text or an integer."""
    doc_id: _PathField = None
    """From a hit to the id of its document."""
    start: _PathField = None
    """From a hit to the position of its first character in the document."""
    end: _PathField = None
    """From a hit to the position after its last character."""
    score: _PathField = None
    """From a hit to its score: a number."""
    metadata: _PathField = None
    """From a hit to a mapping of what else is known of it."""


class ServiceMapping(BaseModel):
    """What an HTTP service or MCP server is sent, and where its hits are in the answer.

    `{query}` and `{k}` are inserted as data into texts of `json`, `params` and `arguments`; a text that is `{k}` alone
    becomes an integer. A text of `json` or `arguments` that is `{filter}` alone becomes the metadata filter of the
    query, as it is written in labels; for a query without one it is not sent. `${NAME}` in `headers`, `params` and
    `env` is the value of an environment variable.

    `load_mapping` reads one from a file, and retrievers take its fields as a dict.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    headers: _Headers = Field({}, repr=False)
    """Sent with every request over HTTP, for example `{"Authorization": "Bearer ${SEARCH_TOKEN}"}`."""
    response: ResponseFields = ResponseFields()
    """Where things are in an answer; of an MCP server, in the structured content, the JSON or the texts of a result."""
    timeout: _Seconds = 30.0
    """The most seconds for one request or call; another attempt has as many again."""

    method: Annotated[Literal["GET", "POST"], BeforeValidator(_upper)] = "POST"
    """HTTP: `POST` or `GET`."""
    params: dict[str, Annotated[Any, PlainValidator(_param)]] | None = Field(None, repr=False)
    """HTTP: what is added to the address; by default the query and k with GET."""
    body: Annotated[Any, PlainValidator(_template)] = Field(None, alias="json", repr=False)
    """HTTP: the body, which is written `json`; by default the query and k with POST, unless `params` have the query."""

    tool: str | None = Field(None, min_length=1)
    """MCP: the name of the tool, if the reference has none behind its `#`."""
    arguments: Annotated[Any, PlainValidator(_arguments)] = Field(None, repr=False)
    """MCP: what the tool is called with; by default the query and k under the names in the tool's schema."""
    env: _Variables = Field({}, repr=False)
    """MCP: variables for a server that is started. Besides these it gets PATH, HOME and a few like them."""
    separator: str | None = Field(None, min_length=1)
    """MCP: what stands between the hits of one text; None if a text is one hit."""
    empty: str | None = Field(None, min_length=1)
    """MCP: how a text begins that says that nothing was found, for example `No matches`."""
    start_timeout: _Seconds = 60.0
    """MCP: the most seconds until a server is ready."""

    @model_validator(mode="after")
    def _require_query(self) -> Self:
        request: dict[str, Any] = {"arguments": self.arguments}
        if self.body is not None:
            request["json"] = [self.body, self.params]
        elif self.method == "GET":
            request["params"] = self.params
        for name, template in request.items():
            if template is not None and not has_placeholder(template, QUERY):
                raise several_wrong([((name,), f"no {QUERY}", f'a field with the query: question: "{QUERY}"')])
        return self

    def http_request(self) -> tuple[Any, dict[str, Any]]:
        """Return the templates of the body and the parameters of a request, with their defaults."""
        body, params = self.body, self.params
        if body is None and self.method == "POST" and not has_placeholder(params, QUERY):
            body = _DEFAULT_REQUEST
        if params is None and self.method == "GET" and body is None:
            params = _DEFAULT_REQUEST
        return body, dict(params or {})

    def require(self, kind: str, unused: tuple[str, ...]) -> None:
        """Raise for a field that services of a kind do not have.

        Raises:
            ConfigurationError: one of `unused` is set.
        """
        named = {"json" if name == "body" else name for name in self.model_fields_set}
        if wrong_field := next((name for name in unused if name in named), None):
            raise ConfigurationError(f"mapping: found {wrong_field} with {kind}; expected a mapping without it")


_MAPPING = TypeAdapter(ServiceMapping)
_WANTED = f'the fields of a mapping, for example json: {{question: "{QUERY}", top: "{K}"}}'
_NOT_DECISIVE = {"timeout", "start_timeout"}
_LOGINS = ("authorization", "proxy-authorization", "cookie")


def load_mapping(path: str | os.PathLike[str]) -> ServiceMapping:
    """Read a mapping from a YAML or JSON file; docs/how-to/http.md and mcp.md describe it.

    Args:
        path: the file.

    Raises:
        MappingError: the file is not there, cannot be read, or does not describe a mapping; every fault is listed.
        ConfigurationError: `path` is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"mapping: found a {type(path).__name__}; expected the path of a YAML file")
    file = user_path(path)
    reading = YamlFields(file.name, _WANTED)
    try:
        fields = reading.read(file)
    except InvalidYaml as error:
        raise MappingError(str(path), [error.fault]) from None
    try:
        mapping = _validated(fields, str(path), reading.locate)
    except MappingError as error:
        raise MappingError(str(path), reading.with_faults(error.faults)) from None
    if reading.faults:
        raise MappingError(str(path), reading.with_faults(()))
    return mapping


def mapping_of(
    mapping: ServiceMapping | Mapping[str, Any] | str | os.PathLike[str] | None,
) -> ServiceMapping:
    """Return a mapping as it is, of its fields, or of a file; None stands for the default.

    Raises:
        MappingError: something that cannot be sent or found; every fault is listed.
    """
    if isinstance(mapping, ServiceMapping):
        return mapping
    if mapping is None or isinstance(mapping, Mapping):
        return _validated(mapping or {}, "ServiceMapping", path_text)
    return load_mapping(mapping)


def mapping_digest(mapping: ServiceMapping | str | os.PathLike[str]) -> str:
    """Return what tells whether two mappings ask and read alike.

    Comments and layout of a file do not count, nor what decides no hit: how long is waited, and secret values.
    """
    content = mapping_of(mapping).model_dump(exclude=_NOT_DECISIVE)
    for name in ("headers", "params", "env"):
        values = (content[name] or {}).items()
        content[name] = {key: None if is_secret_name(key) or key.lower() in _LOGINS else value for key, value in values}
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _validated(fields: Mapping[str, Any], source: str, locate: Callable[[Keys], str]) -> ServiceMapping:
    try:
        return _MAPPING.validate_python(dict(fields))
    except ValidationError as error:
        faults = faults_of(error, _MAPPING, yaml=True)
    raise MappingError(source, [Fault(locate(each.keys), each.found, each.expected) for each in faults])
