"""`HttpMapping`: what is sent to an HTTP service, and where its hits are in the answer."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from raglift.dataset.strict_json import parse_text
from raglift.dataset.strict_yaml import NotYaml, YamlFields
from raglift.errors import ConfigurationError, Fault, MappingError
from raglift.faults import Place
from raglift.paths import user_path
from raglift.retrieval.http.paths import ResponseFields
from raglift.retrieval.http.template import K, texts_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["HttpMapping", "ResponseFields", "load_mapping", "mapping_of"]

_WANTED = 'the fields of a mapping, as json: {question: "{query}", top: "{k}"}'


@dataclass(frozen=True, kw_only=True)
class HttpMapping:
    """What is sent to an HTTP service, and where its hits are in the answer.

    `{query}` and `{k}` are put in place as data, inside texts of `json` and `params`; a text that is `{k}` alone
    becomes an integer. `${NAME}` in `headers` and `params` is the value of an environment variable.

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
        from raglift.retrieval.http.checking import checked

        given = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, value in checked(given).items():
            object.__setattr__(self, name, value)

    @property
    def sends_k(self) -> bool:
        """Whether the service is told how many hits are wanted."""
        return any(K in text for text in (*texts_of(self.json), *texts_of(self.params)))


def mapping_of(given: Mapping[str, Any]) -> HttpMapping:
    """Return the mapping that fields describe.

    Raises:
        MappingError: something that cannot be sent or found; every fault is listed.
    """
    from raglift.retrieval.http.checking import checked

    return HttpMapping(**checked(given))


def load_mapping(path: str | os.PathLike[str]) -> HttpMapping:
    """Read a mapping from a YAML file, or a JSON file where its name ends in `.json`; docs/http.md describes it.

    Args:
        path: the file.

    Raises:
        MappingError: the file is not there, cannot be read, or does not describe a mapping; every fault is listed.
        ConfigurationError: `path` is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"load_mapping: found a {type(path).__name__}; expected the path of a YAML file")
    file = user_path(path)
    reading = YamlFields(file.name, _WANTED)
    given = _json_fields(file) if file.suffix.lower() == ".json" else _yaml_fields(file, reading)
    from raglift.retrieval.http.checking import checked

    try:
        values = checked(given, reading.locate, source=str(path))
    except MappingError as error:
        reading.faults += [(reading.lines_said.get(fault.where, 0), fault) for fault in error.faults]
    if reading.faults:
        raise MappingError(str(path), [fault for _, fault in sorted(reading.faults, key=lambda each: each[0])])
    return HttpMapping(**values)


def _yaml_fields(file: Path, reading: YamlFields) -> dict[str, Any]:
    try:
        return reading.read(file)
    except NotYaml as error:
        raise MappingError(str(file), [error.fault]) from None


def _json_fields(file: Path) -> dict[str, Any]:
    faults: list[Fault] = []
    place = Place(file.name, faults)
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            place.fault(f"more than {_MOST_BYTES:,} bytes", "a mapping, which is short")
            raise MappingError(str(file), faults)
        given = parse_text(data.decode("utf-8-sig"), place)
    except OSError as error:
        place.fault(error.strerror or type(error).__name__, f"a JSON file at {file}")
        given = None
    except UnicodeDecodeError:
        place.fault("bytes that are not UTF-8", "text in UTF-8")
        given = None
    if given is None:
        raise MappingError(str(file), faults)
    return given


_MOST_BYTES = 100_000
