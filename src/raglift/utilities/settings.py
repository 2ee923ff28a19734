"""Settings as records: each field is declared once, with its type, bounds, choices, unit and description.

A model of settings is a frozen dataclass. A field is declared as every public field is, with its limits in its type:

    timeout: Annotated[float | None, Bounds(above=0, most=86_400, unit="seconds")] = None
    '''The most time for one query.'''  (a docstring)

Everything else follows from this one declaration. `check_settings` refuses a value that does not fit, in Python's
keywords. pydantic, where it reads a YAML file, takes `Bounds` and `OneOf` as types and locates the fault in the file.
`fields_of` lists what help, options of the command line and their completion are made of. pydantic itself is only
imported for a file, so that `raglift --help` starts without it.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import math
import re
import sys
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from raglift.errors import ConfigurationError
from raglift.utilities.display import short_repr

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

_SHOWN = 40


@dataclass(frozen=True)
class Bounds:
    """For `Annotated`: the range of a number, whole if the type is `int`."""

    least: float | None = None
    """The smallest value."""
    most: float | None = None
    """The largest value."""
    above: float | None = None
    """A number that every value exceeds."""
    unit: str = ""
    """What is counted or measured, such as `seconds`; empty for a plain number."""

    def expected(self, *, is_whole: bool) -> str:
        """Return the words for what fits: `an integer from 1 to 1,000`, `a number of seconds above 0`."""
        kind = "an integer" if is_whole else f"a number of {self.unit}" if self.unit else "a number"
        if self.least is not None and self.most is not None:
            return f"{kind} from {self.least:,g} to {self.most:,g}"
        if self.least is not None:
            return f"{kind}, {self.least:,g} or more"
        if self.above is not None and self.most is not None:
            return f"{kind} above 0, at most {self.most:,g}"
        return kind if self.above is None else f"{kind} above {self.above:,g}"

    def fits(self, value: object, *, is_whole: bool) -> bool:
        """Return whether a value is a number of the range."""
        if isinstance(value, bool) or not isinstance(value, Integral if is_whole else Real):
            return False
        try:
            number = float(value)
        except OverflowError:  # an integer of hundreds of digits
            return False
        return (
            math.isfinite(number)
            and (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
        )

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how pydantic reads such a number: its faults say what `expected` says."""
        from pydantic_core import core_schema

        from raglift.utilities.validation import described, wrong

        kinds = get_args(source) or (source,)
        is_whole = int in kinds

        def read(value: Any) -> Any:
            if value is None and type(None) in kinds:
                return None
            if self.fits(value, is_whole=is_whole):
                return int(value) if is_whole else value
            is_quoted = isinstance(value, str) and value.strip().lstrip("-").replace(".", "", 1).isdigit()
            plain = f"{'an integer' if is_whole else 'a number'} without quotation marks"
            raise wrong(described(value), plain if is_quoted else self.expected(is_whole=is_whole))

        return core_schema.no_info_plain_validator_function(read)


@dataclass(frozen=True)
class OneOf:
    """For `Annotated`: a text that is one of several, which may be known only when the program runs."""

    known: Callable[[], tuple[str, ...]]
    """Returns the choices."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how pydantic reads such a text: its faults name the nearest choices."""
        from pydantic_core import core_schema

        from raglift.utilities.validation import nearest, quoted, shown, wrong

        def read(value: Any) -> str:
            if isinstance(value, str) and value.strip() in self.known():
                return value.strip()
            raise wrong(quoted(value) if isinstance(value, str) else shown(value), nearest(str(value), self.known()))

        return core_schema.no_info_plain_validator_function(read)


@dataclass(frozen=True)
class Setting:
    """One field of a model of settings."""

    name: str
    """As Python's keyword and the key of a YAML file."""
    kind: Any
    """Its type without None and without bounds: `int`, `float`, `str`, `bool`, or any other."""
    is_optional: bool
    """Whether None is a value."""
    default: Any
    """`dataclasses.MISSING` if it has to be given."""
    description: str
    """The docstring below the field, in one line."""
    bounds: Bounds | None = None
    """Of a number."""
    choices: tuple[str, ...] = ()
    """Of a text that is one of several."""

    @property
    def unit(self) -> str:
        """What a number counts or measures; empty for a plain number, and for what is none."""
        return "" if self.bounds is None else self.bounds.unit

    @property
    def expected(self) -> str:
        """The words for a value that fits; empty if anything may fit."""
        if self.choices:
            words = f"one of {', '.join(map(repr, self.choices))}"
        elif self.bounds is not None:
            words = self.bounds.expected(is_whole=self.kind is int)
        else:
            words = _WORDS.get(self.kind, "")
        return f"{words} or None" if self.kind is bool and self.is_optional else words

    def fits(self, value: object) -> bool:
        """Return whether a value has the type and lies within the bounds; of other types everything does."""
        if value is None and self.is_optional:
            return True
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if self.bounds is not None:
            return self.bounds.fits(value, is_whole=self.kind is int)
        if self.kind is str:
            return isinstance(value, str) and bool(value.strip())
        return isinstance(value, bool) if self.kind is bool else True


_WORDS: Mapping[Any, str] = {str: "a text that is not empty", bool: "True or False"}


@cache
def fields_of(model: type) -> Mapping[str, Setting]:
    """Return the fields of a model of settings by name, in the order of their declaration."""
    hints = hints_of(model)
    descriptions = _descriptions(model)
    return types.MappingProxyType(
        {
            field.name: _setting(field.name, hints[field.name], _default(field), descriptions.get(field.name, ""))
            for field in fields(model)
        }
    )


def hints_of(model: type) -> dict[str, Any]:
    """Return the types of a model's fields with their extras; one imported for type checkers alone stands for any."""
    return get_type_hints(model, include_extras=True, localns=_Names(model))


def declare_keywords(function: Callable[..., Any], model: type) -> None:
    """Declare the fields of a model, or of a TypedDict, in a function's signature and docstring, as its last keywords.

    They take the place of its last parameter: the model, or `**options`.
    """
    keywords, described = [], []
    for each in (each for each in model.__mro__ if each.__module__ != "builtins"):
        texts = _documented(each.__module__)[each.__qualname__]
        for name, hint in inspect.get_annotations(each).items():
            kind = _ANNOTATED.sub(r"\1", str(getattr(hint, "__forward_arg__", hint)))
            default = getattr(each, name, None)
            keywords.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
            described.append(textwrap.fill(f"{name}: {texts[name]}", 112, subsequent_indent="    "))
    signature = inspect.signature(function)
    *kept, last = signature.parameters.values()
    function.__signature__ = signature.replace(parameters=[*kept, *keywords])  # type: ignore[attr-defined]
    text = textwrap.indent("\n".join(described), " " * 8) + "\n"
    one = re.compile(rf"^ {{8}}\**{last.name}: .*\n(?: {{12}}.*\n)*", re.MULTILINE)
    function.__doc__ = one.sub(lambda _: text, function.__doc__ or "", count=1)


_ANNOTATED = re.compile(r"Annotated\[(.+?), (?:Bounds|OneOf)\(.*\]")  # the type, without bounds and choices


def check_settings(record: Any) -> None:
    """Raise for the first field of a record that does not fit its declaration."""
    model: type = type(record)
    for setting in fields_of(model).values():
        value = getattr(record, setting.name)
        if not setting.fits(value):
            raise ConfigurationError(f"{setting.name}: found {short_repr(value, _SHOWN)}; expected {setting.expected}")


def _setting(name: str, hint: Any, default: Any, description: str) -> Setting:
    extras: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *found = get_args(hint)
        extras = tuple(found)
    arms = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    kinds = [arm for arm in arms if arm is not type(None)]
    kind = kinds[0] if len(kinds) == 1 else Any
    if get_origin(kind) is Annotated:
        kind, *found = get_args(kind)
        extras = (*extras, *found)
    choices = tuple(get_args(kind)) if get_origin(kind) is Literal else ()
    choices = next((extra.known() for extra in extras if isinstance(extra, OneOf)), choices)
    bounds = next((extra for extra in extras if isinstance(extra, Bounds)), None)
    return Setting(name, kind, len(kinds) < len(arms), default, description, bounds, choices)


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


class _Names(dict[str, Any]):
    """The names in a model's annotations; one that is imported for type checkers alone stands for any type."""

    def __init__(self, model: type) -> None:
        super().__init__()
        self._modules = [sys.modules[each.__module__].__dict__ for each in model.__mro__ if each is not object]

    def __missing__(self, name: str) -> Any:
        for known in (*self._modules, vars(builtins)):
            if name in known:
                return known[name]
        if name.startswith("__"):  # pytest looks for such in the frames of a traceback
            raise KeyError(name)
        return type(name, (), {"__class_getitem__": classmethod(lambda cls, _: cls)})


def _descriptions(model: type) -> dict[str, str]:
    """Return the docstrings below the fields of a class and of those that it inherits from."""
    found: dict[str, str] = {}
    for each in reversed([each for each in model.__mro__ if each is not object]):
        found |= _documented(each.__module__).get(each.__qualname__, {})
    return found


@cache
def _documented(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings below the fields of each class of a module, by the qualified name of the class."""
    found: dict[str, dict[str, str]] = {}

    def look_in(node: ast.AST, path: str) -> None:
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.ClassDef):
                found[f"{path}{inner.name}"] = _below_fields(inner.body)
                look_in(inner, f"{path}{inner.name}.")
            elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                look_in(inner, f"{path}{inner.name}.<locals>.")

    look_in(ast.parse(inspect.getsource(sys.modules[module])), "")
    return found


def _below_fields(body: Sequence[ast.stmt]) -> dict[str, str]:
    return {
        statement.target.id: " ".join(str(below.value.value).split())
        for statement, below in itertools.pairwise(body)
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
    }
