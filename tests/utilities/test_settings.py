"""Settings are declared once: type, bounds, choices, unit and description of a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from raglift.errors import ConfigurationError
from raglift.running import Settings
from raglift.utilities.settings import Bounds, OneOf, check_settings, fields_of
from raglift.utilities.validation import faults_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elsewhere import Unknown


@dataclass(frozen=True, kw_only=True)
class Basic:
    """What every kind has."""

    seconds: Annotated[float | None, Bounds(above=0, most=60, unit="seconds")] = None
    """The most time,
    for one query."""

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, kw_only=True)
class Full(Basic):
    """One field of each kind."""

    times: Annotated[int, Bounds(least=1)] = 2
    colour: Literal["red", "blue"] = "red"
    profile: Annotated[str, OneOf(lambda: ("own", "trec"))] = "own"
    is_loud: bool | None = None
    name: str | None = None
    depth: Annotated[int, Bounds(least=1)] | None = None
    things: Sequence[Unknown | str] = ()


def test_fields_are_listed_with_what_they_inherit():
    fields = fields_of(Full)
    assert list(fields) == ["seconds", "times", "colour", "profile", "is_loud", "name", "depth", "things"]
    seconds = fields["seconds"]
    assert (seconds.kind, seconds.is_optional, seconds.default, seconds.unit) == (float, True, None, "seconds")
    assert seconds.description == "The most time, for one query."
    assert fields["colour"].choices == ("red", "blue")
    assert fields["profile"].choices == ("own", "trec")
    assert fields["times"].default == 2


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("seconds", 0, "a number of seconds above 0, at most 60"),
        ("seconds", "5", "a number of seconds above 0, at most 60"),
        ("seconds", float("nan"), "a number of seconds above 0, at most 60"),
        ("times", 0, "an integer, 1 or more"),
        ("times", True, "an integer, 1 or more"),
        ("times", 2.0, "an integer, 1 or more"),
        ("colour", "green", "one of 'red', 'blue'"),
        ("profile", "ragas", "one of 'own', 'trec'"),
        ("is_loud", 1, "True or False or None"),
        ("depth", 0, "an integer, 1 or more"),
        ("name", " ", "a text that is not empty"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(name, value, expected):
    with pytest.raises(ConfigurationError) as error:
        Full(**{name: value})
    assert str(error.value).startswith(f"{name}: found ")
    assert str(error.value).endswith(f"; expected {expected}")


def test_pydantic_reads_the_same_types_in_a_file():
    form = TypeAdapter(Annotated[int, Bounds(least=1, most=1_000)])
    assert form.validate_python(3) == 3
    with pytest.raises(ValidationError) as error:
        form.validate_python("3")
    (fault,) = faults_of(error.value, form)
    assert (fault.found, fault.expected) == ('"3"', "an integer without quotation marks")
    with pytest.raises(ValidationError):
        form.validate_python(10**400)


def test_every_setting_of_an_evaluation_is_described():
    assert [setting.name for setting in fields_of(Settings).values() if not setting.description] == []
