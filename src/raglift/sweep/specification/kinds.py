"""Kinds of fields of a sweep, whatever they are for, as pydantic checks them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainValidator, ValidationInfo

from raglift.sweep.specification import values
from raglift.sweep.specification.cells import NO_RERANKER, Cell, Exclusion, SystemSpec
from raglift.validation import nearest, quoted, wrong

__all__ = [
    "AS_LIST",
    "AS_MAPPING",
    "AS_TEXT",
    "AsList",
    "Distinct",
    "Given",
    "Integer",
    "Model",
    "NoneIsNone",
    "NotEmpty",
    "Number",
    "Text",
    "Unpacked",
    "above_zero",
    "at_least",
    "form",
    "in_folder",
    "list_or_mapping",
    "one_of",
]

AS_TEXT, AS_MAPPING, AS_LIST = ("<text>", "<mapping>", "<list>")
"""What pydantic adds to the path of a value that may be written in several ways."""


def form(value: Any) -> str:
    """Tell whether a value is written as a mapping."""
    return AS_MAPPING if isinstance(value, Mapping) else AS_TEXT


def list_or_mapping(value: Any) -> str:
    """Tell whether several values are written as a mapping or as a list."""
    return AS_MAPPING if isinstance(value, Mapping) else AS_LIST


def in_folder(read: Callable[..., Any]) -> PlainValidator:
    """Return the check of a value that may be a path relative to the folder of the sweep's file."""

    def validate(value: Any, info: ValidationInfo) -> Any:
        return read(value, (info.context or {}).get("folder"))

    return PlainValidator(validate)


def one_of(known: tuple[str, ...]) -> PlainValidator:
    """Return the check of a name among known ones."""

    def validate(value: Any) -> str:
        name = values.text(value)
        if name not in known:
            raise wrong(quoted(name), nearest(name, known))
        return name

    return PlainValidator(validate)


def above_zero() -> AfterValidator:
    """Return the check of a number that is neither 0 nor below, and finite."""

    def validate(value: float) -> float:
        if not 0 < value < math.inf:
            raise wrong(str(value), "a number above 0")
        return value

    return AfterValidator(validate)


def at_least(least: int) -> AfterValidator:
    """Return the check of a number that may not be smaller."""

    def validate(value: int) -> int:
        if value < least:
            raise wrong(str(value), f"an integer, {least} or more")
        return value

    return AfterValidator(validate)


def _unpacked(value: Any) -> Any:
    """Return a record of a checked sweep as the mapping that it was made of."""
    if not isinstance(value, (Cell, Exclusion, SystemSpec)):
        return value
    parts = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: part for name, part in parts if part is not None}


def _not_empty(value: Any) -> Any:
    if not value:
        raise wrong("an empty list", "at least one")
    return value


def _not_null(value: Any) -> Any:
    if value is None:
        raise wrong("null", "a value, or the part left out for any")
    return value


def _distinct(value: list[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(value))


Text = Annotated[str, PlainValidator(values.text)]
Integer = Annotated[int, PlainValidator(values.integer)]
Number = Annotated[float, PlainValidator(values.number)]
AsList = BeforeValidator(values.as_list)
Unpacked = BeforeValidator(_unpacked)
Distinct = AfterValidator(_distinct)
NotEmpty = AfterValidator(_not_empty)
Given = AfterValidator(_not_null)
NoneIsNone = BeforeValidator(lambda value: NO_RERANKER if value is None else value)


class Model(BaseModel):
    """A mapping of known fields."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
