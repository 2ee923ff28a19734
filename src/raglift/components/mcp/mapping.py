"""`McpMapping`: what a tool of an MCP server is called with, and where the hits are in its result."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field, fields
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

from raglift.base.secrets import is_secret_name
from raglift.base.validation import described, faults_of, path_text, quoted, wrong
from raglift.components.http.mapping import (
    FILTER,
    QUERY,
    ResponseFields,
    ResponseModel,
    as_mapping,
    bytes_of,
    fields_of_file,
    header_name,
    header_value,
    json_template,
    seconds_of,
    texts_of,
)
from raglift.errors import Fault, MappingError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from raglift.base.validation import Keys

_WANTED = 'the fields of a mapping, as arguments: {question: "{query}", top: "{k}"}'
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_OF_THE_RESULT = ("timeout", "start_timeout", "response")


@dataclass(frozen=True, kw_only=True)
class McpMapping:
    """What a tool of an MCP server is called with, and where the hits are in its result.

    `{query}` and `{k}` are put in place as data, inside texts of `arguments`; a text that is `{k}` alone becomes an
    integer, and one that is `{filter}` alone the metadata filter of the query, as it is written in labels; for a query
    without one the argument is left out. `${NAME}` in `env` and `headers` is the value of an environment variable.

    Raises:
        MappingError: something that cannot be sent or found; every fault is listed.
    """

    tool: str | None = None
    """The name of the tool, where the reference has none behind its `#`."""
    arguments: Any = field(default=None, repr=False)
    """What the tool is called with; by default the query, and k where it can be told, under the names of its schema."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables for a server that is started, as `{"SEARCH_KEY": "${SEARCH_KEY}"}`. Besides these it gets PATH, HOME
    and a few like them, and nothing else of the environment."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request to a server over HTTP, as `{"Authorization": "Bearer ${SEARCH_TOKEN}"}`."""
    response: ResponseFields = field(default_factory=ResponseFields)
    """Where things are in a result: from its structured content, else the JSON of its text, else the list of its
    content; in Python a mapping too."""
    separator: str | None = None
    """What stands between the hits of a text, as a line with `---`; None for a text that is one hit."""
    empty: str | None = None
    """How a text begins that says that nothing was found, as `No matches`."""
    timeout: float = 30.0
    """The most seconds for one call; another try has as many again."""
    start_timeout: float = 60.0
    """The most seconds until a server is ready."""
    most_bytes: int = 10_000_000
    """The longest message that is read."""

    @property
    def sends_filter(self) -> bool:
        """Whether the tool is told the metadata filter of a query."""
        return FILTER in texts_of(self.arguments)

    def __post_init__(self) -> None:
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, value in checked_mcp(given).items():
            object.__setattr__(self, name, value)


def mcp_mapping_of(given: Mapping[str, Any]) -> McpMapping:
    """Return the mapping that fields describe.

    Raises:
        MappingError: something that cannot be sent or found; every fault is listed.
    """
    return McpMapping(**checked_mcp(given))


def load_mcp_mapping(path: str | os.PathLike[str]) -> McpMapping:
    """Read a mapping from a YAML file, or a JSON file where its name ends in `.json`; docs/how-to/mcp.md describes it.

    Args:
        path: the file.

    Raises:
        MappingError: the file is not there, cannot be read, or does not describe a mapping; every fault is listed.
        ConfigurationError: `path` is not a path.
    """
    return McpMapping(**fields_of_file(path, checked_mcp, _WANTED))


def mcp_mapping_digest(mapping: McpMapping | str | os.PathLike[str]) -> str:
    """Return what tells whether two mappings call and read alike.

    What decides no hit does not count: how long is waited, and the values of headers and variables, which may be
    secret.

    Args:
        mapping: the mapping, or its file.

    Raises:
        MappingError: as `load_mcp_mapping`.
    """
    read = mapping if isinstance(mapping, McpMapping) else load_mcp_mapping(mapping)
    content = {each.name: getattr(read, each.name) for each in fields(read) if each.name not in _NOT_OF_THE_RESULT}
    for name in ("env", "headers"):
        content[name] = {key: _unless_secret(key, value) for key, value in content[name].items()}
    text = json.dumps([content, asdict(read.response)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _unless_secret(name: str, value: str) -> str | None:
    return None if is_secret_name(name) or name.lower() in ("authorization", "proxy-authorization", "cookie") else value


# Validation of a mapping by pydantic: every fault of every field.


def checked_mcp(
    given: Mapping[str, Any], locate: Callable[[Keys], str] = path_text, *, source: str = "McpMapping"
) -> dict[str, Any]:
    """Return the fields of a mapping, checked.

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
    values = {name: getattr(model, name) for name in _Mapping.model_fields}
    if values["arguments"] is not None and not any(QUERY in text for text in texts_of(values["arguments"])):
        expected = f'an argument with the query, as question: "{QUERY}"'
        raise MappingError(source, [Fault(locate(("arguments",)), f"no {QUERY}", expected)])
    return values


def _arguments(value: Any) -> Any:
    template = None if value is None else json_template(value)
    if not (template is None or isinstance(template, dict)):
        raise wrong(described(value), 'the arguments by name, as question: "{query}"')
    return template


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise wrong(described(value), "a text")


def _variable(value: Any) -> str:
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        raise wrong(described(value), "the name of an environment variable, as SEARCH_KEY")
    return value


def _variable_value(value: Any) -> str:
    # it may be a secret: what was found is said by its kind alone
    if not isinstance(value, str):
        raise wrong("what is no text", "a text; put one that looks otherwise in quotation marks")
    if "\0" in value:
        raise wrong("a text with a NUL in it", f"a text that a variable can have, as {quoted('${SEARCH_KEY}')}")
    return value


_Text = Annotated[str | None, PlainValidator(_text)]
_Seconds = Annotated[float, PlainValidator(seconds_of)]


class _Mapping(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    tool: _Text = None
    arguments: Annotated[Any, PlainValidator(_arguments)] = None
    env: Annotated[
        dict[Annotated[str, PlainValidator(_variable)], Annotated[str, PlainValidator(_variable_value)]],
        BeforeValidator(as_mapping),
    ] = {}
    headers: Annotated[
        dict[Annotated[str, PlainValidator(header_name)], Annotated[str, PlainValidator(header_value)]],
        BeforeValidator(as_mapping),
    ] = {}
    response: Annotated[ResponseModel, BeforeValidator(as_mapping), AfterValidator(ResponseModel.read)] = Field(
        default_factory=dict, validate_default=True
    )
    separator: _Text = None
    empty: _Text = None
    timeout: _Seconds = 30.0
    start_timeout: _Seconds = 60.0
    most_bytes: Annotated[int, PlainValidator(bytes_of)] = 10_000_000


_MAPPING = TypeAdapter(_Mapping)
