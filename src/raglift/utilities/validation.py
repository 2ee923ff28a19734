"""Faults in user input: where, what was found, what was expected."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

from raglift.errors import Fault
from raglift.utilities.display import listed, printable, shorten, shorten_middle

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
    from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError


# Messages of faults: where, what was found and what was expected. All inputs report faults in this form: saved runs,
# sweeps, mappings of HTTP services and the replies of language models, which pydantic checks (`faults_of`, `read_as`),
# and files of labels, whose readers record faults themselves (`raglift.types.parsing`).


T = TypeVar("T")
Keys: TypeAlias = tuple[str | int, ...]
"""The keys and list indices of a value."""

_SHOWN = 60
_LISTED = 10


class Finding(NamedTuple):
    """One thing wrong with a value, before it is said in which file or line the value stands."""

    keys: Keys
    """The location in what was read; empty for the whole of it."""
    found: str
    """The value found, shortened."""
    expected: str
    """What was expected."""

    def __str__(self) -> str:
        location = path_text(self.keys)
        return f"{location}: found {self.found}; expected {self.expected}".removeprefix(": ")


class WrongKind(ValueError):
    """A saved value is not what raglift writes there; the message says where, what was found and what was expected."""


class Expected:
    """For `Annotated`: the words for a value that its type does not accept, in place of pydantic's."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.custom_error_schema(
            handler(source),
            custom_error_type=_WORDED,
            custom_error_message="expected {expected}",
            custom_error_context={"expected": self.words},
        )


_WORDED = "raglift_expected"
"""pydantic's type of the errors that `Expected` words."""


def wrong(found: str, expected: str) -> PydanticCustomError:
    """Return the error that a validator raises to say in its own text what was found and what was expected."""
    return several_wrong([((), found, expected)])


def several_wrong(faults: Iterable[tuple[Keys, str, str]]) -> PydanticCustomError:
    """Return the error that a validator raises where several things are wrong.

    Args:
        faults: for each, the keys below the value that is validated, what was found and what was expected.
    """
    from pydantic_core import PydanticCustomError

    printed = [(keys, printable(found), printable(expected)) for keys, found, expected in faults]
    return PydanticCustomError("raglift", "found something else than was expected", {"faults": printed})


def read_as(form: TypeAdapter[T], value: Any) -> T:
    """Return a saved value as the form it was saved in."""
    try:
        return form.validate_python(value)
    except ValueError as error:  # pydantic's, into which it makes any other
        raise WrongKind(str(faults_of(cast("ValidationError", error), form)[0])) from None


def faults_of(
    error: ValidationError,
    form: TypeAdapter[Any],
    *,
    yaml: bool = False,
    missing: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Return every fault that pydantic found, in raglift's words: where, what was found, what was expected.

    Args:
        error: what pydantic raised.
        form: what it validated against; unknown fields are compared with its known ones.
        yaml: whether the value is from YAML (or Python), which has mappings; else it is from JSON, which has objects.
        missing: for required fields, by name, what was expected; by default what the field's type is called.
    """
    schema = form.core_schema
    return [
        finding
        for detail in error.errors(include_url=False)
        for finding in _findings(detail, _Location.of(schema, detail["loc"]), missing or {}, yaml=yaml)
    ]


def _findings(
    detail: ErrorDetails, location: _Location, missing: Mapping[str, str], *, yaml: bool
) -> Iterator[Finding]:
    keys, found, context = location.keys, detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "raglift":
            yield from (Finding((*keys, *inner), *words) for inner, *words in context["faults"])
        case "missing":
            yield Finding(keys, "nothing", missing.get(str(keys[-1])) or location.expected(yaml=yaml) or "a value")
        case "extra_forbidden":
            yield Finding(keys, *unknown_field(str(keys[-1]), location.known))
        case "string_unicode" if location.fields is not None:  # pydantic looks no further at a name that is no Unicode
            yield Finding((*keys, found), *unknown_field(found, location.fields))
        case "too_short":
            yield Finding(keys, described(found), f"a list of {context['min_length']} or more")
        case "json_invalid":
            yield Finding(keys, described(found), f"JSON ({context['error']})")
        case kind if kind == _WORDED or kind.endswith("_type"):
            yield Finding(
                keys, described(found), location.expected(yaml=yaml) or context.get("expected") or detail["msg"]
            )
        case _:
            words = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
            yield Finding(keys, described(found), words)


class _Location(NamedTuple):
    """A location in the validated data: its keys, and its pydantic schema."""

    keys: Keys
    schema: Mapping[str, Any] | None
    """None if pydantic does not know what lies there."""
    known: Collection[str]
    """The fields of the object that the last key is of."""
    definitions: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, schema: CoreSchema, loc: Sequence[str | int]) -> _Location:
        """Follow a location of pydantic's, which also names mappings' keys and the forms that a value can have."""
        top = schema
        location = cls((), top, (), {each["ref"]: each for each in top.get("definitions", ())})
        for part in loc:
            location = location._inside(part)
        return location

    @property
    def fields(self) -> Mapping[str, Mapping[str, Any]] | None:
        """The schemas of an object's fields, by name; None for what is not an object."""
        found = (self._unwrapped() or {}).get("fields")
        if not isinstance(found, dict):
            return None
        return {each.get("validation_alias") or name: each["schema"] for name, each in found.items()}

    def expected(self, *, yaml: bool) -> str | None:
        """Return what a value here is called; None if that is not known."""
        schema, nullable = self.schema, False
        while schema is not None and schema["type"] != "custom-error" and (inner := self._inner(schema)) is not None:
            nullable = nullable or schema["type"] == "nullable"
            schema = inner
        if schema is None:
            return None
        if schema["type"] == "custom-error":
            words = str(schema["custom_error_context"]["expected"])
        elif schema["type"] in _OBJECTS:
            words = "a mapping" if yaml else "an object"
        else:
            words = _WORDS.get(schema["type"], "")
        return f"{words} or null" if words and nullable and not yaml else words or None

    def _inside(self, part: str | int) -> _Location:
        """Return the location that one part of a pydantic location refers to."""
        schema = self._unwrapped() or {"type": ""}
        if part == "[key]":
            return self._replace(schema=None)
        inner: Any = None
        known: Collection[str] = ()
        if schema["type"] == "tagged-union" and part in schema["choices"]:
            return self._replace(schema=schema["choices"][part])
        if (fields := self.fields) is not None:
            known, inner = fields, fields.get(str(part))
        elif "values_schema" in schema:
            inner = schema["values_schema"]
        elif isinstance(items := schema.get("items_schema"), list):
            inner = items[min(int(part), len(items) - 1)]
        else:
            inner = items
        return _Location((*self.keys, part), inner, known, self.definitions)

    def _unwrapped(self) -> Mapping[str, Any] | None:
        schema = self.schema
        while schema is not None and (inner := self._inner(schema)) is not None:
            schema = inner
        return schema

    def _inner(self, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the schema that another only adds a check, a default or a name to."""
        if schema["type"] == "definition-ref":
            return self.definitions.get(schema["schema_ref"])
        found = schema.get("schema") or schema.get("python_schema")
        return found if isinstance(found, dict) else None


_OBJECTS = ("dict", "model-fields", "typed-dict")
_WORDS = {
    "bool": "true or false",
    "float": "a number",
    "int": "an integer",
    "list": "a list",
    "str": "a text",
    "tuple": "a list",
}
"""What a value of one of pydantic's types is called."""


def fault(where: str, found: str, expected: str) -> Fault:
    """Return a fault whose words can be printed everywhere.

    The contents of a file may appear in any of the three, also by way of another library's message.
    """
    return Fault(printable(where), printable(found), printable(expected))


def path_text(keys: Keys) -> str:
    """Return a path as it is read, and can be printed: `chunkers[1].size`."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return printable(text)


def shown(value: Any) -> str:
    """Return how a value looks in a message: short, on one line, and printable everywhere."""
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object with " + (listed(map(quoted, value), _LISTED) or "no fields")
    if isinstance(value, str):
        return quoted(value)
    literal = json.dumps(value) if value is None or isinstance(value, (bool, float)) else repr(value)
    return shorten(literal, _SHOWN + 1)


def described(value: Any) -> str:
    """Return how a value looks in a message, or its type where it is nothing that a file can hold."""
    plain = value is None or isinstance(value, (str, bool, int, float, list, tuple, dict))
    return shown(value) if plain else f"a {type(value).__name__}"


def quoted(text: object) -> str:
    """Return a text in quotation marks, shortened in the middle."""
    literal = json.dumps(shorten_middle(str(text), _SHOWN), ensure_ascii=False)
    # what a terminal would act on or cannot print is shown by its code
    return "".join(letter if printable(letter) == letter else f"\\u{ord(letter):04x}" for letter in literal)


def nearest(word: str, known: Collection[str]) -> str:
    """Return the known words, nearest first when there are some like it: `one of "a", "b"; nearest: "a"`."""
    return _nearest(word, tuple(known))


@lru_cache(maxsize=256)  # an unknown name may stand in thousands of items
def _nearest(word: str, known: tuple[str, ...]) -> str:
    if not known:
        return "nothing: there is none"
    close = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    words = listed(map(quoted, sorted(known)), _LISTED)
    return f"one of {words}" + (f"; nearest: {', '.join(map(quoted, close))}" if close else "")


def unknown_field(name: str, known: Collection[str]) -> tuple[str, str]:
    """Return what was found and what was expected, of a field that there is none of that name."""
    return f"an unknown field {quoted(name)}", nearest(name, known)


# The location of a fault, and its message.


@dataclass(frozen=True)
class Location:
    """A file, line and field, and the list that faults found there go to."""

    file: str
    """The name of the file."""
    faults: list[Fault]
    """Where every fault of the file is noted, in file order."""
    line: int | None = None
    """Counted from 1; None for the file as a whole."""
    field: str = ""
    """The path of the field, such as `relevant[0].grade`."""

    def __truediv__(self, key: str | int) -> Location:
        """Return the location of a field or list item inside this one."""
        if isinstance(key, int):
            return Location(self.file, self.faults, self.line, f"{self.field}[{key}]")
        return Location(self.file, self.faults, self.line, f"{self.field}.{key}" if self.field else key)

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.field}" if self.field else where

    def at_line(self, line: int) -> Location:
        """Return the location of a line of the file."""
        return Location(self.file, self.faults, line, self.field)

    def fault(self, found: str, expected: str) -> None:
        """Note that something else was found here than was expected."""
        self.faults.append(fault(str(self), found, expected))


def check_fields(entry: Mapping[str, Any], known: Collection[str], location: Location) -> bool:
    """Return whether an object has no field but the known ones; note a fault for each other one."""
    unknown = [name for name in entry if name not in known]
    for name in unknown:
        (location / quoted(name)[1:-1]).fault(*unknown_field(name, known))
    return not unknown
